"""The network of a NIC, heard by a packet socket: questions go out, claims come in.

What a claim means is up to whoever asks. Nothing is heard but ARP and neighbour discovery, and no
question has a sender: see `frames`.
"""

from __future__ import annotations

import _ctypes
import _thread
import time
from _socket import AF_PACKET, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_RAW, if_nametoindex, socket
from _struct import Struct
from errno import EAGAIN, ENOBUFS, EPROTONOSUPPORT
from select import POLLIN, poll

from multinic_cni.frames import (
    ALL_NODES_MAC,
    ARPHRD_ETHER,
    FILTER,
    IPV6,
    SOCK_FILTER,
    claim_in,
    question,
    solicited_node_mac,
)
from multinic_cni.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from multinic_cni.frames import Claim

SOL_SOCKET, SO_ATTACH_FILTER = 1, 26
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_IGNORE_OUTGOING = 263, 1, 23
PACKET_MREQ, PACKET_MR_MULTICAST = Struct("@iHH8s"), 0
SOCK_FPROG = Struct("@HP")
ETH_P_ALL = 0x0003
MAC_LENGTH = 6
RECEIVE_BYTES = 2048
BATCH = 64  # frames of one NIC, until the others and the clock have their turn


class Wire:
    """One of them. A subclass takes the claims, and knows when it has heard enough."""

    def __init__(self, nic: str, addresses: Sequence[tuple[int, int]]) -> None:
        """Open a packet socket; raises OSError, also for a NIC that is no Ethernet.

        `addresses` are (version, number), those that will be asked for.
        """
        self.nic = nic
        self.is_broken = False
        # Without a protocol it hears nothing yet.
        self.socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
        try:
            self.mac = self._bind()
            self._join_groups([number for version, number in addresses if version == IPV6])
        except OSError:
            self.socket.close()
            raise

    def take(self, claim: Claim) -> None:
        raise NotImplementedError

    def ask_for(self, version: int, number: int) -> None:
        try:
            self.socket.send(question(self.mac, version, number))
        except OSError as error:
            if error.errno not in {EAGAIN, ENOBUFS}:  # full queues: a lost frame
                self._break(error)

    def hear(self, deaf_to: Collection[str]) -> None:
        """Take what has arrived, but for what some MACs say."""
        for _ in range(BATCH):
            try:
                frame = self.socket.recv(RECEIVE_BYTES)
            except OSError as error:
                if error.errno != EAGAIN:
                    self._break(error)
                return
            claim = claim_in(frame)
            if claim is not None and claim.mac not in deaf_to and claim.source not in deaf_to:
                self.take(claim)

    def _bind(self) -> bytes:
        """Begin to hear what the filter passes, and return the NIC's MAC."""
        program = _Program.from_buffer_copy(FILTER)
        length = len(FILTER) // SOCK_FILTER.size
        pointer = SOCK_FPROG.pack(length, _ctypes.addressof(program))
        self.socket.setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, pointer)
        # With it, the kernel need not copy each frame that the NIC sends.
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        # Sockets of one protocol get the frames of a VLAN on the NIC, too, without their tags.
        self.socket.bind((self.nic, ETH_P_ALL))
        _, _, _, hardware, mac = self.socket.getsockname()
        if hardware != ARPHRD_ETHER or len(mac) != MAC_LENGTH:
            raise OSError(EPROTONOSUPPORT, "it is no Ethernet")
        return bytes(mac)

    def _join_groups(self, numbers: Sequence[int]) -> None:
        """Hear what is told to all nodes, and rivals that ask for our IPv6 addresses."""
        groups = {solicited_node_mac(number) for number in numbers} | {ALL_NODES_MAC}
        index = if_nametoindex(self.nic)
        for group in groups if numbers else ():
            membership = PACKET_MREQ.pack(index, PACKET_MR_MULTICAST, len(group), group)
            self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)

    def _break(self, error: OSError) -> None:
        if not self.is_broken:
            warn_of_no_verdict(self.nic, error)
        self.is_broken = True


def warn_of_no_verdict(nic: str, error: OSError) -> None:
    log.warning(f"NIC {nic}: no verdict, its network cannot be asked: {error.strerror}")


def listen(
    wires: Sequence[Wire],
    seconds: float,
    *,
    deaf_to: Collection[str] = (),
    is_enough: Callable[[], bool] = lambda: False,
) -> None:
    """Hear all wires for some time, or until it is enough."""
    by_descriptor = {wire.socket.fileno(): wire for wire in wires}
    incoming = poll()
    for descriptor in by_descriptor:
        incoming.register(descriptor, POLLIN)
    until = time.monotonic() + seconds
    left = seconds
    while left > 0 and not is_enough():
        left = max(0.0, until - time.monotonic())
        # In the end what is there already: the process may have had no CPU all that time.
        for descriptor, _ in incoming.poll(left * 1000):
            by_descriptor[descriptor].hear(deaf_to)


def close_all(sockets: Sequence[socket]) -> None:
    """Close packet sockets side by side: the kernel waits 10 ms at each, or at all together."""
    closing = [close_aside(each) for each in sockets[1:]]
    for each in sockets[:1]:
        each.close()
    for closed in closing:
        closed.acquire()


def close_aside(each: socket) -> _thread.LockType:
    """Close a packet socket while the caller goes on; the lock is free when that is done."""
    closed = _thread.allocate_lock()
    closed.acquire()
    try:
        _thread.start_new_thread(_close, (each, closed))
    except RuntimeError:
        _close(each, closed)  # no thread is to be had
    return closed


def _close(each: socket, closed: _thread.LockType) -> None:
    each.close()
    closed.release()


# What ctypes.c_ubyte and an array of it are: importing ctypes costs 10 ms.
class _Byte(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - no subscript at run time
    _type_ = "B"


class _Program(_ctypes.Array):  # type: ignore[type-arg]
    _type_ = _Byte
    _length_ = len(FILTER)
