"""SIGKILL of the plugin at random moments, under load: nothing is lost, nothing given twice.

Some runtimes share a node whose pools are nearly full. Each call of theirs may be killed, as they
do when they give up: the plugin alone, not its delegates. Half of the times a DEL follows, as the
specification wants it; otherwise the pod's netns goes, and perhaps a DEL comes much later.

MULTINIC_RANDOM_KILLS and MULTINIC_RANDOM_SEED let one look longer, or elsewhere.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING

from tests.cni_runtime import CALL_SECONDS
from tests.netns.confs import ranges
from tests.netns.killing import settle
from tests.netns.tools import findings, tool
from tests.pytest_netns import Answer, on_rail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Document, Namespaces, Node, Runtime

KILLS = int(os.environ.get("MULTINIC_RANDOM_KILLS", "500"))
SEED = os.environ.get("MULTINIC_RANDOM_SEED", "12")
RUNTIMES = 4
PODS = 3  # of each runtime, at most
FIRST, LAST = 100, 100 + RUNTIMES * PODS  # one address more than pods
POOLS = {on_rail(rail, host) for rail in (1, 2) for host in range(FIRST, LAST + 1)}
NO_ADDRESS = 101
KILLED, LATE = 0.8, 0.3  # how likely


class Ledger:
    """What the runtimes know together: who has which address, and how often they have killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: dict[str, str] = {}
        self.kills = 0
        self.failed = False

    @property
    def goes_on(self) -> bool:
        return self.kills < KILLS and not self.failed

    def killed(self) -> None:
        with self._lock:
            self.kills += 1

    def given(self, pod: str, addresses: Sequence[str]) -> None:
        with self._lock:
            owners = {
                address: self._owners[address] for address in addresses if address in self._owners
            }
            assert owners == {}, f"given to {pod} as well"
            self._owners.update(dict.fromkeys(addresses, pod))

    def gone(self, pod: str) -> None:
        """From now on the pod's addresses may be somebody else's."""
        with self._lock:
            self._owners = {address: own for address, own in self._owners.items() if own != pod}


class HastyRuntime:
    """One of the runtimes, and what it does."""

    def __init__(
        self, number: int, runtime: Runtime, namespaces: Namespaces, ledger: Ledger
    ) -> None:
        self._random = Random(f"{SEED} {number}")  # noqa: S311 - repeatable
        self._runtime = runtime
        self._namespaces = namespaces
        self._ledger = ledger
        self._conf = conf_of(runtime)
        self._forgotten: list[Attachment] = []
        self._seconds = {"ADD": 0.2, "DEL": 0.1}  # that such a call took last
        self.pods: list[Attachment] = []

    def work(self) -> None:
        try:
            while self._ledger.goes_on:
                self._step()
        except BaseException:
            self._ledger.failed = True
            raise

    def _step(self) -> None:
        if self._forgotten and self._random.random() < LATE:
            late = self._forgotten.pop(self._random.randrange(len(self._forgotten)))
            answer = self._call(late, "DEL")
            if answer is not None:
                answer.succeeded()
        if len(self.pods) == PODS:
            attachment = self.pods.pop(self._random.randrange(PODS))
            self._ledger.gone(attachment.pod.name)
            self._let_go(attachment, self._call(attachment, "DEL"))
        else:
            self._add()

    def _add(self) -> None:
        name = f"IgnoreUnknown=1;K8S_POD_NAMESPACE=n;K8S_POD_NAME=p{self._random.randrange(20)}"
        pod = self._namespaces.make("pod")
        attachment = self._runtime.attachment(pod, self._conf, cni_args=name)
        answer = self._call(attachment, "ADD")
        if answer is None:
            self._let_go(attachment, answer)
        elif answer.status:
            assert "is exhausted" in answer.error(NO_ADDRESS)  # what others left is still busy
            self._namespaces.remove(pod)
        else:
            attachment.result = answer.document
            self._ledger.given(pod.name, addresses_of(attachment))
            self.pods.append(attachment)

    def _let_go(self, attachment: Attachment, answer: Answer | None) -> None:
        """Do what follows a call that may have been killed, until the pod has gone."""
        while answer is None and self._random.random() < 0.5:
            answer = self._call(attachment, "DEL")
        if answer is None:
            self._forgotten.append(attachment)
        else:
            answer.succeeded()
            assert attachment.pod.links() == {}
        self._namespaces.remove(attachment.pod)

    def _call(self, attachment: Attachment, command: str) -> Answer | None:
        """Call once; None if it was killed."""
        began = time.monotonic()
        with attachment.started(command) as process:
            if self._random.random() < KILLED:
                time.sleep(self._random.uniform(0, self._seconds[command]))
                process.kill()
                if process.wait() == -signal.SIGKILL:
                    self._ledger.killed()
                    return None
            stdout, stderr = process.communicate(timeout=CALL_SECONDS)
        seconds = time.monotonic() - began
        self._seconds[command] = seconds
        return Answer(process.returncode, stdout.decode(), stderr.decode(), seconds)


def conf_of(runtime: Runtime) -> Document:
    keys = ranges(1, 2, first=FIRST, last=LAST)
    ipam = keys["ipam"] | {"sticky": True}
    return runtime.conf(**keys | {"cniVersion": "1.0.0", "ipam": ipam})


def addresses_of(attachment: Attachment) -> list[str]:
    assert attachment.result is not None
    return [str(ip["address"]).partition("/")[0] for ip in attachment.result["ips"]]


def test_kills_at_random_under_load(
    runtime: Runtime, namespaces: Namespaces, node: Node, state: State
) -> None:
    before = node.facts()
    ledger = Ledger()
    runtimes = [HastyRuntime(number, runtime, namespaces, ledger) for number in range(RUNTIMES)]
    with ThreadPoolExecutor(RUNTIMES) as threads:
        list(threads.map(HastyRuntime.work, runtimes))
    living = [attachment for each in runtimes for attachment in each.pods]
    settle(state)
    # An address that no record names could be told from a living pod's by nobody but `gc`.
    assert {kind for kind, _ in findings(runtime)} <= {"stale", "damaged"}

    tool(runtime, "gc").lines()

    assert findings(runtime) == set()
    owners = {each: f"c-{own.pod.name} net1" for own in living for each in addresses_of(own)}
    assert state.addresses() == owners
    for attachment in living:
        attachment.check().succeeded()
        attachment.delete().succeeded()
    assert state.left() == []
    every_address_can_be_given(runtime, namespaces, state)
    assert node.facts() == before


def every_address_can_be_given(runtime: Runtime, namespaces: Namespaces, state: State) -> None:
    conf = conf_of(runtime)
    pods = [runtime.attachment(namespaces.make("pod"), conf) for _ in range(FIRST, LAST + 1)]
    given = [address for pod in pods for address in addresses_of_new(pod)]
    assert sorted(given) == sorted(POOLS)
    for pod in pods:
        pod.delete().succeeded()
    assert state.left() == []
    assert findings(runtime) == set()


def addresses_of_new(attachment: Attachment) -> list[str]:
    attachment.add()
    return addresses_of(attachment)
