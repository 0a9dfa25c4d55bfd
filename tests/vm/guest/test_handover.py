"""Virtual functions that go into pods and come home, whatever the pod or a SIGKILL does to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.vm.guest.node import DELEGATES, EXECUTABLE, execute, ip, links
from tests.vm.guest.pci import wait_for_carrier
from tests.vm.guest.test_sriov import given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.vm.guest.node import Network, Pod
    from tests.vm.guest.pci import Sriov

ROUNDS = 20
TABLE = "131"
PATIENCE = 60  # seconds, on an emulated processor
HALF_WAY = """#!/bin/sh
case "$CNI_COMMAND" in
ADD)
  ip link set $(ls /sys/bus/pci/devices/{address}/net) netns $(basename $CNI_NETNS)
  kill -9 $PPID $$ ;;
esac
exec {delegates}/host-device
"""


@pytest.fixture
def furnished(sriov: Sriov) -> Iterator[str]:
    """Return a virtual function's NIC that has addresses, routes and a rule."""
    nic = sriov.virtual_nics[0]
    wait_for_carrier(sriov.virtual_nics)
    for words in (
        f"link set {nic} mtu 1400",
        f"address add 10.31.1.1/24 dev {nic}",
        f"address add 10.31.1.2/24 dev {nic}",
        f"address add fd00:31::1/64 dev {nic} nodad",
        f"route add 10.32.0.0/16 via 10.31.1.254 dev {nic}",
        f"route add default via 10.31.1.254 dev {nic} table {TABLE}",
        f"route add fd00:32::/48 via fd00:31::fe dev {nic} src fd00:31::1",
        f"rule add from 10.31.1.1 table {TABLE} priority 5000",
    ):
        ip(*words.split())
    yield nic
    ip("rule", "delete", "priority", "5000")
    ip("address", "flush", "dev", nic)
    ip("link", "set", nic, "down", "mtu", "1500")  # which takes the routes with it


@pytest.fixture
def network(make_network: Callable[..., Network]) -> Network:
    """Take what the runtime gives; NICs get back all that they had."""
    return make_network(plugin={"type": "host-device"}, ipam={}, restore=True)


def as_seen(nic: str) -> list[Any]:
    """Return what a move could change, but the link-local address, which comes after a while."""
    (link,) = json.loads(execute("ip", "-j", "-d", "address", "show", nic))
    addresses = [
        {key: value for key, value in info.items() if key != "tentative"}
        for info in link["addr_info"]
        if info["scope"] == "global"
    ]
    routes = [
        route
        for family in ("-4", "-6")
        for route in json.loads(
            execute("ip", "-j", "-d", family, "route", "show", "table", "all", "dev", nic)
        )
        if route["protocol"] != "kernel"
    ]
    keys = ("ifname", "address", "mtu", "parentdev", "altnames", "permaddr")
    return [
        [link.get(key) for key in keys],
        "UP" in link["flags"],
        addresses,
        [{key: value for key, value in route.items() if key != "flags"} for route in routes],
        json.loads(execute("ip", "-j", "rule")),
    ]


