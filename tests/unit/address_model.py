"""What a node's address store must look like, by sets and dictionaries: who holds what, who may."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from multinic_ipam.networks import BITS, Network, parse_address
from multinic_ipam.pools import Pool
from tests.unit.clocks import SECOND

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# NICs: rail0 10.1.0.3/28, rail1 10.2.0.9/28. The second network shares the first one's block.
NETWORKS: dict[str, dict[str, Any]] = {
    "rails": {
        "name": "rails",
        "masterNets": ["10.1.0.0/28", "10.2.0.0/28"],
        "ipam": {
            "type": "multi-nic-ipam",
            "probe": "next",
            "excludeCIDRs": ["10.1.0.6"],
            "ranges": {
                "10.1.0.0/28": [
                    {"rangeStart": "10.1.0.1", "rangeEnd": "10.1.0.8", "gateway": "10.1.0.1"}
                ],
                "10.2.0.0/28": [
                    {"rangeStart": "10.2.0.8", "rangeEnd": "10.2.0.13"},
                    {"subnet": "fd00:2::/124", "rangeStart": "fd00:2::3", "rangeEnd": "fd00:2::8"},
                ],
            },
        },
    },
    "solo": {
        "name": "solo",
        "masterNets": ["10.1.0.0/28"],
        "ipam": {
            "type": "multi-nic-ipam",
            "probe": "next",
            "ranges": {"10.1.0.0/28": [{"rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.11"}]},
        },
    },
}
# By hand: a pod gets one address of each of these.
POOLS = {
    "rails": [
        {"10.1.0.2", "10.1.0.4", "10.1.0.5", "10.1.0.7", "10.1.0.8"},
        {"10.2.0.8", "10.2.0.10", "10.2.0.11", "10.2.0.12", "10.2.0.13"},
        {f"fd00:2::{host}" for host in range(3, 9)},
    ],
    "solo": [{f"10.1.0.{host}" for host in range(5, 12)}],
}
ALL_ADDRESSES = sorted(set().union(*POOLS["rails"], *POOLS["solo"]))
ASKED = [*ALL_ADDRESSES, "10.1.0.1", "10.1.0.3", "10.1.0.12", "10.2.0.9", "fd00:2::"]
CONTAINERS = [f"c{number}" for number in range(12)]
STRANGERS = ["h0", "h1"]  # who use host-local's own plugin on our folders
TORN = ""  # the holder of an address file that the power cut has torn
QUARANTINE_SECONDS = 600


def network_of(container: str) -> str:
    return "solo" if int(container[1:]) % 3 == 2 else "rails"


class Prospects:
    """What an ADD may be given of one pool: `yes` for sure, `maybe`, and never anything else.

    Unless the hints have been lost, which say that the `resting` ones rest.
    """

    def __init__(self, yes: set[str], maybe: set[str], resting: set[str]) -> None:
        self.yes = yes
        self.maybe = maybe
        self.resting = resting


class Model:
    """Holders of addresses, and attachments as their runtime knows them.

    `attached` are those whose ADD has ended well, with the cookie of the pod that it was for, and
    `doubtful` those of a call that was interrupted: they may be there wholly, in part, or not.
    """

    def __init__(self, cooldown: int) -> None:
        self.cooldown = cooldown * SECOND
        self.now = self.booted = 0
        self.running: dict[str, int] = {}  # cookies of the pods
        self.attached: dict[str, int] = {}
        self.doubtful: set[str] = set()
        self.torn: set[str] = set()
        self.holders: dict[str, str] = {}
        self.remnants: dict[str, str] = {}  # of earlier boots; gone when the boot's first call ends
        self.freed: dict[str, int] = {}
        self.quarantine: dict[str, int] = {}
        self.foreign: set[str] = set()
        self.hints_are_lost = False
        self.unsure_of_rests_until = 0

    def is_firm(self, container: str) -> bool:
        """Whether it is attached and its pod runs: nothing but its DEL and GC may touch it."""
        if container in STRANGERS:
            return True
        cookie = self.attached.get(container)
        return cookie is not None and self.running.get(container) == cookie

    def not_firm(self) -> set[str]:
        return {TORN, *(each for each in CONTAINERS if not self.is_firm(each))}

    def reclaim(self) -> None:
        """Free what earlier boots held: no pod survives one, so it rests since then."""
        self.remnants = self.holders
        self.freed.update(dict.fromkeys(self.remnants, self.booted))
        self.holders = {}

    def held_by(self, *containers: str) -> set[str]:
        return {address for address, holder in self.holders.items() if holder in containers}

    def prospects(self, container: str, asked: str) -> list[Prospects] | None:
        """Return what an ADD may be given of each pool; None if what it asks for is refused."""
        pools = POOLS[network_of(container)]
        if asked and not any(asked in pool for pool in pools):
            return None
        prospects = []
        for pool in pools:
            free = self._free_in(pool, container)
            if asked in pool:
                yes, maybe = free.yes | free.resting, free.maybe  # rested or not
                free = Prospects(yes & {asked}, maybe & {asked}, set())
                if not free.yes | free.maybe:
                    return None
            prospects.append(free)
        return prospects

    def _free_in(self, pool: set[str], container: str) -> Prospects:
        firm = {each for each in pool if self.is_firm(self.holders.get(each, TORN))}
        not_now = firm | self.quarantine.keys() | self.foreign
        # What is stale is swept, but it is not known whether these are.
        unsure = (self.doubtful & self.running.keys()) - {container}
        maybe = pool & self.held_by(*unsure)
        resting = set()
        if self.cooldown:
            rested = self.now - self.cooldown
            resting = {each for each in pool if self.freed.get(each, 0) > rested}
            # What is freed now rests from now on, unless an ADD that did not end well had it.
            held, given_up = pool & self.holders.keys(), pool & self.held_by(*self.doubtful)
            resting |= held - given_up
            maybe |= given_up
            maybe |= pool if self.unsure_of_rests_until > self.now else set()
            resting -= not_now
        return Prospects(pool - not_now - maybe - resting, maybe - not_now - resting, resting)

    def saw(
        self,
        holders: Mapping[str, str],
        quarantined: Mapping[str, int],
        *,
        may_go: Collection[str],
        adding: str = "",
    ) -> None:
        """Take over what the store holds now, if nothing else has changed than what may."""
        for address, holder in self.holders.items():
            if holders.get(address) != holder:
                assert holder in may_go, f"{address} of {holder} went to {holders.get(address)}"
                self.freed[address] = self.now
                if holder in self.doubtful:
                    self.rests_unknown([address])
        for address, holder in holders.items():
            if holder not in {self.holders.get(address), self.remnants.get(address)}:
                assert holder == adding, f"{holder} got {address} at an ADD of {adding or 'nobody'}"
        self.holders = dict(holders)
        for address, until in quarantined.items():
            if until * SECOND > self.now and address not in self.quarantine:
                assert address in self.foreign, f"{address} is in quarantine: nobody else has it"
                assert until == self.now // SECOND + QUARANTINE_SECONDS
                self.quarantine[address] = until * SECOND

    def wait(self, now: int) -> None:
        self.now = now
        over = [address for address, until in self.quarantine.items() if until <= now]
        for address in over:
            del self.quarantine[address]

    def attach(self, container: str) -> None:
        self.forget(container)
        self.attached[container] = self.running[container]

    def tear(self, container: str) -> None:
        self.torn.add(container)
        self.holders.update(dict.fromkeys(self.held_by(container), TORN))

    def forget(self, *containers: str) -> None:
        """Know that nothing is left of these attachments."""
        for container in containers:
            self.attached.pop(container, None)
            self.doubtful.discard(container)
            self.torn.discard(container)

    def doubt(self, containers: Iterable[str], recorded: Collection[str]) -> None:
        """Know no more what is there of these, but that nothing is of those without a record."""
        for container in containers:
            if container in recorded:
                self.attached.pop(container, None)
                self.doubtful.add(container)
            else:
                self.forget(container)

    def rests_unknown(self, addresses: Iterable[str]) -> None:
        """Know no more which addresses rest, until the last has rested; these rest by no rule."""
        for address in addresses:
            self.freed.pop(address, None)
        self.unsure_of_rests_until = self.now + self.cooldown


def pool_of(addresses: Collection[str]) -> Pool:
    """Return a pool of just these addresses, to see whether each of them can be given."""
    version, numbers = 4, sorted(parse_address(each)[1] for each in addresses)
    if numbers[-1] >> 32:
        version = 6
    block = Network.around(version, numbers[0], BITS[version] - 4)
    gaps = [(low + 1, high - 1) for low, high in itertools.pairwise(numbers)]
    return Pool(block, prefix_length=block.length, start=numbers[0], end=numbers[-1], excluded=gaps)
