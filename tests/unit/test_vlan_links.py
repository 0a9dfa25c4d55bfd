"""VLANs on NICs: how they are called, and what is asked of the kernel."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import vlan_links
from multinic_cni.delegates import link_for_delegate, vlan_id_of
from multinic_cni.errors import CniError
from multinic_cni.link_netlink import add_vlan, link_named
from tests.unit.kernel import done, error, link, talk
from tests.unit.nics import nic

if TYPE_CHECKING:
    from pathlib import Path

ID = 100
NICS = [nic("rail1", index=3), nic("rail2", index=4)]
OK = error(0)


def test_names_of_links() -> None:
    assert "rail1.100" == link_for_delegate("rail1", ID)
    assert "rail1" == link_for_delegate("rail1", 0)
    assert "enp11s0f0np.100" == link_for_delegate("enp11s0f0np", ID)  # 15 bytes


def test_long_names_of_links_are_short_and_differ() -> None:
    nics = ["enp11s0f0np0", "enp11s0f0np1", "äthernet-long"]
    names = [link_for_delegate(each, 4094) for each in nics]
    assert len(nics) == len(set(names))
    assert names == [link_for_delegate(each, 4094) for each in nics]
    assert all(len(name.encode()) == 15 and name.endswith(".4094") for name in names)


def test_digest_of_a_long_name() -> None:
    """FNV-1a of 32 bits, by its definition (offset 2166136261, prime 16777619)."""
    digest = 2166136261
    for byte in b"enp11s0f0np0":
        digest = (digest ^ byte) * 16777619 % 2**32
    assert f"vl{digest:08x}.100" == link_for_delegate("enp11s0f0np0", ID)


@pytest.mark.parametrize(
    ("name", "vlan_id"),
    [
        ("rail1.100", 100),
        ("bond0.5.4094", 4094),
        ("rail1", 0),
        ("", 0),
        (".100", 0),
        ("rail1.4095", 0),
        ("rail1.99999999999", 0),
        ("rail1.x", 0),
        ("rail1.٣", 0),
        ("../../x.100", 0),
        ("a\0.100", 0),
    ],
)
def test_id_in_a_name(name: str, vlan_id: int) -> None:
    assert vlan_id == vlan_id_of(name)


def test_request_for_a_vlan() -> None:
    """Pyroute2 reads what we send."""
    socket, kernel = talk([OK])
    add_vlan(socket, "rail1.100", nic=3, vlan_id=ID, mtu=9000, group=0x6D6E1234)
    (request,) = kernel.requests
    assert ("RTM_NEWLINK", 0x605) == (request["event"], request["header"]["flags"])
    # It is down, so that the node is closed before anything passes.
    assert (0, 0, 0) == (request["index"], request["flags"], request["change"])
    attributes = dict(request["attrs"])
    info = dict(attributes.pop("IFLA_LINKINFO")["attrs"])
    assert {
        "IFLA_IFNAME": "rail1.100",
        "IFLA_LINK": 3,
        "IFLA_MTU": 9000,
        "IFLA_GROUP": 0x6D6E1234,
    } == attributes
    assert "vlan" == info["IFLA_INFO_KIND"]
    assert {"IFLA_VLAN_ID": ID} == dict(info["IFLA_INFO_DATA"]["attrs"])


def vlan(
    *, vlan_id: int = ID, lower: int = 3, group: int = 0, name: str = "rail1.100", up: bool = True
) -> bytes:
    data: dict[str, Any] = {"attrs": [("IFLA_VLAN_ID", vlan_id)]}
    info = {"attrs": [("IFLA_INFO_KIND", "vlan"), ("IFLA_INFO_DATA", data)]}
    return link(
        ("IFLA_IFNAME", name),
        ("IFLA_LINK", lower),
        ("IFLA_MTU", 1500),
        ("IFLA_GROUP", group),
        ("IFLA_LINKINFO", info),
        index=9,
        flags=int(up),
    )


def test_link_by_name() -> None:
    socket, kernel = talk([vlan(group=7), OK])
    found = link_named(socket, "rail1.100")
    assert found is not None
    assert (9, "vlan", 3, 7) == (
        found.link.index,
        found.link.kind,
        found.link.lower,
        found.link.group,
    )
    assert ID == found.vlan_id
    (request,) = kernel.requests
    assert ("RTM_GETLINK", 0x5) == (request["event"], request["header"]["flags"])
    assert "rail1.100" == request.get_attr("IFLA_IFNAME")


def test_link_that_is_not_there() -> None:
    socket, _ = talk([error(errno.ENODEV)])
    assert link_named(socket, "rail1.100") is None


def test_link_that_is_no_vlan() -> None:
    socket, _ = talk([link(("IFLA_IFNAME", "rail1.100"), index=9), OK])
    found = link_named(socket, "rail1.100")
    assert found is not None
    assert 0 == found.vlan_id


def test_group_is_the_data_directorys(tmp_path: Path) -> None:
    one, other = vlan_links.group_of("/var/lib/cni/multinic"), vlan_links.group_of("/srv/cni")
    assert one != other
    assert 0x6D6E == one >> 16 == other >> 16
    (tmp_path / "link").symlink_to(tmp_path)
    assert vlan_links.group_of(str(tmp_path)) == vlan_links.group_of(f"{tmp_path}/link/")


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (vlan(lower=4), "link rail1.100 is VLAN 100 on rail2, not VLAN 100 on rail1"),
        (vlan(vlan_id=7), "link rail1.100 is VLAN 7 on rail1, not VLAN 100 on rail1"),
        (link(("IFLA_IFNAME", "rail1.100")), "is no VLAN but a device, not VLAN 100 on rail1"),
        (vlan(up=False), "link rail1.100, which is there already, is down"),
        (vlan(group=0x6D6E0000), "was made for networks with another dataDir"),
    ],
)
def test_link_that_cannot_be_shared(
    packet: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [link(("IFLA_IFNAME", each.name), index=each.index) for each in NICS]
    socket, _ = talk([packet, OK], [*names, done()])
    monkeypatch.setattr(vlan_links, "Netlink", lambda: socket)
    with pytest.raises(CniError, match=message):
        vlan_links.make_links(NICS[:1], ID, 0x6D6E1234)


@pytest.mark.parametrize("up", [True, False])
def test_link_of_ours_is_closed_for_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, up: bool
) -> None:
    """An earlier call may have been killed before it did so, and the link be up with its NIC."""
    settings = {
        "ipv4/conf/rail1.100/arp_ignore": "8",
        "ipv4/conf/rail1.100/forwarding": "0",
        "ipv4/conf/rail1.100/rp_filter": "1",
        "ipv6/conf/rail1.100/accept_ra": "0",
        "ipv6/conf/rail1.100/addr_gen_mode": "1",
        "ipv6/conf/rail1.100/disable_ipv6": "1",
    }
    for path in settings:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    answers = [[vlan(group=0x6D6E1234, up=up), OK], *([] if up else [[OK]])]
    socket, kernel = talk(*answers)
    monkeypatch.setattr(vlan_links, "SETTINGS", str(tmp_path))
    monkeypatch.setattr(vlan_links, "Netlink", lambda: socket)
    vlan_links.make_links(NICS[:1], ID, 0x6D6E1234)
    assert len(answers) == len(kernel.requests)
    assert settings == {path: (tmp_path / path).read_text() for path in settings}


def test_kernel_without_vlans(monkeypatch: pytest.MonkeyPatch) -> None:
    socket, _ = talk([error(errno.ENODEV)], [error(errno.EOPNOTSUPP)])
    monkeypatch.setattr(vlan_links, "Netlink", lambda: socket)
    with pytest.raises(CniError, match="cannot make VLAN 100") as raised:
        vlan_links.make_links(NICS[:1], ID, 1)
    assert "modprobe 8021q" in raised.value.details
