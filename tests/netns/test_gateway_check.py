"""The gateways of the NICs, asked on real wires before any delegate runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cni_runtime import EXECUTABLE
from tests.netns.confs import ranges
from tests.netns.traffic import watching
from tests.pytest_netns import RAILS, WIRE_HOST, on_rail, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Document, Namespace, Node, Runtime

NO_NICS = 100
POLICIES = ("warn", "skip", "fail")


def gateway(rail: int) -> str:
    return on_rail(rail, WIRE_HOST)


def checked(policy: str, *rails: int, **policies: object) -> dict[str, Any]:
    """Return the keys of a conf whose ranges have the wire as their gateway."""
    conf = ranges(*rails)
    for rail in rails:
        for each in conf["ipam"]["ranges"][rail_net(rail)]:
            each["gateway"] = gateway(rail)
    return conf | {"routing": {"gatewayCheck": policy}, "attachPolicy": policies}


def silence(node: Node, *rails: int) -> None:
    for rail in rails:
        node.wire.ip(f"address delete {gateway(rail)}/24 dev br{rail}")


def addresses(result: Document) -> list[str]:
    return [ip["address"] for ip in result["ips"]]


@pytest.mark.parametrize("policy", POLICIES)
def test_gateways_that_answer(runtime: Runtime, pod: Namespace, policy: str) -> None:
    answer = runtime.attachment(pod, runtime.conf(**checked(policy, 1, 2))).call("ADD")
    assert addresses(answer.result()) == ["10.1.0.100/24", "10.2.0.100/24"]
    assert "gateway" not in answer.stderr


def test_question_teaches_nobody_an_address(
    runtime: Runtime, pod: Namespace, node: Node, tmp_path: Path
) -> None:
    silence(node, 1)
    with watching(node.wire, tmp_path / "seen") as seen:
        conf = runtime.conf(**checked("fail", 1, 2))
        runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    asked = [(frame.rail, *said) for frame in seen.frames() if (said := frame.arp())]
    macs = {rail: node.links()[f"rail{rail}"]["address"] for rail in (1, 2)}
    assert sorted(each for each in asked if each[0] == 1) == [(1, 1, macs[1], "0.0.0.0")] * 3  # noqa: S104
    assert {each for each in asked if each[0] == 2} == {(2, 1, macs[2], "0.0.0.0")}  # noqa: S104
    assert [each.octets[38:42] for each in seen.frames() if each.rail == 1 and each.arp()] == [
        bytes([10, 1, 0, WIRE_HOST])
    ] * 3


def test_warn(runtime: Runtime, pod: Namespace, node: Node) -> None:
    silence(node, 1)
    answer = runtime.attachment(pod, runtime.conf(**checked("warn", 1, 2))).call("ADD")
    assert addresses(answer.result()) == ["10.1.0.100/24", "10.2.0.100/24"]
    (line,) = [line for line in answer.stderr.splitlines() if gateway(1) in line]
    assert "NIC rail1: its gateway 10.1.0.254 does not answer" in line


def test_fail_names_all_and_leaves_nothing(
    runtime: Runtime, pod: Namespace, node: Node, state: State
) -> None:
    silence(node, 1, 3)
    before = node.facts()

    conf = runtime.conf(**checked("fail", 1, 2, 3))
    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)

    assert message == (
        "NIC rail1: its gateway 10.1.0.254 does not answer;"
        " NIC rail3: its gateway 10.3.0.254 does not answer"
    )
    assert state.left() == []
    assert pod.links() == {}
    assert node.facts() == before


def test_skip_takes_the_next_ones(runtime: Runtime, pod: Namespace, node: Node) -> None:
    silence(node, 1, 3)
    conf = runtime.conf(**checked("skip", 1, 2, 3, 4, nics=2, minNics=2))

    answer = runtime.attachment(pod, conf).call("ADD")

    assert addresses(answer.result()) == ["10.2.0.100/24", "10.4.0.100/24"]
    assert f"NIC rail1 not taken: its gateway {gateway(1)} does not answer" in answer.stderr
    assert f"NIC rail3: its gateway {gateway(3)} does not answer" in answer.stderr


def test_skip_where_too_few_are_left(runtime: Runtime, pod: Namespace, node: Node) -> None:
    silence(node, 1, 3)
    conf = runtime.conf(**checked("skip", 1, 2, 3, minNics=2))
    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    for word in ("2 NICs needed, 1 usable", f"rail1: its gateway {gateway(1)} does not", "rail3"):
        assert word in message


def test_ipv6(runtime: Runtime, pod: Namespace, node: Node) -> None:
    for rail in (1, 2):
        node.ip(f"address add fd00:{rail}::1/64 dev rail{rail} nodad")
    node.wire.ip("address add fd00:1::fe/64 dev br1 nodad")
    conf = runtime.conf(
        masterNets=["fd00:1::/64", "fd00:2::/64"],
        ipam={
            "type": "multi-nic-ipam",
            "slice": {"offset": 4096, "length": 16},
            "gatewayIndex": 254,
        },
        routing={"gatewayCheck": "skip"},
    )
    answer = runtime.attachment(pod, conf).call("ADD")
    assert [ip["interface"] for ip in answer.result()["ips"]] == [0]
    assert "NIC rail2 not taken: its gateway fd00:2::fe does not answer" in answer.stderr


def test_gateway_of_a_nic_that_takes_its_address_along(
    runtime: Runtime, pod: Namespace, node: Node
) -> None:
    """It is that of the NIC's default route, in whatever table."""
    for rail in (1, 2):
        node.ip(f"route add default via {gateway(rail)} dev rail{rail} table {100 + rail}")
    silence(node, 2)
    conf = runtime.conf(
        plugin={"type": "host-device"},
        masterNets=[rail_net(1), rail_net(2)],
        ipam={"type": "host-device-ipam"},
        routing={"gatewayCheck": "fail"},
    )
    before = node.facts()
    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    assert message == "NIC rail2: its gateway 10.2.0.254 does not answer"
    assert node.facts() == before

    silence_ended = f"address add {gateway(2)}/24 dev br2"
    node.wire.ip(silence_ended)
    result = runtime.attachment(pod, conf).add()
    assert addresses(result) == [f"{on_rail(rail, 1)}/24" for rail in (1, 2)]


def test_explain_asks_nobody(runtime: Runtime, node: Node, tmp_path: Path) -> None:
    silence(node, *range(1, RAILS + 1))
    file = tmp_path / "rails.conf"
    file.write_text(json.dumps(runtime.conf(**checked("fail", 1, 2))))
    with watching(node.wire, tmp_path / "seen") as seen:
        (found,) = json.loads(node.execute(EXECUTABLE, "explain", "--json", file))
    assert [each["nic"] for each in found["nics"]] == ["rail1", "rail2"]
    assert not [frame for frame in seen.frames() if frame.arp()]
