"""How the runtime called: the CNI_* environment (specification, section 2, "Parameters")."""

from __future__ import annotations

from multinic_cni.errors import BAD_ENVIRONMENT, CniError
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_IFNAME = 15  # IFNAMSIZ less its NUL
LONGEST_FILE_NAME = 255
NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
NAME_REST = NAME_START | frozenset("_.-")

ATTACHMENT = frozenset({"CNI_CONTAINERID", "CNI_IFNAME"})
REQUIRED = {
    "ADD": ATTACHMENT | {"CNI_NETNS", "CNI_PATH"},
    "CHECK": ATTACHMENT | {"CNI_NETNS", "CNI_PATH"},
    "DEL": ATTACHMENT,
    "GC": frozenset({"CNI_PATH"}),
    "STATUS": frozenset({"CNI_PATH"}),
    "VERSION": frozenset[str](),
}


class Invocation(Value):
    """One call. `path` are the folders of delegates; `cni_args` are CNI_ARGS' pairs in order."""

    command: str
    container_id: str
    netns: str
    ifname: str
    path: tuple[str, ...]
    cni_args: tuple[tuple[str, str], ...]
    called_as: str

    def arg(self, name: str) -> str:
        """Return the last CNI_ARGS value of that name: Multus sends some names twice."""
        return next((value for key, value in reversed(self.cni_args) if key == name), "")


def read_environment(environment: Mapping[str, str], called_as: str) -> Invocation:
    """Check the environment for the command; CniError 4 names everything wrong with it.

    libcni sets what a command does not need to empty strings, so empty means missing.
    """
    command = environment.get("CNI_COMMAND", "")
    if command not in REQUIRED:
        raise CniError(BAD_ENVIRONMENT, f"unknown CNI_COMMAND: {command!r}")
    required = REQUIRED[command]
    missing = sorted(name for name in required if not environment.get(name))
    wrong = [f"required env variables [{','.join(missing)}] missing"] if missing else []
    for name, check in CHECKS.items():
        value = environment.get(name, "")
        problem = check(value) if value and name in required else ""
        if problem:
            wrong.append(f"{name} {value!r} {problem}")
    # What is not UTF-8 could not stand in the record.
    texts = ("CNI_NETNS", "CNI_PATH", "CNI_ARGS")
    wrong += [f"{name} is not UTF-8" for name in texts if not _is_text(environment.get(name, ""))]
    if wrong:
        raise CniError(BAD_ENVIRONMENT, "; ".join(wrong))
    attaches = command in {"ADD", "CHECK"}  # DEL has the record's
    return Invocation(
        command=command,
        container_id=environment.get("CNI_CONTAINERID", ""),
        netns=environment.get("CNI_NETNS", ""),
        ifname=environment.get("CNI_IFNAME", ""),
        path=tuple(folder for folder in environment.get("CNI_PATH", "").split(":") if folder),
        cni_args=read_cni_args(environment.get("CNI_ARGS", "")) if attaches else (),
        called_as=called_as,
    )


def read_cni_args(text: str) -> tuple[tuple[str, str], ...]:
    """Read "K=V;K=V"; values may be empty or hold "=". CniError 4 for a pair without "="."""
    pairs = []
    for pair in text.split(";"):
        if not pair:
            continue
        key, equals, value = pair.partition("=")
        if not equals:
            raise CniError(BAD_ENVIRONMENT, f"CNI_ARGS has {pair!r}, which is no KEY=VALUE")
        pairs.append((key, value))
    return tuple(pairs)


def _is_text(value: str) -> bool:
    """Tell whether a variable's bytes were UTF-8: Python keeps others as lone surrogates."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def name_problem(name: str) -> str:
    """Say what is wrong with a containerID or network name by the specification's pattern.

    Empty when it is fine. The names become file names, so nothing else may pass.
    """
    if name[0] not in NAME_START or not NAME_REST.issuperset(name):
        return "must begin with a letter or digit and hold only letters, digits, '_', '.' and '-'"
    if len(name) > LONGEST_FILE_NAME - len(":.json.new.") - LONGEST_IFNAME:
        return "is too long to name a file"
    return ""


def ifname_problem(name: str) -> str:
    """Say what is wrong with an interface name by the kernel's rules; empty when it is fine."""
    if len(name.encode("utf-8", "surrogateescape")) > LONGEST_IFNAME:
        return f"is longer than {LONGEST_IFNAME} bytes"
    # With '%' the kernel would take it for a pattern and choose a number.
    if name in {".", ".."} or any(c in "/:%" or c.isspace() or c < " " for c in name):
        return "must not be '.' or '..' nor hold '/', ':', '%' or white space"
    return "" if name.isascii() else "must be ASCII"


CHECKS: dict[str, Callable[[str], str]] = {
    "CNI_CONTAINERID": name_problem,
    "CNI_IFNAME": ifname_problem,
}
