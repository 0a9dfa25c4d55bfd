"""Faults that other meta-plugins' address management had: an address twice, or on a wrong NIC."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import masters_of, ranges
from tests.netns.state import State
from tests.pytest_netns import execute, rail_net

if TYPE_CHECKING:
    from tests.pytest_netns import Attachment, Document, Namespace, Namespaces, Runtime

NO_ADDRESS = 101
LAPS = 2
CNI_ARGS = "IgnoreUnknown=true;K8S_POD_NAMESPACE=ml;K8S_POD_NAME=trainer-0"


def addresses(result: Document) -> list[str]:
    return [ip["address"].partition("/")[0] for ip in result["ips"]]


def in_pods(*pods: Namespace) -> list[str]:
    """Return every address that the kernel has in these pods, without its length."""
    return sorted(
        each.partition("/")[0] for pod in pods for own in pod.addresses().values() for each in own
    )


@pytest.mark.parametrize(
    ("living", "excluded", "free"),
    [(4, [], 4), (3, ["10.1.0.106/31"], 3), (2, ["10.1.0.100/30"], 2)],
)
def test_pool_that_is_gone_around_several_times(
    runtime: Runtime, namespaces: Namespaces, living: int, excluded: list[str], free: int
) -> None:
    """Of its eight addresses some stay with one pod while another comes and goes.

    A list of allocations that an insertion shifts wrongly gives a living address again at the first
    lap, a reserved run at its upper end at the first reuse.
    """
    conf = ranges(1, first=100, last=107)
    conf["ipam"]["excludeCIDRs"] = excluded
    pod, other_pod = namespaces.make("pod"), namespaces.make("pod")
    state = State(runtime.data_dir)
    resident = [
        runtime.attachment(pod, runtime.conf(**conf), ifname=f"net{number}")
        for number in range(living)
    ]
    held = [address for each in resident for address in addresses(each.add())]
    guest = runtime.attachment(other_pod, runtime.conf(**conf))
    given = []
    for _ in range(LAPS * 8):
        given += addresses(guest.add())
        assert in_pods(pod, other_pod) == sorted([*held, given[-1]])
        assert state.addresses().keys() == {*held, given[-1]}
        guest.delete().succeeded()

    assert len(set(given)) == free
    assert not set(given) & set(held)
    for lap in range(0, LAPS * 8 - free, free):
        assert len(set(given[lap : lap + free])) == free  # each rests for a whole lap
    for each in resident:
        each.delete().succeeded()
    assert state.left() == []


def one_address_on(full: int) -> dict[str, Any]:
    """Return two rails; one of them has a single address to give."""
    conf = ranges(1, 2)
    conf["ipam"]["ranges"][rail_net(full)][0]["rangeEnd"] = f"10.{full}.0.100"
    return conf


@pytest.mark.parametrize("full", [1, 2])
def test_one_nics_pool_is_full(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State, full: int
) -> None:
    """No NIC gets what is another's, and no pod starts with one address too few."""
    first = runtime.attachment(pod, runtime.conf(**one_address_on(full)))
    first.add()
    assert pod.addresses() == {"net1": ["10.1.0.100/24"], "net1-1": ["10.2.0.100/24"]}
    assert masters_of(pod, runtime.node) == ["rail1", "rail2"]
    before = state.addresses()

    second = runtime.attachment(other_pod, first.conf)
    message = second.call("ADD").error(NO_ADDRESS)

    assert f"NIC rail{full}: " in message
    assert "exhausted" in message
    assert other_pod.links() == {}
    assert state.addresses() == before
    assert state.records().keys() == {f"c-{pod.name}:net1"}
    first.delete().succeeded()
    second.add()
    # The full one gives its only address again; the other goes on, as if nothing had been tried.
    expected = {full: 100, 3 - full: 101}
    assert other_pod.addresses() == {
        "net1": [f"10.1.0.{expected[1]}/24"],
        "net1-1": [f"10.2.0.{expected[2]}/24"],
    }
    assert masters_of(other_pod, runtime.node) == ["rail1", "rail2"]


@pytest.fixture
def sandboxes(
    runtime: Runtime, pod: Namespace, other_pod: Namespace
) -> tuple[Attachment, Attachment]:
    """Return the old and the new sandbox of one pod of a StatefulSet: the same name."""
    conf = runtime.conf(**ranges(1, 2, last=101))
    old = runtime.attachment(pod, conf, cni_args=CNI_ARGS)
    return old, replace(old, pod=other_pod)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("sticky", [False, True])
def test_late_del_of_the_old_sandbox(
    sandboxes: tuple[Attachment, Attachment], state: State, times: int, *, sticky: bool
) -> None:
    """ADD of the new one came first: the DEL is of the old container, whatever the pod's name."""
    old, new = sandboxes
    for each in sandboxes:
        each.conf["ipam"]["sticky"] = sticky
    old.add()
    given = addresses(new.add())
    assert given == ["10.1.0.101", "10.2.0.101"]

    for _ in range(times):
        old.delete().succeeded()

    assert state.addresses() == dict.fromkeys(given, f"c-{new.pod.name} net1")
    assert in_pods(new.pod) == given
    new.check().succeeded()
    new.delete().succeeded()
    assert state.left() == []


def test_late_del_after_the_address_has_a_new_owner(
    sandboxes: tuple[Attachment, Attachment], namespaces: Namespaces, state: State
) -> None:
    """The old sandbox vanished, so that a full pool was swept; its DEL comes all the same."""
    old, new = sandboxes
    lost = addresses(old.add())
    third = replace(old, pod=namespaces.make("pod"), cni_args="")
    third.add()
    execute("ip", "netns", "delete", old.pod.name)
    assert addresses(new.add()) == lost
    held = state.addresses()
    assert held == {
        "10.1.0.100": f"c-{new.pod.name} net1",
        "10.2.0.100": f"c-{new.pod.name} net1",
        "10.1.0.101": f"c-{third.pod.name} net1",
        "10.2.0.101": f"c-{third.pod.name} net1",
    }

    for _ in range(2):
        old.delete().succeeded()

    assert state.addresses() == held
    for attachment in (new, third):
        attachment.check().succeeded()
        attachment.delete().succeeded()
    assert state.left() == []


def test_one_network_twice_in_one_pod(runtime: Runtime, pod: Namespace, state: State) -> None:
    """The interface is part of the owner: DEL of one leaves the other's addresses."""
    conf = runtime.conf(**ranges(1, 2))
    first, second = (
        runtime.attachment(pod, conf, ifname=name, cni_args=CNI_ARGS) for name in ("net1", "net2")
    )
    given = [addresses(first.add()), addresses(second.add())]
    assert given == [["10.1.0.100", "10.2.0.100"], ["10.1.0.101", "10.2.0.101"]]

    first.delete().succeeded()

    assert state.addresses() == dict.fromkeys(given[1], f"c-{pod.name} net2")
    assert in_pods(pod) == given[1]
    second.check().succeeded()
    first.delete().succeeded()
    second.delete().succeeded()
    assert state.left() == []
