"""Chains of real plugins on several NICs: what is set in the pod, in which order, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.pytest_netns import on_rail, rail_net

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Document, Namespace, Node, Runtime

DELEGATE_FAILED = 104
RAILS = (1, 2, 3, 4)
INNER = ("net1", "net1-1", "net1-2", "net1-3")
MACVLAN: Document = {"type": "macvlan", "mode": "bridge"}


def chain(*others: Document) -> dict[str, Any]:
    """Return a conf's keys: macvlan and others on four NICs, each with a gateway."""
    return {
        "cniVersion": "1.0.0",
        "plugin": [MACVLAN, *others],
        "masterNets": [rail_net(rail) for rail in RAILS],
        "ipam": {
            "type": "multi-nic-ipam",
            "ranges": {
                rail_net(rail): [{"rangeStart": on_rail(rail, 100), "gateway": on_rail(rail, 254)}]
                for rail in RAILS
            },
        },
    }


def rules(pod: Namespace) -> dict[str, str]:
    """Return the table for each source."""
    return {rule["src"]: str(rule["table"]) for rule in pod.show("rule") if rule["src"] != "all"}


def test_order_is_that_of_the_conf_and_back(
    runtime: Runtime, pod: Namespace, delegates: Delegates
) -> None:
    types = ("macvlan", "tuning", "sbr")
    for kind in types:
        delegates.write(kind, "real")
    conf = runtime.conf(**chain({"type": "tuning", "promisc": True}, {"type": "sbr"}))
    attachment = delegates.used_by(runtime).attachment(pod, conf)

    attachment.add()
    attachment.delete().succeeded()

    for inner in INNER:
        for command, expected in (("ADD", types), ("DEL", types[::-1])):
            calls = [line.split() for line in delegates.calls(command)]
            assert [kind for _, name, kind in calls if name == inner] == list(expected)


def test_tuning(runtime: Runtime, pod: Namespace, node: Node, state: State) -> None:
    tuning = {
        "type": "tuning",
        "promisc": True,
        "allmulti": True,
        "mtu": 1400,
        "sysctl": {"net.ipv4.conf.all.arp_announce": "2", "net.core.somaxconn": "512"},
    }
    before = node.facts()
    attachment = runtime.attachment(pod, runtime.conf(**chain(tuning)))

    attachment.add()

    for inner in INNER:
        link = pod.links()[inner]
        assert link["mtu"] == 1400
        assert {"PROMISC", "ALLMULTI"} <= set(link["flags"])
    assert pod.execute("cat", "/proc/sys/net/ipv4/conf/all/arp_announce") == "2\n"
    assert pod.execute("cat", "/proc/sys/net/core/somaxconn") == "512\n"
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert state.left() == []
    assert node.facts() == before


def test_tunings_word_for_each_interface(runtime: Runtime, pod: Namespace) -> None:
    """Debian's plugin knows IFNAME in ADD alone, see docs/chains.md."""
    sysctl = {"net.ipv4.conf.IFNAME.rp_filter": "2", "net.ipv6.conf.IFNAME.accept_ra": "0"}
    attachment = runtime.attachment(
        pod, runtime.conf(**chain({"type": "tuning", "sysctl": sysctl}))
    )

    attachment.add()

    for inner in INNER:
        settings = "/proc/sys/net/ipv{}/conf/{}/{}"
        assert pod.execute("cat", settings.format(4, inner, "rp_filter")) == "2\n"
        assert pod.execute("cat", settings.format(6, inner, "accept_ra")) == "0\n"
    assert "IFNAME" in attachment.check().error(DELEGATE_FAILED)
    attachment.delete().succeeded()


def test_sbr_of_four_nics_at_once(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """All four look for a free table in the same moment, and each gets one of its own."""
    gate = delegates.folder / "gate"
    gate.mkdir()
    come = f"touch {gate}/$CNI_IFNAME; while [ $(ls {gate} | wc -l) -lt {len(RAILS)} ]; do :; done"
    delegates.write("sbr", f"[ $CNI_COMMAND != ADD ] || {{ {come}; }}; real")
    conf = runtime.conf(**chain({"type": "sbr"}))
    attachment = delegates.used_by(runtime).attachment(pod, conf)

    attachment.add()

    tables = rules(pod)
    assert tables.keys() == {on_rail(rail, 100) for rail in RAILS}
    assert len(set(tables.values())) == len(RAILS)
    for rail, inner in zip(RAILS, INNER, strict=True):
        table = tables[on_rail(rail, 100)]
        assert f"dst=default gateway={on_rail(rail, 254)} dev={inner} table={table}" in pod.routes()
        pod.ping(on_rail(rail, 254), interface=inner)
    attachment.delete().succeeded()
    assert rules(pod) == {}
    assert pod.links() == {}
    assert state.left() == []


def test_vrf_is_executed_for_one_nic_after_the_other(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """As the real one it looks for its VRF and makes it: two at once would both make it."""
    busy = delegates.folder / "busy"
    result = r"""printf %s "$conf" | sed 's/.*"prevResult": \(.*\)}$/\1/'"""
    delegates.write("vrf", f"mkdir {busy} || exit 1; sleep 0.1; rmdir {busy}; {result}")
    conf = runtime.conf(**chain({"type": "vrf", "vrfname": "blue"}))
    attachment = delegates.used_by(runtime).attachment(pod, conf)

    attachment.add()
    attachment.delete().succeeded()

    assert [line.split()[1] for line in delegates.calls("ADD")] == list(INNER)
    assert sorted(line.split()[1] for line in delegates.calls("DEL")) == sorted(INNER)
    assert state.left() == []


def test_bandwidth_is_explained(runtime: Runtime, pod: Namespace, state: State) -> None:
    """It shapes the node's end of a veth, which no link on a NIC has; without rates it is idle."""
    rate = {"ingressRate": 1_000_000, "ingressBurst": 1_000_000}
    idle = runtime.attachment(pod, runtime.conf(**chain({"type": "bandwidth"})))
    idle.add()
    idle.delete().succeeded()

    answer = runtime.attachment(pod, runtime.conf(**chain({"type": "bandwidth", **rate}))).call(
        "ADD"
    )

    assert "has no veth peer" in answer.error(DELEGATE_FAILED)
    assert "links on a NIC have none: leave bandwidth out" in answer.document["details"]
    assert pod.links() == {}
    assert state.left() == []
