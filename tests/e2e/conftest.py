"""Fixtures: a node, podman on it, and what must be gone when its containers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.node import node_with_rails
from tests.e2e.podman import Podman

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.node import Namespaces


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.e2e)


@pytest.fixture
def node() -> Iterator[Namespaces]:
    with node_with_rails() as node:
        yield node


@pytest.fixture
def podman(node: Namespaces, tmp_path: Path) -> Iterator[Podman]:
    podman = Podman(node, tmp_path)
    podman.prepare()
    yield podman
    podman.remove("--all")
