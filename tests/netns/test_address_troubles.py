"""Addresses in trouble: dead pods in the way, full disks, failing delegates, moving addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.netns.asking import asking
from tests.netns.confs import ranges
from tests.netns.hosts import foreign_host, probed
from tests.netns.state import State
from tests.netns.tools import tool
from tests.pytest_netns import rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Attachment, Document, Namespace, Namespaces, Node, Runtime

BAD_CONF, NOT_AVAILABLE, NO_ADDRESS, DELEGATE_FAILED = 7, 50, 101, 104
PAGE = 4096


def added(runtime: Runtime, namespaces: Namespaces, conf: Document) -> Attachment:
    attachment = runtime.attachment(namespaces.make("pod"), conf)
    attachment.add()
    return attachment


def address_of(attachment: Attachment) -> str:
    (ip,) = (attachment.result or {})["ips"]
    return str(ip["address"]).partition("/")[0]


def with_ipam(conf: Document, **words: object) -> Document:
    return conf | {"ipam": conf["ipam"] | words}


@pytest.mark.parametrize("nics", [1, 2])
def test_failing_delegate_does_not_use_a_resting_pool_up(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State, nics: int
) -> None:
    """Three addresses, five tries: each says what the delegate says, and not that the pool is full.

    With two NICs the first one's delegate succeeds each time.
    """
    delegates.write_failing("exit 3", nic=f"rail{nics}")
    runtime = delegates.used_by(runtime)
    rails = range(1, nics + 1)
    conf = runtime.conf(**with_ipam(ranges(*rails, last=102), cooldown=600))
    attachment = runtime.attachment(pod, conf)
    for _ in range(5):
        assert f"NIC rail{nics}" in attachment.call("ADD").error(DELEGATE_FAILED)
        assert state.left() == []
        assert state.addresses() == {}
    delegates.write("macvlan", "real")
    attachment.add()
    attachment.delete().succeeded()
    assert pod.links() == {}


def test_address_that_a_pod_has_used_rests(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**with_ipam(ranges(1, last=100), cooldown=600))
    added(runtime, namespaces, conf).delete().succeeded()
    other = runtime.attachment(namespaces.make("pod"), conf)
    assert "1 rest for up to 600 s" in other.call("ADD").error(NO_ADDRESS)
    assert state.left() == []


def test_two_networks_of_one_block_and_a_late_del(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    """A container whose name comes again, in a conf with another name: it keeps its address."""
    conf = runtime.conf(**ranges(1, last=100))
    old = added(runtime, namespaces, conf)
    old = replace(old, container_id=f"c-{old.pod.name}")
    namespaces.remove(old.pod)
    new = replace(old, pod=namespaces.make("pod"), conf=conf | {"name": "renamed"})
    new.add()
    held = {"10.1.0.100": f"{old.container_id} net1"}
    assert state.addresses() == held

    old.delete(CNI_NETNS="").succeeded()

    assert state.addresses() == held
    new.check().succeeded()
    collect = runtime.conf(**ranges(1, last=100), **{"cni.dev/valid-attachments": []})
    runtime.call("GC", collect).succeeded()
    assert state.addresses() == held
    new.delete().succeeded()
    assert state.left() == []


def test_requested_address_of_a_dead_pod(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1))
    living, dead = added(runtime, namespaces, conf), added(runtime, namespaces, conf)
    namespaces.remove(dead.pod)
    heir = namespaces.make("pod")

    error = asking(runtime, heir, conf, address_of(living)).call("ADD").error(NO_ADDRESS)
    attachment = asking(runtime, heir, conf, address_of(dead))
    attachment.add()

    assert f"{address_of(living)} is taken" in error
    assert address_of(attachment) == address_of(dead)
    assert state.addresses().keys() == {address_of(living), address_of(dead)}
    living.check().succeeded()
    attachment.check().succeeded()


@pytest.mark.parametrize("lives", [True, False])
def test_new_block_over_that_of_other_pods(
    runtime: Runtime, namespaces: Namespaces, state: State, *, lives: bool
) -> None:
    conf = runtime.conf(**ranges(1))
    listed = {rail_net(1): [{"subnet": "10.1.0.128/25", "rangeStart": "10.1.0.200"}]}
    old = added(runtime, namespaces, conf | with_ipam(conf, ranges=listed))
    if not lives:
        namespaces.remove(old.pod)
    new = runtime.attachment(namespaces.make("pod"), conf)
    if lives:
        message = new.call("ADD").error(BAD_CONF)
        assert "overlaps pool 10.1.0.128/25, which has addresses in use" in message
        old.check().succeeded()
    else:
        new.add()
        new.check().succeeded()
        assert state.addresses().keys() == {"10.1.0.100"}
        assert {"10.1.0.0-24"} == {each.name for each in (state.root / "pools").iterdir()}


def test_conflict_where_only_a_dead_pods_address_is_left(
    runtime: Runtime, namespaces: Namespaces, node: Node, state: State
) -> None:
    """The foreign host has the pool's first address; another pod, which is dead, the second."""
    conf = ranges(1, last=101)
    first, dead = (added(runtime, namespaces, runtime.conf(**conf)) for _ in range(2))
    first.delete().succeeded()
    namespaces.remove(dead.pod)
    foreign_host(namespaces, node)

    new = added(runtime, namespaces, runtime.conf(**probed(conf, "next")))

    assert address_of(new) == "10.1.0.101"
    assert state.addresses() == {"10.1.0.101": f"c-{new.pod.name} net1"}
    assert [each.name for each in (state.root / "quarantine").iterdir()] == ["10.1.0.100"]


