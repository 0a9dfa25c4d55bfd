"""The gateways of the chosen NICs: who is asked, and what becomes of a NIC whose one is silent."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import gateways
from multinic_cni.choosing import choose
from multinic_cni.errors import NO_NICS, TRY_AGAIN, CniError
from multinic_cni.gateways import Gateway, GatewayCheck, gateways_on_node, silent_among
from multinic_cni.host import Host
from multinic_cni.preparation import wanted_pools
from multinic_cni.route_messages import Hop, KernelRoute
from multinic_selectors.candidates import Choice
from multinic_selectors.nics import INFINIBAND
from tests.packets import ARP_ANNOUNCEMENT, OURS, RIVAL_ARP_PROBE, number
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.packet_sockets import Network, asked_address, network_for, owner, speaker, warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Selection

FIRST, SECOND, THIRD = "10.1.0.254", "10.2.0.254", "10.3.0.254"
INTERVAL = 0.02


def gateway(name: str, address: str) -> Gateway:
    return Gateway(nic=name, version=6 if ":" in address else 4, number=number(address))


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    monkeypatch.setattr(gateways, "INTERVAL_SECONDS", INTERVAL)
    return network_for(monkeypatch)


@pytest.fixture(autouse=True)
def sockets_are_closed(no_descriptor_is_left: None) -> None:
    """Every test."""


def asked(network: Network, name: str) -> list[str]:
    return [asked_address(frame) for frame in network.sent(name)]


BOTH = [gateway("rail1", FIRST), gateway("rail2", SECOND)]


def test_silence_after_three_questions(network: Network) -> None:
    assert BOTH == silent_among(BOTH)
    assert ["0a0100fe"] * 3 == asked(network, "rail1")
    assert ["0a0200fe"] * 3 == asked(network, "rail2")


def test_answers_end_it_at_once(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "INTERVAL_SECONDS", 60.0)
    network.host = owner(FIRST, SECOND, "fd00::1")
    assert [] == silent_among([*BOTH, gateway("rail1", "fd00::1")])
    assert ["0a0100fe", f"fd{0:028x}01"] == asked(network, "rail1")


@pytest.mark.parametrize("heard", [2, 3])
def test_lost_frames(network: Network, heard: int) -> None:
    def host(name: str, frame: bytes) -> Sequence[bytes]:
        late = network.sent(name).count(frame) >= heard
        return owner(FIRST)(name, frame) if late else ()

    network.host = host
    assert BOTH[1:] == silent_among(BOTH)
    assert heard == len(asked(network, "rail1"))


def test_who_answered_is_not_asked_again(network: Network) -> None:
    network.host = owner(FIRST)
    own = [gateway("rail1", FIRST), gateway("rail1", "10.1.0.253")]
    assert own[1:] == silent_among(own)
    assert 1 == asked(network, "rail1").count("0a0100fe")


def test_nobody_is_named_as_the_sender(network: Network) -> None:
    silent_among([gateway("rail1", FIRST), gateway("rail1", "fd00::1")])
    arp, solicitation = network.sent("rail1")[:2]
    assert bytes(4) == arp[28:32]
    assert bytes(16) == solicitation[22:38]


def test_proxy_and_announcement_are_answers(network: Network) -> None:
    network.host = owner(FIRST, "192.0.2.0")
    assert [] == silent_among(BOTH[:1])
    network.host = speaker(ARP_ANNOUNCEMENT)
    assert [] == silent_among([gateway("rail1", "10.1.0.100")])


def test_another_nic_of_the_node_is_an_answer(network: Network) -> None:
    network.host = owner(FIRST, mac=OURS)
    assert [] == silent_among(BOTH[:1])


def test_who_wants_the_address_himself_is_no_gateway(network: Network) -> None:
    network.host = speaker(RIVAL_ARP_PROBE)
    own = [gateway("rail1", "10.1.0.100")]
    assert own == silent_among(own)


@pytest.mark.parametrize("deed", ["bind rail1", "send rail1", "recv rail1"])
def test_nic_that_cannot_be_asked_is_no_verdict(
    network: Network, capfd: pytest.CaptureFixture[str], deed: str
) -> None:
    network.refusals = {deed: errno.ENETDOWN}
    network.host = owner(FIRST)
    assert BOTH[1:] == silent_among(BOTH)
    (warning,) = warnings(capfd)
    assert "NIC rail1" in warning
    assert os.strerror(errno.ENETDOWN) in warning


def test_default_routes_of_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def route(address: str, *links: int, table: int = 254, length: int = 0) -> KernelRoute:
        hops = tuple(Hop(link=link, gateway=number(address)) for link in links)
        version = 6 if ":" in address else 4
        words: dict[str, Any] = {"version": version, "table": table, "prefix_length": length}
        return KernelRoute(destination=0, hops=hops, **words)

    listed = {
        4: [
            route(FIRST, 2),
            route(FIRST, 2, table=101),
            route("10.1.0.9", 2, length=8),
            route(SECOND, 3, table=102),
            route("10.9.0.1", 9),
            KernelRoute(version=4, table=254, destination=0, prefix_length=0, hops=(Hop(link=2),)),
        ],
        6: [route("fe80::1", 2, 3)],
    }
    monkeypatch.setattr(gateways, "Netlink", Netlink)
    monkeypatch.setattr(gateways, "routes_of", lambda _netlink, version: listed[version])
    choices = [Choice(nic(f"rail{k}", index=1 + k), None) for k in (1, 2)]

    assert [
        gateway("rail1", FIRST),
        gateway("rail2", SECOND),
        gateway("rail1", "fe80::1"),
        gateway("rail2", "fe80::1"),
    ] == gateways_on_node(choices)


class Netlink:
    def close(self) -> None:
        pass


NETS = [f"10.{rail}.0.0/24" for rail in (1, 2, 3)]
NICS = [nic(f"rail{rail}", f"10.{rail}.0.1/24", index=1 + rail) for rail in (1, 2, 3)]


def conf_of(policy: str, nets: Sequence[str] = NETS, **ipam: object) -> NetConf:
    """Return a conf that gives a pod two of three NICs, each with host 254 as its gateway."""
    words = {"type": "multi-nic-ipam", "slice": {"offset": 100, "length": 10}, "gatewayIndex": 254}
    return net_conf(
        masterNets=list(nets),
        attachPolicy={"nics": 2, "minNics": 2},
        ipam={**words, **ipam},
        routing={"gatewayCheck": policy},
    )


def selected(
    conf: NetConf, root: Path, nics: Sequence[Nic] = NICS, seconds: float = 60.0
) -> Selection:
    host = Host(str(root), nics=nics)

    def select(silent: Mapping[str, str]) -> Selection:
        return choose(conf, host, tuple, dict, silent)

    deadline = time.monotonic() + seconds
    return GatewayCheck(conf, deadline, lambda each: wanted_pools(conf, each, host)).select(select)


def names(selection: Selection) -> list[str]:
    return [choice.nic.name for choice in selection.chosen]


def test_all_answer(network: Network, tmp_path: Path) -> None:
    network.host = owner(FIRST, SECOND)
    for policy in ("warn", "skip", "fail"):
        assert ["rail1", "rail2"] == names(selected(conf_of(policy), tmp_path))
    assert [] == asked(network, "rail3")  # it is not the pod's


def test_warn(network: Network, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    network.host = owner(SECOND)
    assert ["rail1", "rail2"] == names(selected(conf_of("warn"), tmp_path))
    (warning,) = warnings(capfd)
    assert f"NIC rail1: its gateway {FIRST} does not answer" in warning


@pytest.mark.usefixtures("network")
def test_fail_names_every_nic_and_gateway(tmp_path: Path) -> None:
    with pytest.raises(CniError) as raised:
        selected(conf_of("fail"), tmp_path)
    assert NO_NICS == raised.value.code
    assert (
        f"NIC rail1: its gateway {FIRST} does not answer;"
        f" NIC rail2: its gateway {SECOND} does not answer"
    ) == raised.value.message
    assert "asked 3 times" in raised.value.details


def test_skip_takes_another_nic_and_asks_only_that(network: Network, tmp_path: Path) -> None:
    network.host = owner(SECOND, THIRD)
    selection = selected(conf_of("skip"), tmp_path)
    assert ["rail2", "rail3"] == names(selection)
    assert [("rail1", f"its gateway {FIRST} does not answer")] == list(selection.unhealthy)
    assert [3, 1, 1] == [len(asked(network, f"rail{rail}")) for rail in (1, 2, 3)]


def test_skip_where_nics_fall_short(network: Network, tmp_path: Path) -> None:
    network.host = owner(THIRD)
    with pytest.raises(CniError) as raised:
        selected(conf_of("skip"), tmp_path)
    assert NO_NICS == raised.value.code
    for word in ("2 NICs needed, 1 usable", f"its gateway {FIRST}", f"its gateway {SECOND}"):
        assert word in raised.value.message


def test_both_gateways_of_a_nic(
    network: Network, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    both = nic("rail1", "10.1.0.1/24", "fd00:1::1/64", index=2)
    nets = ["10.1.0.0/24", "fd00:1::/64", "10.2.0.0/24"]
    selected(conf_of("warn", nets), tmp_path, [both, NICS[1]])
    warning = f"NIC rail1: its gateways {FIRST}, fd00:1::fe do not answer"
    assert any(warning in line for line in warnings(capfd))
    assert network.sent("rail1")


def test_nics_that_have_no_gateway_or_cannot_be_asked(
    network: Network, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    infiniband = nic("rail2", "10.2.0.1/24", index=3)
    infiniband.medium = INFINIBAND
    down = nic("rail1", "10.1.0.1/24", index=2, up=False)
    conf = conf_of("fail", gatewayIndex=None)
    conf = conf.but(chain=({"type": "host-device"},))
    assert ["rail1", "rail2"] == names(selected(conf, tmp_path, [down, infiniband]))
    assert ["rail3"] == names(selected(conf.but(attach_policy=_one()), tmp_path, NICS[2:]))
    said = capfd.readouterr().err
    for words in (
        "NIC rail1: its gateway is not asked: it is down",
        "NIC rail2: its gateway is not asked: it is no Ethernet",
        "NIC rail3 has no gateway that could be asked",
    ):
        assert words in said
    assert [] == network.sockets


def _one() -> Any:  # noqa: ANN401 - a policy
    return net_conf().attach_policy


def test_no_time_is_left(network: Network, tmp_path: Path) -> None:
    with pytest.raises(CniError) as raised:
        selected(conf_of("skip"), tmp_path, seconds=-1.0)
    assert TRY_AGAIN == raised.value.code
    assert [] == network.sockets


def test_call_that_is_called_off(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "cancelled", lambda: bool(network.sent("rail2")))
    with pytest.raises(CniError) as raised:
        selected(conf_of("skip"), tmp_path)
    assert TRY_AGAIN == raised.value.code
    assert 1 == len(asked(network, "rail1"))
