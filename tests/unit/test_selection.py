from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from multinic_selectors.candidates import Admin, Choice, SelectionError, Wish
from multinic_selectors.selection import Judge, Picked, select
from tests.unit.choices import choose, names, refusal
from tests.unit.nics import nic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Pick

RAILS = [
    nic("eth0", "192.0.2.10/24", uplink="the node's IPv4 default route leaves by it"),
    nic("rail10", "10.3.0.1/24"),
    nic("rail2", "10.2.0.1/24"),
    nic("rail1", "10.1.0.1/24"),
]


NETS = ("10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24")


def test_no_words_mean_every_nic_but_the_uplink() -> None:
    selection = choose(RAILS)
    assert ["rail1", "rail2", "rail10"] == names(selection)
    assert [None, None, None] == [choice.place for choice in selection.chosen]


def test_order_is_that_of_master_nets() -> None:
    selection = choose(RAILS, nets=("10.3.0.0/24", "10.1.0.0/24", "10.2.0.0/24"))
    assert ["rail10", "rail1", "rail2"] == names(selection)
    assert [0, 1, 2] == [choice.place for choice in selection.chosen]


def test_order_does_not_depend_on_the_kernels() -> None:
    assert names(choose(RAILS)) == names(choose(RAILS[::-1]))


def test_several_nics_in_one_net_come_in_natural_order() -> None:
    nics = [nic("rail10", "10.1.0.10/24"), nic("b", "10.2.0.1/24"), nic("rail9", "10.1.0.9/24")]
    selection = choose(nics, nets=("10.2.0.0/24", "10.1.0.0/24"))
    assert ["b", "rail9", "rail10"] == names(selection)
    assert [0, 1, 1] == [choice.place for choice in selection.chosen]


def test_place_is_stable_when_a_nic_is_missing() -> None:
    selection = choose([RAILS[1], RAILS[3]], nets=NETS)
    assert [("rail1", 0), ("rail10", 2)] == [(c.nic.name, c.place) for c in selection.chosen]


def test_place_is_stable_when_a_nic_is_down() -> None:
    nics = [RAILS[1], nic("rail2", "10.2.0.1/24", up=False), RAILS[3]]
    selection = choose(nics, nets=NETS)
    assert [("rail1", 0), ("rail10", 2)] == [(c.nic.name, c.place) for c in selection.chosen]


def test_places_of_masters_follow_those_of_master_nets() -> None:
    nics = [nic("c"), nic("rail1", "10.1.0.1/24"), nic("a9"), nic("a1")]
    selection = choose(nics, nets=("10.1.0.0/24", "10.2.0.0/24"), masters=("c", "a*"))
    assert [("rail1", 0), ("a1", 3), ("a9", 3), ("c", 2)] == [
        (choice.nic.name, choice.place) for choice in selection.chosen
    ]


def test_first_net_that_holds_an_address_counts() -> None:
    both = nic("rail1", "10.2.0.1/24", "10.1.0.1/24")
    (choice,) = choose([both], nets=NETS).chosen
    assert 0 == choice.place


SICK = [
    nic("rail1", "10.1.0.1/24", up=False, carrier=False),
    nic("rail2", "10.2.0.1/24", carrier=False),
    nic("rail3", "10.3.0.1/24"),
]


def test_unhealthy_nics_are_skipped_and_named() -> None:
    selection = choose(SICK)
    assert ["rail3"] == names(selection)
    assert [("rail1", "it is down"), ("rail2", "it has no carrier")] == list(selection.unhealthy)
    assert [] == list(selection.refused)


def test_unhealthy_use() -> None:
    assert ["rail1", "rail2", "rail3"] == names(choose(SICK, unhealthy="use"))


def test_unhealthy_fail() -> None:
    expected = "NIC rail1 is wanted, but it is down (attachPolicy.unhealthy is fail)"
    assert expected == refusal(SICK, unhealthy="fail")


@pytest.mark.parametrize("unhealthy", ["skip", "fail"])
def test_delegate_that_takes_the_nic_sets_it_up(unhealthy: str) -> None:
    nics = [nic("rail1", up=False, carrier=False)]
    assert ["rail1"] == names(choose(nics, unhealthy=unhealthy, takes_nics=True))


def test_delegate_that_takes_the_nic_cannot_plug_its_cable() -> None:
    assert "rail2: it has no carrier" in refusal([SICK[1]], takes_nics=True)


def test_unhealthy_fail_does_not_look_at_nics_that_are_no_candidates() -> None:
    assert ["rail3"] == names(choose(SICK, masters=("rail3",), unhealthy="fail"))


def test_unhealthy_fail_does_not_look_beyond_what_is_enough() -> None:
    nics = [nic("rail1"), nic("rail2", up=False)]
    assert ["rail1"] == names(choose(nics, nics=1, unhealthy="fail"))


def test_unhealthy_are_only_those_that_would_have_been_taken() -> None:
    selection = choose([nic("rail1"), nic("rail2", up=False)], nics=1)
    assert [] == list(selection.unhealthy)


def test_healthy_nic_takes_the_place_of_an_unhealthy_one() -> None:
    selection = choose(SICK, nics=1)
    assert ["rail3"] == names(selection)
    assert ["rail1"] == [name for name, _ in selection.unhealthy]
    assert [("rail2", "it has no carrier")] == list(selection.refused)


def test_nics_limits() -> None:
    selection = choose(RAILS, nets=NETS, nics=2)
    assert ["rail1", "rail2"] == names(selection)
    assert "2 are enough" == dict(selection.refused)["rail10"]


