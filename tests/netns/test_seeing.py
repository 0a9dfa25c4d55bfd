"""`multinic-cni nics`, `topology` and `explain`: as iproute2 says, and as ADD then does."""

from __future__ import annotations

import json
import subprocess
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import SHARED_SUBNET, masters_of, ranges
from tests.netns.tools import Ended, tool
from tests.pytest_netns import PROJECT, on_rail, wait_until
from tests.unit.trees import tree_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Document, Namespace, Node, Runtime

SECONDS = 120


@pytest.fixture
def busy_node(node: Node) -> Node:
    """Return a node with links of many kinds, one of them on another."""
    node.ip(
        "link property add dev rail1 altname the-first-rail-of-the-fabric",
        "link add br0 type bridge",
        "link set rail2 master br0",
        "link add link rail3 name mv0 type macvlan mode bridge",
        "link add link rail4 name mv1 type macvlan mode private",
        "link set rail4 mtu 1400",
        "link set br0 up",
        "link set mv0 up",
        "address add 10.1.0.99/24 dev rail1",
        "address add 10.9.0.1 peer 10.9.0.2/32 dev mv0",
        "address add fd00:1::5/64 dev rail1 nodad",
        f"route add default via {on_rail(3, 254)} dev rail3",
    )
    wait_until(lambda: is_settled(node), "the links are up, and no address is tentative")
    return node


def is_settled(node: Namespace) -> bool:
    """Tell whether the kernel has done what it does by and by."""
    links = node.show("address")
    up = [link["operstate"] == "UP" for link in links if link["ifname"] in {"br0", "mv0"}]
    return all(up) and not any(
        each.get("tentative") for link in links for each in link["addr_info"]
    )


