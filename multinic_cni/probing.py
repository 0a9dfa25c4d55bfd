"""The conflict probe: ask each NIC's network who has the addresses that are about to be given.

It asks from the node's NICs before any interface has the addresses: later the pod's neighbours
would learn the wrong MAC. All NICs are asked in one loop, so that eight take as long as one.

Only a claim is a verdict. Silence, a lost frame, a NIC that is down or no Ethernet are none.
"""

from __future__ import annotations

import _ctypes
import _thread
import time
from _socket import AF_PACKET, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_RAW, if_nametoindex, socket
from _struct import Struct
from errno import EAGAIN, ENOBUFS, EPROTONOSUPPORT
from select import POLLIN, poll

from multinic_cni.cancellation import cancelled
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
from multinic_cni.values import Value
from multinic_ipam.networks import format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from multinic_cni.frames import Claim

SOL_SOCKET, SO_ATTACH_FILTER = 1, 26
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_IGNORE_OUTGOING = 263, 1, 23
PACKET_MREQ, PACKET_MR_MULTICAST = Struct("@iHH8s"), 0
SOCK_FPROG = Struct("@HP")
ETH_P_ALL = 0x0003
MAC_LENGTH = 6

FRAMES = 3  # to each address: one may get lost
INTERVAL_SECONDS = 0.08  # after each of them
RECEIVE_BYTES = 2048
BATCH = 64  # frames of one NIC, until the others and the clock have their turn
# Nobody can have these, they stand in documents (RFC 5737, RFC 3849): who answers for one of them
# as for a pod's address answers for everything.
DECOYS = {4: 0xC000_0200, 6: 0x2001_0DB8 << 96 | 0xDEC0}


class Target(Value):
    """An address that is to be asked for on one NIC's network."""

    nic: str
    version: int
    number: int

    @property
    def address(self) -> str:
        return format_address(self.version, self.number)


class Conflict(Value):
    """An address that somebody else has or is about to take, and his MAC."""

    target: Target
    mac: str


def probe(targets: Sequence[Target], proxies: Collection[str]) -> list[Conflict]:
    """Return which addresses somebody else claims. Takes a quarter of a second, or less.

    The MACs of `proxies` prove nothing, nor does one that answers for several addresses of a family
    on one NIC: it is a proxy. They are logged, as are NICs that cannot be asked.
    """
    by_nic: dict[str, list[Target]] = {}
    for target in targets:
        by_nic.setdefault(target.nic, []).append(target)
    known_proxies = {mac.lower() for mac in proxies}
    wires: list[_Wire] = []
    try:
        for nic, wanted in by_nic.items():
            try:
                wires.append(_Wire(nic, wanted, known_proxies))
            except OSError as error:
                _warn_of_no_verdict(nic, error)
        _ask_and_listen(wires)
        return [conflict for wire in wires for conflict in wire.verdicts()]
    finally:
        _close_all([wire.socket for wire in wires])


def _ask_and_listen(wires: Sequence[_Wire]) -> None:
    own_macs = {wire.mac.hex(":") for wire in wires}
    by_descriptor = {wire.socket.fileno(): wire for wire in wires}
    incoming = poll()
    for descriptor in by_descriptor:
        incoming.register(descriptor, POLLIN)
    for _ in range(FRAMES):
        if cancelled() or all(wire.is_done() for wire in wires):
            return
        for wire in wires:
            wire.ask()
        until = time.monotonic() + INTERVAL_SECONDS
        left = INTERVAL_SECONDS
        while left > 0:
            left = max(0.0, until - time.monotonic())
            # In the end what is there already: the process may have had no CPU all that time.
            for descriptor, _ in incoming.poll(left * 1000):
                by_descriptor[descriptor].hear(own_macs)


def _close_all(sockets: Sequence[socket]) -> None:
    """Close packet sockets side by side: the kernel waits 10 ms at each, or at all together."""
    closing = []
    for each in sockets[1:]:
        closed = _thread.allocate_lock()
        closed.acquire()
        try:
            _thread.start_new_thread(_close, (each, closed))
        except RuntimeError:
            _close(each, closed)  # no thread is to be had
        closing.append(closed)
    for each in sockets[:1]:
        each.close()
    for closed in closing:
        closed.acquire()


def _close(each: socket, closed: _thread.LockType) -> None:
    each.close()
    closed.release()


def _warn_of_no_verdict(nic: str, error: OSError) -> None:
    log.warning(f"NIC {nic}: no verdict on its addresses, it cannot be probed: {error.strerror}")


