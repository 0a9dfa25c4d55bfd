"""SIGKILL while NICs go into pods and come back: a DEL later all is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.handing import ADDRESSES, ROUTES, AsSeen, furnish, is_as_before, restoring
from tests.netns.killing import calling, settle
from tests.netns.tracing import Point, killed_at, traced

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime


@pytest.fixture
def furnished(node: Node) -> Node:
    """Return a node whose rail1 has all that a NIC may have."""
    furnish(node)
    return node


def changes_by_netlink(trace: Path) -> list[Point]:
    """Return the requests of a traced call that change links, addresses, routes or rules."""
    sent = [line for line in trace.read_text().splitlines() if line.startswith("sendto(")]
    return [
        Point("sendto", number, line)
        for number, line in enumerate(sent, start=1)
        if "nlmsg_type=RTM_NEW" in line
        or "nlmsg_type=RTM_DEL" in line
        or "nlmsg_type=RTM_SET" in line
    ]


def test_del_killed_at_every_change(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State, tmp_path: Path
) -> None:
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    attachment.add()
    trace = tmp_path / "trace"
    points = traced(runtime, calling(attachment, "DEL"), trace)
    is_as_before(furnished, before)
    own = changes_by_netlink(trace)
    assert len(own) > len(ADDRESSES) + len(ROUTES)

    for point in [*own, *points]:
        attachment.add()
        killed_at(runtime, calling(attachment, "DEL"), point)
        settle(state)
        attachment.delete().succeeded()
        is_as_before(furnished, before)
        assert state.left() == [], point


def test_add_killed_at_every_change(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State, tmp_path: Path
) -> None:
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    points = traced(runtime, calling(attachment, "ADD"), tmp_path / "trace")
    attachment.delete().succeeded()

    for point in points:
        killed_at(runtime, calling(attachment, "ADD"), point)
        settle(state)
        attachment.delete().succeeded()
        is_as_before(furnished, before)
        assert pod.links() == {}, point
        assert state.left() == [], point
