from __future__ import annotations

import errno
from socket import AF_INET, AF_INET6

import netaddr
import pytest

from multinic_cni import netlink
from multinic_cni.messages import Route
from multinic_cni.netlink import Netlink, NetlinkError
from tests.unit import kernel as fake
from tests.unit.kernel import done, error, link, raw, route, talk

UP, LOOPBACK, LOWER_UP = 0x1, 0x8, 0x10000


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


def test_request_for_links() -> None:
    socket, kernel = talk([done()])
    assert [] == socket.links()
    (request,) = kernel.requests
    assert ("RTM_GETLINK", 0x301) == (request["event"], request["header"]["flags"])
    assert (0, 0, 0, 0) == (
        request["family"],
        request["index"],
        request["header"]["pid"],
        request["change"],
    )
    # Statistics are half of a dump's bytes.
    assert 8 == request.get_attr("IFLA_EXT_MASK")


def test_request_for_addresses() -> None:
    socket, kernel = talk([done()])
    assert [] == socket.addresses()
    (request,) = kernel.requests
    assert ("RTM_GETADDR", 0x301, 0) == (
        request["event"],
        request["header"]["flags"],
        request["family"],
    )


@pytest.mark.parametrize("family", [AF_INET, AF_INET6])
def test_request_for_routes(family: int) -> None:
    socket, kernel = talk([done()])
    assert [] == socket.routes(family)
    (request,) = kernel.requests
    assert ("RTM_GETROUTE", 0x301) == (request["event"], request["header"]["flags"])
    assert (family, 254, 0) == (request["family"], request["table"], request["dst_len"])


DEFAULT = Route(
    version=4, destination=0, prefix_length=0, gateway=number("10.1.0.1"), metric=100, link=2
)

ROUTES = {
    "default": (
        route(
            ("RTA_TABLE", 254),
            ("RTA_GATEWAY", "10.1.0.1"),
            ("RTA_OIF", 2),
            ("RTA_PRIORITY", 100),
            family=AF_INET,
            dst_len=0,
        ),
        [DEFAULT],
    ),
    "on the link": (
        route(
            ("RTA_DST", "10.1.0.0"),
            ("RTA_PREFSRC", "10.1.0.5"),
            ("RTA_OIF", 2),
            family=AF_INET,
            dst_len=24,
        ),
        [DEFAULT.but(destination=number("10.1.0.0"), prefix_length=24, gateway=0, metric=0)],
    ),
    "ipv6": (
        route(
            ("RTA_DST", "fd09::"),
            ("RTA_GATEWAY", "fe80::1"),
            ("RTA_OIF", 3),
            ("RTA_PRIORITY", 1024),
            family=AF_INET6,
            dst_len=32,
        ),
        [
            Route(
                version=6,
                destination=number("fd09::"),
                prefix_length=32,
                gateway=number("fe80::1"),
                metric=1024,
                link=3,
            )
        ],
    ),
    "multipath": (
        route(
            ("RTA_PRIORITY", 100),
            (
                "RTA_MULTIPATH",
                [
                    {"oif": 2, "hops": 9, "attrs": [("RTA_GATEWAY", "10.1.0.1")]},
                    {"oif": 3, "attrs": []},
                    {"oif": 4, "attrs": [("RTA_GATEWAY", "10.3.0.1")]},
                ],
            ),
            family=AF_INET,
            dst_len=0,
        ),
        [
            DEFAULT,
            DEFAULT.but(gateway=0, link=3),
            DEFAULT.but(gateway=number("10.3.0.1"), link=4),
        ],
    ),
    "another table": (
        route(("RTA_OIF", 2), family=AF_INET, dst_len=0, table=100),
        [],
    ),
    "blackhole": (route(family=AF_INET, dst_len=0, type=6), []),
    "local": (route(("RTA_OIF", 1), family=AF_INET, dst_len=32, type=2), []),
}


@pytest.mark.parametrize(("packet", "expected"), ROUTES.values(), ids=ROUTES)
def test_route(packet: bytes, expected: list[Route]) -> None:
    socket, _ = talk([packet, done()])
    assert expected == socket.routes(AF_INET)


def test_default_routes_alone() -> None:
    packets = [packet for packet, _ in ROUTES.values()]
    socket, _ = talk([b"".join(packets), done()])
    multipath = [DEFAULT.but(gateway=0, link=3), DEFAULT.but(gateway=number("10.3.0.1"), link=4)]
    assert [DEFAULT, DEFAULT, *multipath] == socket.default_routes(AF_INET)


