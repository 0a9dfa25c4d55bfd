"""By which words the routing block may call a pod's NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multinic_cni.attachments.record import NicRecord
from multinic_cni.routing.pod import routed_nics
from multinic_selectors.candidates import Choice
from tests.unit.nics import nic

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

RAILS = ["rail0", "rail1", "rail2"]


def words(
    choices: Sequence[Choice], entries: Sequence[str], rails: Sequence[str] = ()
) -> list[Collection[str]]:
    records = [
        NicRecord(
            nic=choice.nic.name,
            index=number,
            kind="",
            mac="02:00:00:00:00:01",
            ifname=f"net1-{number}",
            confs=(),
        )
        for number, choice in enumerate(choices)
    ]
    return [each.words for each in routed_nics(records, choices, entries, rails)]


def test_entry_name_and_altname() -> None:
    choices = [Choice(nic("ens5", altnames=("enp1s0",)), 0), Choice(nic("ens6"), 1)]
    assert [{"10.1.0.0/24", "ens5", "enp1s0"}, {"ens6"}] == words(choices, ["10.1.0.0/24", "ens6"])


def test_nic_that_two_entries_mean() -> None:
    assert [{"10.1.0.0/24", "ens5"}] == words([Choice(nic("ens5"), 0)], ["10.1.0.0/24", "ens5"])


def test_nic_called_as_another_rail() -> None:
    choices = [Choice(nic("rail1"), 0), Choice(nic("ens6", altnames=("rail0",)), 1)]
    assert [{"rail0"}, {"rail1", "ens6"}] == words(choices, RAILS, RAILS)


def test_nic_called_as_a_rail_that_is_missing() -> None:
    choices = [Choice(nic("rail1"), 0), Choice(nic("rail3"), 2)]
    assert [{"rail0"}, {"rail2", "rail3"}] == words(choices, RAILS, RAILS)
