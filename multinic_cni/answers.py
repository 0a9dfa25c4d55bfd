"""What a delegate's end means: a result, or an error that names delegate, NIC and cause. Pure."""

from __future__ import annotations

from multinic_cni.errors import DELEGATE_FAILED, RESERVED, UNKNOWN_CONTAINER, CniError
from multinic_cni.jsontext import decode
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.process import Command, Outcome
    from multinic_cni.result import Result

QUOTED_OUTPUT = 300
RECEIVERS = ("macvlan", "ipvlan", "aws-ipvlan")
ANY: Sequence[str] = ()
# The kernel's words, the types whose delegates pass them on, and what is then wrong.
HINTS: Sequence[tuple[str, Sequence[str], str]] = (
    ("operation not supported", ANY, "is the kernel's module there? Try: modprobe {kind}"),
    (
        "device or resource busy",
        RECEIVERS,
        (
            "somebody takes the frames of {nic} already: links of another kind (macvlan or ipvlan),"
            " perhaps in a netns that no record of ours knows (`ip -all netns exec ip -d link`"
            " shows them), or a bridge, bond, team, Open vSwitch or macsec whose port it is"
        ),
    ),
    (
        "invalid argument",
        RECEIVERS,
        (
            "{nic} is no Ethernet, has a smaller mtu than the one wanted, or has a macvlan link in"
            " mode passthru, perhaps in another netns"
        ),
    ),
    ("invalid argument", ("vlan",), "{nic} has a smaller mtu than the one wanted"),
    (
        "operation not supported",
        ("vlan",),
        "{nic} may be of a kind that carries no VLANs, as InfiniBand",
    ),
    ("file exists", ("vlan",), "{nic} has a VLAN of that vlanId already, perhaps in another netns"),
    (
        "address already in use",
        RECEIVERS,
        "another {kind} link of {nic}, perhaps in another netns, has that MAC or address",
    ),
    (
        "no such device",
        ANY,
        "{nic} has gone since it was chosen: its driver was unbound, or it went into another netns",
    ),
    ("link not found", ANY, "{nic} has gone since it was chosen, or got another name"),
    (
        "no veth peer",
        ("bandwidth",),
        "it shapes the node's end of a veth, and links on a NIC have none: leave bandwidth out",
    ),
)


class Call(Value):
    """One delegate's call for one NIC; its answer's errors name both.

    `previous` becomes prevResult, in whatever version the conf is sent.
    """

    command: str
    conf: dict[str, Any]
    nic: str = ""
    ifname: str = ""
    previous: Result | None = None

    @property
    def who(self) -> str:
        on_nic = f" on NIC {self.nic}" if self.nic else ""
        named = f" ({self.ifname})" if self.ifname else ""
        return f"delegate {self.conf['type']}{on_nic}{named}"


class Answer(Value):
    """What a delegate answered: its result document or its error, and the conf that it accepted."""

    conf: dict[str, Any]
    result: object = None
    error: CniError | None = None


def understand(call: Call, command: Command, outcome: Outcome) -> Answer:
    """Return a call's answer; only an ADD has a result."""
    code, problem, details = _problem(outcome)
    result: object = None
    if not problem and call.command == "ADD":
        try:
            result = decode(outcome.stdout, "its result")
        except CniError as error:
            problem = f"ended well, but {error.message}" + _quoted(
                outcome.stdout.decode("utf-8", "replace")
            )
        else:
            code, problem, details = _disguised_error(result)
    if not problem:
        return Answer(conf=call.conf, result=result)
    details = "; ".join(filter(None, (details, *_hints(call, problem))))
    repeat = f"repeat it with: {command_line(command)}"
    failure = CniError(
        code,
        f"{call.who} {call.command} {problem}",
        f"{details}; {repeat}" if details else repeat,
    )
    return Answer(conf=call.conf, error=failure)


def _hints(call: Call, problem: str) -> list[str]:
    """Explain what the kernel says to a main plugin in two words."""
    words, own = problem.lower(), call.conf["type"]
    kind = own.removeprefix("aws-")  # the module's name, where the kernel makes the link
    nic = f"NIC {call.nic}" if call.nic else "the NIC"
    return [
        hint.format(kind=kind, nic=nic)
        for text, types, hint in HINTS
        if text in words and (not types or own in types)
    ]


def _problem(outcome: Outcome) -> tuple[int, str, str]:
    """Return (code, what went wrong, details); nothing wrong is an empty text."""
    if outcome.failure:
        return DELEGATE_FAILED, outcome.failure, ""
    if outcome.signal:
        return (
            DELEGATE_FAILED,
            f"was killed by signal {outcome.signal}" + _quoted(outcome.stderr),
            "",
        )
    if outcome.exit_status == 0:
        return DELEGATE_FAILED, "", ""
    status = f"failed with exit status {outcome.exit_status}"
    if not outcome.stdout.strip():
        return DELEGATE_FAILED, f"{status} and printed no error" + _quoted(outcome.stderr), ""
    try:
        document = decode(outcome.stdout, "its error")
    except CniError as error:
        printed = _quoted(outcome.stdout.decode("utf-8", "replace"))
        return DELEGATE_FAILED, f"{status}, and {error.message}{printed}", ""
    if not isinstance(document, dict) or not isinstance(document.get("msg"), str):
        return DELEGATE_FAILED, f"{status}, and its error has no msg", ""
    return _error_of(document)


def _disguised_error(result: object) -> tuple[int, str, str]:
    """Find an error document that came with exit status 0: careless plugins do that."""
    match result:
        case dict() if isinstance(result.get("msg"), str) and result.get("code"):
            return _error_of(result)
        case dict() | None:
            return DELEGATE_FAILED, "", ""
        case _:
            return DELEGATE_FAILED, "ended well, but its result is no object", ""


def _error_of(document: Mapping[str, Any]) -> tuple[int, str, str]:
    """Keep a delegate's own words, and its code where the specification reserves it.

    Code 3 would tell the runtime that no DEL is needed; that is not the delegate's to say.
    """
    details = document.get("details")
    code = document.get("code")
    if type(code) is not int or code not in RESERVED or code == UNKNOWN_CONTAINER:
        code = DELEGATE_FAILED
    return code, f"failed: {document['msg']}", details if isinstance(details, str) else ""


def _quoted(output: str) -> str:
    text = " ".join(output.split())
    return f": {text[:QUOTED_OUTPUT]}" if text else ""


def command_line(command: Command) -> str:
    """Return a command as a shell would take it."""
    shown = [
        f"{name}={_shell_quoted(value)}"
        for name, value in command.environment.items()
        if name.startswith("CNI_")
    ]
    conf = _shell_quoted(command.stdin.decode())
    return " ".join(["printf %s", conf, "|", *shown, _shell_quoted(command.executable)])


def _shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
