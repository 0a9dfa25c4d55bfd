from __future__ import annotations

import errno
import os
import threading
from socket import AF_PACKET, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_RAW
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import announcing
from multinic_cni.announcing import Announcement, announce
from multinic_cni.frames import announcement
from multinic_cni.messages import Address, Link
from multinic_cni.netlink import NetlinkError
from tests.packets import ARP_ANNOUNCEMENT, HIS, UNSOLICITED_ADVERTISEMENT, number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NET1 = Link(
    index=2,
    name="net1",
    altnames=(),
    mac=HIS,
    mtu=1500,
    kind="macvlan",
    loopback=False,
    up=True,
    carrier=True,
    master=0,
    lower=0,
)
IPV4, IPV6 = 4, 6


def wanted(address: str, **changes: Any) -> Announcement:  # noqa: ANN401 - its words
    own = Announcement(
        nic="rail1",
        ifname="net1",
        index=2,
        mac=HIS,
        version=6 if ":" in address else 4,
        number=number(address),
    )
    return own.but(**changes)


def has(address: str, *, link: int = 2, primary: bool = True) -> Address:
    version = 6 if ":" in address else 4
    return Address(
        link=link,
        version=version,
        number=number(address),
        prefix_length=24,
        primary=primary,
    )


class Pod:
    """Stands in for the sockets of a pod's netns; its addresses are what each dump tells."""

    def __init__(self, *dumps: Sequence[Address], links: Sequence[Link] = (NET1,)) -> None:
        self.told = list(dumps)
        self.all_links = links
        self.sent: list[tuple[bytes, tuple[str, int]]] = []
        self.opened = 0
        self.closed = threading.Semaphore(0)
        self.refusal = 0

    def links(self) -> Sequence[Link]:
        return self.all_links

    def addresses(self) -> Sequence[Address]:
        return self.told.pop(0)

    def socket(self, *words: int) -> Pod:
        assert (AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) == words
        self.opened += 1
        return self

    def sendto(self, frame: bytes, where: tuple[str, int]) -> None:
        if self.refusal:
            raise OSError(self.refusal, os.strerror(self.refusal))
        self.sent.append((frame, where))

    def close(self) -> None:
        self.closed.release()

    @property
    def frames(self) -> list[bytes]:
        return [frame for frame, _ in self.sent]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the kernel's settings of net1, which are off."""
    monkeypatch.setattr(announcing, "NDISC_NOTIFY", f"{tmp_path}/{{}}")
    (tmp_path / "net1").write_text("0")
    return tmp_path


def announced_in(pod: Pod, *announcements: Announcement) -> Pod:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(announcing, "Netlink", lambda: pod)
        patch.setattr(announcing, "socket", pod.socket)
        announce(announcements)
        for _ in range(1 + pod.opened):  # the netlink socket, too
            assert pod.closed.acquire(timeout=10)
    return pod


def test_frames_octet_for_octet() -> None:
    mac = bytes.fromhex(HIS.replace(":", ""))
    assert ARP_ANNOUNCEMENT == announcement(mac, IPV4, number("10.1.0.100"))
    assert UNSOLICITED_ADVERTISEMENT == announcement(mac, IPV6, number("fd00::100"))


def test_each_address_on_its_interface_by_one_socket() -> None:
    other = NET1.but(index=3, name="net1-1")
    dump = [has("10.1.0.100"), has("fd00::100"), has("10.1.0.100", link=3)]
    pod = announced_in(
        Pod(dump, links=[NET1, other]),
        wanted("10.1.0.100"),
        wanted("fd00::100"),
        wanted("10.1.0.100", nic="rail2", ifname="net1-1", index=3),
    )
    assert [
        (ARP_ANNOUNCEMENT, ("net1", 0x0806)),
        (UNSOLICITED_ADVERTISEMENT, ("net1", 0x86DD)),
        (ARP_ANNOUNCEMENT, ("net1-1", 0x0806)),
    ] == pod.sent
    assert 1 == pod.opened


def test_second_address_of_a_network() -> None:
    pod = announced_in(Pod([has("10.1.0.100", primary=False)]), wanted("10.1.0.100"))
    assert [ARP_ANNOUNCEMENT] == pod.frames


@pytest.mark.parametrize(
    "links",
    [
        pytest.param([NET1.but(asks_for_macs=False)], id="no ARP"),
        pytest.param([NET1.but(medium=32)], id="InfiniBand"),
        pytest.param([], id="no link"),
    ],
)
def test_links_where_nobody_asks(links: list[Link], capfd: pytest.CaptureFixture[str]) -> None:
    pod = announced_in(Pod([has("10.1.0.100")], links=links), wanted("10.1.0.100"))
    assert 0 == pod.opened
    assert "" == capfd.readouterr().err


@pytest.mark.parametrize(
    ("link", "why"),
    [(NET1.but(up=False), "net1 is down"), (NET1.but(carrier=False), "net1 has no carrier")],
)
def test_links_that_carry_nothing(link: Link, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    pod = announced_in(Pod([has("10.1.0.100")], links=[link]), wanted("10.1.0.100"))
    assert 0 == pod.opened
    assert f"NIC rail1: 10.1.0.100 is not announced: {why}" in capfd.readouterr().err


def test_address_that_the_delegate_did_not_set() -> None:
    pod = announced_in(Pod([has("10.1.0.101")]), wanted("10.1.0.100"))
    assert 0 == pod.opened


def test_doubtful_ipv6_is_left_to_the_kernel(settings: Path) -> None:
    dump = [has("10.1.0.100"), has("fd00::100", primary=False)]
    pod = announced_in(Pod(dump, dump), wanted("10.1.0.100"), wanted("fd00::100"))
    assert [ARP_ANNOUNCEMENT] == pod.frames
    assert "1" == (settings / "net1").read_text()


def test_ipv6_that_ceases_to_be_doubtful_in_between(settings: Path) -> None:
    """The kernel had found out before it was told that it is to announce."""
    dumps = [has("fd00::100", primary=False)], [has("fd00::100")]
    pod = announced_in(Pod(*dumps), wanted("fd00::100"))
    assert [UNSOLICITED_ADVERTISEMENT] == pod.frames
    assert "1" == (settings / "net1").read_text()


def test_settings_stay_where_nothing_is_doubtful(settings: Path) -> None:
    announced_in(Pod([has("fd00::100")]), wanted("fd00::100"))
    assert "0" == (settings / "net1").read_text()


def test_refused_frame_is_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    pod = Pod([has("10.1.0.100"), has("10.1.0.101")])
    pod.refusal = errno.ENOBUFS
    announced_in(pod, wanted("10.1.0.100"), wanted("10.1.0.101"))
    first, second = capfd.readouterr().err.splitlines()
    assert "NIC rail1: 10.1.0.100 is not announced: No buffer space available" in first
    assert "10.1.0.101" in second


@pytest.mark.parametrize("deed", ["links", "socket"])
def test_sockets_that_fail(deed: str, capfd: pytest.CaptureFixture[str]) -> None:
    pod = Pod([has("10.1.0.100")])

    def refuse(*_words: int) -> None:
        raise NetlinkError(errno.EPERM, os.strerror(errno.EPERM))

    setattr(pod, deed, refuse)
    announced_in(pod, wanted("10.1.0.100"))
    expected = "the pod's addresses were not announced: Operation not permitted"
    assert expected in capfd.readouterr().err
