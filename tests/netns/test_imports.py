"""Addresses of pods that host-local still serves, once they were taken over."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.netns.tools import findings, tool

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Namespaces, Runtime

NO_ADDRESS = 101
HELD = {"10.1.0.100": "old eth0", "10.1.0.101": "older eth0"}


@pytest.fixture
def old_folder(runtime: Runtime, tmp_path: Path, state: State) -> Path:
    """Return a folder as host-local leaves it, whose two addresses are all that our pool has."""
    folder = tmp_path / "networks" / "rails"
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    (folder / "last_reserved_ip.0").write_text("10.1.0.101")
    for address, owner in HELD.items():
        (folder / address).write_bytes(owner.replace(" ", "\r\n").encode())
    tool(runtime, "ipam", "import", str(folder), "--subnet", "10.1.0.0/24").lines()
    assert HELD == state.addresses()
    return folder


def test_full_pool_gives_what_host_local_has_freed_since(
    runtime: Runtime, namespaces: Namespaces, state: State, old_folder: Path
) -> None:
    conf = runtime.conf(**ranges(1, last=101))
    pod = namespaces.make("pod")
    runtime.attachment(pod, conf).call("ADD").error(NO_ADDRESS)
    (old_folder / "10.1.0.101").unlink()
    result = runtime.attachment(pod, conf).add()
    assert "10.1.0.101/24" == result["ips"][0]["address"]
    assert HELD["10.1.0.100"] == state.addresses()["10.1.0.100"]


def test_nothing_is_freed_while_the_folder_is_away(
    runtime: Runtime, namespaces: Namespaces, state: State, old_folder: Path
) -> None:
    """An admin who tidies up too early must not give living pods' addresses to others."""
    shutil.rmtree(old_folder)
    pod = namespaces.make("pod")
    runtime.attachment(pod, runtime.conf(**ranges(1, last=101))).call("ADD").error(NO_ADDRESS)
    tool(runtime, "gc").lines()
    runtime.call("GC", runtime.conf(**ranges(1)) | {"cni.dev/valid-attachments": []}).succeeded()
    assert HELD == state.addresses()
    assert findings(runtime) == set()


def test_first_call_after_a_boot_frees_them(
    runtime: Runtime, namespaces: Namespaces, state: State, old_folder: Path
) -> None:
    shutil.rmtree(old_folder)
    state.reboot()
    conf = runtime.conf(**ranges(1, last=101))
    runtime.attachment(namespaces.make("pod"), conf).add()
    assert 1 == len(state.addresses())
    assert not list((state.root / "imported").iterdir())


def test_full_pool_leaves_alone_what_has_no_record(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    """A stranger that works in the folder may know why; GC and `gc` take it for nobody's."""
    folder = state.root / "pools" / "10.1.0.0-24"
    folder.mkdir(parents=True)
    (folder / "10.1.0.100").write_bytes(b"stranger\r\neth0")
    conf = runtime.conf(**ranges(1, last=100))
    runtime.attachment(namespaces.make("pod"), conf).call("ADD").error(NO_ADDRESS)
    assert {"10.1.0.100": "stranger eth0"} == state.addresses()
    tool(runtime, "gc").lines()
    runtime.attachment(namespaces.make("pod"), conf).add()