def asked(runtime: Runtime, *words: str | Path) -> Ended:
    done = subprocess.run(
        [*runtime.node_command(), *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def facts_of_kernel(node: Namespace) -> dict[str, dict[str, Any]]:
    """Return what `ip` says of each link, in the words of `nics --json`."""
    links = node.show("link")
    addresses = {link["ifname"]: link["addr_info"] for link in node.show("address")}

    def kind(link: Document) -> str:
        return str(link.get("linkinfo", {}).get("info_kind", ""))

    def below(link: Document) -> str | None:
        return None if kind(link) == "veth" else link.get("link")

    return {
        link["ifname"]: {
            "name": link["ifname"],
            "altnames": link.get("altnames", []),
            "index": link["ifindex"],
            "kind": kind(link),
            "loopback": "LOOPBACK" in link["flags"],
            "mac": link["address"],
            "mtu": link["mtu"],
            "up": "UP" in link["flags"],
            "carrier": "LOWER_UP" in link["flags"],
            "operstate": link["operstate"].lower(),
            "portOf": link.get("master"),
            "ports": sorted(e["ifname"] for e in links if e.get("master") == link["ifname"]),
            "standsOn": below(link),
            "children": sorted(
                (each["ifname"], kind(each)) for each in links if below(each) == link["ifname"]
            ),
            "addresses": [(each["local"], each["prefixlen"]) for each in addresses[link["ifname"]]],
        }
        for link in links
    }


def test_nics_are_those_of_the_kernel(runtime: Runtime, busy_node: Node) -> None:
    document = tool(runtime, "nics", "--json").document()
    told = {nic["name"]: nic for nic in document["nics"]}
    expected = facts_of_kernel(busy_node)
    assert expected.keys() == told.keys()
    for name, facts in expected.items():
        own = {key: told[name][key] for key in facts}
        own["children"] = sorted((each["name"], each["kind"]) for each in own["children"])
        own["addresses"] = [(each["address"], each["prefixLength"]) for each in own["addresses"]]
        assert facts == own
    for nic in told.values():
        for each in nic["addresses"]:
            address = ip_interface(f"{each['address']}/{each['prefixLength']}")
            assert str(address.network) == each["network"]
    assert "private" == told["rail4"]["children"][0]["mode"]
    assert {"rail3": "the node's IPv4 default route leaves by it"} == {
        nic["name"]: nic["uplink"] for nic in told.values() if nic["uplink"]
    }
    assert [] == document["notes"]


def test_table_of_what_pods_have(runtime: Runtime, node: Node, pod: Namespace) -> None:
    """A veth is no NIC, unless pods have it or the node's traffic leaves by it."""
    runtime.attachment(pod, runtime.conf(**ranges(1, 3))).add()
    node.ip(f"route add default via {on_rail(4, 254)} dev rail4")

    heading, *lines = tool(runtime, "nics").lines()

    assert ["NIC", "PODS"] == [heading.split()[0], heading.split()[-1]]
    assert {"rail1": "1", "rail3": "1", "rail4": "uplink"} == {
        line.split()[0]: line.split()[-1] for line in lines[:-1]
    }
    assert "1 veth" in lines[-1]


def test_topology_of_a_node_without_devices_of_its_own(runtime: Runtime) -> None:
    """Here sysfs is the machine's: its functions are there, the namespace's links are not."""
    ended = asked(runtime, "topology", "--json")
    assert 0 == ended.status, ended.stderr
    assert ["places", "elsewhere"] == list(json.loads(ended.stdout))
    assert 0 == asked(runtime, "topology").status


def test_explain_says_what_add_then_does(
    runtime: Runtime, node: Node, pod: Namespace, other_pod: Namespace, tmp_path: Path
) -> None:
    runtime.attachment(other_pod, runtime.conf(**SHARED_SUBNET)).add()
    node.ip("link set rail2 down")
    # The delegates know this version; for one that they do not, they are asked which they do.
    conf = runtime.conf(**SHARED_SUBNET, interfaceNames="rail", cniVersion="1.0.0")
    file = tmp_path / "20-rails.conf"
    file.write_text(json.dumps(conf))
    before, kernel = tree_of(runtime.data_dir), node.facts()

    (found,) = json.loads(asked(runtime, "explain", "--json", file).stdout)

    assert (before, kernel) == (tree_of(runtime.data_dir), node.facts())
    attachment = runtime.attachment(pod, conf)
    result = attachment.add()
    assert [nic["nic"] for nic in found["nics"]] == masters_of(pod, node)
    assert [nic["interface"] for nic in found["nics"]] == sorted(pod.links())
    assert [nic["addresses"] for nic in found["nics"]] == [[ip["address"]] for ip in result["ips"]]
    record = runtime.data_dir / f"attachments/rails/{attachment_key(pod)}.json"
    confs = [nic["confs"] for nic in json.loads(record.read_text())["nics"]]
    assert confs == [nic["delegates"] for nic in found["nics"]]
    assert {"nic": "rail2", "reason": "it is down"} in found["refused"]
    assert [1, 1, 1] == [nic["attachments"] for nic in found["nics"]]


def attachment_key(pod: Namespace) -> str:
    return f"c-{pod.name}:net1"


def test_explain_makes_no_data_directory(runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "20-rails.conf"
    file.write_text(json.dumps(runtime.conf(**SHARED_SUBNET)))
    assert not runtime.data_dir.exists()
    ended = asked(runtime, "explain", file)
    assert (0, "") == (ended.status, ended.stderr)
    assert "rail1  0 (10.1.0.0/24)  net1       192.168.3.1/18" in ended.stdout
    assert not runtime.data_dir.exists()
    runtime.data_dir.mkdir()
    before = tree_of(runtime.data_dir)
    assert ended == asked(runtime, "explain", file)
    assert before == tree_of(runtime.data_dir)


def test_collected_node_is_told_like_the_node_itself(
    runtime: Runtime, busy_node: Node, tmp_path: Path
) -> None:
    folder = busy_node.execute(PROJECT / "scripts/collect.sh", tmp_path / "collected").strip()
    (tmp_path / "none").mkdir()

    def told(*words: str | Path) -> Document:
        ended = asked(runtime, *words)
        assert (0, "") == (ended.status, ended.stderr)
        document: Document = json.loads(ended.stdout)
        return document

    own = told("nics", "--json", "--data-dir", tmp_path / "none")
    other = told("nics", "--json", "--sysroot", folder)
    for mine, its in zip(own["nics"], other["nics"], strict=True):
        assert mine == its
    assert own["notes"] == other["notes"]
    assert told("topology", "--json") == told("topology", "--json", "--sysroot", folder)


def test_files_that_are_links_are_collected(
    runtime: Runtime, node: Node, mounts: Mounts, tmp_path: Path
) -> None:
    """A ConfigMap's files are links to a hidden folder's, and node.json may be one to anywhere."""
    for folder in ("/etc/cni", "/run/multinic-cni", "/srv"):
        mounts.execute("mkdir", "-p", folder)
        mounts.mount_tmpfs(folder)
    own = mounts.seen("/etc/cni/multinic")
    version = own / "classes.d/..2026_12_01"
    version.mkdir(parents=True)
    (version / "site.json").write_text(json.dumps({"every": [{"minSpeed": "1M"}]}))
    (own / "classes.d/..data").symlink_to(version.name)
    (own / "classes.d/site.json").symlink_to("..data/site.json")
    mounts.seen("/srv/node.json").write_text(json.dumps({"speeds": {"rail2": "7G"}}))
    (own / "node.json").symlink_to("/srv/node.json")
    folder = node.execute(*mounts.wrapper, PROJECT / "scripts/collect.sh", tmp_path).strip()

    document = json.loads(asked(runtime, "nics", "--json", "--sysroot", folder).stdout)
    speeds = {nic["name"]: nic["speed"] for nic in document["nics"]}
    conf = runtime.conf(**SHARED_SUBNET, attachPolicy={"class": "every"})
    file = tmp_path / "20-rails.conf"
    file.write_text(json.dumps(conf))
    (found,) = json.loads(asked(runtime, "explain", "--json", "--sysroot", folder, file).stdout)

    assert 7000 == speeds["rail2"]
    assert "rail2" in [nic["nic"] for nic in found["nics"]]
    assert "unknown class" not in json.dumps(found)
