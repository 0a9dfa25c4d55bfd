from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from multinic_cni.process import OUTPUT_LIMIT, Outcome
from tests.unit.descriptors import OPEN, open_descriptors
from tests.unit.programs import Script, execute, faster_than, is_gone

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = [pytest.mark.process, pytest.mark.usefixtures("nothing_is_left")]


def test_stdin_environment_and_output(script: Script) -> None:
    (outcome,) = execute(script('cat; echo " $CNI_COMMAND"', stdin=b'{"a": 1}', CNI_COMMAND="ADD"))
    assert Outcome(exit_status=0, stdout=b'{"a": 1} ADD\n') == outcome


def test_environment_is_only_the_given_one(script: Script) -> None:
    (outcome,) = execute(script("env -u PWD -u OLDPWD -u _ -u SHLVL", CNI_IFNAME="net1"))
    assert {"PATH=/usr/bin:/bin", "CNI_IFNAME=net1"} == set(outcome.stdout.decode().split())


def test_no_arguments_and_its_own_path_as_name(script: Script) -> None:
    command = script('echo "$#" "$0"')
    assert f"0 {command.executable}\n".encode() == execute(command)[0].stdout


def test_large_stdin_is_read_slowly(script: Script) -> None:
    content = b"x" * (1 << 20)
    (outcome,) = execute(script("sleep 0.1; cat | wc -c", stdin=content))
    assert f"{1 << 20}\n".encode() == outcome.stdout


def test_stdin_may_be_left_unread(script: Script) -> None:
    assert 0 == execute(script("true", stdin=b"x" * (1 << 20)))[0].exit_status


def test_exit_status_and_stderr(script: Script, capfd: pytest.CaptureFixture[str]) -> None:
    (outcome,) = execute(script("echo out; echo why >&2; exit 7"))
    assert Outcome(exit_status=7, stdout=b"out\n", stderr="why") == outcome
    # A runtime keeps the plugin's stderr: a delegate's is passed on.
    assert "why\n" == capfd.readouterr().err


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM"])
def test_death_by_a_signal(script: Script, name: str) -> None:
    (outcome,) = execute(script(f"echo part; kill -{name} $$"))
    expected = Outcome(signal=getattr(signal, f"SIG{name}"), stdout=b"part\n")
    assert expected == outcome.but(stderr="")


def test_ignored_signals_are_not_inherited(script: Script) -> None:
    # Python ignores SIGPIPE; a delegate in a pipe would then write for ever.
    (outcome,) = execute(script("kill -PIPE $$; echo alive"))
    assert (signal.SIGPIPE, b"") == (outcome.signal, outcome.stdout)


def test_large_output_is_read_whole(script: Script) -> None:
    (outcome,) = execute(script("head -c 900000 /dev/zero"))
    assert (0, 900_000) == (outcome.exit_status, len(outcome.stdout))


def test_much_on_stderr_is_no_failure_and_its_end_is_kept(script: Script) -> None:
    (outcome,) = execute(script("head -c 3000000 /dev/zero >&2; echo because >&2"))
    assert 0 == outcome.exit_status
    assert outcome.stderr.endswith("because")
    assert len(outcome.stderr) <= 65536


def test_flood_of_stderr_does_not_keep_others_from_their_ends(script: Script) -> None:
    with faster_than(10):
        flood, other = execute(script("exec cat /dev/zero >&2"), script("echo done"), seconds=1.0)
    assert "was killed: the call's deadline (timeout) passed" == flood.failure
    assert (0, b"done\n") == (other.exit_status, other.stdout)


def test_flood_is_stopped(script: Script) -> None:
    with faster_than(10):
        (outcome,) = execute(script("exec cat /dev/zero"))
    assert f"was killed: it printed more than {OUTPUT_LIMIT} bytes" == outcome.failure
    assert (None, 0) == (outcome.exit_status, outcome.signal)


def test_grandchild_that_keeps_stdout_open_makes_nobody_wait(script: Script) -> None:
    with faster_than(5):
        (outcome,) = execute(script("echo said; sleep 8 & exit 0"))
    assert (0, b"said\n") == (outcome.exit_status, outcome.stdout)


def test_output_of_the_last_moment_is_not_lost(script: Script) -> None:
    outcomes = execute(*[script(f"printf %s {number}") for number in range(10)])
    assert [str(number).encode() for number in range(10)] == [each.stdout for each in outcomes]


def test_only_inheritable_descriptors_are_inherited(script: Script, tmp_path: Path) -> None:
    ours = {str((OPEN / each).readlink()) for each in inheritable()}
    private, shared = tmp_path / "private", tmp_path / "shared"
    descriptors = [os.open(each, os.O_RDONLY | os.O_CREAT) for each in (private, shared)]
    os.set_inheritable(descriptors[1], True)
    try:
        outcomes = execute(*[script("readlink /proc/$$/fd/*") for _ in range(2)])
    finally:
        for each in descriptors:
            os.close(each)
    for outcome in outcomes:
        found = outcome.stdout.decode().splitlines()
        new = sorted(each.partition(":")[0] for each in found if each not in ours)
        scripts = [each for each in new if "/script" in each]  # the shell reads it
        expected = ["/memfd", str(shared), "pipe", "pipe", *scripts]
        assert sorted(expected) == new


def inheritable() -> list[str]:
    """Return the descriptors that whoever started the tests has given them."""
    return [n for n in open_descriptors() if int(n) > 2 and os.get_inheritable(int(n))]


def test_helper_that_a_failed_program_left_is_killed(script: Script, tmp_path: Path) -> None:
    # It must not act after the roll-back.
    pid = tmp_path / "pid"
    (outcome,) = execute(script("sleep 60 & echo $! >$PID; exit 1", PID=str(pid)))
    assert 1 == outcome.exit_status
    assert is_gone(int(pid.read_text()))


def test_daemon_that_a_good_program_left_lives_on(script: Script, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    (outcome,) = execute(
        script("sleep 60 >/dev/null 2>&1 & echo $! >$PID", PID=str(pid)),
    )
    daemon = int(pid.read_text())
    try:
        assert 0 == outcome.exit_status
        os.kill(daemon, 0)
    finally:
        os.kill(daemon, signal.SIGKILL)
