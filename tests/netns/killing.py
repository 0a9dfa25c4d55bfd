"""What tests that kill the plugin share: where they kill it, and what `ipam check` says afterwards.

Each attempt has a data directory of its own, so that all of them meet what the first call makes.
"""

from __future__ import annotations

import fcntl
import itertools
import shutil
from array import array
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.netns.state import State
from tests.netns.tools import findings, tool
from tests.netns.tracing import killed_at, traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.netns.tracing import Call, Point
    from tests.pytest_netns import Attachment, Namespace, Namespaces, Runtime

    Attempt = Callable[[Point, Namespace], None]
    Facts = frozenset[tuple[str, object]]

AT_ONCE = 3
UNFINISHED = (".new", "pools/.reservation")  # the ends of their names
NEVER_GIVEN, RESERVED = 0, 2**64 - 1  # words of turns; the others are moments


class Scene:
    """A node on which attempts are made, some of them at once."""

    def __init__(self, runtime: Runtime, namespaces: Namespaces, folder: Path) -> None:
        self._runtime = runtime
        self._folder = folder
        self._numbers = itertools.count(1)
        self._pods = [namespaces.make("pod") for _ in range(AT_ONCE)]
        self._seen: set[Facts] = set()

    def fresh(self) -> tuple[Runtime, State]:
        """Return a runtime whose data directory does not exist yet."""
        runtime = self._runtime.but(data_dir=self._folder / f"state{next(self._numbers)}")
        return runtime, State(runtime.data_dir)

    def points_of(self, runtime: Runtime, call: Call) -> list[Point]:
        """Execute a call; return every system call of it that changes something."""
        return traced(runtime, call, self._folder / f"trace{next(self._numbers)}")

    def try_each(self, points: Iterable[Point], attempt: Attempt) -> None:
        """Make an attempt for each point. The pod that goes with it has no other one meanwhile."""
        left = iter(list(points))

        def work(pod: Namespace) -> None:
            for point in left:
                try:
                    attempt(point, pod)
                except AssertionError as error:
                    raise AssertionError(f"killed before {point}") from error

        with ThreadPoolExecutor(AT_ONCE) as workers:
            list(workers.map(work, self._pods))

    def is_new(self, state: State) -> bool:
        """Tell whether a store that no attachment uses is unlike all that were asked about before.

        What calls and tools make of it depends on its files alone, so once is enough for each.
        """
        assert state.records() == {}
        facts = _facts(state)
        if not facts or facts in self._seen:
            return False
        self._seen.add(facts)
        return True

    def assert_in_order(self, state: State) -> None:
        """Assert that `ipam check` finds nothing after one `gc`, where no attachment is left.

        What is found before may only be files of the store's own that were not finished. Both work
        on a copy, so that the next call of a test meets what the killed one has left.
        """
        if not self.is_new(state):
            return
        copy = self._runtime.but(data_dir=self._folder / f"copy{next(self._numbers)}")
        shutil.copytree(state.root, copy.data_dir)
        found = findings(copy)
        wrong = {(kind, subject) for kind, subject in found if not subject.endswith(UNFINISHED)}
        assert not wrong, wrong
        if found:
            tool(copy, "gc").lines()
            still = findings(copy)
            assert not still, still


def calling(attachment: Attachment, command: str) -> Call:
    return lambda runtime: replace(attachment, runtime=runtime).call(command)


def kill(attachment: Attachment, command: str, point: Point) -> None:
    killed_at(attachment.runtime, calling(attachment, command), point)


def settle(state: State) -> None:
    """Wait until no orphaned delegate holds an attachment's lock."""
    for file in state.root.glob("attachments/*/*.lock"):
        with file.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def assert_every_address_is_named(state: State) -> None:
    """Assert that each address is in its owner's record, even if a call was killed just now."""
    named = {
        (each["address"], f"{record['containerID']} {record['ifname']}")
        for record in state.records().values()
        for nic in record["nics"]
        for each in nic["addresses"]
    }
    of_nobody = state.addresses().items() - named
    assert not of_nobody, of_nobody


def _facts(state: State) -> Facts:
    """Return the files with what matters in them: it does not when something was."""
    return frozenset((name, _gist(name, content)) for name, content in state.files().items())


def _gist(name: str, content: bytes) -> object:
    if name.startswith("quarantine/"):
        return None
    if name.startswith("turns/"):
        words = enumerate(array("Q", content))
        return frozenset((at, word == RESERVED) for at, word in words if word != NEVER_GIVEN)
    return content
