"""What is read of the folder of a node's files."""

from __future__ import annotations

import json
import os
import shutil
import stat
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.admin.sysroot import host_of_sysroot
from multinic_cni.errors import CniError
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

IO_FAILURE, BAD_CONF = 5, 7


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    machine("laptop", tmp_path)
    return tmp_path / "laptop"


def failure(folder: Path) -> str:
    with pytest.raises(CniError) as raised:
        host_of_sysroot(str(folder))
    assert raised.value.code in {IO_FAILURE, BAD_CONF}
    return str(raised.value)


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("ip-link.json", "ip -j -d link"),
        ("ip-addr.json", "ip -j addr"),
        ("ip-route.json", "ip -j route; ip -j -6 route"),
    ],
)
def test_missing_file_is_named_with_the_command_that_makes_it(
    collected: Path, file: str, command: str
) -> None:
    (collected / file).unlink()
    assert f"no {collected}/{file}: it is what `{command}` prints on the node" in failure(collected)


LINK_OF = {"ifindex": 2, "ifname": "eth0", "flags": [], "mtu": 1500, "operstate": "UP"}
ANYWHERE = (b"\xff\xfe", b"{", b"{}", b"7", b'"x"', b"[7]", b"[] x", b"[" * 100_000)
DAMAGED = [
    *((file, content) for file in ("link", "addr", "route") for content in ANYWHERE),
    ("link", [{"ifname": "eth0"}]),
    ("link", [LINK_OF]),
    ("link", [{**LINK_OF, "link_type": "ether", "mtu": "large"}]),
    ("link", [{**LINK_OF, "link_type": "ether", "linkinfo": [1]}]),
    ("link", [{**LINK_OF, "link_type": ["ether"]}]),
    ("addr", [{"addr_info": []}, {"addr_info": [{"family": "inet"}]}]),
    ("addr", [{"ifindex": 1, "addr_info": [{"family": "inet", "local": "10.0.0.1"}]}]),
    ("addr", [{"ifindex": 1, "addr_info": [{"family": "inet", "local": "x", "prefixlen": 8}]}]),
    ("addr", [{"ifindex": 1, "addr_info": [7]}]),
    ("route", [{"dev": "wlp1s0"}]),
    ("route", [{"dst": "default", "nexthops": [1]}]),
    ("route", [{"dst": "default", "gateway": 7, "dev": "wlp1s0"}]),
    ("route", [{"dst": "default", "gateway": "7", "dev": "wlp1s0"}]),
    ("route", [{"dst": "default", "metric": "low", "dev": "wlp1s0"}]),
]


@pytest.mark.parametrize(("name", "content"), DAMAGED)
def test_damaged_file_is_named(collected: Path, name: str, content: object) -> None:
    file = collected / f"ip-{name}.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    message = failure(collected)
    assert f"{file} is not what `ip -j" in message
    assert len(message) < 1000


def test_file_that_cannot_be_read(collected: Path) -> None:
    (collected / "ip-addr.json").unlink()
    (collected / "ip-addr.json").mkdir()
    assert f"cannot read {collected}/ip-addr.json" in failure(collected)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("etc/cni/multinic/node.json", "../../../../outside"),
        ("proc/driver/nvidia/gpus/0000:07:00.0/information", "/etc/passwd"),
        ("ip-more.json", "sys/up/../../../outside"),
        ("run/multinic-cni/health", "/run"),
    ],
)
def test_link_out_of_the_folder_is_refused(collected: Path, link: str, target: str) -> None:
    (collected / "sys/up").symlink_to("..")  # which is allowed, but must be followed first
    path = collected / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    assert f"{path} leads out of {collected}, to /" in failure(collected)


def test_link_to_nothing_within_the_folder_is_none_of_those(collected: Path) -> None:
    (collected / "etc").mkdir(exist_ok=True)
    (collected / "etc/link").symlink_to("../sys/gone")
    (collected / "etc/loop").symlink_to("loop")
    assert "laptop" == host_of_sysroot(str(collected)).name


