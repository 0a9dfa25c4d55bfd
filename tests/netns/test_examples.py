"""Every conf in conf-examples is valid, and does on a node what it promises."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.pytest_netns import EXECUTABLE, PROJECT, execute

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Namespace, Node, Runtime

EXAMPLES = sorted((PROJECT / "conf-examples").glob("*.conf*"))
NODE = {"nodeName": "node-a", "speeds": {"rail3": "100Gbps", "rail4": "100Gbps"}}
# What the first pod on host 0 of a node with the rails 1 to 4 gets.
ADDRESSES: dict[str, dict[str, list[str]]] = {
    "host-device.conf": {"net1": ["172.26.1.1/24"], "net1-1": ["172.26.2.1/24"]},
    # The node is host 1 by its NICs' addresses.
    "ipvlan-l3-routes.conf": {"net1": ["172.18.1.1/16"], "net1-1": ["172.19.1.1/16"]},
    "ipvlan-l3.conf": {"net1": ["192.168.0.1/17"], "net1-1": ["192.168.128.1/17"]},
    # rail3 and rail4 are fast on this node; 150 of their 200 Gbit/s need both.
    "macvlan-bandwidth.conf": {"net1": ["172.25.0.1/24"], "net1-1": ["172.25.0.2/24"]},
    "macvlan-class.conf": {"net1": ["172.25.1.1/24"], "net1-1": ["172.25.1.2/24"]},
    "macvlan-default-route.conf": {"net1": ["10.1.0.100/24"], "net1-1": ["10.2.0.100/24"]},
    "macvlan-dual-stack.conf": {
        "net1": ["192.168.0.1/17", "fd00:10::1/97"],
        "net1-1": ["192.168.128.1/17", "fd00:10::8000:1/97"],
    },
    # Both delegates ask host-local at once: who is first gets .2.
    "macvlan-host-local.conf": {"net1": ["172.31.0.2/24"], "net1-1": ["172.31.0.3/24"]},
    "macvlan-ipam-per-master.conf": {"net1": ["172.29.1.2/24"], "net1-1": ["172.29.2.2/24"]},
    "macvlan-l2.conf": {"net1": [], "net1-1": []},
    "macvlan-node-blocks.conf": {"net1": ["172.20.0.10/16"], "net1-1": ["172.21.0.2/16"]},
    # Without hosts: the node's own addresses, 10.1.0.1 and 10.2.0.1, make it host 1.
    "macvlan-node-networks.conf": {"net1": ["172.22.1.2/24"], "net1-1": ["172.23.1.2/24"]},
    # By this conf the node is host 1 of eight.
    "macvlan-own-network.conf": {"net1": ["10.1.0.33/24"], "net1-1": ["10.2.0.33/24"]},
    "macvlan-probe.conf": {"net1": ["10.1.0.200/24"], "net1-1": ["10.2.0.200/24"]},
    # The fourth rail is missing here.
    "macvlan-rails.conf": {
        "net1": ["172.16.0.1/16"],
        "net1-1": ["172.17.0.1/16"],
        "net1-2": ["172.18.0.1/16"],
    },
    "macvlan-ranges.conf": {"net1": ["10.1.0.100/24"], "net1-1": ["10.2.0.100/24"]},
    "macvlan-routing.conf": {"net1": ["172.16.0.1/24"], "net1-1": ["172.17.0.1/24"]},
    "macvlan-sbr-chain.conf": {"net1": ["172.19.1.1/24"], "net1-1": ["172.19.2.1/24"]},
    "macvlan-slice.conf": {"net1": ["10.1.0.128/24"], "net1-1": ["10.2.0.128/24"]},
    "macvlan-subnet.conf": {
        "net1": ["192.168.0.1/18"],
        "net1-1": ["192.168.64.1/18"],
        "net1-2": ["192.168.128.1/18"],
        "net1-3": ["192.168.192.1/18"],
    },
    "macvlan-tuning-chain.conf": {"net1": ["172.28.1.1/24"], "net1-1": ["172.28.2.1/24"]},
    # Nobody knows of devices of this pod: the NICs with the fewest attachments, by name.
    "macvlan-topology.conf": {"net1": ["172.24.0.1/24"], "net1-1": ["172.24.0.2/24"]},
    "macvlan-two-of-many.conf": {"net1": ["172.30.0.16/24"], "net1-1": ["172.30.0.17/24"]},
    "macvlan-vlan.conf": {"net1": ["172.18.1.1/24"], "net1-1": ["172.18.2.1/24"]},
    "macvlan-vrf-chain.conf": {
        "net1": ["172.17.1.1/24"],
        "net1-1": ["172.17.2.1/24"],
        "blue": [],
    },
    "operator.conf": {"net1-0": ["192.168.0.1/18"], "net1-1": ["192.168.64.1/18"]},
    "podman-rails.conflist": {"net1": ["172.27.1.1/24"], "net1-1": ["172.27.2.1/24"]},
}
# Links that a kernel may not know, as `ip` makes one.
PROBES = {
    "ipvlan": "link rail1 type ipvlan",
    "vlan": "link rail1 type vlan id 9",
    "vrf": "type vrf table 9",
}


def test_there_are_examples() -> None:
    assert {example.name for example in EXAMPLES} == ADDRESSES.keys()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_validates(example: Path) -> None:
    assert "valid" in execute(EXECUTABLE, "validate", example)


def conf_of(example: Path) -> dict[str, Any]:
    """Return what a runtime sends: a conflist's entry gets the list's name and version."""
    document: dict[str, Any] = json.loads(example.read_text())
    if "plugins" not in document:
        return document
    (entry,) = document["plugins"]
    return {**entry, "name": document["name"], "cniVersion": document["cniVersion"]}


def kernel_lacks(node: Node, conf: dict[str, Any]) -> bool:
    """Tell whether the kernel cannot make some of the links at all."""
    chain = conf["plugin"] if isinstance(conf["plugin"], list) else [conf["plugin"]]
    kinds = {plugin["type"] for plugin in chain} | ({"vlan"} if "vlan" in conf else set())
    wanted = [words for kind, words in PROBES.items() if kind in kinds]
    try:
        for words in wanted:
            node.ip(f"link add probe {words}", "link delete probe")
    except AssertionError as error:
        assert "Unknown device type" in str(error)  # noqa: PT017 - any other cause is a failure
        return True
    return False


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_works(
    *, runtime: Runtime, node: Node, pod: Namespace, mounts: Mounts, example: Path, tmp_path: Path
) -> None:
    """As it is, on "node-a", with the default folders: in a mount namespace of its own."""
    for folder in ("/etc/cni", "/var/lib"):
        mounts.mount_tmpfs(folder)
    mounts.seen("/etc/cni/multinic").mkdir()
    mounts.seen("/etc/cni/multinic/node.json").write_text(json.dumps(NODE))
    conf = conf_of(example)
    named = tmp_path / conf["type"]
    named.symlink_to(EXECUTABLE)
    attachment = runtime.but(wrapper=mounts.wrapper, executable=named).attachment(pod, conf)
    before = node.facts()

    if kernel_lacks(node, conf):
        answer = attachment.call("ADD")
        assert "operation not supported" in answer.error(5 if "vlan" in conf else 104).lower()
    else:
        attachment.add()
        given, expected = pod.addresses(), ADDRESSES[example.name]
        assert given.keys() == expected.keys()
        assert sorted(given.values()) == sorted(expected.values())
        if "sbr" in example.name or "vrf" in example.name:  # macvlan's CHECK misses the routes
            assert "Gateway" in attachment.check().error(104)
        elif "tuning" not in example.name:  # Debian's does not replace IFNAME on CHECK
            if conf["cniVersion"] >= "0.4":
                attachment.check().succeeded()
        else:
            assert pod.execute("cat", "/proc/sys/net/ipv4/conf/net1-1/arp_ignore") == "1\n"
    attachment.delete().succeeded()

    assert pod.links() == {}
    assert not list(mounts.seen("/var/lib/cni").glob("networks/*/1*"))
    assert not list(mounts.seen("/var/lib/cni").glob("multinic/pools/*/1*"))
    assert not list(mounts.seen("/var/lib/cni").glob("multinic/attachments/*/*"))
    if "nodeRoutes" in conf.get("routing", {}):  # they are no pod's
        assert node.facts() != before
        node.execute(EXECUTABLE, "routes", "remove", example)
    if "host-device" not in example.name:
        assert node.facts() == before
