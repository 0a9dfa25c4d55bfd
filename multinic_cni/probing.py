"""The conflict probe: ask each NIC's network who has the addresses that are about to be given.

It asks from the node's NICs before any interface has the addresses: later the pod's neighbours
would learn the wrong MAC. All NICs are asked in one loop, so that eight take as long as one.

Only a claim is a verdict. Silence, a lost frame, a NIC that is down or no Ethernet are none.
"""

from __future__ import annotations

from multinic_cni.cancellation import cancelled
from multinic_cni.log import log
from multinic_cni.values import Value
from multinic_cni.wires import Wire, close_all, listen, warn_of_no_verdict
from multinic_ipam.networks import format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from multinic_cni.frames import Claim

FRAMES = 3  # to each address: one may get lost
INTERVAL_SECONDS = 0.08  # after each of them
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
    wires: list[_ProbedWire] = []
    try:
        for nic, wanted in by_nic.items():
            try:
                wires.append(_ProbedWire(nic, wanted, known_proxies))
            except OSError as error:
                warn_of_no_verdict(nic, error)
        _ask_and_listen(wires)
        return [conflict for wire in wires for conflict in wire.verdicts()]
    finally:
        close_all([wire.socket for wire in wires])


def _ask_and_listen(wires: Sequence[_ProbedWire]) -> None:
    own_macs = {wire.mac.hex(":") for wire in wires}
    for _ in range(FRAMES):
        if cancelled() or all(wire.is_done() for wire in wires):
            return
        for wire in wires:
            wire.ask()
        # What our own NICs say, heard over another one, is no claim. An answer ends no waiting:
        # who it is of, a proxy's next answer may tell.
        listen(wires, INTERVAL_SECONDS, deaf_to=own_macs)


class _ProbedWire(Wire):
    """A NIC's network: what is asked there, and who claims it."""

    def __init__(self, nic: str, targets: Sequence[Target], known_proxies: Collection[str]) -> None:
        """Raise OSError for a NIC that cannot be asked."""
        self._targets = targets
        self._known_proxies = known_proxies
        # Each address that is asked for, and its claims by MAC.
        self._claims: dict[tuple[int, int], dict[str, Claim]] = {
            (target.version, target.number): {} for target in targets
        }
        super().__init__(nic, list(self._claims))

    def ask(self) -> None:
        """Ask once for each address."""
        for version, number in self._claims:
            self.ask_for(version, number)

    def is_done(self) -> bool:
        """Tell whether nothing that may yet be heard can change anything."""
        return self.is_broken or all(self._owner(target) for target in self._targets)

    def verdicts(self) -> Iterator[Conflict]:
        for target in self._targets:
            owner = self._owner(target)
            if owner:
                yield Conflict(target=target, mac=owner)
                continue
            for proxy in self._claims_to(target)[:1]:
                log.warning(
                    f"NIC {self.nic}: a proxy claims {target.address}, which is no verdict",
                    mac=proxy.mac,
                )

    def take(self, claim: Claim) -> None:
        claims = self._claims.get((claim.version, claim.number))
        if claims is None:
            return  # it was not asked for
        if claim.mac not in claims or not claim.probing:
            claims[claim.mac] = claim
        decoy = (claim.version, DECOYS[claim.version])
        if not claim.probing and decoy not in self._claims:
            self._claims[decoy] = {}
            self.ask_for(*decoy)

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
