"""Disks that are full or read-only, files that are damaged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.netns.state import State
from tests.pytest_netns import execute

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Attachment, Namespace, Namespaces, Runtime

IO_FAILURE, DECODE_FAILURE = 5, 6
CONF = ranges(1, 2, last=103) | {"cniVersion": "1.0.0"}
PAGE = 4096


@pytest.fixture
def attachment(runtime: Runtime, pod: Namespace) -> Attachment:
    return runtime.attachment(pod, runtime.conf(**CONF))


@pytest.fixture
def disk(runtime: Runtime, mounts: Mounts) -> Path:
    """Make the data directory an empty mount point; return it as the test sees it."""
    runtime.data_dir.mkdir()
    return mounts.seen(runtime.data_dir)


def clean(state: State) -> bool:
    return state.left() == [] and state.addresses() == {}


def test_full_at_every_file(runtime: Runtime, pod: Namespace, mounts: Mounts, disk: Path) -> None:
    """Room for ever more files: each ADD fails and leaves nothing, until one succeeds."""
    state = State(disk)
    attachment = runtime.but(wrapper=mounts.wrapper).attachment(pod, runtime.conf(**CONF))
    for inodes in range(2, 60):
        mounts.mount_tmpfs(runtime.data_dir, f"mode=700,nr_inodes={inodes}")
        answer = attachment.call("ADD")
        if answer.status == 0:
            break
        assert "No space left on device" in answer.error(IO_FAILURE)
        assert pod.links() == {}
        assert clean(state), f"{inodes} inodes: {state.left()}"
        attachment.delete().succeeded()
        mounts.unmount(runtime.data_dir)
    assert inodes > 10
    assert len(state.addresses()) == 2
    attachment.delete().succeeded()
    assert clean(state)


def test_full_at_every_page(runtime: Runtime, pod: Namespace, mounts: Mounts, disk: Path) -> None:
    """As above with room for ever more contents."""
    state = State(disk)
    attachment = runtime.but(wrapper=mounts.wrapper).attachment(pod, runtime.conf(**CONF))
    for pages in range(1, 60):
        mounts.mount_tmpfs(runtime.data_dir, f"mode=700,size={pages * PAGE}")
        answer = attachment.call("ADD")
        if answer.status == 0:
            break
        assert "No space left on device" in answer.error(IO_FAILURE)
        assert pod.links() == {}
        assert clean(state), f"{pages} pages: {state.left()}"
        attachment.delete().succeeded()
        mounts.unmount(runtime.data_dir)
    assert pages > 2
    attachment.delete().succeeded()
    assert clean(state)


def test_full_after_add(runtime: Runtime, pod: Namespace, mounts: Mounts, disk: Path) -> None:
    """CHECK and DEL work on a disk that has not a byte left; a second pod gets a clear error."""
    state = State(disk)
    mounts.mount_tmpfs(runtime.data_dir, f"mode=700,size={64 * PAGE}")
    attachment = runtime.but(wrapper=mounts.wrapper).attachment(pod, runtime.conf(**CONF))
    attachment.add()
    with pytest.raises(OSError, match="No space left"):
        (disk / "filler").write_bytes(b"x" * 64 * PAGE)

    attachment.check().succeeded()
    other = runtime.but(wrapper=mounts.wrapper).attachment(pod, attachment.conf, ifname="net2")
    other.call("ADD").error(IO_FAILURE)
    assert len(state.addresses()) == 2
    attachment.delete().succeeded()

    assert pod.links() == {}
    assert state.left() == ["filler"]


def test_read_only(runtime: Runtime, pod: Namespace, mounts: Mounts, disk: Path) -> None:
    state = State(disk)
    attachment = runtime.but(wrapper=mounts.wrapper).attachment(pod, runtime.conf(**CONF))
    mounts.mount_tmpfs(runtime.data_dir, "mode=700")
    mounts.execute("mount", "-o", "remount,ro", runtime.data_dir)

    assert "Read-only file system" in attachment.call("ADD").error(IO_FAILURE)
    assert pod.links() == {}
    attachment.delete().succeeded()  # it never was

    mounts.execute("mount", "-o", "remount,rw", runtime.data_dir)
    attachment.add()
    mounts.execute("mount", "-o", "remount,ro", runtime.data_dir)
    assert "Read-only file system" in attachment.delete().error(IO_FAILURE)
    mounts.execute("mount", "-o", "remount,rw", runtime.data_dir)
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert clean(state)


def record_of(attachment: Attachment) -> Path:
    (record,) = attachment.runtime.data_dir.glob("attachments/rails/*.json")
    return record


DAMAGE = {
    "empty": b"",
    "truncated": b'{"format": 1, "network": "rails", "containerID": "c-',
    "garbage": bytes(range(256)),
    "another document": b'{"format": 1}',
    "wrong types": json.dumps(
        {"format": 1, "network": 7, "containerID": 7, "ifname": 7, "netns": 7, "netnsID": 7}
        | {"bootID": 7, "cniVersion": 7, "pod": 7, "podUID": 7, "path": 7, "cniArgs": 7}
        | {"complete": 7, "nics": 7}
    ).encode(),
    "list": b"[]",
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_record_and_del(attachment: Attachment, state: State, content: bytes) -> None:
    """The addresses go; the record is put aside for a person to see; the links go with the pod."""
    attachment.add()
    record = record_of(attachment)
    record.write_bytes(content)

    check = attachment.check()
    answer = attachment.delete()

    assert check.status == 1
    assert check.document["code"] in {DECODE_FAILURE, 105}
    answer.succeeded()
    assert "damaged record put aside" in answer.stderr
    assert record.with_suffix(".damaged").read_bytes() == content
    assert state.addresses() == {}
    assert state.records() == {}
    attachment.delete().succeeded()


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_record_and_add_in_a_new_netns(
    attachment: Attachment, namespaces: Namespaces, state: State, content: bytes
) -> None:
    attachment.add()
    record_of(attachment).write_bytes(content)
    execute("ip", "netns", "delete", attachment.pod.name)
    attachment.pod, name = namespaces.make("pod"), f"c-{attachment.pod.name}"
    attachment.container_id = name

    result = attachment.add()

    assert len(result["ips"]) == 2
    assert set(state.addresses().values()) == {f"{name} net1"}
    assert len(state.addresses()) == 2
    attachment.delete().succeeded()
    assert state.addresses() == {}


def test_damaged_record_and_add_while_the_pod_lives(attachment: Attachment, state: State) -> None:
    """What is in the pod must stay reserved, or the next pod gets it too."""
    attachment.add()
    record_of(attachment).write_bytes(b"damaged")

    assert attachment.call("ADD").status == 1

    in_pod = {
        each.split("/")[0] for listed in attachment.pod.addresses().values() for each in listed
    }
    assert in_pod == {"10.1.0.100", "10.2.0.100"}
    assert in_pod <= state.addresses().keys()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\r\n", b"someone else\r\neth0"])
def test_address_file_is_not_what_it_was(
    attachment: Attachment, state: State, content: bytes
) -> None:
    """A damaged one is the record's owner's; one with another owner is left to him."""
    attachment.add()
    file = state.root / "pools/10.1.0.0-24/10.1.0.100"
    file.unlink()
    file.write_bytes(content)

    assert "10.1.0.100" in attachment.check().error(105)
    answer = attachment.delete()

    answer.succeeded()
    if content.startswith(b"someone"):
        assert file.read_bytes() == content
        assert "10.1.0.100" in answer.stderr
    else:
        assert not file.exists()
    assert not (state.root / "pools/10.2.0.0-24/10.2.0.100").exists()
    assert state.records() == {}


def test_missing_address_file(attachment: Attachment, state: State) -> None:
    attachment.add()
    (state.root / "pools/10.2.0.0-24/10.2.0.100").unlink()

    assert "10.2.0.100" in attachment.check().error(105)
    attachment.delete().succeeded()
    assert clean(state)


def test_strange_files_among_the_addresses(attachment: Attachment, state: State) -> None:
    """A name that is taken is taken, whatever is there; GC and ADD survive all of it."""
    pool = state.root / "pools/10.1.0.0-24"
    pool.mkdir(parents=True)
    (pool / "10.1.0.100").write_bytes(b"../../etc/passwd\r\n../x")
    (pool / "10.1.0.101").write_bytes(b"\xff")
    (pool / "last_reserved_ip.10.1.0.100").write_bytes(b"\xffnot an address")
    (pool / "README").write_text("not ours")
    (state.root / "pools/not-a-block").mkdir()

    result = attachment.add()

    assert result["ips"][0]["address"] == "10.1.0.102/24"
    collect = attachment.conf | {"cniVersion": "1.1.0", "cni.dev/valid-attachments": []}
    attachment.runtime.call("GC", collect).succeeded()
    assert attachment.pod.links() == {}
    assert not (pool / "10.1.0.102").exists()
    assert (pool / "README").exists()


def test_folder_in_an_addresss_place(attachment: Attachment, state: State) -> None:
    """It is taken for ADD; GC clears all that it can, and names what it cannot read."""
    folder = state.root / "pools/10.1.0.0-24/10.1.0.100"
    folder.mkdir(parents=True)

    assert attachment.add()["ips"][0]["address"] == "10.1.0.101/24"
    collect = attachment.conf | {"cniVersion": "1.1.0", "cni.dev/valid-attachments": []}
    answer = attachment.runtime.call("GC", collect)

    assert attachment.pod.links() == {}
    assert not folder.with_name("10.1.0.101").exists()
    assert answer.status == 0 or "10.1.0.100" in answer.error(IO_FAILURE)
