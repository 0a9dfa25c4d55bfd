"""Pools: which addresses of a block this node may hand out, as arithmetic and never as a list."""

from __future__ import annotations

from multinic_ipam.networks import Network, format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Run = tuple[int, int]


class GeometryError(ValueError):
    """Numbers that do not fit together; its message says them."""


class Pool:
    """A run of addresses of one block, and the prefix length a pod's address carries.

    `block` names the store's folder: networks that use the same block share it. `start` and `end`
    bound what is handed out; `excluded` holds runs, (first, last), that never are. All ends are
    inclusive. `dealt` says that the node's index or name decides which addresses these are, so that
    another node gets them when the numbers change.
    """

    __slots__ = ("block", "dealt", "end", "excluded", "gateway", "prefix_length", "start")

    def __init__(  # a plain record: one argument a field
        self,
        block: Network,
        *,
        prefix_length: int,
        start: int | None = None,
        end: int | None = None,
        gateway: int | None = None,
        excluded: Sequence[Run] = (),
        dealt: bool = False,
    ) -> None:
        self.block = block
        self.prefix_length = prefix_length
        lowest, highest = usable(block)
        self.start = lowest if start is None else start
        self.end = highest if end is None else end
        self.gateway = gateway
        self.excluded = excluded
        self.dealt = dealt

    def holds(self, version: int, number: int) -> bool:
        """Tell whether an address lies in the pool, excluded or not."""
        return version == self.block.version and self.contains(number)

    def contains(self, number: int) -> bool:
        return self.start <= number <= self.end

    def excludes(self, number: int) -> bool:
        return number == self.gateway or any(
            first <= number <= last for first, last in self.excluded
        )

    def never_given(self) -> list[Run]:
        """Return the runs inside the pool that are never handed out, each cut to its bounds."""
        runs = [*self.excluded, *([] if self.gateway is None else [(self.gateway, self.gateway)])]
        cut = [(max(first, self.start), min(last, self.end)) for first, last in runs]
        return [(first, last) for first, last in cut if first <= last]

    @property
    def room(self) -> int:
        """How many addresses may be given out when none is reserved."""
        given, least = self.size, self.start
        for first, last in sorted(self.never_given()):
            given -= max(0, last + 1 - max(first, least))
            least = max(least, last + 1)
        return given

    @property
    def size(self) -> int:
        """How many addresses lie between start and end, exclusions counted."""
        return max(0, self.end - self.start + 1)

    def __str__(self) -> str:
        version = self.block.version
        if (self.start, self.end) == usable(self.block):
            return str(self.block)
        start, end = format_address(version, self.start), format_address(version, self.end)
        return f"{start}-{end} of {self.block}"


def usable(block: Network) -> tuple[int, int]:
    """Return the first and last address that a host may have.

    A /31 and /127 (RFC 3021, RFC 6164) and single addresses have neither.
    """
    if block.size <= 2:  # noqa: PLR2004 - the two addresses of a point-to-point link
        return block.first, block.last
    if block.version == 6:  # noqa: PLR2004 - IPv6 has no broadcast; the first is the routers' anycast
        return block.first + 1, block.last
    return block.first + 1, block.last - 1
