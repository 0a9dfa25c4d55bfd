from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.answers import Answer, Call, command_line, understand
from multinic_cni.errors import DELEGATE_FAILED, TRY_AGAIN, CniError
from multinic_cni.jsontext import encode
from multinic_cni.process import Command, Outcome

if TYPE_CHECKING:
    from pathlib import Path

CONF: dict[str, Any] = {"type": "macvlan", "name": "rails", "cniVersion": "1.1.0"}
RESULT = {"cniVersion": "1.1.0", "interfaces": [{"name": "net1"}]}


def printed(document: object, *, status: int = 0) -> Outcome:
    return Outcome(exit_status=status, stdout=json.dumps(document).encode())


def call(command: str = "ADD") -> Call:
    return Call(command=command, conf=CONF, nic="rail0", ifname="net1-2")


def understood(outcome: Outcome, command: str = "ADD") -> Answer:
    executed = Command(executable="/opt/cni/bin/macvlan", environment={}, stdin=b"{}")
    return understand(call(command), executed, outcome)


def failed(outcome: Outcome, command: str = "ADD") -> CniError:
    answer = understood(outcome, command)
    assert answer.error is not None
    assert answer.result is None
    return answer.error


FAILURES: dict[str, tuple[Outcome, str]] = {
    "failure": (Outcome(failure="was killed: the deadline passed"), "was killed: the deadline pa"),
    "signal": (Outcome(signal=9), "was killed by signal 9"),
    "signal with words": (
        Outcome(signal=11, stderr="panic:\n  at 0x1"),
        "was killed by signal 11: panic: at 0x1",
    ),
    "silence": (Outcome(exit_status=1), "failed with exit status 1 and printed no error"),
    "stderr only": (
        Outcome(exit_status=2, stdout=b" \n", stderr="usage:\n\tmacvlan"),
        "failed with exit status 2 and printed no error: usage: macvlan",
    ),
    "garbage": (
        Outcome(exit_status=1, stdout=b"Traceback\n in main"),
        "failed with exit status 1, and its error is not JSON: Expecting value: line 1 column ",
    ),
    "two documents": (
        Outcome(exit_status=1, stdout=b'{"msg": "a"}{"msg": "b"}'),
        "failed with exit status 1, and its error has more than one document",
    ),
    "not UTF-8": (
        Outcome(exit_status=1, stdout=b"\xff\xfe"),
        "failed with exit status 1, and its error is not UTF-8",
    ),
    "no msg": (
        printed({"code": 7}, status=1),
        "failed with exit status 1, and its error has no msg",
    ),
    "msg is a number": (
        printed({"msg": 7}, status=1),
        "failed with exit status 1, and its error has no msg",
    ),
    "error is a list": (printed([], status=1), "failed with exit status 1, and its error has no m"),
    "error": (printed({"code": 100, "msg": "invalid MTU"}, status=1), "failed: invalid MTU"),
}


@pytest.mark.parametrize(("outcome", "text"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("command", ["ADD", "DEL", "CHECK"])
def test_failure(outcome: Outcome, text: str, command: str) -> None:
    error = failed(outcome, command)
    prefix = f"delegate macvlan on NIC rail0 (net1-2) {command} "
    assert prefix + text == error.message[: len(prefix + text)]
    assert DELEGATE_FAILED == error.code
    assert "repeat it with: printf " in error.details


BAD_RESULTS: dict[str, tuple[Outcome, str]] = {
    "nothing": (Outcome(exit_status=0), "ended well, but its result is empty"),
    "garbage": (
        Outcome(exit_status=0, stdout=b"done\n"),
        "ended well, but its result is not JSON: Expecting value: line 1 column 1 (char 0): done",
    ),
    "two documents": (
        Outcome(exit_status=0, stdout=b"{}\n{}"),
        "ended well, but its result has more than one document: '{}' follows",
    ),
    "list": (printed([]), "ended well, but its result is no object"),
    "text": (printed("ok"), "ended well, but its result is no object"),
    "error in disguise": (printed({"code": 7, "msg": "no master"}), "failed: no master"),
}


@pytest.mark.parametrize(("outcome", "text"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_result_of_add(outcome: Outcome, text: str) -> None:
    assert f"delegate macvlan on NIC rail0 (net1-2) ADD {text}" in failed(outcome).message


@pytest.mark.parametrize("command", ["DEL", "CHECK", "GC", "STATUS"])
@pytest.mark.parametrize("stdout", [b"", b"done", b"{}"])
def test_other_commands_need_not_print(command: str, stdout: bytes) -> None:
    outcome = Outcome(exit_status=0, stdout=stdout)
    assert Answer(conf=CONF) == understood(outcome, command)


@pytest.mark.parametrize("document", [None, {}, RESULT, {"msg": "hello"}], ids=repr)
def test_good_result_of_add(document: object) -> None:
    assert Answer(conf=CONF, result=document) == understood(printed(document))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (2, 2),
        (7, 7),
        (TRY_AGAIN, TRY_AGAIN),
        (99, 99),
        (3, DELEGATE_FAILED),  # would tell the runtime that no DEL is needed
        (100, DELEGATE_FAILED),
        (999, DELEGATE_FAILED),
        (0, DELEGATE_FAILED),
        (-1, DELEGATE_FAILED),
        ("7", DELEGATE_FAILED),
        (True, DELEGATE_FAILED),
        (None, DELEGATE_FAILED),
    ],
)
def test_code_is_kept_where_the_specification_reserves_it(code: object, expected: int) -> None:
    error = failed(printed({"code": code, "msg": "busy"}, status=1))
    assert expected == error.code


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ("try another master", "try another master; repeat it with: printf "),
        ("", "repeat it with: printf "),
        (5, "repeat it with: printf "),
    ],
)
def test_details_are_kept(details: object, expected: str) -> None:
    error = failed(printed({"code": 7, "msg": "busy", "details": details}, status=1))
    assert expected == error.details[: len(expected)]