def test_min_nics() -> None:
    assert 3 == len(choose(RAILS, nets=NETS, min_nics=3).chosen)
    message = refusal([*SICK, nic("lo", loopback=True)], min_nics=2)
    assert ["2", "1"] == re.findall(r"\b\d+\b", message)
    for reason in ("rail1: it is down", "rail2: it has no carrier", "lo: it is the loopback"):
        assert reason in message


def test_no_nic_at_all() -> None:
    assert "(the node has no NIC)" in refusal([])


def test_error_names_every_nic() -> None:
    message = refusal(RAILS, nets=("10.9.0.0/24",))
    assert "eth0, rail1, rail2, rail10: neither" in message


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish(nics=1), ["rail1"]),
        (Wish(nics=9), ["rail1", "rail2", "rail10"]),
        (Wish(masters=("rail10",)), ["rail10"]),
        (Wish(masters=("rail10", "rail1")), ["rail1", "rail10"]),
        (Wish(masters=("rail1*",)), ["rail1", "rail10"]),
        (Wish(masters=("rail10", "rail2"), nics=1), ["rail2"]),
    ],
    ids=["nics", "too many nics", "master", "masters", "glob", "both"],
)
def test_pods_wish_narrows(wish: Wish, expected: list[str]) -> None:
    assert expected == names(choose(RAILS, nets=NETS, wish=wish))


def test_pod_cannot_have_more_than_the_admin_allows() -> None:
    assert ["rail1"] == names(choose(RAILS, nets=NETS, nics=1, wish=Wish(nics=3)))


@pytest.mark.parametrize("master", ["eth0", "rail7", "eth*", "", "Rail1"])
def test_pod_cannot_have_other_masters(master: str) -> None:
    message = refusal(RAILS, nets=NETS, wish=Wish(masters=("rail1", master)))
    assert f"the pod asks for master {master!r}, which this network does not allow" in message
    assert message.endswith("allowed here: rail1, rail2, rail10")


def test_pod_without_any_candidate() -> None:
    assert "allowed here: none" in refusal([], wish=Wish(masters=("rail1",)))


def test_places_stay_when_the_pod_narrows() -> None:
    (choice,) = choose(RAILS, nets=NETS, wish=Wish(masters=("rail10",))).chosen
    assert 2 == choice.place


def test_others_are_refused_for_the_pods_wish() -> None:
    refused = dict(choose(RAILS, nets=NETS, wish=Wish(masters=("rail2",))).refused)
    assert "the pod asks for other masters" == refused["rail1"]


def test_pod_with_fewer_nics_needs_no_more() -> None:
    assert ["rail1"] == names(choose(RAILS, nets=NETS, min_nics=3, wish=Wish(nics=1)))


def test_pod_with_fewer_masters_needs_no_more() -> None:
    wish = Wish(masters=("rail2",))
    assert ["rail2"] == names(choose(RAILS, nets=NETS, min_nics=3, wish=wish))


def test_wished_master_that_is_down_is_an_error() -> None:
    assert "rail1: it is down" in refusal(SICK, wish=Wish(masters=("rail1",)))


class FastJudge(Judge):
    """Lets the NICs of a class pass, which are named here."""

    def misfit(self, nic: Nic) -> str:
        return "" if nic.name in {"rail2", "rail10"} else "it is slow"


def test_class_does_not_lower_what_a_pod_with_masters_needs() -> None:
    admin = Admin(masters=("rail*",), min_nics=2)
    with pytest.raises(SelectionError, match=r"^2 NICs needed, 1 usable .*rail1: it is slow"):
        select(RAILS, admin, Wish(masters=("rail1", "rail2")), FastJudge())
    selection = select(RAILS, admin, Wish(masters=("rail2",)), FastJudge())
    assert ["rail2"] == names(selection)


class BusyJudge(Judge):
    """Finds a conflict on the first rail."""

    def conflict(self, nic: Nic) -> str:
        return "it carries ipvlan links" if nic.name == "rail1" else ""


def by_bandwidth(free: dict[str, int], target: int) -> Pick:
    """Return a strategy that takes NICs until their bandwidth reaches a target."""

    def pick(candidates: Sequence[Choice], _limit: int | None) -> Picked:
        left, taken = target, []
        for each in sorted(candidates, key=lambda choice: -free[choice.nic.name]):
            if left:
                part = min(left, free[each.nic.name])
                taken.append(Choice(each.nic, each.place, part))
                left -= part
        return Picked(taken)

    return pick


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        ({"rail1": 200, "rail2": 100, "rail10": 60}, ["rail2", "rail10"]),
        ({"rail1": 90, "rail2": 60, "rail10": 150}, ["rail10"]),
    ],
    ids=["more NICs", "fewer NICs"],
)
def test_conflict_is_replaced_where_the_bandwidth_is_the_same(
    free: dict[str, int], expected: list[str]
) -> None:
    selection = select(
        RAILS, Admin(masters=("rail*",)), Wish(), BusyJudge(), by_bandwidth(free, 150)
    )
    assert expected == names(selection)


def test_conflict_that_costs_bandwidth_is_an_error() -> None:
    pick = by_bandwidth({"rail1": 200, "rail2": 50, "rail10": 0}, 150)
    with pytest.raises(SelectionError, match=r"^NIC rail1: it carries ipvlan links$"):
        select(RAILS, Admin(masters=("rail*",)), Wish(), BusyJudge(), pick)


def test_entries_that_fit_no_nic_are_told() -> None:
    selection = choose(RAILS, masters=("rail1", "rail7"))
    assert ["rail1"] == names(selection)
    assert [("rail7", "no NIC has this name")] == list(selection.missing)
