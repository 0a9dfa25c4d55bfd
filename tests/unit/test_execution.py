from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni import cancellation, execution
from multinic_cni.execution import drive
from multinic_cni.process import Command, Outcome
from tests.unit.programs import HANGING, PATH, Script, execute, faster_than, is_gone, once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from multinic_cni.execution import Task


pytestmark = [pytest.mark.process, pytest.mark.usefixtures("nothing_is_left")]


def test_deadline_kills_the_whole_process_group(script: Script, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with faster_than(5):
        (outcome,) = execute(
            script("sleep 60 & echo $! $$ >$PIDS; wait", PIDS=str(pids)), seconds=0.3
        )
    assert "was killed: the call's deadline (timeout) passed" == outcome.failure
    assert (None, 0) == (outcome.exit_status, outcome.signal)
    for pid in map(int, pids.read_text().split()):
        assert is_gone(pid)


def test_death_cannot_be_refused(script: Script) -> None:
    with faster_than(5):
        (outcome,) = execute(script("trap '' TERM INT HUP; sleep 60; sleep 60"), seconds=0.2)
    assert "was killed: the call's deadline (timeout) passed" == outcome.failure


def test_deadline_that_has_passed_starts_nothing(script: Script, tmp_path: Path) -> None:
    (outcome,) = execute(script("touch $MARK", MARK=str(tmp_path / "mark")), seconds=-1)
    assert "was not started: the call's deadline (timeout) passed" == outcome.failure
    assert not (tmp_path / "mark").exists()


def test_others_end_well_although_one_hangs(script: Script) -> None:
    quick, hanging = execute(script("echo 1"), script(HANGING), seconds=0.4)
    assert b"1\n" == quick.stdout
    assert hanging.failure.startswith("was killed: ")


def test_all_run_side_by_side(script: Script, tmp_path: Path) -> None:
    # Each waits until both are there.
    text = "touch $HERE/$ME; while ! [ -e $HERE/$OTHER ]; do sleep 0.02; done; echo met"
    pair = [("a", "b"), ("b", "a")]
    commands = [script(text, HERE=str(tmp_path), ME=me, OTHER=other) for me, other in pair]
    assert [b"met\n"] * 2 == [each.stdout for each in execute(*commands, seconds=10)]


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_more_than_wanted_at_once(script: Script, tmp_path: Path, at_once: int) -> None:
    text = "touch $ROOM/$$; ls $ROOM | wc -l; sleep 0.05; rm $ROOM/$$"
    room = tmp_path / "room"
    room.mkdir()
    outcomes = execute(*[script(text, ROOM=str(room)) for _ in range(5)], at_once=at_once)
    assert [0] * 5 == [each.exit_status for each in outcomes]
    assert {str(each) for each in range(1, at_once + 1)} >= {
        each.stdout.decode().strip() for each in outcomes
    }


def test_task_executes_one_after_another(script: Script) -> None:
    def chain() -> Task[list[bytes]]:
        first = yield script("echo 1")
        second = yield script(f"echo {first.stdout.decode().strip()}2")
        return [first.stdout, second.stdout]

    assert [[b"1\n", b"12\n"]] * 3 == drive([chain() for _ in range(3)], time.monotonic() + 30)


def test_results_come_in_the_order_of_the_tasks(script: Script) -> None:
    outcomes = execute(script("sleep 0.1; echo slow"), script("echo quick"))
    assert [b"slow\n", b"quick\n"] == [each.stdout for each in outcomes]


def test_tasks_without_commands() -> None:
    def nothing() -> Task[int]:
        yield from ()
        return 7

    assert [7, 7] == drive([nothing(), nothing()], time.monotonic() + 1)
    assert [] == drive([], time.monotonic() + 1)


def test_task_after_the_deadline_gets_an_outcome_for_each_command(script: Script) -> None:
    def chain() -> Task[list[str]]:
        failures = []
        for _ in range(3):
            outcome = yield script(HANGING)
            failures.append(outcome.failure)
        return failures

    (failures,) = drive([chain()], time.monotonic() + 0.2)
    assert ["was killed", "was not started", "was not started"] == [
        failure.partition(":")[0] for failure in failures
    ]


def test_exception_of_a_task_kills_the_others(script: Script, tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    def careless() -> Task[Outcome]:
        yield script("while ! [ -s $PIDS ]; do sleep 0.02; done", PIDS=str(pids))
        raise ZeroDivisionError

    hanging = once(script("echo $$ >$PIDS; exec sleep 60", PIDS=str(pids)))
    with pytest.raises(ZeroDivisionError), faster_than(10):
        drive([hanging, careless()], time.monotonic() + 30)
    assert is_gone(int(pids.read_text()))


@pytest.mark.parametrize(
    ("mode", "content", "reason"),
    [
        (0o755, "no program\0", "Exec format error"),
        (0o755, "#!/no/such/interpreter\n", "No such file or directory"),
    ],
)
def test_what_cannot_be_executed(tmp_path: Path, mode: int, content: str, reason: str) -> None:
    file = tmp_path / "broken"
    file.write_text(content)
    file.chmod(mode)
    (outcome,) = execute(Command(executable=str(file), environment=PATH, stdin=b""))
    assert f"cannot be executed: {reason}" == outcome.failure


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "ETXTBSY_PAUSE", 0.03)


@pytest.mark.usefixtures("quick_retries")
def test_plugin_that_is_being_installed_is_tried_again(script: Script) -> None:
    command = script("echo installed")
    writer = os.open(command.executable, os.O_WRONLY)

    def installing() -> Task[Outcome]:
        outcome = yield script("true")
        os.close(writer)
        return outcome

    delayed, _ = drive([once(command), installing()], time.monotonic() + 30)
    assert Outcome(exit_status=0, stdout=b"installed\n") == delayed


@pytest.mark.usefixtures("quick_retries")
def test_plugin_that_is_written_for_ever(script: Script) -> None:
    command = script("true")
    writer = os.open(command.executable, os.O_WRONLY)
    try:
        (outcome,) = execute(command)
    finally:
        os.close(writer)
    assert "cannot be executed: Text file busy" == outcome.failure


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the plugin catch SIGTERM and SIGINT as in a call."""
    before = [(each, signal.getsignal(each)) for each in cancellation.SIGNALS]
    for received in ("_received", "_ignored"):  # of the one call that a process serves
        monkeypatch.setattr(cancellation, received, [])
    cancellation.watch()
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize("name", ["TERM", "INT"])
@pytest.mark.usefixtures("watched")
def test_signal_to_the_plugin_cancels(script: Script, name: str) -> None:
    caller = script(f"kill -{name} $PPID; {HANGING}")
    with faster_than(5):
        outcomes = execute(caller, script(HANGING), script("true"), at_once=2)
    assert ["was killed", "was killed", "was not started"] == [
        each.failure.partition(":")[0] for each in outcomes
    ]
    assert {"the runtime called the plugin off"} == {
        each.failure.partition(": ")[2] for each in outcomes
    }
    assert cancellation.cancelled()


@pytest.mark.usefixtures("watched")
def test_roll_back_runs_to_its_end(script: Script) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    (outcome,) = execute(script("echo undone"))
    assert "was not started: the runtime called the plugin off" == outcome.failure
    cancellation.ignore_from_now_on()
    assert not cancellation.cancelled()
    (outcome,) = execute(script("kill -TERM $PPID; sleep 0.1; echo undone"))
    assert b"undone\n" == outcome.stdout
