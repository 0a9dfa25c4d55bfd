"""Several attachments of one pod, and tables that are taken: each keeps to its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.in_place import RULES, everything, routes, rules
from tests.netns.traffic import leaves
from tests.pytest_netns import rail_net

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Runtime

ROUTING_FAILED = 106
TABLE_OF_RAIL_1 = {
    "172.20.1.0/24 dev net1 table {} proto static scope link src 172.20.1.1",
    "default via 172.20.1.254 dev net1 table {} proto static",
}
TABLE_OF_RAIL_2 = {
    "172.21.1.0/24 dev net1-1 table {} proto static scope link src 172.21.1.1",
    "default via 172.21.1.254 dev net1-1 table {} proto static",
}
TABLE_OF_RAIL_3 = {
    "172.22.1.0/24 dev net2 table {} proto static scope link src 172.22.1.1",
    "default via 172.22.1.254 dev net2 table {} proto static",
}
TABLE_OF_RAIL_4 = {
    "172.23.1.0/24 dev net2-1 table {} proto static scope link src 172.23.1.1",
    "default via 172.23.1.254 dev net2-1 table {} proto static",
}


def numbered(lines: set[str], table: int) -> set[str]:
    return {line.format(table) for line in lines}


def tables(pod: Namespace) -> set[str]:
    return {line for line in routes(pod) if " table " in line}


def on_rails(runtime: Runtime, pod: Namespace, name: str, *rails: int) -> Attachment:
    """Return an attachment of a network of its own on these rails, with rules by source."""
    conf: dict[str, Any] = leaves(1)
    nets = [rail_net(rail) for rail in rails]
    ranges = {net: conf["ipam"]["ranges"][net][:1] for net in nets}
    conf |= {"masterNets": nets, "ipam": conf["ipam"] | {"ranges": ranges}}
    return runtime.attachment(
        pod, runtime.conf(name=name, routing={"sourceRules": True}, **conf), ifname=name
    )


@pytest.mark.parametrize("first_to_go", ["net1", "net2"])
def test_two_networks_of_one_pod(runtime: Runtime, pod: Namespace, first_to_go: str) -> None:
    before = everything(pod)
    attachments = {
        "net1": on_rails(runtime, pod, "net1", 1, 2),
        "net2": on_rails(runtime, pod, "net2", 3, 4),
    }
    own = {
        "net1": numbered(TABLE_OF_RAIL_1, 1000) | numbered(TABLE_OF_RAIL_2, 1001),
        "net2": numbered(TABLE_OF_RAIL_3, 2000) | numbered(TABLE_OF_RAIL_4, 2001),
    }
    own_rules = {
        "net1": {
            "1001: from 172.20.1.1 lookup 1000 proto static",
            "1001: from 172.21.1.1 lookup 1001 proto static",
        },
        "net2": {
            "1001: from 172.22.1.1 lookup 2000 proto static",
            "1001: from 172.23.1.1 lookup 2001 proto static",
        },
    }
    for attachment in attachments.values():
        attachment.add()
    assert tables(pod) == own["net1"] | own["net2"]
    assert rules(pod) == RULES | own_rules["net1"] | own_rules["net2"]

    attachments.pop(first_to_go).delete().succeeded()

    ((left, other),) = attachments.items()
    assert tables(pod) == own[left]
    assert rules(pod) == RULES | own_rules[left]
    other.check().succeeded()
    other.delete().succeeded()
    assert everything(pod) == before


def test_the_rail_has_its_table_again(runtime: Runtime, pod: Namespace) -> None:
    """After a DEL, and while another network has the second block of tables."""
    first, second = (
        on_rails(runtime, pod, "net1", 1, 2),
        on_rails(runtime, pod, "net2", 3, 4),
    )
    first.add()
    second.add()
    first.delete().succeeded()
    first.add()
    own = numbered(TABLE_OF_RAIL_1, 1000) | numbered(TABLE_OF_RAIL_2, 1001)
    # Addresses never given come first: the second ones of this network.
    own = {line.removesuffix("1") + "2" if " src " in line else line for line in own}
    expected = own | numbered(TABLE_OF_RAIL_3, 2000) | numbered(TABLE_OF_RAIL_4, 2001)
    assert tables(pod) == expected


@pytest.mark.parametrize(
    "taker",
    ["route add 198.51.100.0/24 dev lo table 1001", "rule add from 198.51.100.1 table 1001"],
)
def test_table_of_somebody_else(runtime: Runtime, pod: Namespace, taker: str) -> None:
    pod.ip(taker)
    before = everything(pod)
    attachment = on_rails(runtime, pod, "net1", 1, 2)
    attachment.add()
    expected = numbered(TABLE_OF_RAIL_1, 2000) | numbered(TABLE_OF_RAIL_2, 2001)
    assert tables(pod) - before["routes"]["-4"] == expected
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before


def test_missing_rail_shifts_no_table(runtime: Runtime, pod: Namespace) -> None:
    """Rail 2 is at the second place of the conf, whatever else the pod has."""
    attachment = on_rails(runtime, pod, "net1", 1, 2)
    attachment.conf = attachment.conf | {"args": {"cni": {"masters": ["rail2"]}}}
    attachment.add()
    assert tables(pod) == {
        line.replace("net1-1", "net1") for line in numbered(TABLE_OF_RAIL_2, 1001)
    }


def test_what_another_network_has_set_already(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """The second one is refused, and takes nothing of the first one's back."""
    unreachable = {"crossRail": {"supernet": "172.16.0.0/12", "via": "none"}}
    first, second = on_rails(runtime, pod, "net1", 1, 2), on_rails(runtime, pod, "net2", 3, 4)
    first.conf = first.conf | {"routing": unreachable}
    second.conf = second.conf | {"routing": unreachable}
    first.add()
    before = everything(pod)

    message = second.call("ADD").error(ROUTING_FAILED)

    assert "172.16.0.0/12" in message
    assert everything(pod) == before
    first.check().succeeded()
    assert state.records().keys() == {f"c-{pod.name}:net1"}
