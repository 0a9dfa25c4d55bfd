from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from multinic_cni.conf.node import PATH, NodeFile
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.host_index import HostIndex, ThisNode
from multinic_cni.sharing import Sharing
from multinic_selectors.candidates import Choice
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.rails import BLOCKS, OWN, RAIL0, RAIL1, range_conf

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.nics import Nic

# Masternets of 256 host numbers, so 8 bits are enough to derive an index.
DERIVABLE: dict[str, Any] = {**OWN, "interfaceBlock": 2, "hostBlock": 8}


def conf_of(hosts: dict[str, int] | None = None, **ipam: object) -> NetConf:
    return net_conf(subnet="192.168.0.0/16", ipam={**DERIVABLE, **ipam}, hosts=hosts)


def index_of(
    conf: NetConf,
    choice: Choice,
    node: NodeFile | None = None,
    host_name: str = "node-a",
) -> HostIndex:
    this = ThisNode(conf.hosts, lambda: node or NodeFile(), lambda: host_name)
    ((share,), *_) = Sharing(conf, this, ()).of(choice).families
    assert share.host_index is not None
    return share.host_index


def refusal(conf: NetConf, choice: Choice, node: NodeFile | None = None) -> CniError:
    with pytest.raises(CniError) as raised:
        index_of(conf, choice, node)
    assert BAD_CONF == raised.value.code
    return raised.value


FIRST = Choice(RAIL0, 0)  # 10.1.0.5


@pytest.mark.parametrize(
    ("node", "host_name", "expected"),
    [
        (NodeFile(host_index=9), "node-c", (9, PATH)),
        (NodeFile(host_index=0, name="node-c"), "x", (0, PATH)),
        (NodeFile(host_index=1), "node-b", (1, PATH)),
        (NodeFile(name="node-b"), "x", (1, "hosts")),
        (NodeFile(), "node-b", (1, "hosts")),
        (NodeFile(), "node-c", (5, "10.1.0.5 in 10.1.0.0/24")),
        (NodeFile(), "node-b.example", (5, "10.1.0.5 in 10.1.0.0/24")),
        (NodeFile(), "Node-B", (5, "10.1.0.5 in 10.1.0.0/24")),
        (NodeFile(name="node-c"), "node-b", (5, "10.1.0.5 in 10.1.0.0/24")),
    ],
    ids=[
        "node.json",
        "nought is an index",
        "node.json before hosts",
        "node.json's name",
        "host name",
        "derived",
        "longer name",
        "another case",
        "node.json's name before the host's",
    ],
)
def test_sources_in_their_order(node: NodeFile, host_name: str, expected: tuple[int, str]) -> None:
    found = index_of(conf_of({"node-b": 1}), FIRST, node, host_name)
    assert expected == (found.number, found.source)


def test_derived_indexes_are_each_nics_own() -> None:
    """Whatever number a node has on a rail, no other node has it there."""
    conf = conf_of()
    assert 5 == index_of(conf, FIRST).number
    assert 77 == index_of(conf, Choice(nic("rail1", "10.2.0.77/24"), 1)).number


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        # The masterNet's length counts, not that of the address.
        (nic("rail0", "10.1.7.5/24"), 7 * 256 + 5),
        (nic("rail0", "10.9.0.3/24", "10.1.0.8/24", "10.2.0.9/24"), 8),
        (nic("rail0", "10.1.0.0/16"), 0),
    ],
)
def test_host_part_of_the_address_in_the_master_net(own: Nic, expected: int) -> None:
    conf = net_conf(
        masterNets=["10.1.0.0/16"],
        subnet="192.168.0.0/16",
        ipam={**OWN, "perNodeNetworkPrefix": 32},
    )
    assert expected == index_of(conf, Choice(own, 0)).number


def test_an_address_of_one_family_numbers_the_shares_of_both() -> None:
    conf = net_conf(
        masterNets=["fd00:1::/120"],
        subnet=["192.168.0.0/16", "fd08::/64"],
        ipam={**OWN, "hostBlock": 8},
    )
    this = ThisNode({}, NodeFile, lambda: "node-a")
    found = Sharing(conf, this, ()).of(Choice(nic("rail0", "fd00:1::2a/64"), 0))
    assert ["192.168.42.0/24", "fd08::2a00:0:0:0/72"] == [
        str(pool.block) for (pool,) in found.pools
    ]


@pytest.mark.parametrize(
    ("words", "enough"),
    [
        ({"hostBlock": 8}, True),
        ({"hostBlock": 7}, False),
        ({"perNodeBlockSize": 63}, True),  # (2^14 - 2) / 63 = 260
        ({"perNodeBlockSize": 64}, False),  # 255
        ({"perNodeNetworkPrefix": 26}, True),
        ({"perNodeNetworkPrefix": 25}, False),
    ],
)
def test_derived_only_where_each_host_number_has_a_share(
    words: dict[str, int], *, enough: bool
) -> None:
    conf = net_conf(subnet="192.168.0.0/16", ipam={**OWN, "interfaceBlock": 2, **words})
    if enough:
        assert 5 == index_of(conf, FIRST).number
        return
    assert "which has 256 host numbers, while" in refusal(conf, FIRST).message