class _Wire:
    """A NIC's network: what is asked there, and who claims it."""

    def __init__(self, nic: str, targets: Sequence[Target], known_proxies: Collection[str]) -> None:
        """Open a packet socket; raises OSError, also for a NIC that is no Ethernet."""
        self._nic = nic
        self._targets = targets
        self._known_proxies = known_proxies
        # Each address that is asked for, and its claims by MAC.
        self._claims: dict[tuple[int, int], dict[str, Claim]] = {
            (target.version, target.number): {} for target in targets
        }
        self._is_broken = False
        # Without a protocol it hears nothing yet.
        self.socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
        try:
            self.mac = self._bind()
            self._join_groups()
        except OSError:
            self.socket.close()
            raise

    def ask(self) -> None:
        """Ask once for each address."""
        for version, number in self._claims:
            self._send(question(self.mac, version, number))

    def hear(self, own_macs: Collection[str]) -> None:
        """Take what has arrived. What our own NICs say, heard over another one, is no claim."""
        for _ in range(BATCH):
            try:
                frame = self.socket.recv(RECEIVE_BYTES)
            except OSError as error:
                if error.errno != EAGAIN:
                    self._break(error)
                return
            claim = claim_in(frame)
            if claim is not None and claim.mac not in own_macs and claim.source not in own_macs:
                self._note(claim)

    def is_done(self) -> bool:
        """Tell whether nothing that may yet be heard can change anything."""
        return self._is_broken or all(self._owner(target) for target in self._targets)

    def verdicts(self) -> Iterator[Conflict]:
        for target in self._targets:
            owner = self._owner(target)
            if owner:
                yield Conflict(target=target, mac=owner)
                continue
            for proxy in self._claims_to(target)[:1]:
                log.warning(
                    f"NIC {self._nic}: a proxy claims {target.address}, which is no verdict",
                    mac=proxy.mac,
                )

    def _bind(self) -> bytes:
        """Begin to hear what the filter passes, and return the NIC's MAC."""
        program = _Program.from_buffer_copy(FILTER)
        length = len(FILTER) // SOCK_FILTER.size
        pointer = SOCK_FPROG.pack(length, _ctypes.addressof(program))
        self.socket.setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, pointer)
        # With it, the kernel need not copy each frame that the NIC sends.
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        # Sockets of one protocol get the frames of a VLAN on the NIC, too, without their tags.
        self.socket.bind((self._nic, ETH_P_ALL))
        _, _, _, hardware, mac = self.socket.getsockname()
        if hardware != ARPHRD_ETHER or len(mac) != MAC_LENGTH:
            raise OSError(EPROTONOSUPPORT, "it is no Ethernet")
        return bytes(mac)

    def _join_groups(self) -> None:
        """Hear what is told to all nodes, and rivals that ask for our IPv6 addresses."""
        numbers = [target.number for target in self._targets if target.version == IPV6]
        groups = {solicited_node_mac(number) for number in numbers} | {ALL_NODES_MAC}
        index = if_nametoindex(self._nic)
        for group in groups if numbers else ():
            membership = PACKET_MREQ.pack(index, PACKET_MR_MULTICAST, len(group), group)
            self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)

    def _send(self, frame: bytes) -> None:
        try:
            self.socket.send(frame)
        except OSError as error:
            if error.errno not in {EAGAIN, ENOBUFS}:  # full queues: a lost frame
                self._break(error)

    def _break(self, error: OSError) -> None:
        if not self._is_broken:
            _warn_of_no_verdict(self._nic, error)
        self._is_broken = True

    def _note(self, claim: Claim) -> None:
        claims = self._claims.get((claim.version, claim.number))
        if claims is None:
            return  # it was not asked for
        if claim.mac not in claims or not claim.probing:
            claims[claim.mac] = claim
        decoy = (claim.version, DECOYS[claim.version])
        if not claim.probing and decoy not in self._claims:
            self._claims[decoy] = {}
            self._send(question(self.mac, *decoy))

    def _owner(self, target: Target) -> str:
        """Return the MAC of the first who claims an address and is no proxy; empty if none."""
        claims = self._claims_to(target)
        return next((claim.mac for claim in claims if not self._is_proxy(claim)), "")

    def _claims_to(self, target: Target) -> list[Claim]:
        return list(self._claims[target.version, target.number].values())

    def _is_proxy(self, claim: Claim) -> bool:
        """Tell whether a MAC is known as a proxy, or answers for several addresses.

        Two families count apart: a pod has an address of each on one interface. Asking is no
        answer: a rival may want several.
        """
        if claim.mac in self._known_proxies or claim.source in self._known_proxies:
            return True
        answers = [
            number
            for (version, number), claims in self._claims.items()
            if version == claim.version and claim.mac in claims
            if not claims[claim.mac].probing
        ]
        return len(answers) > 1


# What ctypes.c_ubyte and an array of it are: importing ctypes costs 10 ms.
class _Byte(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - no subscript at run time
    _type_ = "B"


class _Program(_ctypes.Array):  # type: ignore[type-arg]
    _type_ = _Byte
    _length_ = len(FILTER)
