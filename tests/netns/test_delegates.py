"""Delegates other than a lone macvlan, and IPAM that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.netns.confs import ranges
from tests.pytest_netns import DELEGATES, on_rail, rail_net

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime


def test_ipam_of_another_type_goes_through(
    runtime: Runtime, pod: Namespace, state: State, tmp_path: Path
) -> None:
    """One block for all NICs: host-local keeps one address per inner name under the net's name."""
    held = tmp_path / "host-local"
    conf = runtime.conf(
        masters=["rail1", "rail2"],
        ipam={
            "type": "host-local",
            "dataDir": str(held),
            "ranges": [[{"subnet": "10.8.0.0/24"}]],
            "routes": [{"dst": "10.9.0.0/16"}],
        },
    )
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    # Both run at once, so either may get the first address.
    addresses = [ip.pop("address") for ip in result["ips"]]
    assert sorted(addresses) == ["10.8.0.2/24", "10.8.0.3/24"]
    assert result["ips"] == [
        {"gateway": "10.8.0.1", "interface": 0},
        {"gateway": "10.8.0.1", "interface": 1},
    ]
    assert result["routes"] == [{"dst": "10.9.0.0/16"}]
    assert pod.addresses() == {"net1": addresses[:1], "net1-1": addresses[1:]}
    owners = {file.read_bytes() for file in (held / "rails").glob("10.8.0.*")}
    assert owners == {f"c-{pod.name}\r\n{name}".encode() for name in ("net1", "net1-1")}
    assert state.addresses() == {}

    attachment.delete().succeeded()
    assert list((held / "rails").glob("10.8.0.*")) == []
    assert state.left() == []