def test_requested_address_that_a_foreign_host_has(
    runtime: Runtime, namespaces: Namespaces, node: Node, pod: Namespace, state: State
) -> None:
    """No other will do for a pod that asks for this one."""
    foreign_host(namespaces, node)
    conf = runtime.conf(**probed(ranges(1), "next"))

    message = asking(runtime, pod, conf, "10.1.0.100").call("ADD").error(NO_ADDRESS)

    assert "somebody else on the network has the address" in message
    assert pod.links() == {}
    assert state.addresses() == {}
    assert [each.name for each in (state.root / "quarantine").iterdir()] == ["10.1.0.100"]


def test_status_of_a_disk_without_a_byte_of_room(runtime: Runtime, mounts: Mounts) -> None:
    """It still has inodes, so that an empty file can be made."""
    runtime.data_dir.mkdir()
    mounts.mount_tmpfs(runtime.data_dir, f"mode=700,size={16 * PAGE}")
    runtime = runtime.but(wrapper=mounts.wrapper)
    conf = runtime.conf(**ranges(1))
    runtime.call("STATUS", conf).succeeded()
    filler = mounts.seen(runtime.data_dir) / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(b"x" * 16 * PAGE)

    assert "No space left on device" in runtime.call("STATUS", conf).error(NOT_AVAILABLE)

    filler.unlink()
    runtime.call("STATUS", conf).succeeded()
    assert State(mounts.seen(runtime.data_dir)).left() == []


def test_backlog_of_a_torn_disk_costs_nothing(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1))
    dead = added(runtime, namespaces, conf)
    namespaces.remove(dead.pod)
    line = f"rails/c-{dead.pod.name}:net1".encode()
    (state.root / "backlog").write_bytes(
        b"../x/y:net1\n" + line + b"\n" + bytes(64) + b"\n./.\na/z/c/y\nrails/c-"
    )
    for _ in range(4):
        added(runtime, namespaces, conf)
    assert not (state.root / "backlog").exists()
    assert f"c-{dead.pod.name}:net1" not in state.records()
    assert len(state.addresses()) == 4


def test_import_as_the_first_call_after_a_boot(
    runtime: Runtime, namespaces: Namespaces, state: State, tmp_path: Path
) -> None:
    conf = runtime.conf(**ranges(1, first=100, last=102))
    namespaces.remove(added(runtime, namespaces, conf).pod)
    state.reboot()
    source = tmp_path / "networks"
    source.mkdir()
    (source / "10.1.0.101").write_bytes(b"d0d0\r\neth0")
    (source / "last_reserved_ip.0").write_text("10.1.0.101")
    (source / "lock").write_text("")

    tool(runtime, "ipam", "import", str(source), "--subnet", rail_net(1)).lines()
    given = [address_of(added(runtime, namespaces, conf)) for _ in range(2)]

    assert sorted(given) == ["10.1.0.100", "10.1.0.102"]
    assert state.addresses()["10.1.0.101"] == "d0d0 eth0"
    message = runtime.attachment(namespaces.make("pod"), conf).call("ADD").error(NO_ADDRESS)
    assert "3 of its 3 addresses are reserved" in message
    (source / "10.1.0.101").unlink()
    assert address_of(added(runtime, namespaces, conf)) == "10.1.0.101"


@pytest.mark.parametrize("thing", ["folder", "link"])
def test_boot_with_a_thing_that_is_no_file_among_the_addresses(
    runtime: Runtime, namespaces: Namespaces, state: State, thing: str
) -> None:
    conf = runtime.conf(**ranges(1, first=99, last=101))
    for each in [added(runtime, namespaces, conf) for _ in range(2)]:
        namespaces.remove(each.pod)
    place = state.root / "pools/10.1.0.0-24/10.1.0.99"
    place.unlink()
    if thing == "folder":
        place.mkdir()
    else:
        place.symlink_to("/etc/hostname")
    state.reboot()

    fresh = [added(runtime, namespaces, conf) for _ in range(2)]

    assert sorted(map(address_of, fresh)) == ["10.1.0.100", "10.1.0.101"]
    assert place.is_dir() == (thing == "folder")


def test_check_after_the_bridge_of_the_node_has_another_mac(
    runtime: Runtime, node: Node, namespaces: Namespaces
) -> None:
    """It takes the lowest of its ports: that of the next pod, for instance."""
    conf = runtime.conf(plugin={"type": "bridge", "bridge": "pods"}, **ranges(1))
    first = added(runtime, namespaces, conf)
    before = node.links()["pods"]["address"]
    node.ip(
        "link add port0 type veth peer name port1",
        "link set port0 address 02:00:00:00:00:01",
        "link set port0 master pods",
    )
    assert node.links()["pods"]["address"] != before
    first.check().succeeded()
    first.delete().succeeded()