@pytest.mark.parametrize(
    ("ipam", "masters", "choice", "reason"),
    [
        (
            {"subnet": "192.168.0.0/16", "ipam": BLOCKS},
            None,
            FIRST,
            (
                "none follows from 10.1.0.5 in 10.1.0.0/24, which has 256 host numbers, while"
                " hostBlock 6 has 64 shares"
            ),
        ),
        (
            {"subnet": "192.168.0.0/16", "ipam": DERIVABLE},
            ["extra"],
            Choice(nic("extra", "10.7.0.5/24"), 2),
            (
                "none follows from the NIC, which has no address of its own in an entry of"
                " masterNets"
            ),
        ),
        (
            {"ipam": {**OWN, "perNodeNetworkPrefix": 32}},
            None,
            FIRST,
            (
                "none follows from 10.1.0.5 in 10.1.0.0/24, since the shares are cut from that"
                " network itself"
            ),
        ),
    ],
    ids=["too few shares", "no masterNet", "own network"],
)
def test_no_index_is_an_error_that_says_why_and_how(
    ipam: dict[str, Any], masters: list[str] | None, choice: Choice, reason: str
) -> None:
    conf = net_conf(masters=masters, hosts={"node-b": 0}, **ipam)
    error = refusal(conf, choice)
    assert (
        f"no addresses for NIC {choice.nic.name}: this node (node-a) has no host index:"
        f" {PATH} gives none; hosts does not name the node; {reason}"
    ) == error.message
    assert 'add "node-a" to the net conf\'s hosts' in error.details
    assert '{"hostIndex": N}' in error.details


@pytest.mark.parametrize(
    ("hosts", "node", "number", "source", "other"),
    [
        ({"node-b": 5}, NodeFile(), 5, "10.1.0.5 in 10.1.0.0/24", "node-b"),
        ({"node-a": 3, "node-b": 5}, NodeFile(host_index=5), 5, PATH, "node-b"),
    ],
    ids=["derived", "node.json"],
)
def test_index_that_another_node_has_by_name(
    *, hosts: dict[str, int], node: NodeFile, number: int, source: str, other: str
) -> None:
    error = refusal(conf_of(hosts), FIRST, node)
    assert (
        f"no addresses for NIC rail0: host index {number} of this node (node-a), from {source}, is"
        f" {other}'s in hosts: both would give out the same addresses"
    ) == error.message


def test_own_entry_in_hosts_is_no_others() -> None:
    assert 5 == index_of(conf_of({"node-a": 5}), FIRST).number
    assert 5 == index_of(conf_of({"node-a": 5}), FIRST, NodeFile(host_index=5)).number


@pytest.mark.parametrize(
    ("node", "hosts", "expected"),
    [
        (NodeFile(host_index=3), {}, "nodes without an entry derive theirs; this one would have 5"),
        (NodeFile(), {"node-a": 3}, "nodes without an entry derive theirs; this one would have 5"),
        (NodeFile(host_index=5), {}, ""),
        (NodeFile(), {}, ""),
    ],
    ids=["node.json", "hosts", "the same", "derived"],
)
def test_hint_where_other_nodes_would_derive_theirs(
    node: NodeFile, hosts: dict[str, int], expected: str
) -> None:
    assert expected == index_of(conf_of(hosts), FIRST, node).hint


def test_no_hint_where_none_can_be_derived() -> None:
    assert "" == index_of(conf_of(hostBlock=6), FIRST, NodeFile(host_index=3)).hint


@pytest.mark.parametrize(
    "conf",
    [
        range_conf(),
        net_conf(subnet="192.168.0.0/16", ipam={**OWN, "interfaceBlock": 1}),
        net_conf(ipam={**OWN, "slice": {"offset": 16, "length": 8}}),
        conf_of(staticAllocations=[{"prefix": "192.168.1.0/30"}], hostBlock=0),
    ],
    ids=["ranges", "one node", "slice", "reserved"],
)
def test_nothing_of_the_node_is_read_without_need(conf: NetConf) -> None:
    """A mistake in its file is no concern of this conf."""

    def unread() -> NoReturn:
        pytest.fail("read without need")

    node = ThisNode(conf.hosts, unread, unread)
    for place, rail in enumerate((RAIL0, RAIL1)):
        if conf.ipam.get("staticAllocations") and place == 0:
            continue  # the reserved network lies in this one's
        assert Sharing(conf, node, ()).of(Choice(rail, place)).families


def test_the_nodes_file_is_read_once() -> None:
    times = []

    def read() -> NodeFile:
        times.append(1)
        return NodeFile()

    conf = conf_of()
    sharing = Sharing(conf, ThisNode({}, read, lambda: "node-a"), ())
    for place, rail in enumerate((RAIL0, RAIL1)):
        sharing.of(Choice(rail, place))
    assert [1] == times
