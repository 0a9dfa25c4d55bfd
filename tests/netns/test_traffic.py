"""Pods on several nodes ping each other; on which rails requests and replies are seen."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.traffic import (
    RAILS,
    attach_pods,
    flat,
    flat_address,
    leaf_address,
    leaves,
    make_router,
    one_rail_for_all,
    watching,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Namespace, Namespaces, Runtime

Echoes = set[tuple[str, str, str, int, int]]

by_family = pytest.mark.parametrize("family", ["IPv4", "IPv6"])


def ping(pod: Namespace, source: str, destination: str) -> None:
    pod.ping(destination, interface=source)


def round_trip(
    source: str, destination: str, *, out: tuple[int, int], back: tuple[int, int]
) -> Echoes:
    """Return what is seen of a ping: (host, rail) that sent the request, and the reply."""
    return {("request", source, destination, *out), ("reply", destination, source, *back)}


@by_family
def test_every_rail_of_three_nodes(
    *, namespaces: Namespaces, runtime: Runtime, wire: Namespace, tmp_path: Path, family: str
) -> None:
    """Each rail is one link, so that each has its own way without a block of routing."""
    attachments = attach_pods(namespaces, runtime, flat(1), flat(2), flat(3))
    expected: Echoes = set()
    with watching(wire, tmp_path / "seen") as seen:
        for here, there in combinations((1, 2, 3), 2):
            for rail in RAILS:
                source, destination = (flat_address(rail, host, family) for host in (here, there))
                ping(attachments[here - 1].pod, source, destination)
                expected |= round_trip(source, destination, out=(here, rail), back=(there, rail))
    assert seen.echoes() == expected


def leaf_pods(
    namespaces: Namespaces, runtime: Runtime, wire: Namespace, routing: dict[str, Any], nodes: int
) -> list[Namespace]:
    make_router(wire, nodes)
    confs = [leaves(host) | routing for host in range(1, nodes + 1)]
    return [each.pod for each in attach_pods(namespaces, runtime, *confs)]


@by_family
def test_source_rules_keep_both_ways_on_their_rail(
    *, namespaces: Namespaces, runtime: Runtime, wire: Namespace, tmp_path: Path, family: str
) -> None:
    """Of three nodes, each behind a gateway on each rail."""
    pods = leaf_pods(namespaces, runtime, wire, one_rail_for_all(sourceRules=True), 3)
    expected: Echoes = set()
    with watching(wire, tmp_path / "seen") as seen:
        for here, there in combinations((1, 2, 3), 2):
            for rail in RAILS:
                source, destination = (leaf_address(rail, host, family) for host in (here, there))
                ping(pods[here - 1], source, destination)
                expected |= round_trip(source, destination, out=(here, rail), back=(there, rail))
    assert seen.echoes() == expected


@by_family
def test_without_them_all_leaves_by_one_rail(
    *, namespaces: Namespaces, runtime: Runtime, wire: Namespace, tmp_path: Path, family: str
) -> None:
    pods = leaf_pods(namespaces, runtime, wire, one_rail_for_all(), 2)
    expected: Echoes = set()
    with watching(wire, tmp_path / "seen") as seen:
        for rail in RAILS:
            source, destination = (leaf_address(rail, host, family) for host in (1, 2))
            ping(pods[0], source, destination)
            expected |= round_trip(source, destination, out=(1, 1), back=(2, 1))
    assert seen.echoes() == expected


@by_family
def test_from_one_rail_to_another(
    *, namespaces: Namespaces, runtime: Runtime, wire: Namespace, tmp_path: Path, family: str
) -> None:
    """Each way begins on the rail of its own source; the router takes it to the other."""
    pods = leaf_pods(namespaces, runtime, wire, one_rail_for_all(sourceRules=True), 2)
    expected: Echoes = set()
    with watching(wire, tmp_path / "seen") as seen:
        for rail, other in permutations(RAILS, 2):
            source, destination = leaf_address(rail, 1, family), leaf_address(other, 2, family)
            ping(pods[0], source, destination)
            expected |= round_trip(source, destination, out=(1, rail), back=(2, other))
    assert seen.echoes() == expected


@by_family
def test_what_names_no_source_goes_by_the_cross_rail(
    *, namespaces: Namespaces, runtime: Runtime, wire: Namespace, tmp_path: Path, family: str
) -> None:
    pods = leaf_pods(namespaces, runtime, wire, one_rail_for_all(sourceRules=True), 2)
    source, destination = leaf_address(1, 1, family), leaf_address(3, 2, family)
    with watching(wire, tmp_path / "seen") as seen:
        pods[0].ping(destination)
    assert seen.echoes() == round_trip(source, destination, out=(1, 1), back=(2, 3))
