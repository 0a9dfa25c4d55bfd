"""Find and execute one delegate, in the version that it speaks (specification, section 4)."""

from __future__ import annotations

import os

from multinic_cni.answers import Answer, Call, understand
from multinic_cni.conf.formats import delegate_type
from multinic_cni.errors import (
    DELEGATE_FAILED,
    INCOMPATIBLE_VERSION,
    CniError,
)
from multinic_cni.jsontext import decode, encode
from multinic_cni.log import log
from multinic_cni.orphans import caller_of_delegates
from multinic_cni.process import Command
from multinic_cni.values import Value
from multinic_cni.versions import newest_common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from typing import Any

    from multinic_cni.process import Outcome

UNKNOWN_COMMAND = "unknown CNI_COMMAND"  # the official plugins' words
LIBRARY_PATH = "LD_LIBRARY_PATH"
FORMER_LIBRARY_PATH = "LD_LIBRARY_PATH_ORIG"


class Delegation(Value):
    """For whom delegates are executed: the pod's netns, the folders to find them in, CNI_ARGS.

    `netns` is empty when the pod's is gone.
    """

    container_id: str
    netns: str
    path: tuple[str, ...]
    cni_args: str
    environment: Mapping[str, str]

    def find(self, kind: str) -> str | None:
        """Return the executable of a type: the first regular file of that name in CNI_PATH.

        A type that is a path is never found, wherever it came from.
        """
        for folder in self.path if not delegate_type(kind) else ():
            candidate = f"{folder}/{kind}"
            if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
                return candidate
        return None

    def missing(self, kinds: Iterable[str]) -> list[CniError]:
        """Return an error for each of the types that is not found."""
        return [
            not_found(kind, self.path) for kind in dict.fromkeys(kinds) if self.find(kind) is None
        ]


def delegation_without_pod(path: tuple[str, ...]) -> Delegation:
    """Return how delegates are executed for GC and STATUS, which concern no pod."""
    return Delegation(
        container_id="",
        netns="",
        path=path,
        cni_args="",
        environment=environment_for_delegates(),
    )


def not_found(kind: str, path: tuple[str, ...]) -> CniError:
    folders = ", ".join(path)
    return CniError(
        DELEGATE_FAILED,
        f'failed to find plugin "{kind}" in path [{folders}]',
        f"install the CNI plugin {kind!r} there, or correct the type in the net conf",
    )


def ask(delegation: Delegation, call: Call) -> Generator[Command, Outcome, Answer]:
    """Execute a delegate; if it does not speak our version, again in the newest that it speaks.

    Nothing is known of a delegate's versions before: asking each would double the processes of
    every ADD, and a wrong version is refused before anything is done.
    """
    executable = delegation.find(call.conf["type"])
    if executable is None:
        return Answer(conf=call.conf, error=not_found(call.conf["type"], delegation.path))
    answer = yield from _execute(delegation, call, executable)
    if answer.error is None or answer.error.code != INCOMPATIBLE_VERSION:
        return answer
    version = yield from _lower_version(delegation, call, executable)
    if version is None or version == call.conf["cniVersion"]:
        return answer
    log.debug(f"{call.who} speaks {version}, not {call.conf['cniVersion']}")
    older = call.but(conf={**call.conf, "cniVersion": version})
    return (yield from _execute(delegation, older, executable))


def spoken_versions(
    delegation: Delegation, kind: str
) -> Generator[Command, Outcome, tuple[str, ...]]:
    """Ask a delegate with VERSION; no answer is no version."""
    executable = delegation.find(kind)
    if executable is None:
        return ()
    environment = {**delegation.environment, "CNI_COMMAND": "VERSION"}
    environment.update(dict.fromkeys(("CNI_NETNS", "CNI_IFNAME", "CNI_PATH"), "dummy"))
    outcome = yield Command(
        executable=executable, environment=environment, stdin=b'{"cniVersion":"1.1.0"}'
    )
    try:
        document = decode(outcome.stdout, kind)
    except CniError:
        return ()
    versions = document.get("supportedVersions") if isinstance(document, dict) else None
    if not isinstance(versions, list):
        return ()
    return tuple(each for each in versions if isinstance(each, str))


def ask_if_supported(
    delegation: Delegation, command: str, conf: dict[str, Any]
) -> Generator[Command, Outcome, CniError | None]:
    """Send GC or STATUS to a delegate that knows them; one that does not is no error.

    Both came with version 1.1.0; some say that they speak it, and then do not know the command.
    """
    versions = yield from spoken_versions(delegation, conf["type"])
    if "1.1.0" not in versions:
        return None
    answer = yield from ask(delegation, Call(command=command, conf=conf))
    error = answer.error
    if error is None or error.code == INCOMPATIBLE_VERSION or UNKNOWN_COMMAND in error.message:
        return None
    return error


def _lower_version(
    delegation: Delegation, call: Call, executable: str
) -> Generator[Command, Outcome, str | None]:
    versions = yield from spoken_versions(delegation, call.conf["type"])
    if not versions:
        log.debug(f"{executable} did not say which versions it speaks")
    return newest_common(call.conf["cniVersion"], versions)


def _execute(
    delegation: Delegation, call: Call, executable: str
) -> Generator[Command, Outcome, Answer]:
    conf = call.conf
    if call.previous is not None:
        conf = {**conf, "prevResult": call.previous.to_document(conf["cniVersion"])}
    command = Command(
        executable=executable,
        environment={
            **delegation.environment,
            "CNI_COMMAND": call.command,
            "CNI_CONTAINERID": delegation.container_id,
            "CNI_NETNS": delegation.netns,
            "CNI_IFNAME": call.ifname,
            "CNI_PATH": ":".join(delegation.path),
            "CNI_ARGS": delegation.cni_args,
        },
        stdin=encode(conf).encode(),
    )
    outcome = yield command
    log.debug(f"{call.who} {call.command}", status=outcome.exit_status, failure=outcome.failure)
    return understand(call, command, outcome)


def environment_for_delegates() -> dict[str, str]:
    """Return what delegates get of this process's environment, and who calls them."""
    return delegate_environment(os.environ) | caller_of_delegates()


def delegate_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the plugin's environment without what the frozen bundle has put into it.

    PyInstaller's bootloader leads LD_LIBRARY_PATH to the bundle and keeps the former value: our
    libraries must not be loaded into delegates.
    """
    own = {
        name: value
        for name, value in environment.items()
        if not name.startswith(("_PYI_", "_MEI")) and name != FORMER_LIBRARY_PATH
    }
    if any(name.startswith("_PYI_") for name in environment):
        own.pop(LIBRARY_PATH, None)
        if FORMER_LIBRARY_PATH in environment:
            own[LIBRARY_PATH] = environment[FORMER_LIBRARY_PATH]
    return own
