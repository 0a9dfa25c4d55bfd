"""Eight processes at once on one store: calls, crashes, pods that vanish, sweeps and GC."""

from __future__ import annotations

import os
import random
import time
import traceback
from typing import TYPE_CHECKING

import pytest

from multinic_cni.errors import CniError
from multinic_ipam.store import Store
from tests.unit.address_model import pool_of
from tests.unit.faults import Kill, KilledError, process_that_may_be_killed
from tests.unit.pretended_node import PretendedNode

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_ipam.reservation import Reservation

PROCESSES, PODS, DEEDS = 8, 3, 120
# Two NICs share it: 48 addresses are wanted when all pods are there at once.
ADDRESSES = {f"10.9.0.{host}" for host in range(1, 31)}
NET, OTHER_NET = "10.1.0.0/28", "10.2.0.0/28"
CONF = {
    "name": "rails",
    "masterNets": [NET, OTHER_NET],
    "ipam": {
        "type": "multi-nic-ipam",
        "ranges": {NET: [{"subnet": "10.9.0.0/27"}], OTHER_NET: [{"subnet": "10.9.0.0/27"}]},
    },
}


class Runtime:
    """One of the processes: its pods, and what it was told that they have.

    What a pod has is marked by a file that must be new: it belongs to one pod of all processes.
    """

    def __init__(self, node: PretendedNode, marks: Path, number: int, seed: int) -> None:
        self.node = node
        self.marks = marks
        self.chance = random.Random(seed * PROCESSES + number)  # noqa: S311 - no secret
        self.pods = [f"p{number}-{pod}" for pod in range(PODS)]
        self.attached: dict[str, set[str]] = {}
        self.cookies = number << 32

    def live(self) -> None:
        for _ in range(DEEDS):
            pod = self.chance.choice(self.pods)
            if pod in self.attached:
                self.chance.choice([self.leave, self.leave, self.vanish, self.look])(pod)
            else:
                self.chance.choice([self.come, self.come, self.come, self.late_del])(pod)
            if self.chance.random() < 0.1:
                self.chance.choice([self.node.sweep, self.collect, self.look_at_all])()
        for pod in self.pods:
            self.leave(pod)

    def come(self, pod: str) -> None:
        self.cookies += 1
        self.node.start_pod(pod, self.cookies)
        if self.chance.random() < 0.2:
            with process_that_may_be_killed(), Kill(self.chance.randrange(1, 90)):
                self.is_added(pod)
            self.leave(pod)  # as a runtime does when the plugin has died
        elif self.is_added(pod):
            self.attached[pod] = self.node.records()[pod]
            assert len(self.attached[pod]) == 2
            for address in self.attached[pod]:
                (self.marks / address).touch(exist_ok=False)

    def is_added(self, pod: str) -> bool:
        """Call ADD; False if the pool is exhausted."""
        try:
            self.node.add(pod, CONF)
        except CniError as error:
            if "exhausted" not in error.message:
                raise
            return False
        return True

    def leave(self, pod: str) -> None:
        self.forget(pod)
        if self.chance.random() < 0.2:
            with process_that_may_be_killed(), Kill(self.chance.randrange(1, 40)):
                self.node.delete(pod, CONF)
        self.node.delete(pod, CONF)
        self.node.stop_pod(pod)

    def vanish(self, pod: str) -> None:
        """Go without a DEL; it may come late, when others have the addresses."""
        self.forget(pod)
        self.node.stop_pod(pod)

    def late_del(self, pod: str) -> None:
        self.node.delete(pod, CONF)

    def forget(self, pod: str) -> None:
        for address in self.attached.pop(pod, ()):
            (self.marks / address).unlink()

    def look(self, pod: str) -> None:
        held = {address for address, holder in self.node.holders().items() if holder == pod}
        assert self.attached[pod] == held == self.node.records()[pod]

    def look_at_all(self) -> None:
        """No address is reserved for which no record stands."""
        with Store(str(self.node.data), time.monotonic() + 60) as store:
            holders = {each.address: owner for each, owner in store.reservations()}
            records = self.node.records()
        for address, owner in holders.items():
            assert owner is not None
            assert address in records[owner.container_id]
        assert holders.keys() <= ADDRESSES

    def collect(self) -> None:
        others = [f"p{number}-{pod}" for number in range(PROCESSES) for pod in range(PODS)]
        gone = set(self.pods) - self.attached.keys()
        self.node.collect(CONF, [each for each in others if each not in gone])


def start(runtime: Runtime, failures: Path) -> int:
    """Fork a process that writes why it failed into a file of its own."""
    pid = os.fork()
    if pid:
        return pid
    try:
        runtime.live()
    except (Exception, KilledError):  # noqa: BLE001 - whatever it was, the parent shall know
        (failures / str(os.getpid())).write_text(traceback.format_exc())
    finally:
        os._exit(0)


@pytest.mark.process
@pytest.mark.parametrize("seed", [1, 2])
def test_eight_processes_on_one_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    node = PretendedNode(tmp_path, monkeypatch)
    marks, failures = tmp_path / "marks", tmp_path / "failures"
    marks.mkdir()
    failures.mkdir()
    runtimes = [Runtime(node, marks, number, seed) for number in range(PROCESSES)]

    children = [start(runtime, failures) for runtime in runtimes]

    for child in children:
        os.waitpid(child, 0)
    reasons = [each.read_text() for each in failures.iterdir()]
    assert not reasons, "\n".join(reasons)
    assert {} == node.holders()
    assert [] == list(marks.iterdir())
    assert [] == list(node.data.glob("attachments/*/*"))
    with Store(str(node.data), time.monotonic() + 5) as store:
        free: list[Reservation] = []
        for _ in ADDRESSES:
            free.append(store.choose(pool_of(ADDRESSES), free))
    assert {each.address for each in free} == ADDRESSES