def test_there_and_back(
    network: Network, furnished: str, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    before = as_seen(furnished)
    address = sriov.virtual_addresses[0]
    pod = make_pod("pod")
    for _ in range(ROUNDS):
        network.add(pod, **given(address))
        assert furnished not in links()
        assert set(pod.links()) == {"net1"}
        network.delete(pod)
        assert as_seen(furnished) == before
    assert pod.links() == {}
    assert network.state() == set()


def test_renamed_and_imitated_in_the_pod(
    network: Network, furnished: str, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """The pod gives the NIC another name and MAC, and its own to other links."""
    before = as_seen(furnished)
    pod = make_pod("pod")
    network.add(pod, **given(sriov.virtual_addresses[0]))
    mac = pod.links()["net1"]["address"]
    pod.ip("link set net1 down")
    pod.ip("link set net1 name pod9")
    pod.ip("link property add dev pod9 altname eth0")  # of a NIC of the node's
    pod.ip("link set pod9 alias eth1")
    pod.ip(f"link add net1 address {mac} type bridge")
    pod.ip("link set net1 alias stolen")
    pod.ip(f"link add {furnished} address {mac} type bridge")
    pod.ip("link set pod9 address 52:54:00:00:01:77")

    network.delete(pod)

    assert as_seen(furnished) == before
    assert "stolen" not in links()
    assert set(pod.links()) == {"net1", furnished}
    assert network.state() == set()


def test_netns_that_has_gone(
    network: Network, furnished: str, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """The kernel brings the NIC home by and by, under the name that it had in the pod."""
    before = as_seen(furnished)
    pod = make_pod("pod")
    network.add(pod, **given(sriov.virtual_addresses[0]))
    pod.ip("link set net1 down")
    pod.ip("link set net1 name pod7")
    execute("ip", "netns", "delete", pod.name)

    network.delete(pod)

    execute("ip", "netns", "add", pod.name)  # the fixture deletes it
    assert as_seen(furnished) == before
    assert not {"net1", "pod7"} & set(links())
    assert network.state() == set()


def test_netns_that_lives_on_without_a_path(
    network: Network, furnished: str, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """While a process is in it the NIC stays away: the DEL says so, and a later one has it."""
    before = as_seen(furnished)
    pod = make_pod("pod")
    network.add(pod, **given(sriov.virtual_addresses[0]))
    command = ["ip", "netns", "exec", pod.name, "sh", "-c", "echo in; exec cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        execute("ip", "netns", "delete", pod.name)
        message = network.call("DEL", pod).error()
        process.kill()
    assert f"NIC {furnished} (pci/{sriov.virtual_addresses[0]}) is neither" in message

    network.call("DEL", pod).result()

    execute("ip", "netns", "add", pod.name)
    assert as_seen(furnished) == before
    assert network.state() == set()


def test_killed_half_way(
    network: Network,
    furnished: str,
    sriov: Sriov,
    make_pod: Callable[..., Pod],
    tmp_path: Path,
) -> None:
    """Both the plugin and host-device die when the NIC is in the pod and not renamed yet."""
    before = as_seen(furnished)
    address = sriov.virtual_addresses[0]
    pod = make_pod("pod")
    delegate = tmp_path / "host-device"
    delegate.write_text(HALF_WAY.format(address=address, delegates=DELEGATES))
    delegate.chmod(0o755)
    environment = {
        "PATH": os.environ["PATH"],
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": pod.name,
        "CNI_NETNS": pod.netns,
        "CNI_IFNAME": "net1",
        "CNI_PATH": f"{tmp_path}:{DELEGATES}",
    }
    conf = json.dumps(network.conf | given(address))
    done = subprocess.run([EXECUTABLE], env=environment, input=conf.encode(), check=False)
    assert done.returncode == -signal.SIGKILL
    assert set(pod.links()) == {furnished}

    network.call("DEL", pod).result()

    assert as_seen(furnished) == before
    assert pod.links() == {}
    assert network.state() == set()


def test_driver_that_was_loaded_anew(
    network: Network, furnished: str, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """The function has another NIC then, with the old one's MAC, on the node: the pod's is gone."""
    address = sriov.virtual_addresses[0]
    pod = make_pod("pod")
    network.add(pod, **given(address))
    driver = "/sys/bus/pci/drivers/igbvf"
    for deed in ("unbind", "bind"):
        execute("sh", "-c", f"echo {address} >{driver}/{deed}")
    assert pod.links() == {}

    network.delete(pod)

    (link,) = json.loads(execute("ip", "-j", "-d", "address", "show", furnished))
    assert link["parentdev"] == address
    assert network.state() == set()


def test_name_that_another_link_has_now(
    network: Network, furnished: str, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    before = as_seen(furnished)
    pod = make_pod("pod")
    network.add(pod, **given(sriov.virtual_addresses[0]))
    execute("ip", "netns", "delete", pod.name)
    deadline = time.monotonic() + PATIENCE
    while "net1" not in links():
        assert time.monotonic() < deadline, "the NIC does not come home"
        time.sleep(0.05)
    ip("link", "add", furnished, "type", "bridge")

    answer = network.call("DEL", pod)

    message = f"NIC {furnished} came back as net1, and the node has another link of that name"
    assert message in answer.error()
    assert "(bridge, index" in answer.document["details"]
    ip("link", "delete", furnished)
    network.call("DEL", pod).result()
    execute("ip", "netns", "add", pod.name)
    assert as_seen(furnished) == before


def test_own_addresses_in_the_pod_and_back(
    make_network: Callable[..., Network],
    furnished: str,
    sriov: Sriov,
    make_pod: Callable[..., Pod],
) -> None:
    network = make_network(
        plugin={"type": "host-device"}, ipam={"type": "host-device-ipam"}, restore=True
    )
    before = as_seen(furnished)
    pod = make_pod("pod")
    network.add(pod, **given(sriov.virtual_addresses[0]))
    assert pod.addresses() == {"net1": ["10.31.1.1/24", "10.31.1.2/24"]}

    network.delete(pod)

    assert as_seen(furnished) == before
    assert network.state() == set()