def test_no_ipam_gives_links_without_addresses(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    attachment = runtime.attachment(pod, runtime.conf(masters=["rail[12]"]))

    result = attachment.add()

    links = pod.links()
    assert result == {
        "cniVersion": "1.1.0",
        "interfaces": [
            {"name": name, "mac": links[name]["address"], "sandbox": pod.path, "mtu": 1500}
            for name in ("net1", "net1-1")
        ],
        "ips": [],
    }
    assert pod.addresses() == {"net1": [], "net1-1": []}
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert state.left() == []


def test_bridge_lists_the_links_on_the_node_without_sandbox(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    """Bridge reports three interfaces for each NIC; the addresses belong to the third."""
    conf = runtime.conf(plugin={"type": "bridge", "bridge": "br-pods", "mtu": 1400}, **ranges(1, 2))
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    on_node, in_pod = node.links(), pod.links()
    names = [each["name"] for each in result["interfaces"]]
    # A bridge has the lowest MAC of its ports: the other delegate's port may change it afterwards.
    bridges = [result["interfaces"][place].pop("mac") for place in (0, 3)]
    assert set(bridges) <= {on_node[name]["address"] for name in (names[1], names[4])}
    assert on_node["br-pods"]["address"] in bridges
    assert result["interfaces"] == [
        {"name": "br-pods"},
        {"name": names[1], "mac": on_node[names[1]]["address"]},
        {"name": "net1", "mac": in_pod["net1"]["address"], "sandbox": pod.path, "mtu": 1400},
        {"name": "br-pods"},
        {"name": names[4], "mac": on_node[names[4]]["address"]},
        {"name": "net1-1", "mac": in_pod["net1-1"]["address"], "sandbox": pod.path, "mtu": 1400},
    ]
    assert result["ips"] == [
        {"address": "10.1.0.100/24", "interface": 2},
        {"address": "10.2.0.100/24", "interface": 5},
    ]
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert not {names[1], names[4]} & node.links().keys()


def test_ptp(runtime: Runtime, node: Node, pod: Namespace, state: State) -> None:
    """Ptp routes through its gateway, which it puts on the node's end of the veth."""
    before = node.links().keys()
    conf = runtime.conf(
        plugin={"type": "ptp", "mtu": 1300},
        masterNets=[rail_net(1)],
        ipam={
            "type": "multi-nic-ipam",
            "ranges": {
                rail_net(1): [
                    {
                        "subnet": "10.77.0.0/24",
                        "rangeStart": "10.77.0.50",
                        "rangeEnd": "10.77.0.60",
                        "gateway": "10.77.0.1",
                    }
                ]
            },
        },
    )
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    assert result["ips"] == [{"address": "10.77.0.50/24", "gateway": "10.77.0.1", "interface": 1}]
    inner = result["interfaces"][1]
    assert (inner["name"], inner["sandbox"], inner["mtu"]) == ("net1", pod.path, 1300)
    pod.ping("10.77.0.1")
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert node.links().keys() == before
    assert state.left() == []


def test_host_device_moves_the_nic_and_brings_it_back(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    macs = [node.links()[nic]["address"] for nic in ("rail2", "rail3")]
    conf = runtime.conf(plugin={"type": "host-device"}, **ranges(2, 3))
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    assert [each["name"] for each in result["interfaces"]] == ["net1", "net1-1"]
    assert [each["mac"] for each in result["interfaces"]] == macs
    assert [ip["address"] for ip in result["ips"]] == ["10.2.0.100/24", "10.3.0.100/24"]
    assert node.links().keys() == {"rail1", "rail4"}
    pod.ping(on_rail(2, 254))
    pod.ping(on_rail(3, 254))
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert [node.links()[nic]["address"] for nic in ("rail2", "rail3")] == macs
    assert state.left() == []


def test_chain_of_macvlan_and_tuning(runtime: Runtime, pod: Namespace, state: State) -> None:
    """Tuning sees each macvlan's result; the mac that it sets is the one that is reported."""
    tuning = {
        "type": "tuning",
        "mac": "02:00:5e:00:00:07",
        "mtu": 1450,
        "sysctl": {"net.ipv4.conf.all.arp_announce": "2"},
    }
    conf = runtime.conf(
        plugin=[{"type": "macvlan", "mode": "bridge", "name": "overridden"}, tuning], **ranges(1)
    )
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    assert result == {
        "cniVersion": "1.1.0",
        "interfaces": [
            {"name": "net1", "mac": "02:00:5e:00:00:07", "sandbox": pod.path, "mtu": 1450}
        ],
        "ips": [{"address": "10.1.0.100/24", "interface": 0}],
    }
    assert pod.links()["net1"]["address"] == "02:00:5e:00:00:07"
    assert pod.execute("cat", "/proc/sys/net/ipv4/conf/all/arp_announce") == "2\n"
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert state.left() == []


def test_chain_of_macvlan_and_sbr_on_two_nics(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """Each NIC's traffic leaves through a table of its own; sbr chooses its tables one by one."""
    conf = runtime.conf(
        plugin=[{"type": "macvlan", "mode": "bridge"}, {"type": "sbr"}],
        maxParallel=1,
        masterNets=[rail_net(1), rail_net(2)],
        ipam={
            "type": "multi-nic-ipam",
            "ranges": {
                rail_net(rail): [{"rangeStart": on_rail(rail, 100), "gateway": on_rail(rail, 254)}]
                for rail in (1, 2)
            },
        },
    )
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.100/24", "10.2.0.100/24"]
    rules = {(rule["src"], rule["table"]) for rule in pod.show("rule") if rule["src"] != "all"}
    assert {source for source, _ in rules} == {"10.1.0.100", "10.2.0.100"}
    for rail, (_, table) in enumerate(sorted(rules), start=1):
        device = "net1" if rail == 1 else "net1-1"
        assert (
            f"dst=default gateway={on_rail(rail, 254)} dev={device} table={table}" in pod.routes()
        )
        pod.ping(on_rail(rail, 254), interface=device)
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert state.left() == []


def test_behind_another_plugin_its_result_comes_first(
    runtime: Runtime, pod: Namespace, tmp_path: Path
) -> None:
    """In a chain behind bridge, which made eth0, ours are eth0-1 and eth0-2, and eth0 stays."""
    bridge = {
        "cniVersion": "1.0.0",
        "name": "rails",
        "type": "bridge",
        "bridge": "br-cluster",
        "isDefaultGateway": True,
        "dns": {"nameservers": ["10.96.0.10"]},
        "ipam": {
            "type": "host-local",
            "dataDir": str(tmp_path / "host-local"),
            "subnet": "10.50.0.0/24",
        },
    }
    cluster = runtime.but(executable=Path(DELEGATES, "bridge")).attachment(
        pod, bridge, ifname="eth0"
    )
    previous = cluster.add()
    default = [route for route in pod.routes() if "dst=default" in route]
    conf = runtime.conf(cniVersion="1.0.0", prevResult=previous, **ranges(1, 2))
    attachment = runtime.attachment(pod, conf, ifname="eth0")

    result = attachment.add()

    links = pod.links()
    assert result == previous | {
        "interfaces": [
            *previous["interfaces"],
            {"name": "eth0-1", "mac": links["eth0-1"]["address"], "sandbox": pod.path},
            {"name": "eth0-2", "mac": links["eth0-2"]["address"], "sandbox": pod.path},
        ],
        "ips": [
            {"address": "10.50.0.2/24", "gateway": "10.50.0.1", "interface": 2},
            {"address": "10.1.0.100/24", "interface": 3},
            {"address": "10.2.0.100/24", "interface": 4},
        ],
    }
    assert [route for route in pod.routes() if "dst=default" in route] == default
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert links.keys() == {"eth0", "eth0-1", "eth0-2"}
    assert pod.links().keys() == {"eth0"}
    assert pod.addresses() == {"eth0": ["10.50.0.2/24"]}
    cluster.delete().succeeded()