# What the kernel says to a delegate; its type; what is then explained.
KERNEL: list[tuple[str, str, str]] = [
    (
        "failed to create macvlan: device or resource busy",
        "macvlan",
        (
            "somebody takes the frames of NIC rail0 already: links of another kind (macvlan or"
            " ipvlan), perhaps in a netns that no record of ours knows (`ip -all netns exec ip -d"
            " link` shows them), or a bridge, bond, team, Open vSwitch or macsec whose port it is"
        ),
    ),
    (
        "failed to create ipvlan: Operation not supported",
        "aws-ipvlan",
        "is the kernel's module there? Try: modprobe ipvlan",
    ),
    (
        "failed to create vlan: operation not supported",
        "vlan",
        (
            "is the kernel's module there? Try: modprobe vlan; "
            "NIC rail0 may be of a kind that carries no VLANs, as InfiniBand"
        ),
    ),
    (
        "failed to create macvlan: invalid argument",
        "macvlan",
        (
            "NIC rail0 is no Ethernet, has a smaller mtu than the one wanted, or has a macvlan link"
            " in mode passthru, perhaps in another netns"
        ),
    ),
    (
        "failed to create vlan: invalid argument",
        "vlan",
        "NIC rail0 has a smaller mtu than the one wanted",
    ),
    (
        "failed to create vlan: file exists",
        "vlan",
        "NIC rail0 has a VLAN of that vlanId already, perhaps in another netns",
    ),
    (
        "failed to set up: address already in use",
        "macvlan",
        "another macvlan link of NIC rail0, perhaps in another netns, has that MAC or address",
    ),
    (
        "no such device",
        "host-device",
        (
            "NIC rail0 has gone since it was chosen: its driver was unbound, or it went into"
            " another netns"
        ),
    ),
    (
        'failed to lookup master "rail0": Link not found',
        "ipvlan",
        "NIC rail0 has gone since it was chosen, or got another name",
    ),
    ("file exists", "macvlan", ""),
    ("invalid argument", "tuning", ""),
    ("device or resource busy", "host-device", ""),
    ("no route to host", "macvlan", ""),
]


@pytest.mark.parametrize(("words", "kind", "hints"), KERNEL)
def test_words_of_the_kernel_are_explained(words: str, kind: str, hints: str) -> None:
    executed = Command(executable=f"/opt/cni/bin/{kind}", environment={}, stdin=b"{}")
    on_rail0 = Call(command="ADD", conf={**CONF, "type": kind}, nic="rail0", ifname="net1")
    error = understand(on_rail0, executed, printed({"code": 999, "msg": words}, status=1)).error
    assert error is not None
    assert words in error.message
    assert hints == error.details.partition("repeat it with: ")[0].removesuffix("; ")


def test_quoted_output_is_short() -> None:
    error = failed(Outcome(exit_status=1, stdout=b"x" * 100_000))
    assert len(error.message) < 600


def test_error_without_nic_names_the_delegate_alone() -> None:
    assert "delegate macvlan" == Call(command="GC", conf=CONF).who


HOSTILE = 'it\'s "$HOME" `id` $(id) \\n \\\\ é ; | & \t%s %d'


def hostile_command(executable: str) -> Command:
    return Command(
        executable=executable,
        environment={"CNI_ARGS": f"A={HOSTILE}", "CNI_COMMAND": "ADD", "SECRET": "hidden"},
        stdin=encode({"type": "macvlan", "text": HOSTILE, "lines": "a\nb\\nc"}).encode(),
    )


def test_repeat_line_is_one_that_a_shell_reads() -> None:
    command = hostile_command("/opt/cni bin/it's")
    words = shlex.split(command_line(command))
    assert command.stdin.decode() in words
    assert f"CNI_ARGS=A={HOSTILE}" in words
    assert "/opt/cni bin/it's" == words[-1]
    assert "hidden" not in command_line(command)


@pytest.mark.process
def test_repeat_line_repeats_it(tmp_path: Path) -> None:
    script = tmp_path / "it's a plugin"
    script.write_text('#!/bin/sh\ncat >"$0.stdin"\nprintf %s "$CNI_ARGS" >"$0.args"\n')
    script.chmod(0o755)
    command = hostile_command(str(script))
    subprocess.run(["/bin/sh", "-c", command_line(command)], check=True)
    assert command.stdin == (tmp_path / "it's a plugin.stdin").read_bytes()
    assert f"A={HOSTILE}" == (tmp_path / "it's a plugin.args").read_text()
