"""The process edge: the only place that reads the environment and stdin, prints and exits."""

from __future__ import annotations

import os
import sys
import time
from select import POLLIN, POLLOUT, poll

from multinic_cni import __version__, cancellation
from multinic_cni.errors import (
    DECODE_FAILURE,
    INTERNAL,
    IO_FAILURE,
    TRY_AGAIN,
    CniError,
    io_failure,
)
from multinic_cni.invocation import read_environment
from multinic_cni.jsontext import decode, encode
from multinic_cni.log import log
from multinic_cni.versions import NEWEST, SUPPORTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from multinic_cni.invocation import Invocation

LARGEST_STDIN = 1 << 20
STDIN_SECONDS = 10.0
VERSION_STDIN_SECONDS = 0.5
STDOUT_SECONDS = 10.0
STREAM_TICK_SECONDS = 0.1
PIPE_BUF = 4096  # what a pipe that polls as writable takes without blocking
CHUNK = 1 << 16
CLOSED = -1


def main() -> NoReturn:
    """Be the command line if there are arguments, the plugin if CNI_COMMAND is set."""
    if len(sys.argv) > 1:
        from multinic_cni.cli import run  # noqa: PLC0415 - typer and rich are not for the hot path

        run()
    elif os.environ.get("CNI_COMMAND"):
        os._exit(_plugin())  # spares the interpreter's tidying up, a quarter of its whole time
    else:
        _introduce()
        sys.exit(0)


def _introduce() -> None:
    sys.stderr.write(
        f"multinic-cni {__version__}: a CNI plugin that attaches a pod to several NICs\n"
        f"CNI specification versions: {', '.join(SUPPORTED)}\n"
        "A container runtime calls it; `multinic-cni --help` is the command line.\n"
    )


def _plugin() -> int:
    """Serve one call; return the exit status."""
    output = _guard_streams()
    cancellation.watch()
    version = NEWEST
    try:
        call = read_environment(os.environ, os.path.basename(sys.argv[0]))
        log.name_call(" ".join(filter(None, (call.command, call.container_id, call.ifname))))
        document = _read_document(call)
        version = _version_for_errors(document)
        answer, once_heard = _serve(call, document)
    except CniError as error:
        log.error(error.message)
        return _write(output, error.to_document(version)) or 1
    except Exception as error:  # noqa: BLE001 - the edge: whatever happens, one document goes out
        _log_traceback()
        message = f"internal error: {type(error).__name__}: {error}"
        details = "this is a fault of multinic-cni; its traceback is on stderr"
        return _write(output, CniError(INTERNAL, message, details).to_document(version)) or 1
    if answer is None:
        return 0
    status = _write(output, answer)
    if status and call.command == "ADD":
        _undo(call, document)
    elif once_heard:
        once_heard()
    return status


def _undo(call: Invocation, document: object) -> None:
    """Detach what the runtime will never hear of."""
    from multinic_cni.verbs.delete import delete  # noqa: PLC0415 - see above

    cancellation.ignore_from_now_on()
    try:
        delete(call, document)
    except CniError as error:
        log.error(error.message)


def _serve(
    call: Invocation, document: object
) -> tuple[dict[str, object] | None, Callable[[], None] | None]:
    """Execute the verb; only its own module is loaded.

    Return the answer, and what is to be done once the runtime has it.
    """
    match call.command:
        case "ADD":
            from multinic_cni.verbs.add import add  # noqa: PLC0415 - see above

            result, device_info = add(call, document)
            return result, device_info.write if device_info else None
        case "DEL":
            from multinic_cni.verbs.delete import delete  # noqa: PLC0415 - see above

            delete(call, document)
        case "CHECK":
            from multinic_cni.verbs.check import check  # noqa: PLC0415 - see above

            check(call, document)
        case "GC":
            from multinic_cni.verbs.gc import gc  # noqa: PLC0415 - see above

            gc(call, document)
        case "STATUS":
            from multinic_cni.verbs.status import status  # noqa: PLC0415 - see above

            status(call, document)
        case _:
            from multinic_cni.verbs.version import version  # noqa: PLC0415 - see above

            return version(document), None
    return None, None


def _guard_streams() -> int:
    """Point stdout at stderr and return a descriptor of the real one, for the one document.

    Whatever prints by mistake, here or in a library, must not spoil it. Streams that the runtime
    has closed are opened, or a state file would get their numbers.
    """
    try:
        os.fstat(1)
        closed = False
    except OSError:
        closed = True
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:  # noqa: PLR2004 - stdin, stdout and stderr are there
            os.close(descriptor)
            break
    os.umask(0o022)  # an inherited one could make the state unreadable for ourselves
    output = CLOSED if closed else os.dup(1)
    os.dup2(2, 1)
    return output


def _read_document(call: Invocation) -> object:
    """Read stdin to its end; for VERSION it may be missing: official plugins do not read it."""
    if call.command != "VERSION":
        return decode(_read_stdin(STDIN_SECONDS), "the net conf on stdin")
    try:
        return decode(_read_stdin(VERSION_STDIN_SECONDS), "the document on stdin")
    except CniError:
        return None


def _read_stdin(seconds: float) -> bytes:
    """Return all of stdin; CniError 5 if it does not end in time, 6 if it is too large."""
    content = bytearray()
    stdin = poll()
    stdin.register(0, POLLIN)
    deadline = time.monotonic() + seconds
    try:
        while not cancellation.cancelled() and time.monotonic() < deadline:
            if not stdin.poll(STREAM_TICK_SECONDS * 1000):
                continue
            chunk = os.read(0, CHUNK)
            if not chunk:
                return bytes(content)
            content += chunk
            if len(content) > LARGEST_STDIN:
                message = f"the net conf is larger than {LARGEST_STDIN} bytes"
                raise CniError(DECODE_FAILURE, message)
    except OSError as error:
        raise io_failure("read the net conf from stdin", error) from error
    if cancellation.cancelled():
        raise CniError(TRY_AGAIN, "the runtime called the plugin off")
    raise CniError(IO_FAILURE, f"stdin was not closed within {seconds} s")


def _version_for_errors(document: object) -> str:
    version = document.get("cniVersion") if isinstance(document, dict) else None
    return version if isinstance(version, str) and version in SUPPORTED else NEWEST


def _write(descriptor: int, document: dict[str, object]) -> int:
    """Write the one document; return the exit status."""
    if descriptor == CLOSED:
        log.error("the runtime has closed stdout: there is nowhere to put the answer")
        return 1
    content = memoryview(encode(document).encode() + b"\n")
    stdout = poll()
    stdout.register(descriptor, POLLOUT)
    deadline = time.monotonic() + STDOUT_SECONDS
    try:
        while content:
            if stdout.poll(STREAM_TICK_SECONDS * 1000):
                content = content[os.write(descriptor, content[:PIPE_BUF]) :]
            elif time.monotonic() > deadline or cancellation.cancelled():
                log.error("the runtime does not read the answer")
                return 1
    except OSError as error:
        log.error("the runtime cannot read the answer", reason=error.strerror)
        return 1
    return 0


def _log_traceback() -> None:
    import traceback  # noqa: PLC0415 - only after a fault

    traceback.print_exc()
