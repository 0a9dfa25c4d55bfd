"""`multinic-cni routes` on an imagined node: which confs count, and what is wrong with them.

What becomes of the kernel's tables, tests/netns/test_node_routes.py looks at.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from multinic_cni.admin.between_nodes import needs_of, subnets_of
from multinic_cni.cli.app import app
from multinic_cni.cli.net_confs import net_confs
from multinic_cni.cli.routes import takes_part
from multinic_cni.errors import CniError
from multinic_cni.host import Host
from tests.unit.confs import document, net_conf
from tests.unit.rails import BLOCKS, OWN, RAIL0, RAIL1

if TYPE_CHECKING:
    from pathlib import Path

SUBNET = "192.168.0.0/16"
L3 = {"type": "ipvlan", "mode": "l3"}
SHARED: dict[str, Any] = {"subnet": SUBNET, "ipam": BLOCKS}


def write(folder: Path, conf: object, name: str = "20-rails.conf") -> Path:
    file = folder / name
    file.write_text(conf if isinstance(conf, str) else json.dumps(conf))
    return file


CONFS: dict[str, tuple[dict[str, Any], bool]] = {
    "l3.conf": ({"plugin": L3, **SHARED}, True),
    "l3s-in-a-chain.json": ({"plugin": [{**L3, "mode": "l3s"}], **SHARED}, True),
    "asks.conf": ({"routing": {"nodeRoutes": True}, **SHARED}, True),
    "asks-for-other-things.conf": ({"routing": {"sourceRules": True}, **SHARED}, False),
    "l2.conf": ({"plugin": {"type": "ipvlan"}, **SHARED}, False),
    "other-ipam.conf": ({"plugin": L3, "ipam": {"type": "host-local"}}, False),
    "no-shares.conf": (
        {"plugin": L3, "subnet": SUBNET, "ipam": {**OWN, "interfaceBlock": 1}},
        False,
    ),
    "l3.conf.rpmsave": ({"plugin": L3, **SHARED}, False),
}


@pytest.mark.parametrize("name", CONFS)
def test_confs_of_a_folder(tmp_path: Path, name: str) -> None:
    changes, counts = CONFS[name]
    write(tmp_path, document(**changes), name)
    confs, errors = net_confs([tmp_path], takes_part)
    assert (int(counts), []) == (len(confs), errors)


def test_conf_that_is_named_counts_whatever_it_is(tmp_path: Path) -> None:
    confs, errors = net_confs([write(tmp_path, document(**SHARED))], takes_part)
    assert (["rails"], []) == ([conf.name for conf in confs], errors)


def test_entries_of_a_conflist_that_are_ours(tmp_path: Path) -> None:
    entries = [{"type": "bridge"}, document(plugin=L3, **SHARED), {"type": "tuning"}]
    conflist = {"name": "list", "cniVersion": "1.0.0", "plugins": entries}
    confs, _ = net_confs([write(tmp_path, conflist, "20-list.conflist")], takes_part)
    assert ["list"] == [conf.name for conf in confs]


def test_log_is_not_written_to_the_confs_file(tmp_path: Path) -> None:
    file = write(tmp_path, document(**SHARED, logFile="/var/log/rails.log", logLevel="debug"))
    ((conf,), _) = net_confs([file], takes_part)
    assert ("", "error") == (conf.log_file, conf.log_level)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (document(masters=7), "20-rails.conf: invalid net conf: masters: must be a list"),
        ({"type": "bridge"}, "20-rails.conf: no plugin has one of the types multinic-cni"),
        ({"plugins": 7}, "20-rails.conf: no plugin has one of the types multinic-cni"),
    ],
    ids=["wrong", "of another plugin", "wrong conflist"],
)
def test_wrong_file_keeps_no_other_from_being_read(
    tmp_path: Path, content: object, message: str
) -> None:
    wrong, right = write(tmp_path, content), write(tmp_path, document(**SHARED), "right.conf")
    confs, (error,) = net_confs([wrong, right], takes_part)
    assert message in error.message
    assert ["rails"] == [conf.name for conf in confs]


def test_broken_files_of_a_folder_are_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "{")
    assert ([], []) == net_confs([tmp_path], takes_part)
    assert capsys.readouterr().err.startswith(f"multinic-cni: warning: {file}: ")


@pytest.mark.parametrize("words", [["remove"], ["remove", "--all", "FILE"]])
def test_remove_says_whose(tmp_path: Path, words: list[str]) -> None:
    file = str(write(tmp_path, document(**SHARED)))
    ended = CliRunner().invoke(app, ["routes", *(file if w == "FILE" else w for w in words)])
    assert 2 == ended.exit_code
    assert "or give --all" in ended.stderr


@pytest.mark.parametrize("command", ["apply", "show", "remove"])
def test_file_that_is_no_json(tmp_path: Path, command: str) -> None:
    ended = CliRunner().invoke(app, ["routes", command, str(write(tmp_path, "{"))])
    assert (1, "") == (ended.exit_code, ended.stdout)
    (line,) = ended.stderr.splitlines()
    assert "20-rails.conf" in line


def host() -> Host:
    return Host("/nonexistent", nics=[RAIL0, RAIL1], name="node-a")


def test_mistake_of_one_network_keeps_no_other_from_its_routes() -> None:
    hosts = {"node-a": 5, "node-b": 6}
    derived = net_conf(
        name="good",
        hosts=hosts,
        subnet="172.16.0.0/15",
        ipam={**OWN, "interfaceBlock": 1, "hostBlock": 8},
        masterNets=["10.1.0.0/24", "10.9.0.0/24"],
    )
    wrong = net_conf(name="wrong", hosts=hosts, **SHARED)
    needs = needs_of([wrong, derived], host())
    (family,) = needs.families
    assert ["172.16.6.0/24 via 10.1.0.6 dev rail0"] == [str(route) for route in family.routes]
    (error,) = needs.errors
    assert error.message.startswith("network wrong: NIC rail0: the addresses that other nodes'")
    (note,) = needs.left_out
    assert note == (
        "network good: 10.9.0.0/24: no NIC has an address in this masterNet: it has no routes to"
        " other nodes"
    )
    assert ["/var/lib/cni/multinic"] == needs.data_dirs


def test_subnets_by_which_a_network_is_removed() -> None:
    """They need no NIC; of the NICs' own networks the masterNets stand for them."""
    by_net = {"10.1.0.0/24": [{"subnet": "10.8.0.0/16"}], "10.2.0.0/24": [{}]}
    ranges = net_conf(ipam={**OWN, "ranges": by_net})
    own = net_conf(ipam={**OWN, "hostBlock": 4})
    assert [SUBNET] == [str(each) for each in subnets_of(net_conf(**SHARED))]
    assert ["10.8.0.0/16", "10.2.0.0/24"] == [str(each) for each in subnets_of(ranges)]
    assert ["10.1.0.0/24", "10.2.0.0/24"] == [str(each) for each in subnets_of(own)]
    unknown = net_conf(masterNets=None, masters=["rail*"], ipam={**OWN, "hostBlock": 4})
    with pytest.raises(CniError, match="network rails: the net conf does not say which subnets"):
        subnets_of(unknown)


def test_addresses_of_another_plugin() -> None:
    """A file that is named may be of any network; host-local's ranges are lists."""
    ranges = [[{"subnet": "10.9.0.0/24"}]]
    conf = net_conf(plugin=L3, masters=["rail0"], ipam={"type": "host-local", "ranges": ranges})
    needs = needs_of([conf], host())
    assert [] == list(needs.families)
    assert [
        "network rails: which node has which addresses is known of ipam.type multi-nic-ipam alone"
    ] == [error.message for error in needs.errors]
    with pytest.raises(CniError, match="does not say which subnets"):
        subnets_of(conf.but(master_nets=()))
