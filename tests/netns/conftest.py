"""Fixtures: those of pytest_netns, and the plugin's state on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.netns.delegates import Delegates
from tests.netns.mounts import mount_namespace
from tests.netns.state import State
from tests.pytest_netns import namespaces, node, other_pod, pod, runtime, wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Runtime

__all__ = ["namespaces", "node", "other_pod", "pod", "runtime", "wire"]


NODE_FILE = Path("/etc/cni/multinic/node.json")


@pytest.fixture(scope="session", autouse=True)
def no_node_file() -> None:
    """Refuse a machine whose own file would decide which addresses the tests' nodes give."""
    assert not NODE_FILE.exists(), f"these tests need a machine without {NODE_FILE}"


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.netns)


@pytest.fixture
def state(runtime: Runtime) -> State:
    return State(runtime.data_dir)


@pytest.fixture
def delegates(tmp_path: Path) -> Delegates:
    """Return an empty folder of delegates."""
    folder = tmp_path / "delegates"
    folder.mkdir()
    return Delegates(folder)


@pytest.fixture
def mounts() -> Iterator[Mounts]:
    with mount_namespace() as mounts:
        yield mounts
