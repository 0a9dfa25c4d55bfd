"""Network namespaces: which one a path names, and a netlink socket inside it."""

from __future__ import annotations

import _ctypes
import errno
import os
from errno import EINVAL, ENOENT, ENOTDIR

from multinic_cni.netlink import Netlink
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

OWN = "/proc/self/ns/net"
CLONE_NEWNET = 0x40000000
RTLD_NOW = 2
# The path has gone, or is the plain file that was below the mount (EINVAL).
GONE = frozenset({ENOENT, ENOTDIR, EINVAL})
SOL_SOCKET, SO_NETNS_COOKIE = 1, 71


class NetnsId(Value):
    """Identifies a netns. Device and inode are reused, by the next pod even; the cookie never is.

    The cookie is 0 before Linux 5.14.
    """

    device: int
    inode: int
    cookie: int = 0

    def is_same(self, other: NetnsId) -> bool:
        """Compare by what both sides know."""
        if self.cookie and other.cookie:
            return self.cookie == other.cookie
        return (self.device, self.inode) == (other.device, other.inode)


class PodNetns:
    """The pod's netns while a call lasts: its path, identity and a netlink socket in it.

    Within `with pod.visit():` the process is in it: for settings and sockets of other kinds.
    """

    def __init__(self, path: str) -> None:
        """Open it; raises OSError: ENOENT for a path that is gone, EINVAL for no netns."""
        self.path = path
        # O_NONBLOCK: a FIFO in its place must not hold the call.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(self._descriptor)
            self.netlink = netlink_in(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            error.filename = error.filename or path
            raise
        self.id = NetnsId(device=status.st_dev, inode=status.st_ino, cookie=_cookie(self.netlink))

    def visit(self) -> Visit:
        return Visit(self._descriptor)

    def close(self) -> None:
        self.netlink.close()
        os.close(self._descriptor)


class Visit:
    """A stay in another netns; raises OSError where the process cannot go there or come back."""

    def __init__(self, netns: int) -> None:
        self._netns = netns

    def __enter__(self) -> None:
        self._own = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(self._netns)
        except OSError:
            os.close(self._own)
            raise

    def __exit__(self, *_error: object) -> None:
        try:
            _setns(self._own)
        finally:
            os.close(self._own)


def is_own(path: str) -> bool:
    """Tell whether a path names the netns that the plugin runs in; a missing path does not."""
    try:
        status, own = os.stat(path), os.stat(OWN)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (own.st_dev, own.st_ino)


def open_same(paths: Iterable[str], wanted: NetnsId) -> PodNetns | None:
    """Open a netns by one of the paths if it is the wanted one; None if it is gone.

    A path can name another pod's by now. Raises OSError where the kernel does not tell: that is
    not the same as gone.
    """
    for path in dict.fromkeys(paths):
        if not path or is_own(path):
            continue
        try:
            pod = PodNetns(path)
        except OSError as error:
            if error.errno not in GONE:
                raise
            continue
        if pod.id.is_same(wanted):
            return pod
        pod.close()
    return None


def netlink_in(descriptor: int) -> Netlink:
    """Make a netlink socket in another netns: the process goes there and comes back at once."""
    with Visit(descriptor):
        return Netlink()


def _cookie(netlink: Netlink) -> int:
    try:
        return int.from_bytes(netlink.socket.getsockopt(SOL_SOCKET, SO_NETNS_COOKIE, 8), "little")
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise
        return 0


# What ctypes.c_int is: importing ctypes costs 10 ms.
class _Int(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - no subscript at run time
    _type_ = "i"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


def _setns(descriptor: int) -> None:
    """Move to a netns; os.setns came with Python 3.12 only."""
    libc = _Function(_ctypes.dlsym(_ctypes.dlopen("", RTLD_NOW), "setns"))
    if libc(descriptor, CLONE_NEWNET) != 0:
        number = _ctypes.get_errno()
        raise OSError(number, os.strerror(number))
