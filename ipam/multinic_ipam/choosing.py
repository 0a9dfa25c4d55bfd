"""Which address of a pool is given next."""

from __future__ import annotations

from multinic_ipam.blocks import addresses_in
from multinic_ipam.networks import NetworkError, format_address, parse_address
from multinic_ipam.turns import SECOND, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_ipam.blocks import Blocks
    from multinic_ipam.networks import Network
    from multinic_ipam.pools import Pool, Run
    from multinic_ipam.quarantine import Quarantine
    from multinic_ipam.turns import Turns, Window

CURSOR = "last_reserved_ip."
PATIENCE = 16  # addresses looked at one by one, before the folder is read


class Choosing:
    """Looks for free addresses in the parts of a store; writes nothing but hints."""

    def __init__(self, blocks: Blocks, turns: Turns, quarantine: Quarantine) -> None:
        self._blocks = blocks
        self._turns = turns
        self._quarantine = quarantine

    def next_free(self, pool: Pool, taken: Sequence[int], cooldown: int) -> int | None:
        """Return the address whose turn it is; None if all are reserved or rest."""
        cursor = self._last_reserved(pool)
        unfit = [*pool.never_given(), *((number, number) for number in taken)]
        number = self._just_behind(pool, cursor, unfit)
        if number is not None:
            return number
        for window in self._turns.windows(pool, cursor):
            after = window.first if cursor is None else cursor + 1
            number = self._free_in(window, pool, unfit, after, cooldown)
            if number is not None:
                return number
        return None

    def why_none(self, pool: Pool, taken: Sequence[int], cooldown: int) -> str:
        """Say in figures why no address of a pool can be given; slow."""
        used = sum(map(pool.contains, self.reserved(pool.block))) + len(taken)
        message = f"pool {pool} is exhausted: {used} of its {pool.size} addresses are reserved"
        windows = self._turns.windows(pool, None) if cooldown else ()
        resting = sum(window.count_freed_after(now() - cooldown * SECOND) for window in windows)
        if resting:
            message += f", {resting} rest for up to {cooldown} s (cooldown)"
        quarantined = sum(pool.holds(*parse_address(each)) for each, _ in self._quarantine.all())
        if quarantined:
            message += f", {quarantined} are in quarantine"
        if used + resting + quarantined < pool.size:
            message += ", the others are never given (gateways, the node's own, exclusions)"
        return message

    def reserved(self, block: Network) -> set[int]:
        """Return the addresses of a block that have a file; slow."""
        folder = self._blocks.existing(block)
        return {parse_address(name)[1] for name in addresses_in(folder)} if folder else set()

    def _just_behind(self, pool: Pool, cursor: int | None, unfit: Sequence[Run]) -> int | None:
        """Return a never given address that comes soon, without half a megabyte of words."""
        first = pool.start if cursor is None else cursor + 1
        last = min(first + PATIENCE - 1, pool.end)
        window = self._turns.window(pool.block.version, first, last)
        window.strike_out_all(unfit)
        number = window.next_never_given(first)
        while number is not None and not self._is_free(pool.block, number):
            window.strike_out(number, number)
            number = window.next_never_given(first)
        return number

    def _free_in(
        self, window: Window, pool: Pool, unfit: Sequence[Run], after: int, cooldown: int
    ) -> int | None:
        misses, learned = 0, False
        window.strike_out_all(unfit)
        while True:
            number = window.next_never_given(after)
            if number is None:
                number = _rested(window, cooldown)
            if number is not None and self._is_free(pool.block, number):
                return number
            if number is not None:
                window.strike_out(number, number)
                misses += 1
            if not learned and (number is None or misses == PATIENCE):
                window = self._learned(window, pool.block)
                window.strike_out_all(unfit)
                learned = True
            elif number is None:
                return None

    def _learned(self, window: Window, block: Network) -> Window:
        """Return the window anew, with one look at the folder instead of one at each address."""
        window = self._turns.window(block.version, window.first, window.last)
        window.learn(self.reserved(block))
        self._turns.store(block.version, window)
        return window

    def _is_free(self, block: Network, number: int) -> bool:
        address = format_address(block.version, number)
        folder = self._blocks.existing(block)
        held = folder is not None and folder.exists(address)
        return not held and not self._quarantine.why(address)

    def _last_reserved(self, pool: Pool) -> int | None:
        """Return the cursor if it lies in the pool; it is only a preference."""
        folder = self._blocks.existing(pool.block)
        try:
            content = folder.read(cursor_name(pool)) if folder else b""
            version, number = parse_address(content.decode().strip())
        except (OSError, NetworkError, UnicodeDecodeError):
            return None
        return number if pool.holds(version, number) else None


def cursor_name(pool: Pool) -> str:
    """Name the cursor's file: .0 for a whole block, as host-local does, else by the start."""
    version = pool.block.version
    whole = pool.start == pool.block.first + 1 or pool.start == pool.block.first
    return CURSOR + ("0" if whole else format_address(version, pool.start))


def _rested(window: Window, cooldown: int) -> int | None:
    """Return the address that rests longest, if it rests long enough.

    A time to come stems from a clock that was set back, or from damage: it says nothing.
    """
    freed = window.longest_rested()
    moment = now()
    if freed is None or moment - cooldown * SECOND < freed[1] <= moment:
        return None
    return freed[0]