@pytest.mark.parametrize("path", ["ip-link.json", "proc/fifo"])
def test_fifo_is_refused_and_not_waited_for(collected: Path, path: str) -> None:
    (collected / path).unlink(missing_ok=True)
    os.mkfifo(collected / path)
    assert f"{collected}/{path} is no file, folder or link" in failure(collected)


def test_folder_by_a_link(collected: Path) -> None:
    (collected.parent / "there").symlink_to(collected.name)
    assert "laptop" == host_of_sysroot(str(collected.parent / "there")).name


def test_folder_names_the_node_that_has_told_no_name(collected: Path) -> None:
    shutil.rmtree(collected / "proc")
    assert "laptop" == host_of_sysroot(f"{collected}/").name


def test_nothing_is_written(collected: Path) -> None:
    for path in collected.rglob("*"):
        if not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
    before = sorted(collected.rglob("*"))
    assert host_of_sysroot(str(collected)).sysfs.pci_address("wlp1s0")
    assert before == sorted(collected.rglob("*"))


def write(folder: Path, **documents: Any) -> None:  # noqa: ANN401 - JSON documents
    for name in ("link", "addr", "route"):
        texts = map(json.dumps, documents.get(name, [[]]))
        (folder / f"ip-{name}.json").write_text("\n".join(texts))


LINK = {
    "ifindex": 2,
    "ifname": "eth0",
    "flags": ["UP"],
    "mtu": 1500,
    "operstate": "DOWN",
    "link_type": "ether",
}


def uplinks(tmp_path: Path, *routes: object) -> dict[str, str]:
    links = [{**LINK, "ifindex": index, "ifname": f"eth{index}"} for index in (1, 2, 3)]
    write(tmp_path, link=[links], route=routes)
    nics = host_of_sysroot(str(tmp_path)).nics
    return {nic.name: nic.uplink[len("the node's ") :][:4] for nic in nics if nic.uplink}


def test_routes_of_both_families(tmp_path: Path) -> None:
    first = [{"dst": "default", "gateway": "10.0.0.1", "dev": "eth1"}]
    second = [{"dst": "default", "dev": "eth2", "metric": 1024}]
    assert {"eth1": "IPv4", "eth2": "IPv6"} == uplinks(tmp_path, first, second)


def test_routes_that_lead_nowhere(tmp_path: Path) -> None:
    routes = [
        {"type": "blackhole", "dst": "default", "dev": "eth1"},
        {"dst": "10.0.0.0/8", "dev": "eth1"},
        {"dst": "default", "dev": "gone"},
        {},
    ]
    assert {} == uplinks(tmp_path, routes)


def test_next_hops(tmp_path: Path) -> None:
    hops = [{"gateway": "10.0.0.1", "dev": "eth1"}, {"via": {"host": "fe80::1"}, "dev": "eth3"}]
    assert {"eth1": "IPv4", "eth3": "IPv4"} == uplinks(
        tmp_path, [{"dst": "default", "nexthops": hops, "metric": 5}]
    )


def test_links_of_other_namespaces_and_modes(tmp_path: Path) -> None:
    links = [
        {**LINK, "ifindex": 3},
        {**LINK, "ifindex": 4, "ifname": "a", "link": "eth0", "linkinfo": _mode("macvlan", "vepa")},
        {**LINK, "ifindex": 5, "ifname": "b", "link": "eth0", "linkinfo": _mode("ipvlan", "l3")},
        {**LINK, "ifindex": 6, "ifname": "c", "link_index": 3, "linkinfo": _mode("vlan", "x")},
        {**LINK, "ifindex": 7, "ifname": "d", "link": "eth0", "linkinfo": {"info_kind": "veth"}},
    ]
    write(tmp_path, link=[links])
    nics = {nic.name: nic for nic in host_of_sysroot(str(tmp_path)).nics}
    uppers = [(upper.name, upper.kind, upper.mode) for upper in nics["eth0"].uppers]
    assert [("a", "macvlan", "vepa"), ("b", "ipvlan", "l3")] == uppers
    assert ["", ""] == [nics["c"].stands_on, nics["d"].stands_on]


def _mode(kind: str, mode: str) -> dict[str, object]:
    return {"info_kind": kind, "info_data": {"mode": mode}}