def named(*names: str) -> bytes:
    return b"".join(
        link(("IFLA_IFNAME", name), index=at, flags=UP) for at, name in enumerate(names, 1)
    )


def names(socket: Netlink) -> list[str]:
    return [each.name for each in socket.links()]


def test_dump_of_several_packets() -> None:
    # The names' lengths make padding of every size.
    socket, _ = talk([named("a", "ab", "abc"), named("abcd"), named("abcde") + done()])
    assert ["a", "ab", "abc", "abcd", "abcde"] == names(socket)


def test_each_request_has_a_number_of_its_own() -> None:
    socket, kernel = talk([done()], [done()])
    socket.links()
    socket.addresses()
    assert [1, 2] == [each["header"]["sequence_number"] for each in kernel.requests]


def test_interrupted_dump_is_asked_for_again() -> None:
    interrupted = raw(fake.NEW_LINK, named("old")[16:], fake.DUMP_INTERRUPTED)
    socket, kernel = talk(
        [interrupted, done()],
        [named("old"), done(fake.DUMP_INTERRUPTED)],
        [named("new"), done()],
    )
    assert ["new"] == names(socket)
    assert 3 == len(kernel.requests)


def test_dump_that_is_always_interrupted_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It pauses ever longer, for as long as its patience lasts."""
    clock = [100.0]
    monkeypatch.setattr("multinic_cni.netlink.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(
        "multinic_cni.netlink.time.sleep", lambda pause: clock.append(clock.pop() + pause)
    )
    socket, kernel = talk(*[[done(fake.DUMP_INTERRUPTED)]] * 500)
    with pytest.raises(NetlinkError) as raised:
        socket.links()
    assert errno.EINTR == raised.value.errno
    assert 100 + netlink.PATIENCE_SECONDS < clock[0] < 100 + 2 * netlink.PATIENCE_SECONDS
    assert len(kernel.requests) < 200


def test_rest_of_an_earlier_dump_is_passed_over() -> None:
    stale = bytearray(named("stale") + done())
    other = (99).to_bytes(4, "little")
    stale[8:12], stale[-12:-8] = other, other
    socket, _ = talk([bytes(stale), named("new") + done()])
    assert ["new"] == names(socket)


def test_messages_of_another_kind_are_passed_over() -> None:
    noop = raw(1, b"")
    socket, _ = talk([noop + named("ens3") + noop, done()])
    assert ["ens3"] == names(socket)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EAFNOSUPPORT, errno.EBUSY])
def test_refusal_is_an_oserror_with_the_kernels_reason(code: int) -> None:
    socket, _ = talk([error(code)])
    with pytest.raises(NetlinkError) as raised:
        socket.links()
    assert code == raised.value.errno
    assert OSError(code, "").errno == raised.value.errno
    assert raised.value.strerror


def test_dump_that_ends_with_an_error_is_no_short_list() -> None:
    # The kernel says in its last message that it could not go on (netlink_dump in af_netlink.c).
    socket, _ = talk([named("ens3"), done(error=errno.ENOMEM)])
    with pytest.raises(NetlinkError) as raised:
        socket.links()
    assert errno.ENOMEM == raised.value.errno


def test_main_table_that_does_not_exist_yet_has_no_routes() -> None:
    socket, _ = talk([done(error=errno.ENOENT)])
    assert [] == socket.routes(AF_INET)


def test_request_to_delete_a_link() -> None:
    socket, kernel = talk([error(0)])
    socket.delete_link(7)
    (request,) = kernel.requests
    assert ("RTM_DELLINK", 0x5, 7) == (
        request["event"],
        request["header"]["flags"],
        request["index"],
    )


def test_link_that_cannot_be_deleted() -> None:
    socket, _ = talk([error(errno.ENODEV)])
    with pytest.raises(NetlinkError) as raised:
        socket.delete_link(7)
    assert errno.ENODEV == raised.value.errno


def test_name_that_is_no_utf8() -> None:
    packet = named("xxxx").replace(b"xxxx", b"a\xff\xffb")
    socket, _ = talk([packet, done()])
    assert ["a\udcff\udcffb"] == names(socket)


def test_close() -> None:
    socket, kernel = talk()
    socket.close()
    assert kernel.closed
