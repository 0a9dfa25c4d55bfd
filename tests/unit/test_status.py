"""STATUS and the store: it says what an ADD would say, and writes nothing."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from multinic_cni.errors import LIMITED_CONNECTIVITY, NOT_AVAILABLE, CniError, io_failure
from multinic_cni.verbs import status
from tests.unit.faults import Fault
from tests.unit.pretended_node import PretendedNode
from tests.unit.test_crowds import NET, add, rail, refusal
from tests.unit.verbs import invocation

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

WELL = (0, "")


def status_of(
    node: PretendedNode, patch: pytest.MonkeyPatch, conf: dict[str, Any]
) -> tuple[int, str]:
    """Send STATUS; return the error's code and message, the code is 0 where all is well."""
    patch.setattr(status, "chain_confs", lambda *_arguments: ())
    words = {"cniVersion": "1.1.0", "type": "multinic-cni", "plugin": {"type": "macvlan"}}
    try:
        status.status(invocation("STATUS", ifname=""), {**words, "dataDir": str(node.data), **conf})
    except CniError as error:
        return error.code, error.message
    return WELL


def shared(bits: int, index: int) -> dict[str, Any]:
    """Return a conf by which the node has a sixteenth, or another part, of a subnet."""
    words = {"type": "multi-nic-ipam", "hostBlock": bits}
    return {
        "name": "rails",
        "masterNets": [NET],
        "subnet": "192.168.0.0/16",
        "hosts": {"node-a": index},
        "ipam": words,
    }


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretendedNode:
    return PretendedNode(tmp_path, monkeypatch)


@pytest.fixture
def node_a(node: PretendedNode, monkeypatch: pytest.MonkeyPatch) -> PretendedNode:
    monkeypatch.setattr("multinic_cni.host.name", lambda: "node-a")
    return node


def files_of(node: PretendedNode) -> set[str]:
    """Return all but locks and hints."""
    found = (str(each.relative_to(node.data)) for each in node.data.rglob("*") if each.is_file())
    return {each for each in found if "lock" not in each and not each.startswith("turns")}


def test_status_refuses_as_add_does_where_a_share_moves(
    node_a: PretendedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(node_a, "a", shared(4, 3))
    before = files_of(node_a)
    shares = (node_a.data / "shares/rails").read_bytes()
    code, told = status_of(node_a, monkeypatch, shared(4, 5))
    assert NOT_AVAILABLE == code
    assert told == refusal(lambda: add(node_a, "b", shared(4, 5))).message
    assert "the share moves from 192.168.48.0/20 to 192.168.80.0/20" in told
    assert before == files_of(node_a)
    assert shares == (node_a.data / "shares/rails").read_bytes()
    node_a.stop_pod("a")
    assert WELL == status_of(node_a, monkeypatch, shared(4, 5))
    assert shares == (node_a.data / "shares/rails").read_bytes()


def test_status_of_a_node_that_has_lost_its_nics(
    node: PretendedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = {**rail(4, 9), "attachPolicy": {"minNics": 2}}
    code, told = status_of(node, monkeypatch, conf)
    assert (LIMITED_CONNECTIVITY, True) == (code, "2 NICs needed, 1 usable" in told)


@pytest.mark.parametrize("trouble", ["class", "netlink", "node.json"])
def test_status_of_a_node_whose_nics_cannot_be_told(
    node: PretendedNode, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """Pods that are attached have what they had: nothing is known to have gone."""
    conf = rail(4, 9)
    error = io_failure("list the node's NICs", OSError(errno.ENOBUFS, "No buffer space"))
    match trouble:
        case "class":
            conf["attachPolicy"] = {"class": "fast"}
            expected = "unknown class 'fast'"
        case "netlink":
            monkeypatch.setattr("multinic_cni.host.nics", Mock(side_effect=error))
            expected = "No buffer space"
        case _:
            monkeypatch.setattr("multinic_cni.host.PATH", str(node.data / "node.json"))
            node.data.mkdir()
            (node.data / "node.json").write_text("{")
            conf["attachPolicy"] = {"class": "fast"}
            expected = "node.json is not JSON"
    code, told = status_of(node, monkeypatch, conf)
    assert (NOT_AVAILABLE, True) == (code, expected in told)


def test_status_alone_remembers_no_share(
    node_a: PretendedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WELL == status_of(node_a, monkeypatch, shared(4, 3))
    assert {"boot"} == files_of(node_a)


def test_status_of_a_store_that_cannot_be_used(
    node: PretendedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.data.write_text("no folder")
    code, told = status_of(node, monkeypatch, rail(4, 9))
    assert (NOT_AVAILABLE, True) == (code, "Not a directory" in told)


def test_status_of_a_store_that_cannot_be_written(
    node: PretendedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WELL == status_of(node, monkeypatch, rail(4, 9))
    node.data.joinpath("pools/.reservation").mkdir()
    code, told = status_of(node, monkeypatch, rail(4, 9))
    assert NOT_AVAILABLE == code
    assert "cannot use the address store: Is a directory" in told


def test_status_where_the_boot_marker_cannot_be_read(
    node: PretendedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    (node.data / "boot").mkdir(parents=True)
    assert WELL == status_of(node, monkeypatch, rail(4, 9))


def test_status_of_a_full_disk(node: PretendedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files can still be made, but have no room for a byte."""
    conf = {**rail(4, 9), "logLevel": "error"}
    assert WELL == status_of(node, monkeypatch, conf)
    with Fault(("write",), 1, errno.ENOSPC):
        code, told = status_of(node, monkeypatch, conf)
    assert (NOT_AVAILABLE, True) == (code, "No space left on device" in told)
    assert WELL == status_of(node, monkeypatch, conf)
