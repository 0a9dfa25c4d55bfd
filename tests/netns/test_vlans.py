"""VLANs below delegates, as far as any kernel goes; tests/vm has them on one that knows VLANs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.pytest_netns import EXECUTABLE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

IO_FAILURE, NO_NICS = 5, 100
VLAN = {"vlan": {"id": 100}, "cniVersion": "1.0.0"}


def kernel_has_vlans(node: Node) -> bool:
    try:
        node.ip("link add probe link rail1 type vlan id 9", "link delete probe")
    except AssertionError as error:
        assert "Unknown device type" in str(error)  # noqa: PT017 - any other cause is a failure
        return False
    return True


def test_kernel_without_vlans_says_so(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    before = node.facts()
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2) | VLAN))

    if kernel_has_vlans(node):
        attachment.add()
        assert {"rail1.100", "rail2.100"} <= node.links().keys()
        attachment.check().succeeded()
    else:
        answer = attachment.call("ADD")
        assert "cannot make VLAN 100 on NIC rail1: Operation not supported" in answer.error(
            IO_FAILURE
        )
        assert "modprobe 8021q" in answer.document["details"]
        assert state.left() == []
    attachment.delete().succeeded()

    assert node.facts() == before
    assert pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize("ipam", [True, False], ids=["addresses", "none"])
def test_link_of_that_name_is_left_alone(
    runtime: Runtime, node: Node, pod: Namespace, state: State, *, ipam: bool
) -> None:
    node.ip("link add rail1.100 link rail4 type macvlan", "link set rail1.100 up")
    before = node.facts()
    keys = ranges(1) | VLAN | ({} if ipam else {"ipam": None})
    attachment = runtime.attachment(pod, runtime.conf(**keys))

    message = attachment.call("ADD").error(NO_NICS)

    assert "link rail1.100 is no VLAN but a macvlan, not VLAN 100 on rail1" in message
    assert node.facts() == before
    assert state.left() == []
    attachment.delete().succeeded()


def test_explain_names_the_vlan(runtime: Runtime, node: Node, tmp_path: Path) -> None:
    file = tmp_path / "conf"
    file.write_text(json.dumps(runtime.conf(**ranges(1) | VLAN)))
    shown = json.loads(node.execute(EXECUTABLE, "explain", "--json", file))
    assert '"master": "rail1.100"' in json.dumps(shown)
    assert node.links().keys() == {"rail1", "rail2", "rail3", "rail4"}
