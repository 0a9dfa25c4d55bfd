"""The plugin's inventory against what `ip -j -d link`, `ip -j addr` and `ip -j route` say."""

from __future__ import annotations

import ipaddress
import json
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.admin.sysroot import host_of_sysroot
from tests.netns.listing import listed
from tests.pytest_netns import WIRE_HOST, execute, on_rail, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.pytest_netns import Document, Namespaces, Node

MEDIA = {"loopback": 772, "ether": 1, "none": 65534}
PASSING = ("secondary", "temporary", "tentative", "dadfailed", "deprecated")
HAVE_MODES = {"macvlan", "macvtap", "ipvlan", "ipvtap"}

# What everything that the kernel of these tests knows looks like, with addresses of all sorts.
EVERYTHING = [
    "link property add dev rail1 altname enp1s0 altname a-name-that-is-longer-than-fifteen",
    "link set rail2 address 02:00:00:00:02:02 mtu 1400",
    "link set rail3 down",
    "link add br0 type bridge",
    "link add port0 type veth peer name inner0",
    "link set port0 master br0 up",
    "link set br0 up",
    "link add child0 link rail1 type macvlan mode vepa",
    "link add child1 link rail1 type macvlan mode private",
    "link add grandchild link child0 type macvtap mode bridge",
    "link add vx0 type vxlan id 7 dstport 4789",
    "link add ifb9 type ifb",
    "tuntap add dev tun0 mode tun",
    "tuntap add dev tap0 mode tap",
    "link set tap0 up",
    "link set vx0 up",
    "address add 10.1.0.77/24 dev rail1",
    "address add 10.77.0.1/32 dev rail1",
    "address add 10.9.0.1 peer 10.9.0.2/32 dev rail2",
    "address add fd00:2::5/64 dev rail2 nodad",
    "address add fd00:2::6/64 dev rail2 preferred_lft 0 nodad",
    "address add fd00:3::5/64 dev inner0",
    "address add fd00:4::5/128 dev br0 nodad",
]


@pytest.fixture
def everything(namespaces: Namespaces, node: Node) -> Node:
    """Return a node with links of all kinds; what comes by and by has come."""
    node.ip(*EVERYTHING)
    elsewhere = namespaces.make("elsewhere")
    node.ip(f"link add outside link rail2 netns {elsewhere.name} type macvlan mode bridge")
    node.ip(f"link add half type veth peer name other netns {elsewhere.name}")
    elsewhere.ip("link add back type veth peer name forth")
    elsewhere.ip(f"link add guest link back netns {node.name} type macvlan mode bridge")
    # Somebody else has this address: duplicate address detection says so.
    node.wire.ip("address add fd00:4::9/64 dev br4 nodad")
    node.ip("address add fd00:4::9/64 dev rail4")
    wait_until(lambda: "dadfailed" in json.dumps(node.show("address")), "an address is refused")
    wait_until(lambda: is_quiet(node), "the kernel is done with addresses")
    return node


def is_quiet(node: Node) -> bool:
    """Tell whether nothing changes by itself any more: only inner0's address stays in doubt."""
    in_doubt = [
        link["ifname"]
        for link in node.show("address")
        for address in link["addr_info"]
        if address.get("tentative") and not address.get("dadfailed")
    ]
    return set(in_doubt) <= {"inner0"}


def expected_of(
    links: Sequence[Document], addresses: Sequence[Document], uplinks: dict[str, str]
) -> list[dict[str, Any]]:
    """Word iproute2's documents as the inventory's facts."""
    by_name = {each["ifname"]: each["addr_info"] for each in addresses}
    return [
        {
            "index": link["ifindex"],
            "name": link["ifname"],
            "altnames": link.get("altnames", []),
            "mac": link.get("address", ""),
            "permanent_mac": link.get("permaddr", ""),
            "device": device_of(link),
            "group": 0 if link.get("group", "default") == "default" else int(link["group"]),
            "mtu": link["mtu"],
            "kind": kind_of(link),
            "medium": MEDIA[link["link_type"]],
            "loopback": "LOOPBACK" in link["flags"],
            "up": "UP" in link["flags"],
            "carrier": "LOWER_UP" in link["flags"],
            "operstate": link["operstate"].lower(),
            "addresses": [place(each) for each in by_name[link["ifname"]]],
            "passing": [place(each) for each in by_name[link["ifname"]] if is_passing(each)],
            "enslaved_to": link.get("master", ""),
            "stands_on": below(link),
            "uppers": [
                [upper["ifname"], kind_of(upper), mode_of(upper)]
                for upper in links
                if below(upper) == link["ifname"]
            ],
            "uplink": uplinks.get(link["ifname"], ""),
        }
        for link in links
    ]


def kind_of(link: Document) -> str:
    kind: str = link.get("linkinfo", {}).get("info_kind", "")
    return kind


def device_of(link: Document) -> str:
    return f"{link['parentbus']}/{link['parentdev']}" if "parentdev" in link else ""


def mode_of(link: Document) -> str:
    mode: str = link["linkinfo"]["info_data"]["mode"] if kind_of(link) in HAVE_MODES else ""
    return mode


