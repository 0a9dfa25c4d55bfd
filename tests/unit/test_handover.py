"""NICs that go into pods: what is noted of them, by what they are known, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import netaddr
import pytest

from multinic_cni.attachments.record import NicRecord
from multinic_cni.errors import NAME_TAKEN, CniError
from multinic_cni.handover.documents import read_former, to_document
from multinic_cni.handover.former import NOTHING, Former, FormerAddress, FormerHop, FormerRoute
from multinic_cni.handover.noting import note, refuse_clashes
from multinic_cni.handover.returning import find_nic
from multinic_cni.jsontext import decode, encode
from multinic_cni.messages import Link
from multinic_cni.route_messages import KernelRoute, Rule
from multinic_selectors.nics import Nic

if TYPE_CHECKING:
    from collections.abc import Sequence

MAC, OTHER_MAC = "02:00:00:00:00:03", "02:00:00:00:00:99"
PERMANENT = "52:54:00:00:01:00"
DEVICE = "pci/0000:44:10.0"
NOPREFIXROUTE = 0x200


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


def link(name: str, index: int = 3, **words: Any) -> Link:  # noqa: ANN401 - fields of any type
    plain: dict[str, Any] = {
        "altnames": (),
        "mac": MAC,
        "mtu": 1500,
        "kind": "",
        "loopback": False,
        "up": True,
        "carrier": True,
        "master": 0,
        "lower": 0,
    }
    return Link(name=name, index=index, **plain | words)


def recorded(kind: str = "") -> NicRecord:
    return NicRecord(nic="rail1", index=3, kind=kind, mac=MAC, ifname="net1", confs=())


HARDWARE = Former(mtu=1500, permanent_mac=PERMANENT, device=DEVICE)
BEFORE_5_14 = HARDWARE.but(device="")
SOFTWARE = Former(mtu=1500)
REAL = {"device": DEVICE, "permanent_mac": PERMANENT}


@pytest.mark.parametrize(
    ("former", "kind", "links", "expected"),
    [
        pytest.param(
            HARDWARE, "", [link("x", 9, mac=OTHER_MAC, **REAL)], "x", id="renamed, another MAC"
        ),
        pytest.param(HARDWARE, "", [link("rail1"), link("net1", 4)], None, id="imitated"),
        pytest.param(
            HARDWARE,
            "",
            [link("rail1", device="mac80211_hwsim/hwsim0", permanent_mac=PERMANENT)],
            None,
            id="imitated by a radio, whose permanent MAC is its maker's to choose",
        ),
        pytest.param(
            HARDWARE,
            "",
            [
                link("rail1", device=DEVICE, permanent_mac=OTHER_MAC),
                link("port2", 7, **REAL),
            ],
            "port2",
            id="two ports of a function",
        ),
        pytest.param(
            BEFORE_5_14,
            "",
            [link("rail1", kind="macvlan", permanent_mac=PERMANENT), link("x", 7, **REAL)],
            "x",
            id="a macvlan that passes through takes the permanent MAC over",
        ),
        pytest.param(
            BEFORE_5_14, "", [link("net1", permanent_mac=PERMANENT)], "net1", id="older kernel"
        ),
        pytest.param(SOFTWARE, "veth", [link("x", kind="veth")], "x", id="MAC and index"),
        pytest.param(SOFTWARE, "veth", [link("net1", 9, kind="veth")], "net1", id="MAC and name"),
        pytest.param(
            SOFTWARE,
            "veth",
            [link("net1", kind="veth", mac=OTHER_MAC)],
            "net1",
            id="name and index",
        ),
        pytest.param(SOFTWARE, "veth", [link("x", 9, kind="veth")], None, id="MAC alone"),
        pytest.param(SOFTWARE, "veth", [link("rail1", kind="bridge")], None, id="another kind"),
        pytest.param(
            SOFTWARE,
            "veth",
            [link("rail1", 9, kind="veth"), link("net1", kind="veth")],
            "net1",
            id="of two alike the one with the index",
        ),
        pytest.param(
            NOTHING, "", [link("rail1", permanent_mac=PERMANENT)], "rail1", id="earlier release"
        ),
    ],
)
def test_which_link_is_the_nic(
    former: Former, kind: str, links: Sequence[Link], expected: str | None
) -> None:
    found = find_nic(links, recorded(kind), former)
    assert (found and found.name) == expected


WHOLE = Former(
    mtu=9000,
    up=True,
    permanent_mac=PERMANENT,
    device=DEVICE,
    altnames=("rail0", "enp3s0"),
    restore=True,
    alias="to the fabric",
    addresses=(
        FormerAddress(
            version=4,
            number=number("10.1.0.1"),
            length=24,
            peer=number("10.1.0.2"),
            broadcast=number("10.1.0.255"),
            scope=253,
            flags=NOPREFIXROUTE,
            metric=77,
            label="rail1:x",
        ),
        FormerAddress(version=6, number=number("fd00::1"), length=64),
    ),
    routes=(
        FormerRoute(
            route=KernelRoute(
                version=6,
                table=101,
                destination=number("fd09::"),
                prefix_length=48,
                kind=2,
                protocol=77,
                scope=254,
                metric=1024,
                mtu=1300,
                source=number("fd00::1"),
            ),
            hops=(
                FormerHop(dev="rail1", gateway=number("fe80::1"), weight=3, onlink=True),
                FormerHop(dev="rail2"),
            ),
        ),
    ),
    rules=(
        Rule(
            version=4,
            priority=5000,
            table=101,
            source=(number("10.1.0.1"), 32),
            destination=(number("10.9.0.0"), 16),
            oif="rail1",
            iif="rail2",
            protocol=3,
        ),
        Rule(version=6, priority=5001, table=101, oif="rail1"),
    ),
)


@pytest.mark.parametrize("former", [WHOLE, HARDWARE, SOFTWARE])
def test_record_keeps_it_whole(former: Former) -> None:
    document = decode(encode(to_document(former)).encode(), "a record")
    assert isinstance(document, dict)
    assert read_former("rail1", document) == former


def _other_family(key: str, **words: object) -> dict[str, object]:
    """Return a list of WHOLE whose first item has a word of the other family."""
    first, *rest = to_document(WHOLE)[key]
    return {key: [first | words, *rest]}


@pytest.mark.parametrize(
    "damage",
    [
        {"mtu": "1500"},
        {"up": None},
        {"routes": [{}]},
        {"rules": [{"version": 4}]},
        {"addresses": [{"address": "10.1.0"}]},
        _other_family("addresses", peer="fd00::9"),
        _other_family("addresses", broadcast="fd00::9"),
        _other_family("routes", src="10.1.0.1"),
        _other_family("routes", hops=[{"dev": "rail1", "weight": 1, "gw": "10.1.0.1"}]),
        _other_family("rules", **{"from": "fd00::/8"}),
        _other_family("rules", to="fd00::/8"),
        _other_family("rules", version=5),
    ],
)
def test_damaged_record_says_nothing(
    damage: dict[str, object], capfd: pytest.CaptureFixture[str]
) -> None:
    """DEL must go on: the NIC is known by its name then."""
    assert read_former("rail1", to_document(WHOLE) | damage) == NOTHING
    assert "what the NIC had on the node cannot be read nic=rail1" in capfd.readouterr().err


def test_what_costs_nothing_is_always_noted() -> None:
    nic = Nic(
        index=3,
        name="rail1",
        altnames=("rail0",),
        permanent_mac=PERMANENT,
        mtu=9000,
        device=DEVICE,
        up=False,
    )
    expected = Former(
        mtu=9000, up=False, permanent_mac=PERMANENT, device=DEVICE, altnames=("rail0",)
    )
    assert note([nic]) == [expected]


RAIL1 = Nic(index=3, name="rail1", mac=MAC, altnames=("fabric1",))
RAIL2 = Nic(index=4, name="rail2", mac=OTHER_MAC)


@pytest.mark.parametrize(
    ("kind", "ifnames", "in_pod", "words"),
    [
        ("host-device", ["net1", "net2"], [link("rail1")], "its name rail1 is that of rail1"),
        (
            "host-device",
            ["net1", "net2"],
            [link("br0", altnames=("rail2",))],
            "NIC rail2 cannot go into the pod: its name rail2 is that of br0",
        ),
        ("sriov", ["net1", "net2"], [link("fabric1")], "its name fabric1 is that of fabric1"),
        ("sriov", ["fabric1", "net2"], [], "cannot be called fabric1 in the pod"),
        ("host-device", ["rail2", "net2"], [], "its name rail2 is that of NIC rail1"),
        ("sriov", ["net1", "fabric1"], [], "its name fabric1 is that of NIC rail2"),
    ],
)
def test_names_that_clash(kind: str, ifnames: list[str], in_pod: list[Link], words: str) -> None:
    with pytest.raises(CniError, match=words) as caught:
        refuse_clashes(kind, [RAIL1, RAIL2], ifnames, in_pod)
    assert caught.value.code == NAME_TAKEN


@pytest.mark.parametrize(
    ("kind", "ifnames", "in_pod"),
    [
        ("host-device", ["rail1", "rail2"], [link("eth0")]),
        ("sriov", ["net1", "net2"], [link("rail1"), link("rail2", 9)]),
    ],
)
def test_names_that_do_not_clash(kind: str, ifnames: list[str], in_pod: list[Link]) -> None:
    """SR-IOV plugins go by a temporary name."""
    refuse_clashes(kind, [RAIL1, RAIL2], ifnames, in_pod)
