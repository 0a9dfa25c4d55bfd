"""The plugin's verbs against a model, by random steps, through crashes, reboots and full disks.

After every step the store holds what the model says: no address twice, none without a record that
names it, none that is never given; at the end nothing is left and every address can be given.
"""

from __future__ import annotations

import errno
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.unit.address_driver import Driver
from tests.unit.address_model import ALL_ADDRESSES, ASKED, CONTAINERS, NETWORKS, STRANGERS
from tests.unit.faults import CALLS, Fault, Kill

STEPS = 10_000
STEPS_AT_ONCE = 50
FEWEST_CALLS = 20  # from one boot to the next
MEMORY = Path("/dev") / "shm"  # where it is, no step waits for a disk


def failing(nth: int, number: int) -> Fault:
    return Fault(CALLS, nth, number)


containers = st.sampled_from(CONTAINERS)
few = st.sets(containers, max_size=3)
# An ADD makes some eighty calls that could change something.
kills = st.integers(1, 90).map(Kill)
faults = st.builds(failing, st.integers(1, 90), st.sampled_from([errno.ENOSPC, errno.EIO]))
trouble = st.none() | st.none() | kills | faults


class Addresses(RuleBasedStateMachine):
    """What happens to a node, in any order."""

    calls = 0

    def __init__(self) -> None:
        super().__init__()
        memory = MEMORY if MEMORY.is_dir() else None
        self.root = Path(tempfile.mkdtemp(prefix="addresses", dir=memory))
        self.patch = pytest.MonkeyPatch()
        self.calls_at_boot = 0

    @initialize(cooldown=st.sampled_from([0, 30]))
    def begin(self, cooldown: int) -> None:
        self.driver = Driver(self.root, self.patch, cooldown)

    @rule(pods=st.lists(containers, min_size=1, max_size=8), fault=trouble)
    def add_some(self, pods: list[str], fault: Fault | None) -> None:
        for container in pods[1:]:
            self.driver.add(container, "", None)
            self.driver.compare()
        self.driver.add(pods[0], "", fault)

    @rule(container=containers, address=st.sampled_from(ASKED), fault=trouble)
    def add_asking(self, container: str, address: str, fault: Fault | None) -> None:
        self.driver.add(container, address, fault)

    @rule(container=containers, fault=trouble, pod_goes=st.sampled_from(["before", "after", "no"]))
    def delete(self, container: str, fault: Fault | None, pod_goes: str) -> None:
        """DEL: the right one, a late one, a repeated one, one of what never was."""
        if pod_goes == "before":
            self.driver.stop_pod(container)
        self.driver.delete(container, fault)
        if pod_goes == "after":
            self.driver.stop_pod(container)

    @rule(network=st.sampled_from([*NETWORKS]), unlisted=few, fault=trouble)
    def collect_all_but_listed(self, network: str, unlisted: set[str], fault: Fault | None) -> None:
        self.driver.collect(network, unlisted, fault)

    @rule(network=st.sampled_from([*NETWORKS]), unlisted=st.sampled_from([None, {*CONTAINERS}]))
    def collect_nothing_or_all(self, network: str, unlisted: set[str] | None) -> None:
        self.driver.collect(network, unlisted, None)

    @precondition(lambda self: not self.driver.is_first_call_after_boot())
    @rule(fault=trouble)
    def sweep(self, fault: Fault | None) -> None:
        self.driver.sweep(fault)

    @precondition(lambda self: self.driver.calls > self.calls_at_boot + FEWEST_CALLS)
    @rule(torn=few)
    def reboot(self, torn: set[str]) -> None:
        self.calls_at_boot = self.driver.calls
        self.driver.reboot(torn)

    @rule(container=containers)
    def stop_pod(self, container: str) -> None:
        """Let it go without a DEL, or before one that comes late."""
        self.driver.stop_pod(container)

    @rule(container=st.sampled_from(STRANGERS), address=st.sampled_from(ALL_ADDRESSES))
    def use_host_local(self, container: str, address: str) -> None:
        self.driver.use_host_local(container, address)

    @rule(seconds=st.sampled_from([1, 20, 29, 30, 31, 400]))
    def wait(self, seconds: int) -> None:
        self.driver.clock.advance(seconds)

    @rule(addresses=st.sets(st.sampled_from(ALL_ADDRESSES), max_size=2))
    def others_come_and_go(self, addresses: set[str]) -> None:
        """Other hosts on the network have these addresses from now on; the probe finds it."""
        self.driver.node.foreign = self.driver.model.foreign = addresses

    @precondition(lambda self: not self.driver.model.cooldown)
    @rule(page=st.sampled_from(["10.1.0.0", "10.2.0.0", "fd00:2::"]), content=st.binary())
    def damage_hints(self, page: str, content: bytes) -> None:
        """Whose turn it is may be lost; but then nobody knows who still rests."""
        folder = self.driver.node.data / "turns"
        if folder.exists():
            (folder / page).write_bytes(content)

    @invariant()
    def store_is_as_the_model_says(self) -> None:
        if hasattr(self, "driver"):
            self.driver.compare()

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None and hasattr(self, "driver"):
                Addresses.calls += self.driver.calls
                self.driver.leave_nothing()
        finally:
            self.patch.undo()
            shutil.rmtree(self.root)


def test_ten_thousand_steps_without_a_duplicate_or_a_leak() -> None:
    Addresses.calls = 0
    run_state_machine_as_test(
        Addresses,
        settings=settings(
            max_examples=STEPS // 25,  # of fifty steps each, most of which are no calls
            stateful_step_count=STEPS_AT_ONCE,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Addresses.calls >= STEPS
