"""What the conflict probe hears on a wire: rivals, other VLANs, proxies."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import SHARED_SUBNET, ranges
from tests.netns.hosts import foreign_host, mac_of, probed, saying
from tests.packets import rival_arp_probe, rival_solicitation, tagged

if TYPE_CHECKING:
    from tests.pytest_netns import Namespace, Namespaces, Node, Runtime

RIVAL = "02:00:5e:10:00:02"


@pytest.fixture
def foreign(namespaces: Namespaces, node: Node) -> Node:
    return foreign_host(namespaces, node)


@pytest.mark.parametrize(
    ("subnet", "frame", "given"),
    [
        ("192.168.0.0/16", rival_arp_probe(RIVAL, "192.168.3.1"), "192.168.3.2/18"),
        ("fd01::/48", rival_solicitation(RIVAL, "fd01:0:0:300::1"), "fd01:0:0:300::2/50"),
    ],
    ids=["IPv4", "IPv6"],
)
def test_rival_that_asks_for_the_address_at_the_same_time(
    *,
    runtime: Runtime,
    pod: Namespace,
    foreign: Node,
    subnet: str,
    frame: bytes,
    given: str,
) -> None:
    conf = runtime.conf(**probed(SHARED_SUBNET | {"subnet": subnet}, "next"))
    with saying(foreign, frame):
        result = runtime.attachment(pod, conf).add()
    assert result["ips"][0]["address"] == given


@pytest.mark.parametrize(
    ("tag", "given"),
    [
        pytest.param(5, "10.1.0.100/24", id="VLAN 5"),
        pytest.param(0xE005, "10.1.0.100/24", id="VLAN 5 with priority"),
        pytest.param(0xE000, "10.1.0.101/24", id="a priority alone"),
    ],
)
def test_frames_of_a_vlan_are_those_of_another_network(
    *,
    runtime: Runtime,
    pod: Namespace,
    namespaces: Namespaces,
    node: Node,
    tag: int,
    given: str,
) -> None:
    host = namespaces.make_node(node.wire, rails=1, host=50)
    with saying(host, tagged(rival_arp_probe(RIVAL, "10.1.0.100"), tag)):
        result = runtime.attachment(pod, runtime.conf(**probed(ranges(1), "next"))).add()
    assert [ip["address"] for ip in result["ips"]] == [given]


def test_host_that_answers_for_everything_is_a_proxy(
    runtime: Runtime, pod: Namespace, namespaces: Namespaces, node: Node
) -> None:
    host = namespaces.make_node(node.wire, rails=1, host=50)
    host.ip("route delete 10.1.0.0/24 dev rail1", "route add local default dev rail1 table local")

    answer = runtime.attachment(pod, runtime.conf(**probed(ranges(1), "next"))).call("ADD")

    assert [ip["address"] for ip in answer.result()["ips"]] == ["10.1.0.100/24"]
    (line,) = [line for line in answer.stderr.splitlines() if "proxy" in line]
    for word in ("rail1", "10.1.0.100", mac_of(host)):
        assert word in line


def test_proxy_arp_of_linux_is_no_conflict(runtime: Runtime, node: Node, pod: Namespace) -> None:
    """It answers for a whole network, but not whoever asks in the name of nobody."""
    for setting in ("conf.br1.proxy_arp=1", "conf.br1.forwarding=1", "neigh.br1.proxy_delay=0"):
        node.wire.execute("sysctl", "-qw", f"net.ipv4.{setting}")
    node.wire.ip("route delete 10.1.0.0/24 dev br1", "route add 10.1.0.0/24 dev br2")
    subprocess.run(node.command("ping", "-qc1", "-W0.2", "10.1.0.200"), check=False)
    neighbours = {each["dst"]: each.get("lladdr") for each in node.show("neigh")}
    assert neighbours["10.1.0.200"] == mac_of(node.wire, "br1")

    result = runtime.attachment(pod, runtime.conf(**probed(ranges(1), "fail"))).add()

    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.100/24"]


def test_listed_proxy_is_only_warned_of(runtime: Runtime, pod: Namespace, foreign: Node) -> None:
    mac = mac_of(foreign)
    conf = runtime.conf(**probed(ranges(1), "next", proxyMACs=[mac.upper()]))

    answer = runtime.attachment(pod, conf).call("ADD")

    assert [ip["address"] for ip in answer.result()["ips"]] == ["10.1.0.100/24"]
    (line,) = [line for line in answer.stderr.splitlines() if mac in line]
    assert "proxy" in line
