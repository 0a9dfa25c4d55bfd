"""The one place that executes programs: many at once, in sequence within a task, one deadline.

A task is a generator that yields commands and receives their outcomes, so that a chain of delegates
reads as the sequence it is while all NICs' chains run side by side:

    def task() -> Task[int]:
        outcome = yield Command(executable=…, environment=…, stdin=…)
        return outcome.exit_status
"""

from __future__ import annotations

import _signal
import os
import time
from errno import ETXTBSY
from select import POLLIN, poll

from multinic_cni import cancellation
from multinic_cni.process import CHUNK, Outcome, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import TypeAlias, TypeVar

    from multinic_cni.process import Command

    T = TypeVar("T")
    Task: TypeAlias = "Generator[Command, Outcome, T]"

ETXTBSY_TRIES = 6  # an installer that copies over a plugin in place needs a moment
ETXTBSY_PAUSE = 0.2
# Killed half-way, macvlan leaves a link under a temporary name, host-device the NIC in the pod.
# Most delegates end within milliseconds.
GRACE_SECONDS = 2.0
DEATH_POLL = 0.002
DEATH_PATIENCE = 5.0  # a killed process may still be inside a system call


def drive(tasks: Sequence[Task[T]], deadline: float, at_once: int | None = None) -> list[T]:
    """Run all tasks to their ends and return what they return, in order.

    At the deadline (monotonic clock), or when the call is cancelled, nothing more is started, and
    every process group that still runs two seconds later is killed; its task, and each that still
    yields commands, receives an outcome that says so.
    """
    results: dict[int, T] = {}

    def kept(index: int, task: Task[T]) -> Task[None]:
        results[index] = yield from task

    wrapped = [kept(index, task) for index, task in enumerate(tasks)]
    driver = _Driver(wrapped, deadline, at_once or len(tasks))
    try:
        driver.run()
    finally:
        driver.close()
    return [results[index] for index in range(len(tasks))]


class _Waiting:
    """A command that is to be started, not before a moment."""

    def __init__(self, index: int, command: Command, *, tries: int = 0, due: float = 0.0) -> None:
        self.index = index
        self.command = command
        self.tries = tries
        self.due = due


class _Driver:
    """The loop: start what may start, wait for output or a signal, hand outcomes to the tasks."""

    def __init__(self, tasks: Sequence[Task[None]], deadline: float, at_once: int) -> None:
        self._tasks = tasks
        self._deadline = deadline
        self._at_once = at_once
        self._waiting: list[_Waiting] = []
        self._running: dict[int, Process] = {}
        self._stopped = ""
        self._poll = poll()
        # A signal writes to this pipe, so that poll() returns for the exit of a child, and for
        # SIGTERM, wherever it comes; Python alone would go on polling after the handler.
        self._wake, self._waker = os.pipe()
        for descriptor in (self._wake, self._waker):
            os.set_blocking(descriptor, False)
        self._poll.register(self._wake, POLLIN)
        self._old_waker = _signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._old_handler = _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)

    def run(self) -> None:
        self._look_at_the_clock()
        for index in range(len(self._tasks)):
            self._advance(index, None)
        while self._waiting or self._running:
            self._start()
            self._reap()
            if self._running or self._waiting:
                self._wait()
                self._look_at_the_clock()

    def close(self) -> None:
        self._kill_all()  # only after an exception is anything left to kill
        _signal.signal(_signal.SIGCHLD, self._old_handler)
        _signal.set_wakeup_fd(self._old_waker)
        os.close(self._wake)
        os.close(self._waker)

    def _advance(self, index: int, outcome: Outcome | None) -> None:
        try:
            command = self._tasks[index].send(outcome)  # type: ignore[arg-type]  # None starts it
        except StopIteration:
            return
        self._waiting.append(_Waiting(index, command))

    def _start(self) -> None:
        pending, self._waiting = self._waiting, []
        now = time.monotonic()
        for each in pending:
            if self._stopped:
                self._advance(each.index, Outcome(failure=f"was not started: {self._stopped}"))
            elif len(self._running) >= self._at_once or each.due > now:
                self._waiting.append(each)
            else:
                self._spawn(each)

    def _spawn(self, each: _Waiting) -> None:
        try:
            process = Process(each.command, each.index)
        except OSError as error:
            if error.errno == ETXTBSY and each.tries < ETXTBSY_TRIES:
                each.tries += 1
                each.due = time.monotonic() + ETXTBSY_PAUSE
                self._waiting.append(each)
                return
            self._advance(each.index, Outcome(failure=f"cannot be executed: {error.strerror}"))
            return
        self._running[process.pid] = process
        for reader in process.readers:
            self._poll.register(reader, POLLIN)

    def _reap(self) -> None:
        for process in list(self._running.values()):
            status = process.wait()
            if status is not None:
                outcome = process.outcome(status)
                self._drop(process)
                self._advance(process.index, outcome)

    def _drop(self, process: Process) -> None:
        del self._running[process.pid]
        for reader in process.readers:
            self._forget(reader)
        process.close()

    def _forget(self, reader: int) -> None:
        try:
            self._poll.unregister(reader)
        except KeyError:
            return  # its end was seen before the exit

    def _wait(self) -> None:
        now = time.monotonic()
        if self._waiting and (
            self._stopped
            or (len(self._running) < self._at_once and any(w.due <= now for w in self._waiting))
        ):
            return  # something can start at once
        due = [each.due for each in self._waiting if each.due > now]
        until = min([self._deadline, *due])
        for descriptor, _ in self._poll.poll(max(0.0, until - now) * 1000 + 1):
            if descriptor == self._wake:
                os.read(self._wake, CHUNK)
                continue
            process = next(p for p in self._running.values() if descriptor in p.readers)
            if not process.read(descriptor):
                self._forget(descriptor)

    def _look_at_the_clock(self) -> None:
        if not self._stopped:
            if cancellation.cancelled():
                self._stopped = "the runtime called the plugin off"
            elif time.monotonic() >= self._deadline:
                self._stopped = "the call's deadline (timeout) passed"
            if self._stopped:
                self._deadline = time.monotonic() + GRACE_SECONDS
        elif time.monotonic() >= self._deadline:
            self._kill_all()

    def _kill_all(self) -> None:
        for process in self._running.values():
            process.failure = process.failure or f"was killed: {self._stopped}"
            process.kill()
        patience = time.monotonic() + DEATH_PATIENCE
        while self._running and time.monotonic() < patience:
            self._reap()
            if self._running:
                time.sleep(DEATH_POLL)
        for process in list(self._running.values()):
            self._drop(process)
            failure = f"was killed, but does not die: {self._stopped}"
            self._advance(process.index, Outcome(failure=failure))
