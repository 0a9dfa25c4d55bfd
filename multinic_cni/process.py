"""One executed program: its streams, its output, its end.

Output goes through pipes, since delegates that are scripts open /dev/stderr anew; but what ends a
command is its exit, so that no grandchild that keeps stdout open can make the plugin wait.
"""

from __future__ import annotations

import _signal
import os
from errno import EPERM, ESRCH

from multinic_cni.log import write_to_stderr
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OUTPUT_LIMIT = 1 << 20
CHUNK = 1 << 16
CHUNKS_AT_ONCE = 32  # twice the limit
STDERR = 1  # its place among the readers
# Python ignores these two, and what is ignored stays so in the program that is executed.
RESET = (_signal.SIGPIPE, _signal.SIGXFSZ)


class Command(Value):
    """A program to execute: no arguments, a whole environment, a document on stdin."""

    executable: str
    environment: Mapping[str, str]
    stdin: bytes


class Outcome(Value):
    """How a command ended. `failure` says why it has no exit status or signal, if so."""

    exit_status: int | None = None
    signal: int = 0
    stdout: bytes = b""
    stderr: str = ""
    failure: str = ""


class Process:
    """A running command with its streams."""

    def __init__(self, command: Command, index: int) -> None:
        self.index = index
        self.failure = ""
        self._output: dict[int, bytearray] = {}
        # A memory file needs no feeding, however slowly the delegate reads its stdin.
        stdin = os.memfd_create("net-conf", os.MFD_CLOEXEC)
        open_here = [stdin]
        try:
            os.pwrite(stdin, command.stdin, 0)
            for _ in ("stdout", "stderr"):
                reader, writer = os.pipe()
                open_here.append(writer)
                os.set_blocking(reader, False)
                self._output[reader] = bytearray()
            self.pid = os.posix_spawn(
                command.executable,
                [command.executable],
                command.environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, descriptor, number)
                    for number, descriptor in enumerate(open_here)
                ],
                setpgroup=0,
                setsigmask=(),
                setsigdef=RESET,
            )
        except OSError:
            self.close()
            raise
        finally:
            for descriptor in open_here:
                os.close(descriptor)

    @property
    def readers(self) -> list[int]:
        return list(self._output)

    def read(self, reader: int) -> bool:
        """Take what is in a pipe; tell whether more can come.

        Of stderr the end is kept, which says why. More than the limit on stdout is no result.
        """
        output = self._output[reader]
        for _ in range(CHUNKS_AT_ONCE):  # others have pipes, too
            try:
                chunk = os.read(reader, CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            output += chunk
            if reader == self.readers[STDERR]:
                del output[:-CHUNK]
            elif len(output) > OUTPUT_LIMIT:
                self.failure = f"was killed: it printed more than {OUTPUT_LIMIT} bytes"
                self.kill()
                return False
        return True

    def outcome(self, status: int) -> Outcome:
        """Say how it ended; `status` is waitpid's."""
        for reader in self._output:
            if not self.failure:
                self.read(reader)
        stdout, stderr = (bytes(output) for output in self._output.values())
        if stderr:
            write_to_stderr(stderr)
        code = os.waitstatus_to_exitcode(status)
        return Outcome(
            exit_status=code if code >= 0 and not self.failure else None,
            signal=-code if code < 0 and not self.failure else 0,
            stdout=stdout,
            stderr=stderr.decode("utf-8", "replace").strip(),
            failure=self.failure,
        )

    def wait(self) -> int | None:
        """Return its wait status if it has ended, None while it runs.

        What a failed program leaves in its process group is killed while the group still has its
        leader: a helper of it must not act after the roll-back. A program that ended well may leave
        a daemon.
        """
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        if ended.si_status or ended.si_code != os.CLD_EXITED:
            self.kill()
        return os.waitpid(self.pid, 0)[1]

    def kill(self) -> None:
        try:
            os.killpg(self.pid, _signal.SIGKILL)
        except OSError as error:
            if error.errno not in {ESRCH, EPERM}:
                raise

    def close(self) -> None:
        for reader in self._output:
            os.close(reader)
        self._output = {}
