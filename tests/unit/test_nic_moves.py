"""NICs that move at this moment: listed, but not to be had. Whoever takes NICs looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import host, nic_moves
from multinic_cni.attachments import records
from multinic_cni.choosing import choose, choose_for_nobody, takes_turn
from multinic_cni.errors import IO_FAILURE, NO_NICS, CniError
from multinic_cni.host import Host
from multinic_selectors.sysfs import Sysfs
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.test_nic_uses import HOST_DEVICE, INDEXES, MACVLAN, attach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.nics import Nic
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

NICS = [nic(name, index=index) for name, index in INDEXES.items()]
ONE: dict[str, Any] = {"attachPolicy": {"nics": 1}}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> list[Nic]:
    """Return the NICs that the kernel lists at the second look, which a test may change."""
    links = list(NICS)
    monkeypatch.setattr(nic_moves, "links_of_node", lambda: links)
    monkeypatch.setattr(Sysfs, "pci_address", lambda _, name: f"0000:3b:00.{INDEXES[name]}")
    return links


def conf_of(
    node: AdminNode,
    kind: str = "host-device",
    **words: Any,  # noqa: ANN401 - words of a conf
) -> NetConf:
    words = {"masterNets": None, "masters": ["rail*"], "dataDir": node.path, **words}
    return net_conf(plugin={"type": kind}, **words)


def chosen(node: AdminNode, **words: Any) -> list[str]:  # noqa: ANN401 - words of a conf
    selection = choose(conf_of(node, **{**ONE, **words}), Host(nics=NICS), list, dict)
    return [choice.nic.name for choice in selection.chosen]


def refusal(node: AdminNode, **words: Any) -> CniError:  # noqa: ANN401 - words of a conf
    with pytest.raises(CniError) as raised:
        chosen(node, **words)
    return raised.value


def half_way(
    node: AdminNode, container: str, *nics: str, template: dict[str, Any] = HOST_DEVICE
) -> None:
    """Write the record of an attachment whose ADD, or DEL, has not ended."""
    attach(node, container, template, *nics)
    file = node.record_of("other", container)
    file.write_text(file.read_text().replace('"complete": true', '"complete": false'))


@pytest.mark.parametrize(
    ("kind", "strategy", "expected"),
    [
        *((kind, "none", True) for kind in ("host-device", "sriov", "ib-sriov-cni")),
        *((kind, "none", False) for kind in ("macvlan", "ipvlan", "vlan", "bridge", "my-own")),
        *(("macvlan", strategy, True) for strategy in ("topology", "perfOpt", "costOpt")),
        ("macvlan", "devClass", False),
    ],
)
def test_who_takes_turns(
    admin_node: AdminNode, kind: str, strategy: str, *, expected: bool
) -> None:
    policy = {"strategy": strategy, "nics": 2}
    policy |= {"target": "1G"} if strategy.endswith("Opt") else {}
    assert expected is takes_turn(conf_of(admin_node, kind, attachPolicy=policy))


def test_topology_that_takes_all_nics_waits_for_nobody(admin_node: AdminNode) -> None:
    assert not takes_turn(conf_of(admin_node, "macvlan", attachPolicy={"strategy": "topology"}))


def test_another_takes_the_place_of_one_that_goes(admin_node: AdminNode) -> None:
    half_way(admin_node, "a", "rail0")
    assert ["rail1"] == chosen(admin_node)
    half_way(admin_node, "b", "rail1", "rail2")
    error = refusal(admin_node)
    assert NO_NICS == error.code
    assert error.message == (
        "NIC rail0: pod team/a of network other is taking it; NICs rail1, rail2: pod team/b of"
        " network other is taking it"
    )


def test_one_that_comes_back_may_have_another_index(admin_node: AdminNode) -> None:
    attach(admin_node, "a", HOST_DEVICE, "rail0", index=77)
    assert ["rail0"] == chosen(admin_node)  # somebody has brought it back
    half_way(admin_node, "a", "rail0")
    file = admin_node.record_of("other", "a")
    whole = file.read_text().replace('"result": null', '"result": {"cniVersion": "1.1.0"}')
    file.write_text(whole.replace('"index": 3', '"index": 77'))
    assert "NIC rail0: pod team/a of network other is giving it back" in (
        refusal(admin_node, masters=["rail0"]).message
    )


def test_one_that_comes_back_may_have_another_name(admin_node: AdminNode) -> None:
    half_way(admin_node, "a", "rail0")
    file = admin_node.record_of("other", "a")
    own = file.read_text().replace('"nic": "rail0"', '"nic": "eth7", "pci": "0000:3b:00.4"')
    file.write_text(own)
    assert ["rail0", "rail2"] == chosen(admin_node, attachPolicy={"nics": 2})


@pytest.mark.parametrize("template", [MACVLAN, {"type": "bridge", "cniVersion": "1.0.0"}])
def test_nics_that_stay_do_not_move(admin_node: AdminNode, template: dict[str, Any]) -> None:
    half_way(admin_node, "a", "rail0", template=template)
    admin_node.write("uses/nics", '{"rail0": [3, "host-device"]}')
    assert ["rail0"] == chosen(admin_node)


def test_what_was_never_started_does_not_move(admin_node: AdminNode) -> None:
    admin_node.record("a", lives=True)
    file = admin_node.record_of("rails", "a")
    file.write_text(file.read_text().replace('"complete": true', '"complete": false'))
    assert ["rail1"] == chosen(admin_node, masters=["rail1"])


def test_pods_that_have_gone_move_nothing(admin_node: AdminNode) -> None:
    half_way(admin_node, "a", "rail0")
    admin_node.record_of("other", "b").write_text('{"complete": false}')
    admin_node.record_of("other", "c").write_text("{")
    admin_node.living.clear()
    assert ["rail0"] == chosen(admin_node)


def test_macvlan_does_not_look(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    half_way(admin_node, "a", "rail0")
    monkeypatch.setattr(nic_moves, "unfinished", lambda _: pytest.fail("looked"))
    assert ["rail0"] == chosen(admin_node, kind="macvlan")


def test_status_does_not_look(admin_node: AdminNode) -> None:
    """A NIC that moves for a moment makes no node unfit."""
    half_way(admin_node, "a", "rail0", "rail1", "rail2")
    assert 3 == len(choose_for_nobody(conf_of(admin_node), Host(nics=NICS)).chosen)


def test_nic_that_has_left_since_it_was_listed(admin_node: AdminNode, here: list[Nic]) -> None:
    here.remove(NICS[0])
    assert ["rail1"] == chosen(admin_node)
    assert "NIC rail0: it has just left the node's netns" in (
        refusal(admin_node, masters=["rail0"]).message
    )


def add_ends(node: AdminNode) -> None:
    file = node.record_of("other", "a")
    file.write_text(file.read_text().replace('"complete": false', '"complete": true'))


def delete_begins(node: AdminNode) -> None:
    file = node.record_of("other", "a")
    file.write_text(file.read_text().replace('"complete": true', '"complete": false'))


@pytest.mark.parametrize("deed", [add_ends, delete_begins])
def test_what_happens_while_it_is_looked(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, deed: Callable[[AdminNode], None]
) -> None:
    """The links are listed while rail0 is here: before it goes, or after it has come back."""
    attach(admin_node, "a", HOST_DEVICE, "rail0")
    if deed is add_ends:
        delete_begins(admin_node)  # which looks the same as an ADD that has begun

    def looked() -> list[Nic]:
        deed(admin_node)
        return NICS

    monkeypatch.setattr(nic_moves, "links_of_node", looked)
    assert ["rail1"] == chosen(admin_node)


def test_looked_at_once(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    half_way(admin_node, "a", "rail0", "rail1")
    walked = []
    contents = records.contents

    def counting(data_dir: str) -> Iterator[tuple[str, bytes]]:
        walked.append(data_dir)
        return contents(data_dir)

    monkeypatch.setattr("multinic_cni.attachments.unfinished.contents", counting)
    assert ["rail2"] == chosen(admin_node)
    assert 2 == len(walked)


@pytest.mark.parametrize("number", [13, 20])
def test_records_that_cannot_be_read(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A person who is not root may ask what would be; an ADD must know."""

    def refuse(_data_dir: str) -> Iterator[None]:
        raise OSError(number, "no")

    monkeypatch.setattr(nic_moves, "unfinished", refuse)
    if number == 13:
        assert ["rail0"] == chosen(admin_node)
    else:
        error = refusal(admin_node)
        assert (IO_FAILURE, "look at which NICs move" in error.message) == (error.code, True)


def test_other_nodes_pods_are_not_looked_for(admin_node: AdminNode) -> None:
    half_way(admin_node, "a", "rail0")
    other = Host(str(admin_node.data.parent / "node"), nics=NICS, name="other")
    (choice,) = choose(conf_of(admin_node, **ONE), other, list, dict).chosen
    assert "rail0" == choice.nic.name


def test_the_boot_is_this_one(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    half_way(admin_node, "a", "rail0")
    monkeypatch.setattr(host, "boot_id", lambda: "the next one")
    file = admin_node.record_of("other", "a")
    monkeypatch.setattr(type(admin_node), "has", lambda *_: pytest.fail("asked of another boot"))
    file.unlink()
    assert ["rail0"] == chosen(admin_node)
