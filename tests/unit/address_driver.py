"""Calls of the plugin, each with what the model says of it; what differs is an AssertionError."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from multinic_cni.errors import ALREADY_ATTACHED, IO_FAILURE, NO_ADDRESS, CniError
from multinic_ipam.store import Store
from tests.unit.address_model import (
    CONTAINERS,
    NETWORKS,
    POOLS,
    STRANGERS,
    TORN,
    Model,
    network_of,
    pool_of,
)
from tests.unit.clocks import SECOND, clock_of_the_store
from tests.unit.faults import process_that_may_be_killed
from tests.unit.pretended_node import PretendedNode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest

    from multinic_ipam.reservation import Reservation
    from tests.unit.address_model import Prospects
    from tests.unit.faults import Fault

OK = 0  # beside the codes of errors
ENDED = -1  # a call that was killed
MOST_BACKLOG = 50


class Driver:
    """Does to a node what its runtimes and its fate do, and tells the model.

    A call with a `fault` that it has met may have done all, a part or nothing; if it says that it
    has done its work, this must be so all the same.
    """

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, cooldown: int) -> None:
        self.node = PretendedNode(root, patch)
        self.clock = clock_of_the_store(patch)
        self.model = Model(cooldown)
        self.calls = 0
        self._cookies = 0
        self._cooldown = cooldown
        self._answer = ""

    def add(self, container: str, asked: str, fault: Fault | None) -> None:
        self._start_pod(container)
        self._reclaim()
        firm = self.model.is_firm(container)
        prospects = self.model.prospects(container, asked)
        before = self.model.holders
        words = {"args": {"cni": {"ips": [asked]}}} if asked else {}
        code = self._call(fault, lambda: self.node.add(container, self._conf(container) | words))

        self._see(self.model.not_firm() | {container}, fault, adding=container)
        interrupted = fault is not None and bool(fault.met)
        if firm:
            assert interrupted or code == ALREADY_ATTACHED
            assert before == self.model.holders
        elif code == OK:
            assert prospects is not None, f"{asked} was given"
            self._check_given(container, prospects)
            self.model.attach(container)
        elif interrupted or (code == ALREADY_ATTACHED and container in self.model.doubtful):
            self.model.doubt([container], self.node.records())
        else:
            assert code == NO_ADDRESS, self._answer
            assert not (prospects and all(each.yes for each in prospects)), "it was free"
            self._check_gone({container})
        if code != OK and (interrupted or self.model.foreign):
            self.model.rests_unknown([asked])  # what was taken for a moment was given back

    def delete(self, container: str, fault: Fault | None) -> None:
        self._reclaim()
        code = self._call(fault, lambda: self.node.delete(container, self._conf(container)))
        self._see({container}, fault)
        self._removed({container}, code, fault)

    def collect(self, network: str, unlisted: set[str] | None, fault: Fault | None) -> None:
        """Send a GC that lists all but these; None stands for no list, which means do nothing."""
        stale = {each for each in unlisted or () if network_of(each) == network}
        valid = None
        if unlisted is not None:
            valid = [each for each in CONTAINERS if each not in stale]
            self._reclaim()
        code = self._call(fault, lambda: self.node.collect(NETWORKS[network], valid))
        self._see(stale if unlisted is None else {*stale, *STRANGERS}, fault)
        self._removed(stale, code, fault)

    def sweep(self, fault: Fault | None) -> None:
        freed: list[int] = []
        before = len(self.model.holders)
        code = self._call(fault, lambda: freed.append(self.node.sweep()))
        self._see(self.model.not_firm(), fault)
        if code == OK:
            unsure = self.model.doubtful & self.model.running.keys()
            assert not self.model.held_by(*self.model.not_firm() - unsure)
            assert [before - len(self.model.holders)] == freed
        else:
            assert fault is not None
            assert fault.met

    def reboot(self, torn: set[str]) -> None:
        """No pod survives it. What was written last may be torn, as after a power cut."""
        self.node.reboot()
        self.clock.booted = self.model.booted = self.clock.microseconds
        for container in torn & self.node.records().keys():
            self.node.tear(container)
            self.model.tear(container)
        self.model.running.clear()

    def stop_pod(self, container: str) -> None:
        self.node.stop_pod(container)
        self.model.running.pop(container, None)

    def use_host_local(self, container: str, address: str) -> None:
        """Let a stranger give an address back, and take another if it is free."""
        self.node.free_as_host_local(container)
        given_back = self.model.held_by(container)
        self.model.saw(self.node.holders(), {}, may_go={container})
        if given_back:
            self.model.rests_unknown(given_back)
        if address not in self.model.holders and self.node.reserve_as_host_local(
            address, container
        ):
            self.model.holders[address] = container

    def is_first_call_after_boot(self) -> bool:
        marker = self.node.data / "boot"
        return not marker.exists() or marker.read_text() != self.node.boot

    def compare(self) -> None:
        """Let a microsecond pass, and compare all that the node holds with the model."""
        self.clock.advance(1 / SECOND)
        self.model.wait(self.clock.microseconds)
        holders, records = self.node.holders(), self.node.records()
        assert self.model.holders == holders
        for address, holder in holders.items():
            if holder not in {TORN, *STRANGERS}:
                assert any(address in pool for pool in POOLS[network_of(holder)])
                is_torn = holder in self.model.torn and holder in records
                named = {address} if is_torn else records.get(holder, set())
                assert address in named, f"no record of {holder} names {address}"
        for container in filter(self.model.is_firm, CONTAINERS):
            assert records[container] == self.model.held_by(container)

    def leave_nothing(self) -> None:
        """DEL of everything, GC and time bring back every address, and no file stays."""
        for container in CONTAINERS:
            self.stop_pod(container)
            self.delete(container, None)
        for network in NETWORKS:
            self.collect(network, set(CONTAINERS), None)
        for _ in range(MOST_BACKLOG):
            self.node.work_off_backlog()
        self.clock.advance(1000)
        assert self.node.holders() == {}
        assert {file.suffix for file in self.node.data.glob("attachments/*/*")} <= {".damaged"}
        with Store(str(self.node.data), time.monotonic() + 5) as store:
            for addresses in (pool for pools in POOLS.values() for pool in pools):
                free: list[Reservation] = []
                for _ in addresses:
                    free.append(store.choose(pool_of(addresses), free, self._cooldown))
                assert {each.address for each in free} == addresses

    def _start_pod(self, container: str) -> None:
        if container not in self.model.running:
            self._cookies += 1
            self.node.start_pod(container, self._cookies)
            self.model.running[container] = self._cookies

    def _conf(self, container: str) -> dict[str, object]:
        conf = NETWORKS[network_of(container)]
        return {**conf, "ipam": {**conf["ipam"], "cooldown": self._cooldown}}

    def _reclaim(self) -> None:
        if self.is_first_call_after_boot():
            self.model.reclaim()

    def _call(self, fault: Fault | None, work: Callable[[], object]) -> int:
        """Return the answer's code."""
        self.calls += 1
        code = ENDED
        with process_that_may_be_killed(), fault or contextlib.nullcontext():
            try:
                work()
                code = OK
            except CniError as error:
                code, self._answer = error.code, error.message
            except OSError:
                code = IO_FAILURE
        self.model.hints_are_lost |= fault is not None and fault.met_a_hint
        return code

    def _see(self, may_go: set[str], fault: Fault | None, *, adding: str = "") -> None:
        # What could not be read for once stays, for the next sweep.
        unread = fault is not None and fault.met.startswith("open")
        if not unread and not self.is_first_call_after_boot():
            self.model.remnants = {}
        self.model.saw(
            self.node.holders(), self.node.quarantined(), may_go=may_go | {TORN}, adding=adding
        )

    def _check_given(self, container: str, prospects: Sequence[Prospects]) -> None:
        own = self.model.held_by(container)
        for pool, prospect in zip(POOLS[network_of(container)], prospects, strict=True):
            resting = prospect.resting if self.model.hints_are_lost else set()
            allowed = prospect.yes | prospect.maybe | resting
            assert len(own & pool) == 1
            assert own & pool <= allowed, f"{own & pool} was given, {allowed} may be"
        assert own == self.node.records()[container]

    def _removed(self, containers: set[str], code: int, fault: Fault | None) -> None:
        if code == OK:
            self._check_gone(containers)
        else:
            assert fault is not None, self._answer
            assert fault.met, self._answer
            self.model.doubt(containers, self.node.records())

    def _check_gone(self, containers: set[str]) -> None:
        assert not self.model.held_by(*containers)
        assert not containers & self.node.records().keys()
        self.model.forget(*containers)
