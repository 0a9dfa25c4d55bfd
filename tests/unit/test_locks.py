from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock, Timeout

from multinic_ipam.locks import LockTimeoutError, lock, never, try_lock
from multinic_ipam.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
HOLDER = """
import fcntl, os, signal, sys, time
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("locked", flush=True)
for signal_number, pause in zip(sys.argv[3::2], sys.argv[4::2]):
    time.sleep(float(pause))
    os.kill(int(sys.argv[2]), int(signal_number))
sys.stdin.read()
"""


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def held_elsewhere(path: Path, *signals: tuple[int, float]) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the lock until its stdin ends, and send us (signal, pause) first."""
    words = [str(word) for pair in signals for word in pair]
    command = [sys.executable, "-c", HOLDER, str(path), str(os.getpid()), *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert "locked\n" == holder.stdout.readline()
        yield holder
        if holder.stdin is not None and not holder.stdin.closed:
            holder.stdin.close()


def test_free_lock_is_taken_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "lock") as descriptor:
        lock(descriptor, time.monotonic() - 1)
        with opened(tmp_path / "lock") as other:
            assert not try_lock(other)


def test_try_lock_takes_what_is_free(tmp_path: Path) -> None:
    with opened(tmp_path / "lock") as descriptor:
        assert try_lock(descriptor)
    with opened(tmp_path / "lock") as descriptor:
        assert try_lock(descriptor)


def test_filelock_is_kept_out(tmp_path: Path) -> None:
    with Store(str(tmp_path), time.monotonic() + 1):
        other = FileLock(tmp_path / "lock", timeout=0, fallback_to_soft=False)
        with pytest.raises(Timeout):
            other.acquire()
    with FileLock(tmp_path / "lock", timeout=0, fallback_to_soft=False):
        pass


def test_filelock_keeps_us_out(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", timeout=0, fallback_to_soft=False):
        started = time.monotonic()
        with pytest.raises(LockTimeoutError):
            Store(str(tmp_path), time.monotonic() + 0.1).__enter__()
        assert 0.1 <= time.monotonic() - started < 1
    with Store(str(tmp_path), time.monotonic()):
        pass


def test_lock_file_is_never_deleted(tmp_path: Path) -> None:
    with Store(str(tmp_path), time.monotonic() + 1):
        number = (tmp_path / "lock").stat().st_ino
    with Store(str(tmp_path), time.monotonic() + 1):
        assert number == (tmp_path / "lock").stat().st_ino


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.2])
def test_deadline(tmp_path: Path, seconds: float) -> None:
    with opened(tmp_path / "lock") as held, opened(tmp_path / "lock") as waiting:
        assert try_lock(held)
        started = time.monotonic()
        with pytest.raises(LockTimeoutError):
            lock(waiting, started + seconds)
        assert max(seconds, 0) <= time.monotonic() - started < max(seconds, 0) + 1


def test_wait_can_be_called_off(tmp_path: Path) -> None:
    asked: list[int] = []

    def called_off() -> bool:
        asked.append(1)
        return len(asked) > 2

    with opened(tmp_path / "lock") as held, opened(tmp_path / "lock") as waiting:
        assert try_lock(held)
        with pytest.raises(LockTimeoutError):
            lock(waiting, time.monotonic() + 60, called_off)
    assert 3 == len(asked)


def test_nothing_calls_off_by_default() -> None:
    assert not never()


def test_waiter_gets_the_lock_when_it_is_given_back(tmp_path: Path) -> None:
    with opened(tmp_path / "lock") as waiting:
        held = os.open(tmp_path / "lock", os.O_RDWR)
        assert try_lock(held)
        timer = threading.Timer(0.15, os.close, [held])
        timer.start()
        started = time.monotonic()
        lock(waiting, started + 10)
        assert 0.1 <= time.monotonic() - started < 5
        timer.join()


def test_alarm_handler_and_timer_are_put_back(tmp_path: Path) -> None:
    def ours(_number: int, _frame: object) -> None:
        pytest.fail("a tick of a lock came when nobody waited")

    before = signal.signal(signal.SIGALRM, ours)
    try:
        with opened(tmp_path / "lock") as held, opened(tmp_path / "lock") as waiting:
            assert try_lock(held)
            with pytest.raises(LockTimeoutError):
                lock(waiting, time.monotonic())
            assert ours is signal.getsignal(signal.SIGALRM)
            assert (0.0, 0.0) == signal.getitimer(signal.ITIMER_REAL)
            time.sleep(0.12)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.process
def test_lock_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with opened(path) as waiting, held_elsewhere(path) as holder:
        assert not try_lock(waiting)
        holder.kill()  # the kernel gives the lock back
        lock(waiting, time.monotonic() + 10)


@pytest.mark.process
def test_signals_do_not_end_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _frame: received.append(number))
    try:
        with (
            opened(path) as waiting,
            held_elsewhere(path, *[(signal.SIGUSR1, 0.03)] * 3) as holder,
        ):
            assert holder.stdin is not None
            threading.Timer(0.3, holder.stdin.close).start()
            started = time.monotonic()
            lock(waiting, started + 10)
            assert time.monotonic() - started > 0.2
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert {signal.SIGUSR1} == set(received)


@pytest.mark.process
def test_handler_that_raises_ends_the_wait_and_leaves_no_timer(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    def give_up(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, give_up)
    try:
        with opened(path) as waiting, held_elsewhere(path, (signal.SIGUSR1, 0.05)):
            with pytest.raises(KeyboardInterrupt):
                lock(waiting, time.monotonic() + 10)
            assert (0.0, 0.0) == signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.signal(signal.SIGUSR1, before)


COUNTER = """
import sys, time
sys.path[:0] = [sys.argv[1] + "/ipam"]
from multinic_ipam.store import Store
for _ in range(20):
    with Store(sys.argv[2], time.monotonic() + 30):
        with open(sys.argv[2] + "/count") as file:
            number = int(file.read())
        with open(sys.argv[2] + "/count", "w") as file:
            file.write(str(number + 1))
"""


@pytest.mark.process
def test_no_two_processes_are_inside(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    command = [sys.executable, "-I", "-S", "-c", COUNTER, str(PROJECT), str(tmp_path)]
    running = [subprocess.Popen(command) for _ in range(4)]
    assert [0] * 4 == [each.wait(60) for each in running]
    assert "80" == (tmp_path / "count").read_text()
