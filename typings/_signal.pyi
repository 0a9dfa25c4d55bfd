# The C module under `signal`, which itself imports enum (4 ms of CPU at every start). mypy's own
# stubs lack it. What it shares with `signal` is typed here without the enums.
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Final, TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | None

NSIG: Final[int]
SIG_BLOCK: Final[int]
SIG_DFL: Final[int]
SIG_IGN: Final[int]
SIG_SETMASK: Final[int]
SIG_UNBLOCK: Final[int]

SIGABRT: Final[int]
SIGALRM: Final[int]
SIGCHLD: Final[int]
SIGCONT: Final[int]
SIGHUP: Final[int]
SIGINT: Final[int]
SIGIO: Final[int]
SIGKILL: Final[int]
SIGPIPE: Final[int]
SIGQUIT: Final[int]
SIGSTOP: Final[int]
SIGTERM: Final[int]
SIGUSR1: Final[int]
SIGUSR2: Final[int]
SIGXFSZ: Final[int]

ITIMER_PROF: Final[int]
ITIMER_REAL: Final[int]
ITIMER_VIRTUAL: Final[int]

class ItimerError(OSError): ...

def alarm(seconds: int, /) -> int: ...
def default_int_handler(signalnum: int, frame: FrameType | None, /) -> None: ...
def getitimer(which: int, /) -> tuple[float, float]: ...
def getsignal(signalnum: int, /) -> _Handler: ...
def pthread_sigmask(how: int, mask: Iterable[int], /) -> set[int]: ...
def set_wakeup_fd(fd: int, /, *, warn_on_full_buffer: bool = True) -> int: ...
def setitimer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]: ...
def signal(signalnum: int, handler: _Handler, /) -> _Handler: ...
def strsignal(signalnum: int, /) -> str | None: ...
def pidfd_send_signal(pidfd: int, sig: int, siginfo: None = ..., flags: int = ..., /) -> None: ...