def below(link: Document) -> str:
    name: str = "" if kind_of(link) == "veth" else link.get("link", "")
    return name


def place(address: Document) -> list[int]:
    version = {"inet": 4, "inet6": 6}[address["family"]]
    return [version, int(ipaddress.ip_address(address["local"])), address["prefixlen"]]


def is_passing(address: Document) -> bool:
    return any(address.get(word) for word in PASSING)


def with_shown_address(nics: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out a permanent address that is the current one: iproute2 does not print it."""
    return [
        nic | {"permanent_mac": "" if nic["permanent_mac"] == nic["mac"] else nic["permanent_mac"]}
        for nic in nics
    ]


def test_every_field_of_every_link(everything: Node) -> None:
    everything.ip(
        f"route add default via {on_rail(1, WIRE_HOST)} metric 100",
        f"route add default via {on_rail(4, WIRE_HOST)} metric 50",
        "route add ::/0 via fd00:2::99 dev rail2 metric 7",
    )
    uplinks = {
        "rail4": "the node's IPv4 default route leaves by it",
        "rail2": "the node's IPv6 default route leaves by it",
    }
    expected = expected_of(everything.show("link"), everything.show("address"), uplinks)
    found = with_shown_address(listed(everything.command()))
    assert found == expected
    by_name = {nic["name"]: nic for nic in found}
    # The test's own words for the rarer things, whatever iproute2 makes of them.
    assert by_name["rail1"]["altnames"] == ["enp1s0", "a-name-that-is-longer-than-fifteen"]
    assert by_name["rail1"]["uppers"] == [
        ["child0", "macvlan", "vepa"],
        ["child1", "macvlan", "private"],
        ["grandchild", "macvtap", "bridge"],  # the kernel passes its parent over
    ]
    assert by_name["grandchild"]["stands_on"] == "rail1"
    assert (by_name["guest"]["stands_on"], by_name["guest"]["kind"]) == ("", "macvlan")
    assert by_name["rail2"]["uppers"] == []  # its child is elsewhere
    assert by_name["port0"]["enslaved_to"] == "br0"
    assert len(by_name["rail4"]["passing"]) == 1
    assert len(by_name["rail2"]["passing"]) == 1
    assert [length for _, _, length in by_name["rail1"]["passing"]] == [24]


def test_folder_of_what_ip_printed_tells_the_same(everything: Node, tmp_path: Path) -> None:
    hops = (f"nexthop via {on_rail(rail, WIRE_HOST)}" for rail in (1, 2))
    everything.ip(
        f"route add default {' '.join(hops)}",
        "route add ::/0 dev rail4 metric 7",
        "route add blackhole default metric 1",
    )
    for file, commands in {
        "ip-link.json": ["-d link"],
        "ip-addr.json": ["addr"],
        "ip-route.json": ["route", "-6 route"],
    }.items():
        texts = [execute("ip", "-n", everything.name, "-j", *each.split()) for each in commands]
        (tmp_path / file).write_text("".join(texts))
    ours = {nic["name"]: nic for nic in listed(everything.command())}
    theirs = host_of_sysroot(str(tmp_path)).nics
    assert [nic.name for nic in theirs] == list(ours)
    assert {nic.name for nic in theirs if nic.uplink} == {"rail1", "rail2", "rail4"}
    for nic in theirs:
        facts = {word: getattr(nic, word) for word in nic.__slots__ if word != "uppers"}
        facts |= {"uppers": [[each.name, each.kind, each.mode] for each in nic.uppers]}
        fields = json.loads(json.dumps(facts))
        if nic.name == "tun0":  # iproute2's "none" is a medium of no other
            fields["medium"] = ours["tun0"]["medium"]
        assert fields == ours[nic.name]


def test_machine_itself() -> None:
    """Compare the machine's own links, which others may change: those that stand still."""
    before = expected_of(machine_shows("link"), machine_shows("address"), {})
    found = with_shown_address(listed())
    after = expected_of(machine_shows("link"), machine_shows("address"), {})
    expected = [link for link in before if link in after]
    names = {link["name"] for link in expected}
    assert "lo" in names
    for nic in found:
        nic["uplink"] = ""
    assert [nic for nic in found if nic["name"] in names] == expected


def machine_shows(what: str) -> list[Document]:
    shown: list[Document] = json.loads(execute("ip", "-j", "-d", what))
    for link in shown:
        for address in link.get("addr_info", ()):
            for word in ("valid_life_time", "preferred_life_time"):
                address.pop(word, None)
    return shown


def test_256_nics(namespaces: Namespaces) -> None:
    """Their dump comes in several packets."""
    node = namespaces.make("node")
    node.ip(
        *(f"link add a{pair} type veth peer name b{pair}" for pair in range(128)),
        *(f"address add 10.{pair}.0.1/24 dev a{pair}" for pair in range(128)),
        *(f"link set {end}{pair} up" for pair in range(128) for end in "ab"),
    )
    wait_until(lambda: "tentative" not in json.dumps(node.show("address")), "addresses stay")
    found = listed(node.command())
    assert with_shown_address(found) == expected_of(node.show("link"), node.show("address"), {})
    assert len(found) == 257
