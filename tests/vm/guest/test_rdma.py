"""RDMA with devices in software (rxe): eth4 and eth5 have one each, the others none.

This kernel moves no such device into a netns, so that all of it is in the shared mode.
"""

from __future__ import annotations

import json
import subprocess
import time
from ipaddress import IPv6Address, ip_interface
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from multinic_selectors.sysfs import Sysfs
from tests.vm.guest.node import EXECUTABLE, MACVLAN, execute, ip, nics_below, on_rail, rail, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vm.guest.node import Network, Pod

DEVICES = {"eth4": "roce4", "eth5": "roce5"}
PINGPONG_PORT = 18515
PATIENCE = 60.0
NO_DEVICE = "it has no RDMA device (attachPolicy.rdma)"
DOWN = "no RDMA port of it is ACTIVE: roce5/1 is DOWN"
REQUIRED: dict[str, Any] = {
    "plugin": MACVLAN,
    "masterNets": [rail(4), rail(5), rail(6)],
    "ipam": ranges(4, 5, 6),
    "attachPolicy": {"rdma": "required", "unhealthy": "use"},
}


@pytest.fixture(scope="module", autouse=True)
def rdma() -> Iterator[None]:
    execute("modprobe", "rdma_rxe")
    for nic, device in DEVICES.items():
        execute("rdma", "link", "add", device, "type", "rxe", "netdev", nic)
    yield
    for device in DEVICES.values():
        execute("rdma", "link", "delete", device)
    execute("modprobe", "-r", "rdma_rxe")


@pytest.fixture
def asleep() -> None:
    """Set eth5 down, and its port with it."""
    ip("link", "set", "eth5", "down")
    assert {"roce4": "ACTIVE", "roce5": "DOWN"} == states()


def states() -> dict[str, str]:
    return {each["ifname"]: each["state"] for each in json.loads(execute("rdma", "-j", "link"))}


def gids(device: str) -> dict[str, str]:
    """Return the addresses of a device's port, and the link of each."""
    port = Path(f"/sys/class/infiniband/{device}/ports/1")
    texts = {file.name: file.read_text().strip() for file in (port / "gids").iterdir()}
    return {
        str(IPv6Address(gid)): (port / "gid_attrs/ndevs" / index).read_text().strip()
        for index, gid in texts.items()
        if int(IPv6Address(gid))
    }


def gid_of(cidr: str) -> str:
    return str(IPv6Address(f"::ffff:{ip_interface(cidr).ip}"))


