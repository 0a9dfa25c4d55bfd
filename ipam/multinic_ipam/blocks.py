"""The blocks that addresses were taken from: a folder each, which do not overlap."""

from __future__ import annotations

from multinic_ipam.networks import Network, NetworkError, format_address, is_address
from multinic_ipam.refusals import BlockInUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_ipam.folders import Folder


MOST_OPEN = 64  # more than an ADD needs; a walk over all blocks may have thousands


class Blocks:
    """The folders of all blocks; each is opened once and closed with this."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._open: dict[str, Folder] = {}

    def close(self) -> None:
        for folder in (*self._open.values(), self.folder):
            folder.close()

    def existing(self, block: Network) -> Folder | None:
        name = _name(block)
        if name not in self._open:
            try:
                self._keep_open(name, self.folder.child(name, create=False))
            except FileNotFoundError:
                return None
        return self._open[name]

    def made(self, block: Network) -> Folder:
        """Return a block's folder; a new one takes the place of abandoned ones that it overlaps."""
        folder = self.existing(block)
        if folder is None:
            self._retire_abandoned(block)
            folder = self.folder.child(_name(block), create=True)
            self._keep_open(_name(block), folder)
        return folder

    def _keep_open(self, name: str, folder: Folder) -> None:
        if len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open))).close()
        self._open[name] = folder

    def refuse_overlap(self, block: Network) -> None:
        """Raise BlockInUseError where an overlapping block has addresses in use."""
        for other in self._overlapping(block):
            with self.folder.child(_name(other), create=False) as folder:
                if any(True for _ in addresses_in(folder)):
                    message = (
                        f"pool {block} overlaps pool {other}, which has addresses in use: give the"
                        " networks disjoint blocks, or the same (`multinic-cni ipam list`)"
                    )
                    raise BlockInUseError(message)

    def all(self) -> Iterator[Network]:
        """Walk the blocks that have a folder; other names are not ours, and left alone."""
        return filter(None, map(block_named, self.folder.names()))

    def _retire_abandoned(self, block: Network) -> None:
        """Remove the empty folders of blocks that a new one overlaps: confs have been edited."""
        self.refuse_overlap(block)
        for other in self._overlapping(block):
            if _name(other) in self._open:
                raise BlockInUseError(f"pools {block} and {other} of one network overlap")
            with self.folder.child(_name(other), create=False) as folder:
                for name in folder.names():
                    folder.remove(name)
            self.folder.remove_child(_name(other))

    def _overlapping(self, block: Network) -> list[Network]:
        return [other for other in self.all() if other.overlaps(block) and other != block]


def addresses_in(folder: Folder) -> Iterator[str]:
    """Walk the names of a block's address files."""
    return filter(is_address, folder.names())  # the others are cursors or strangers' files


def _name(block: Network) -> str:
    return f"{format_address(block.version, block.first)}-{block.length}"


def block_named(name: str) -> Network | None:
    """Return the block whose folder has this name."""
    address, _, length = name.rpartition("-")
    try:
        block = Network.parse(f"{address}/{length}")
    except NetworkError:
        return None
    return block if name == _name(block) else None
