"""Which addresses of the node's NICs number it, in the kernel's own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.pytest_netns import EXECUTABLE, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Document, Namespace, Node, Runtime

BAD_CONF, NOT_AVAILABLE = 7, 50
DERIVING: dict[str, Any] = {
    "masterNets": [rail_net(1)],
    "subnet": "192.168.0.0/16",
    "ipam": {"type": "multi-nic-ipam", "hostBlock": 8},
}


def renumber(node: Node, *addresses: str) -> None:
    """Give the node's first rail these addresses, in this order."""
    node.ip("address flush dev rail1", *(f"address add {each} dev rail1" for each in addresses))


def explained(node: Node, folder: Path, conf: Document) -> Document:
    file = folder / "rails.conf"
    file.write_text(json.dumps(conf))
    (found,) = json.loads(node.execute(EXECUTABLE, "explain", "--json", file))
    ((share,),) = [nic["shares"] for nic in found["nics"]]
    return dict(share)


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.1.0.7/24", "10.1.0.200/24"],
        ["10.1.0.200/32", "10.1.0.7/24"],
        ["10.1.0.200/24 preferred_lft 0", "10.1.0.7/25"],
        ["10.1.0.7/32"],
        ["fd00:1::9/64", "10.1.0.7/32"],
    ],
    ids=["secondary", "moving one first", "deprecated first", "only a single host's", "and IPv6"],
)
def test_address_that_stays_numbers_the_node(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path, addresses: list[str]
) -> None:
    renumber(node, *addresses)
    conf = runtime.conf(**DERIVING)

    share = explained(node, tmp_path, conf)
    attachment = runtime.attachment(pod, conf)
    attachment.add()

    assert (share["hostIndex"], share["source"]) == (7, "10.1.0.7 in 10.1.0.0/24")
    assert attachment.result is not None
    assert [ip["address"] for ip in attachment.result["ips"]] == ["192.168.7.1/16"]


def test_node_with_several_addresses_that_stay_has_no_number(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    """A second one with another length is no secondary one to the kernel."""
    renumber(node, "10.1.0.9/25", "10.1.0.7/24")
    conf = runtime.conf(**DERIVING)

    message = runtime.attachment(pod, conf).call("ADD").error(BAD_CONF)

    assert "several addresses in 10.1.0.0/24: 10.1.0.7, 10.1.0.9" in message
    assert message in runtime.call("STATUS", conf).error(NOT_AVAILABLE)
    assert pod.links() == {}