def told(command: str, *words: str | Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(execute(EXECUTABLE, command, "--json", *words))


@pytest.mark.usefixtures("asleep")
def test_nics_names_the_devices() -> None:
    found = {each["name"]: each["rdma"] for each in told("nics")["nics"] if each["rdma"]}
    assert {
        "eth4": [{"device": "roce4", "port": 1, "state": "ACTIVE"}],
        "eth5": [{"device": "roce5", "port": 1, "state": "DOWN"}],
    } == found


@pytest.mark.usefixtures("asleep")
def test_nic_with_an_active_port_is_taken(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    pod, network = make_pod("pod"), make_network(**REQUIRED)
    answer = network.call("ADD", pod)
    assert [f"{on_rail(4, 100)}/24"] == [each["address"] for each in answer.result()["ips"]]
    assert ["eth4"] == nics_below(pod)
    attached = f"attached nic=eth4 ifname=net1 addresses={on_rail(4, 100)}/24 rdma=roce4"
    assert attached in answer.stderr


@pytest.mark.usefixtures("asleep")
def test_too_few_are_an_error_that_names_each(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    pod = make_pod("pod")
    policy = REQUIRED["attachPolicy"] | {"minNics": 2}
    network = make_network(**REQUIRED | {"attachPolicy": policy})
    message = network.call("ADD", pod).error()
    assert f"eth5: {DOWN}" in message
    assert f"eth6: {NO_DEVICE}" in message
    assert {} == pod.links()
    assert set() == network.state()


@pytest.mark.usefixtures("asleep")
def test_explain_says_it_before(tmp_path: Path, make_network: Callable[..., Network]) -> None:
    file = tmp_path / "rails.conf"
    file.write_text(json.dumps(make_network(**REQUIRED).conf))
    (found,) = told("explain", file)
    ports = [{"device": "roce4", "port": 1, "state": "ACTIVE"}]
    assert [("eth4", ports)] == [(each["nic"], each["rdma"]) for each in found["nics"]]
    reasons = {each["nic"]: each["reason"] for each in found["refused"]}
    assert [DOWN, NO_DEVICE] == [reasons["eth5"], reasons["eth6"]]


def test_verbs_from_the_node_by_a_nics_address() -> None:
    """A ping-pong over a reliable connection, between two programs at eth4's device."""
    index = list(gids_in_order("roce4")).index(gid_of(f"{on_rail(4, 1)}/24"))
    program = ["ibv_rc_pingpong", "-d", "roce4", "-g", str(index), "-n", "20"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        try:
            wait_for_listener()
            shown = execute(*program, on_rail(4, 1))
            said, _ = server.communicate(timeout=PATIENCE)
        finally:
            server.kill()
    assert 0 == server.returncode
    for text in (shown, said):
        assert f"GID ::ffff:{on_rail(4, 1)}" in text
        assert "20 iters in" in text


def gids_in_order(device: str) -> Iterator[str]:
    folder = Path(f"/sys/class/infiniband/{device}/ports/1/gids")
    for index in sorted(folder.iterdir(), key=lambda file: int(file.name)):
        yield str(IPv6Address(index.read_text().strip()))


def wait_for_listener() -> None:
    wanted, deadline = f":{PINGPONG_PORT:04X} ", time.monotonic() + PATIENCE
    while not any(wanted in Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")):
        assert time.monotonic() < deadline, "nobody listens"
        time.sleep(0.05)


def test_pod_sees_all_devices_and_has_its_address_among_theirs(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    pod, network = make_pod("pod"), make_network(**REQUIRED)
    result = network.add(pod)
    shown = execute("ip", "netns", "exec", pod.name, "rdma", "-j", "link")
    assert set(DEVICES.values()) == {each["ifname"] for each in json.loads(shown)}
    addresses = [each["address"] for each in result["ips"]]
    assert [f"{on_rail(index, 100)}/24" for index in (4, 5)] == addresses
    assert ["net1", "net1-1"] == [
        gids(device)[gid_of(address)]
        for device, address in zip(DEVICES.values(), addresses, strict=True)
    ]
    network.delete(pod)
    for device, address in zip(DEVICES.values(), addresses, strict=True):
        assert gid_of(address) not in gids(device)


def test_without_link_local_addresses_a_pod_adds_one_entry_for_each_address(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    pod, network = make_pod("pod"), make_network(**REQUIRED, routing={"linkLocal": False})
    network.add(pod)
    for device, index, ifname in (("roce4", 4, "net1"), ("roce5", 5, "net1-1")):
        own = [gid for gid, link in gids(device).items() if link == ifname]
        assert [gid_of(f"{on_rail(index, 100)}/24")] == own
    network.delete(pod)


def test_link_that_a_pod_calls_like_a_nic_makes_it_no_rdmas(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    pod, network = make_pod("pod"), make_network(**REQUIRED)
    network.add(pod)
    pod.ip("link set net1 down")
    pod.ip("link set net1 name eth6")
    pod.ip("link set eth6 up")
    assert "eth6" in gids("roce4").values()
    assert [] == Sysfs().rdma_ports("eth6")
    assert [["roce4"], ["roce5"]] == [
        [port.device for port in Sysfs().rdma_ports(nic)] for nic in DEVICES
    ]
    network.delete(pod)
