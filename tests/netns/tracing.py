"""System calls of the executable: strace lists them, and kills before the one that is wanted.

A signal that strace injects when a call is entered ends the process before the call is done, so
the state that a test meets is the one after the call before.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.netns.tools import Ended
    from tests.pytest_netns import Answer, Runtime

    Call = Callable[[Runtime], Answer | Ended]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Calls that change something outside the process: files, namespaces, other processes, and what is
# set by netlink. Those in ONLY_IF are counted where their arguments say so.
CHANGING = _words(
    """
    chmod clone clone3 copy_file_range creat dup2 exit_group fallocate fchmod fchmodat fdatasync
    flock fork fsync ftruncate kill link linkat memfd_create mkdir mkdirat mknod mknodat mount
    open openat openat2 pwrite64 rename renameat renameat2 rmdir sendmsg sendto setns symlink
    symlinkat tgkill truncate umount2 unlink unlinkat unshare utimensat vfork wait4 write writev
    """
)
# What else is seen; waitid does not reap.
HARMLESS = _words(
    """
    access alarm arch_prctl bind brk clock_nanosleep close connect dup epoll_create1 execve exit
    fcntl fstat futex getcwd getdents64 getegid geteuid getgid getpid getrandom getsockname
    getsockopt gettid getuid getxattr ioctl lseek madvise mmap mprotect mremap munmap newfstatat
    pipe2 poll prctl pread64 prlimit64 read readlink readlinkat recvfrom rseq rt_sigaction
    rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield set_robust_list
    set_tid_address setitimer setsockopt sigaltstack socket stat statx sysinfo umask uname
    waitid
    """
)
# After them a process that is killed leaves what it left before them: they change only itself, as
# does writing to a memory file or to stderr.
OF_NO_CONSEQUENCE = _words("dup2 flock memfd_create setns")
CALL = re.compile(r"^(\w+)\((.*)")
# Files that may be created; netlink's requests that want an acknowledgement, unlike questions.
ONLY_IF = {"openat": re.compile(r"\bO_CREAT\b"), "sendto": re.compile(r"\bNLM_F_ACK\b")}
FLEETING = re.compile(r"\d+</memfd:|2<")


@dataclass(frozen=True)
class Point:
    """Just before the n-th call of a name; `line` is what strace says of it, paths included."""

    syscall: str
    number: int
    line: str

    def __str__(self) -> str:
        return f"{self.syscall} {self.number}: {self.line}"


def traced(runtime: Runtime, call: Call, file: Path) -> list[Point]:
    """Execute a call that must succeed; return every system call of it that changes something.

    A point is left out where a killed process leaves the same as at the one before.
    """
    answer = call(_under_strace(runtime, "-y", "-o", str(file)))
    assert answer.status == 0, answer
    seen: dict[str, int] = {}
    points = []
    is_same = False
    for line in file.read_text().splitlines():
        found = CALL.match(line)
        if found is None:
            continue  # a signal, or the exit
        name, arguments = found.groups()
        assert name in CHANGING | HARMLESS, f"is this a call that changes something? {line}"
        seen[name] = seen.get(name, 0) + 1
        if name in CHANGING and (name not in ONLY_IF or ONLY_IF[name].search(arguments)):
            if not is_same:
                points.append(Point(name, seen[name], line))
            is_same = name in OF_NO_CONSEQUENCE or FLEETING.match(arguments) is not None
    return points


def killed_at(runtime: Runtime, call: Call, point: Point) -> bool:
    """Execute a call and kill it there; tell whether it came that far.

    How often it looks whether its delegates have ended differs from time to time.
    """
    inject = f"inject={point.syscall}:signal=KILL:when={point.number}"
    options = ("-o", "/dev/null", "-e", f"trace={point.syscall}", "-e", inject)
    answer = call(_under_strace(runtime, *options))
    if answer.status == 0:
        return False
    assert answer.status == -signal.SIGKILL, answer
    return True


def _under_strace(runtime: Runtime, *options: str) -> Runtime:
    return runtime.but(wrapper=("strace", "--quiet=all", *options))
