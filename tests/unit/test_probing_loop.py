from __future__ import annotations

import _thread
import errno
import itertools
import os
import struct
import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni import probing
from multinic_cni.probing import probe
from tests.packets import ARP_REPLY, HIS, ROUTERS, arp_reply, octets
from tests.unit.packet_sockets import (
    ETHERNET,
    FIRST,
    INFINIBAND,
    INTERVAL,
    LOOPBACK,
    SECOND,
    SO_ATTACH_FILTER,
    Network,
    PacketSocket,
    asked_address,
    conflict,
    network_for,
    owner,
    speaker,
    target,
    warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SOL_PACKET, ADD_MEMBERSHIP, IGNORE_OUTGOING = 263, 1, 23


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    return network_for(monkeypatch)


@pytest.fixture(autouse=True)
def sockets_are_closed(no_descriptor_is_left: None) -> None:
    """Every test."""


def test_each_address_is_asked_for_three_times_on_its_nic_one_by_one(network: Network) -> None:
    assert probe([FIRST, SECOND, target("rail2", "fd00::100")], ()) == []

    frames = network.sent("rail1")
    assert [asked_address(frame) for frame in frames] == ["0a010064"] * 3
    both = ["0a020064", f"fd{0:027x}100"]
    assert [asked_address(frame) for frame in network.sent("rail2")] == both * 3
    times = network.sockets[0].sent_at
    assert all(after - before >= INTERVAL for before, after in itertools.pairwise(times))


def test_nics_are_asked_side_by_side(network: Network) -> None:
    targets = [target(f"rail{n}", f"10.{n}.0.100") for n in range(1, 9)]
    started = time.monotonic()
    probe(targets, ())
    assert time.monotonic() - started < 2 * 3 * INTERVAL
    assert len(network.sockets) == 8


def test_end_comes_early_when_every_address_is_claimed(network: Network) -> None:
    network.host = owner("10.1.0.100", "10.2.0.100")
    assert len(probe([FIRST, SECOND], ())) == 2
    asked = [asked_address(frame) for frame in network.sent("rail1")]
    assert asked.count("0a010064") == 1


@pytest.mark.parametrize("nic", ["rail1", "rail2"])
def test_one_claimed_address_does_not_end_it(network: Network, nic: str) -> None:
    """The other one's owner answers the last question only."""
    other = target(nic, "10.2.0.100")

    def host(asked: str, frame: bytes) -> Sequence[bytes]:
        if asked_address(frame) == "0a020064" and network.sent(nic).count(frame) < 3:
            return []
        return [*owner("10.1.0.100")(asked, frame), *owner("10.2.0.100", mac=ROUTERS)(asked, frame)]

    network.host = host
    assert probe([FIRST, other], ()) == [
        conflict("rail1", "10.1.0.100"),
        conflict(nic, "10.2.0.100", ROUTERS),
    ]


def test_cancelled_call_does_not_go_on(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "cancelled", lambda: bool(network.sent("rail1")))
    assert probe([FIRST], ()) == []
    assert len(network.sent("rail1")) == 1


@pytest.mark.parametrize(
    ("deed", "number"),
    [
        ("bind rail1", errno.ENODEV),
        ("send rail1", errno.ENETDOWN),
        ("recv rail1", errno.ENETDOWN),
    ],
)
def test_failing_nic_is_no_verdict(
    network: Network, capfd: pytest.CaptureFixture[str], deed: str, number: int
) -> None:
    network.refusals = {deed: number}
    network.host = owner("10.1.0.100", "10.2.0.100")
    assert probe([FIRST, SECOND], ()) == [conflict("rail2", "10.2.0.100")]
    (warning,) = warnings(capfd)
    assert "NIC rail1" in warning
    assert os.strerror(number) in warning


@pytest.mark.parametrize(
    ("deed", "number"),
    [
        ("socket", errno.EPERM),
        (f"option {SO_ATTACH_FILTER}", errno.ENOMEM),
        (f"option {IGNORE_OUTGOING}", errno.ENOPROTOOPT),
        (f"option {ADD_MEMBERSHIP}", errno.ENOBUFS),
    ],
)
def test_refused_socket_is_no_verdict(
    network: Network, capfd: pytest.CaptureFixture[str], deed: str, number: int
) -> None:
    network.refusals = {deed: number}
    assert probe([target("rail1", "fd00::100"), target("rail2", "fd00::100")], ()) == []
    for nic, warning in zip(("rail1", "rail2"), warnings(capfd), strict=True):
        assert f"NIC {nic}" in warning
        assert os.strerror(number) in warning


def test_end_comes_early_when_no_nic_works(network: Network) -> None:
    network.refusals = {"send rail1": errno.ENETDOWN, "send rail2": errno.ENETDOWN}
    assert probe([FIRST, SECOND], ()) == []
    assert network.refused == ["send rail1", "send rail2"]


@pytest.mark.parametrize(
    ("hardware", "mac"), [(INFINIBAND, bytes(20)), (LOOPBACK, bytes(6)), (ETHERNET, b"")]
)
def test_nic_without_ethernet_is_no_verdict(
    network: Network, capfd: pytest.CaptureFixture[str], hardware: int, mac: bytes
) -> None:
    network.hardware, network.macs = {"rail1": hardware}, {"rail1": mac}
    assert probe([FIRST], ()) == []
    assert network.sent("rail1") == []
    (warning,) = warnings(capfd)
    assert "NIC rail1" in warning
    assert "Ethernet" in warning


@pytest.mark.parametrize("number", [errno.ENOBUFS, errno.EAGAIN])
def test_full_queue_is_a_lost_frame(
    network: Network, capfd: pytest.CaptureFixture[str], number: int
) -> None:
    network.refusals = {"send rail1": number}

    def host(nic: str, frame: bytes) -> Sequence[bytes]:
        if len(network.sent("rail2")) == 2:
            network.refusals = {}
        return owner("10.1.0.100")(nic, frame)

    network.host = host
    assert probe([SECOND, FIRST], ()) == [conflict("rail1", "10.1.0.100")]
    assert warnings(capfd) == []


def test_process_without_cpu_still_hears_what_has_arrived(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it comes to listen, the time for it is over."""
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    network.host = owner("10.1.0.100")
    assert probe([FIRST], ()) == [conflict("rail1", "10.1.0.100")]


def test_sockets_are_closed_whatever_happens(network: Network) -> None:
    def fail(_nic: str, _frame: bytes) -> Sequence[bytes]:
        raise KeyboardInterrupt

    network.host = fail
    with pytest.raises(KeyboardInterrupt):
        probe([FIRST, SECOND], ())


@pytest.mark.parametrize("threads", [0, 1, 9])
def test_sockets_are_closed_whatever_threads_there_are(
    network: Network, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """A pids cgroup may give none: `no_descriptor_is_left` looks for the sockets."""
    left = itertools.repeat(RuntimeError("can't start new thread"))
    started: list[object] = []

    def start(work: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if len(started) == threads:
            raise next(left)
        started.append(arguments)
        start_truly(work, arguments)

    start_truly = _thread.start_new_thread
    monkeypatch.setattr(_thread, "start_new_thread", start)
    network.host = owner("10.1.0.100")
    targets = [FIRST, SECOND, target("rail3", "10.3.0.100"), target("rail4", "10.4.0.100")]
    assert probe(targets, ()) == [conflict("rail1", "10.1.0.100")]
    assert len(started) == min(threads, 3)
    assert [-1] * 4 == [each.fileno() for each in network.sockets]


def test_sockets_are_closed_side_by_side(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel waits for each: eight NICs must not wait one after another."""

    def close(each: PacketSocket) -> None:
        time.sleep(0.2)
        close_truly(each)

    close_truly = PacketSocket.close
    monkeypatch.setattr(PacketSocket, "close", close)
    targets = [target(f"rail{n}", f"10.{n}.0.100") for n in range(1, 9)]
    started = time.monotonic()
    probe(targets, ())
    assert 0.2 < time.monotonic() - started < 0.2 + 3 * INTERVAL + 0.8
    assert [-1] * 8 == [each.fileno() for each in network.sockets]


def test_what_the_kernel_is_asked_to_pass(network: Network) -> None:
    probe([FIRST, target("rail2", "fd00::100")], ())

    ipv4, ipv6 = network.sockets
    assert ipv4.options[SOL_PACKET, IGNORE_OUTGOING] == [1]
    assert (SOL_PACKET, ADD_MEMBERSHIP) not in ipv4.options
    # struct packet_mreq: the NIC's index, PACKET_MR_MULTICAST, length and MAC.
    groups = {
        struct.pack("=iHH", 2, 0, 6) + octets("333300000001 0000"),
        struct.pack("=iHH", 2, 0, 6) + octets("3333ff000100 0000"),
    }
    assert set(ipv6.options[SOL_PACKET, ADD_MEMBERSHIP]) == groups


def test_flood_does_not_hold_it(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PacketSocket, "recv", lambda *_: arp_reply(HIS, "10.9.9.9"))
    network.host = speaker(ARP_REPLY)
    started = time.monotonic()
    assert probe([target("rail1", "10.1.0.101")], ()) == []
    assert time.monotonic() - started < 10 * 3 * INTERVAL
    assert len(network.sent("rail1")) == 3
