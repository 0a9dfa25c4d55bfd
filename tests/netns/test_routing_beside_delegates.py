"""Routes that the delegates set, by ipam.routes of all kinds, beside those that are ours to set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.netns.confs import ranges
from tests.netns.in_place import everything, routes
from tests.pytest_netns import rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Namespace, Runtime

TWICE = [{"dst": "198.18.0.0/15", "gw": f"10.{rail}.0.254"} for rail in (1, 2)]


def test_nics_tables_have_them_too(runtime: Runtime, pod: Namespace) -> None:
    """What an address sends leaves by its NIC, although the main table has another one first."""
    conf = ranges(1, 2)
    ipam = conf["ipam"] | {
        "routes": [{"dst": "203.0.113.0/24", "gw": "10.1.0.253"}, {"dst": "198.51.100.0/24"}]
    }
    before = everything(pod)
    conf |= {"ipam": ipam, "routing": {"sourceRules": True}}
    attachment = runtime.attachment(pod, runtime.conf(**conf))
    attachment.add()
    assert routes(pod) == {
        "10.1.0.0/24 dev net1 proto kernel scope link src 10.1.0.100",
        "10.2.0.0/24 dev net1-1 proto kernel scope link src 10.2.0.100",
        "203.0.113.0/24 via 10.1.0.253 dev net1",
        "198.51.100.0/24 dev net1",
        "198.51.100.0/24 dev net1-1",
        "10.1.0.0/24 dev net1 table 1000 proto static scope link src 10.1.0.100",
        "203.0.113.0/24 via 10.1.0.253 dev net1 table 1000 proto static",
        "198.51.100.0/24 dev net1 table 1000 proto static",
        "10.2.0.0/24 dev net1-1 table 1001 proto static scope link src 10.2.0.100",
        "198.51.100.0/24 dev net1-1 table 1001 proto static",
    }
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before


def test_network_behind_the_gateway(runtime: Runtime, pod: Namespace) -> None:
    """Nobody but the node is on the link of ptp, which has taken the kernel's route away."""
    conf = ranges(1)
    (own,) = conf["ipam"]["ranges"][rail_net(1)]
    own["gateway"] = "10.1.0.254"
    conf |= {"plugin": {"type": "ptp"}, "routing": {"sourceRules": True}}
    attachment = runtime.attachment(pod, runtime.conf(**conf))
    attachment.add()
    assert {line for line in routes(pod) if "table" in line} == {
        "10.1.0.254 dev net1 table 1000 proto static scope link src 10.1.0.100",
        "10.1.0.0/24 via 10.1.0.254 dev net1 table 1000 proto static src 10.1.0.100",
        "default via 10.1.0.254 dev net1 table 1000 proto static",
    }
    attachment.check().succeeded()
    attachment.delete().succeeded()


def test_multipath_route_over_masters_with_an_ipam_each(runtime: Runtime, pod: Namespace) -> None:
    conf = {
        "masterNets": [rail_net(1), rail_net(2)],
        "ipam": {
            "type": "multi-config",
            "ipam_type": "static",
            "args": {
                f"rail{rail}": {"addresses": [{"address": f"10.{rail}.0.50/24"}]} for rail in (1, 2)
            },
            "routes": TWICE,
        },
    }
    before = everything(pod)
    attachment = runtime.attachment(pod, runtime.conf(**conf))
    attachment.add()
    assert (
        "198.18.0.0/15 proto static nexthop via 10.1.0.254 dev net1 weight 1"
        " nexthop via 10.2.0.254 dev net1-1 weight 1"
    ) in routes(pod)
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before


def test_one_destination_twice_in_another_ipams_block(
    runtime: Runtime, pod: Namespace, tmp_path: Path
) -> None:
    """The delegate does with it what it has always done."""
    ipam: dict[str, Any] = {
        "type": "host-local",
        "dataDir": str(tmp_path / "host-local"),
        "subnet": rail_net(1),
        "rangeStart": "10.1.0.50",
        "routes": [{"dst": "198.18.0.0/15", "gw": f"10.1.0.{host}"} for host in (253, 254)],
    }
    before = everything(pod)
    conf = runtime.conf(masterNets=[rail_net(1)], ipam=ipam)
    attachment = runtime.attachment(pod, conf)
    attachment.add()
    assert routes(pod) == {
        "10.1.0.0/24 dev net1 proto kernel scope link src 10.1.0.50",
        "198.18.0.0/15 via 10.1.0.253 dev net1",
        "198.18.0.0/15 via 10.1.0.254 dev net1",
    }
    attachment.delete().succeeded()
    assert everything(pod) == before
