"""iperf3 over four rails at once: what each rail carried, by its own figures and by the ports'."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.netns.traffic import (
    RAILS,
    attach_pods,
    leaf_address,
    leaves,
    make_router,
    one_rail_for_all,
)
from tests.pytest_netns import wait_until

if TYPE_CHECKING:
    from tests.pytest_netns import Namespace, Namespaces, Runtime

MEGABYTE = 1 << 20
SENT = {1: 60 * MEGABYTE, 2: 120 * MEGABYTE, 3: 180 * MEGABYTE, 4: 240 * MEGABYTE}
SECONDS = 60
# What a rail carries more than iperf3 says has arrived: headers, what had to be sent again, and the
# last of it, which is not waited for.
MOST_OVERHEAD = 1.15
MOST_BY_THE_WAY = 0.01  # ARP and the like, on a rail that should carry nothing


def iperf(pod: Namespace, *words: str) -> subprocess.Popen[str]:
    command = pod.command("iperf3", "--json", *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def listens(pod: Namespace, address: str) -> bool:
    return f"{address}:5201" in pod.execute("ss", "-Hltn")


def over_all_rails(sender: Namespace, receiver: Namespace) -> dict[int, int]:
    """Send on all rails at once; return how many bytes arrived from the address of each."""
    with ExitStack() as stack:
        for rail in RAILS:
            address = leaf_address(rail, 2, "IPv4")
            server = stack.enter_context(iperf(receiver, "-s", "-1", "-B", address))
            stack.callback(server.kill)
            wait_until(partial(listens, receiver, address), "iperf3 listens")
        clients = {}
        for rail in RAILS:
            to, source = leaf_address(rail, 2, "IPv4"), leaf_address(rail, 1, "IPv4")
            words = ("-c", to, "-B", source, "-n", str(SENT[rail]))
            clients[rail] = stack.enter_context(iperf(sender, *words))
            stack.callback(clients[rail].kill)
        reports = {
            rail: json.loads(client.communicate(timeout=SECONDS)[0])
            for rail, client in clients.items()
        }
    return {rail: report["end"]["sum_received"]["bytes"] for rail, report in reports.items()}


def carried(wire: Namespace, host: int) -> dict[int, int]:
    """Return how many bytes a node has sent to each rail."""
    links: dict[str, Any] = {link["ifname"]: link for link in wire.show("-s", "link")}
    return {rail: links[f"port{rail}-{host}"]["stats64"]["rx"]["bytes"] for rail in RAILS}


def shares(
    namespaces: Namespaces, runtime: Runtime, wire: Namespace, **routing: object
) -> tuple[dict[int, int], dict[int, int]]:
    """Return what arrived from each rail's address, and what the sender's rails carried."""
    make_router(wire, 2)
    confs = [leaves(host) | one_rail_for_all(**routing) for host in (1, 2)]
    sender, receiver = attach_pods(namespaces, runtime, *confs)
    before = carried(wire, 1)
    arrived = over_all_rails(sender.pod, receiver.pod)
    after = carried(wire, 1)
    by_port = {rail: after[rail] - before[rail] for rail in RAILS}
    show(arrived, by_port)
    return arrived, by_port


def show(arrived: dict[int, int], by_port: dict[int, int]) -> None:
    lines = ["", "rail  by iperf3  MiB share   by the port  MiB share"]
    for rail in RAILS:
        figures = (arrived, by_port)
        (mine, whole), (ports, of_ports) = (
            (each[rail] / MEGABYTE, sum(each.values()) / MEGABYTE) for each in figures
        )
        lines.append(
            f"{rail:4}  {mine:14.1f} {mine / whole:5.0%}  {ports:16.1f} {ports / of_ports:5.0%}"
        )
    print("\n".join(lines))  # noqa: T201 - for whoever asks with `pytest -s`


def test_each_rail_carries_its_own(
    namespaces: Namespaces, runtime: Runtime, wire: Namespace
) -> None:
    arrived, by_port = shares(namespaces, runtime, wire, sourceRules=True)

    for rail in RAILS:
        assert SENT[rail] / arrived[rail] < MOST_OVERHEAD
        assert 1 <= by_port[rail] / arrived[rail] < MOST_OVERHEAD


def test_without_rules_one_rail_carries_all(
    namespaces: Namespaces, runtime: Runtime, wire: Namespace
) -> None:
    arrived, by_port = shares(namespaces, runtime, wire)

    assert 1 <= by_port[1] / sum(arrived.values()) < MOST_OVERHEAD
    for rail in RAILS[1:]:
        assert by_port[rail] / arrived[rail] < MOST_BY_THE_WAY
