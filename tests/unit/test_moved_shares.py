"""An edited conf must not move a NIC's share under a living pod: another node gives the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.reservations import Want
from multinic_cni.upkeep.moved_shares import refuse_moved_shares, remember_shares
from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from multinic_ipam.refusals import StoreError
from tests.unit.stores import opened

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

HOST_3, HOST_4, HOSTS_3_AND_4 = "10.1.0.48/28", "10.1.0.64/28", "10.1.0.0/25"


def want(*blocks: str, nic: str = "rail1", dealt: bool = True) -> Want:
    pools = [Pool(Network.parse(each), prefix_length=24, dealt=dealt) for each in blocks]
    return Want(nic=nic, alternatives=[[pool] for pool in pools])


def admit(node: AdminNode, *wants: Want, network: str = "rails") -> None:
    """Do what ADD does."""
    with opened(node.data) as store:
        shares = refuse_moved_shares(store.root, node.path, network, wants)
        remember_shares(store.root, network, shares)


def refusal(node: AdminNode, *wants: Want) -> str:
    before = node.everything()
    with pytest.raises(StoreError) as raised:
        admit(node, *wants)
    assert before == node.everything()
    return str(raised.value)


def test_share_that_moves_from_under_a_living_pod(admin_node: AdminNode) -> None:
    admit(admin_node, want(HOST_3))
    admin_node.attach("a", "10.1.0.49")
    assert refusal(admin_node, want(HOST_4)).startswith(
        "NIC rail1: the share moves from 10.1.0.48/28 to 10.1.0.64/28, but pod team/a still has"
        " 10.1.0.49: delete such pods first, or restore what numbers the share"
    )
    admit(admin_node, want(HOST_3))
    admin_node.living.clear()
    admit(admin_node, want(HOST_4))


@pytest.mark.parametrize("content", [None, "", "{", "[]", "7", '{"rail0": 5}', '{"rail1": 5}'])
def test_where_nothing_is_known_the_pods_themselves_are(
    admin_node: AdminNode, content: str | None
) -> None:
    """After an upgrade, or with a file that was lost or damaged."""
    admin_node.attach("a", "10.1.0.49")
    if content is not None:
        admin_node.write("shares/rails", content)
    assert refusal(admin_node, want(HOST_4)).startswith(
        "NIC rail1: the share moves to 10.1.0.64/28, but pod team/a still has 10.1.0.49:"
    )
    admit(admin_node, want(HOST_3))
    assert "10.1.0.64/28" in refusal(admin_node, want(HOST_4))


def test_folder_in_the_files_place_says_nothing(admin_node: AdminNode) -> None:
    (admin_node.data / "shares/rails").mkdir(parents=True)
    admin_node.attach("a", "10.1.0.49")
    assert "10.1.0.49" in refusal(admin_node, want(HOST_4))
    with opened(admin_node.data) as store:
        refuse_moved_shares(store.root, admin_node.path, "rails", [want(HOST_3)])


def test_share_of_a_conf_that_dealt_nothing_before(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.49")
    admit(admin_node, want("10.1.0.0/24", dealt=False))
    assert not (admin_node.data / "shares").exists()
    assert "the share moves to 10.1.0.64/28" in refusal(admin_node, want(HOST_4))
    admit(admin_node, want(HOST_3))


def test_share_that_grows_around_the_pods(admin_node: AdminNode) -> None:
    admit(admin_node, want(HOST_3))
    admin_node.attach("a", "10.1.0.49")
    admit(admin_node, want(HOSTS_3_AND_4))
    assert '{"rail1": ["10.1.0.0/25"]}' == (admin_node.data / "shares/rails").read_text()
    assert "from 10.1.0.0/25 to 10.1.0.64/28" in refusal(admin_node, want(HOST_4))


def test_share_that_shrinks_around_the_pods(admin_node: AdminNode) -> None:
    admit(admin_node, want(HOSTS_3_AND_4))
    admin_node.attach("a", "10.1.0.49")
    admit(admin_node, want(HOST_3))


def test_every_family_and_alternative_counts(admin_node: AdminNode) -> None:
    both = Want(
        nic="rail1",
        alternatives=[*want(HOST_3).alternatives, *want("fd00::/72").alternatives],
    )
    admit(admin_node, both)
    admin_node.record("a", "10.1.0.49", "fd00::5")
    assert "still has fd00::5" in refusal(admin_node, want(HOST_3))
    (first,), (second,) = want(HOST_4).alternatives, want(HOST_3).alternatives
    admin_node.record("a", "10.1.0.49")
    admit(admin_node, Want(nic="rail1", alternatives=[[*first, *second]]))


def test_others_are_no_concern(admin_node: AdminNode) -> None:
    """Pods of other networks, other NICs, dead ones, and records that nobody can read."""
    admin_node.record("a", "10.1.0.49", network="storage")
    admin_node.record("b", "10.1.0.50", lives=False)
    admin_node.record("c", "10.1.0.51").write_text("{")
    admin_node.record("d", "10.1.0.52")
    admit(admin_node, want(HOST_3), want(HOST_3, nic="rail0"))
    assert "pod team/d still has 10.1.0.52" in refusal(admin_node, want(HOST_4))
    admit(admin_node, want(HOST_3), want(HOST_4, nic="rail0"))


def test_nics_that_are_not_asked_for_are_remembered(admin_node: AdminNode) -> None:
    admit(admin_node, want(HOST_3), want("10.2.0.48/28", nic="rail2"))
    admit(admin_node, want(HOST_4))
    assert (
        '{"rail1": ["10.1.0.64/28"], "rail2": ["10.2.0.48/28"]}'
        == (admin_node.data / "shares/rails").read_text()
    )


def test_what_stands_there_is_not_written_again(admin_node: AdminNode) -> None:
    admit(admin_node, want(HOST_3))
    file = admin_node.data / "shares/rails"
    written = file.stat()
    admit(admin_node, want(HOST_3))
    assert written.st_ino == file.stat().st_ino


def test_refusing_alone_writes_nothing(admin_node: AdminNode) -> None:
    """STATUS only asks."""
    with opened(admin_node.data) as store:
        shares = refuse_moved_shares(store.root, admin_node.path, "rails", [want(HOST_3)])
    assert {"rail1": [HOST_3]} == shares
    assert not (admin_node.data / "shares").exists()
