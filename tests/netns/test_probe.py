"""The conflict probe of an ADD: foreign hosts and nodes that have the addresses, on real wires."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import SHARED_SUBNET, ranges
from tests.netns.hosts import FOREIGN_HOST, foreign_host, mac_of, probed
from tests.pytest_netns import RAILS, Runtime, on_rail, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Document, Namespace, Namespaces, Node

NO_ADDRESS, TRY_AGAIN = 101, 11
POLICIES = ("next", "warn", "fail", "off")
ROUNDS = 5


@pytest.fixture
def foreign(namespaces: Namespaces, node: Node) -> Node:
    return foreign_host(namespaces, node)


def left(state: State) -> list[str]:
    """Return what is left of attachments: a quarantine outlives them by intention."""
    return [file for file in state.left() if not file.startswith("quarantine/")]


def tentative(pod: Namespace) -> list[Document]:
    """Return the addresses that IPv6 still asks for itself; until then they are mute."""
    addresses = [each for link in pod.show("address") for each in link["addr_info"]]
    return [each for each in addresses if each["scope"] == "global" and "tentative" in each]


def test_address_of_a_foreign_host_is_not_given(
    runtime: Runtime, pod: Namespace, foreign: Node, state: State
) -> None:
    attachment = runtime.attachment(pod, runtime.conf(**probed(ranges(1, 2), "next")))

    answer = attachment.call("ADD")

    assert [ip["address"] for ip in answer.result()["ips"]] == ["10.1.0.101/24", "10.2.0.101/24"]
    for nic, address in (("rail1", "10.1.0.100"), ("rail2", "10.2.0.100")):
        (line,) = [line for line in answer.stderr.splitlines() if address in line]
        assert nic in line
        assert mac_of(foreign, nic) in line
    assert state.addresses().keys() == {"10.1.0.101", "10.2.0.101"}
    attachment.delete().succeeded()
    assert left(state) == []


def test_only_the_address_that_is_taken_is_replaced(
    runtime: Runtime, pod: Namespace, foreign: Node
) -> None:
    foreign.ip(f"address delete {on_rail(2, FOREIGN_HOST)}/24 dev rail2")
    result = runtime.attachment(pod, runtime.conf(**probed(ranges(1, 2, 3), "next"))).add()
    addresses = ["10.1.0.101/24", "10.2.0.100/24", "10.3.0.101/24"]
    assert [ip["address"] for ip in result["ips"]] == addresses


def test_fail_names_address_nic_and_mac_and_leaves_nothing(
    runtime: Runtime, node: Node, pod: Namespace, foreign: Node, state: State
) -> None:
    before = node.facts()
    conf = runtime.conf(**probed(ranges(1, 2), "fail"))

    message = runtime.attachment(pod, conf).call("ADD").error(NO_ADDRESS)

    for nic, address in (("rail1", "10.1.0.100"), ("rail2", "10.2.0.100")):
        assert nic in message
        assert address in message
        assert mac_of(foreign, nic) in message
    assert left(state) == []
    assert pod.links() == {}
    assert node.facts() == before


@pytest.mark.parametrize("policy", ["warn", "off"])
def test_warn_and_off_keep_the_address(
    runtime: Runtime, pod: Namespace, foreign: Node, policy: str
) -> None:
    conf = runtime.conf(**probed(ranges(1), policy))

    answer = runtime.attachment(pod, conf).call("ADD")

    assert [ip["address"] for ip in answer.result()["ips"]] == ["10.1.0.100/24"]
    assert (mac_of(foreign) in answer.stderr) is (policy == "warn")


@pytest.mark.parametrize("policy", POLICIES)
def test_free_addresses_are_given_under_every_policy(
    runtime: Runtime, pod: Namespace, policy: str
) -> None:
    conf = runtime.conf(**probed(ranges(1, 2), policy))
    result = runtime.attachment(pod, conf).add()
    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.100/24", "10.2.0.100/24"]


SHARES = {  # of host 3, on the four rails
    "192.168.0.0/16": [f"192.168.{third}.{{}}/18" for third in (3, 67, 131, 195)],
    "fd01::/48": [f"fd01:0:0:{rail}300::{{}}/50" for rail in ("", "4", "8", "c")],
}


@pytest.mark.parametrize(
    "subnets",
    [["192.168.0.0/16"], ["fd01::/48"], ["192.168.0.0/16", "fd01::/48"]],
    ids=["IPv4", "IPv6", "both"],
)
def test_host_index_that_two_nodes_have(
    *,
    runtime: Runtime,
    pod: Namespace,
    other_pod: Namespace,
    namespaces: Namespaces,
    wire: Namespace,
    tmp_path: Path,
    subnets: list[str],
) -> None:
    """Both count from the same address; neither knows of the other."""
    other_node = namespaces.make_node(wire, RAILS, host=2)
    pods = [(runtime, pod), (Runtime(other_node, tmp_path / "other"), other_pod)]
    for number, (each, its_pod) in enumerate(pods, start=1):
        conf = each.conf(**probed(SHARED_SUBNET | {"subnet": subnets}, "next"))
        each.attachment(its_pod, conf).add()
        wait_until(lambda: not tentative(pod), "the first pod's addresses are its own")
        assert [found for _, found in sorted(its_pod.addresses().items())] == [
            [SHARES[subnet][rail].format(number) for subnet in subnets] for rail in range(RAILS)
        ]


def test_fifth_hit_is_an_error(
    *,
    runtime: Runtime,
    node: Node,
    pod: Namespace,
    other_pod: Namespace,
    foreign: Node,
    state: State,
) -> None:
    """The addresses that were tried are not tried again by the next pod."""
    foreign.ip(*(f"address add {on_rail(1, host)}/24 dev rail1" for host in range(101, 105)))
    before = node.facts()
    conf = runtime.conf(**probed(ranges(1), "next"))

    message = runtime.attachment(pod, conf).call("ADD").error(NO_ADDRESS)

    assert "10.1.0.104" in message
    assert mac_of(foreign) in message
    assert pod.links() == {}
    assert node.facts() == before
    assert state.addresses() == {}
    assert left(state) == []
    result = runtime.attachment(other_pod, conf).add()
    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.105/24"]


def test_fourth_replacement_may_be_free(runtime: Runtime, pod: Namespace, foreign: Node) -> None:
    foreign.ip(*(f"address add {on_rail(1, host)}/24 dev rail1" for host in range(101, 104)))
    result = runtime.attachment(pod, runtime.conf(**probed(ranges(1), "next"))).add()
    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.104/24"]


def test_address_stays_in_quarantine_when_its_rival_has_gone(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, foreign: Node
) -> None:
    """The pool has two addresses: the next pod would get the first one."""
    conf = runtime.conf(**probed(ranges(1, last=101), "next"))
    runtime.attachment(pod, conf).add()
    foreign.ip("link set rail1 down")

    message = runtime.attachment(other_pod, conf).call("ADD").error(NO_ADDRESS)

    assert "10.1.0.100" in message
    assert other_pod.links() == {}


def test_nic_that_is_down_is_no_verdict(
    runtime: Runtime, node: Node, pod: Namespace, foreign: Node
) -> None:
    """The pod gets its address, if the delegate can; the other NICs have their verdicts."""
    node.ip("link set rail1 down")
    policy = {"unhealthy": "use"}
    conf = runtime.conf(attachPolicy=policy, **probed(ranges(1, 2), "next"))

    answer = runtime.attachment(pod, conf).call("ADD")

    assert [ip["address"] for ip in answer.result()["ips"]] == ["10.1.0.100/24", "10.2.0.101/24"]
    (line,) = [line for line in answer.stderr.splitlines() if "no verdict" in line]
    assert "rail1" in line
    assert mac_of(foreign, "rail2") in answer.stderr


def test_cancelled_probe_starts_no_delegate(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """The record is there as soon as the addresses are: a quarter of a second before the rest."""
    delegates.write("macvlan", "real")
    conf = runtime.conf(**probed(ranges(1), "next"))
    attachment = delegates.used_by(runtime).attachment(pod, conf)
    with attachment.started("ADD") as process:
        wait_until(state.records, "the record is written")
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 1
        assert process.stdout is not None
        assert json.load(process.stdout)["code"] == TRY_AGAIN

    assert not delegates.log.exists()
    assert state.left() == []


def test_probe_of_eight_nics_takes_as_long_as_one(
    namespaces: Namespaces, runtime: Runtime, pod: Namespace
) -> None:
    eight = tuple(range(1, 9))
    node = namespaces.make_node(namespaces.make_wire(len(eight)), len(eight))

    def seconds(policy: str, *rails: int) -> float:
        conf = runtime.conf(**probed(ranges(*rails), policy))
        attachment = runtime.but(node=node).attachment(pod, conf)
        answer = attachment.call("ADD")
        answer.result()
        attachment.delete().succeeded()
        return answer.seconds

    added = {
        rails: min(seconds("next", *rails) for _ in range(ROUNDS))
        - min(seconds("off", *rails) for _ in range(ROUNDS))
        for rails in ((1,), eight)
    }
    # One after another, eight would take eight times as long.
    assert added[eight] < 1.5 * added[1,]
