"""What is remembered of single addresses beside who holds them: a small text file each."""

from __future__ import annotations

from multinic_ipam.networks import is_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_ipam.folders import Folder


class Notes:
    """A folder of notes by address, made when the first one is written: mostly there is none."""

    def __init__(self, root: Folder, name: str) -> None:
        self._root = root
        self._name = name
        self._folder: Folder | None = None
        self._looked = False

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()

    def read(self, address: str) -> str | None:
        """Return the note of an address, None where there is none; raises OSError."""
        folder = self._existing()
        if folder is None:
            return None
        try:
            return folder.read(address).decode("utf-8", "replace")
        except FileNotFoundError:
            return None

    def write(self, address: str, text: str) -> None:
        if self._existing() is None:
            self._folder = self._root.child(self._name, create=True)
        if self._folder is not None:
            self._folder.write(address, text.encode())

    def remove(self, address: str) -> None:
        folder = self._existing()
        if folder is not None:
            folder.remove(address)

    def addresses(self) -> list[str]:
        """Return the addresses that have a note; none where the folder cannot be read."""
        try:
            folder = self._existing()
            return [name for name in folder.names() if is_address(name)] if folder else []
        except OSError:
            return []

    def _existing(self) -> Folder | None:
        if not self._looked:
            self._looked = True
            try:
                self._folder = self._root.child(self._name, create=False)
            except FileNotFoundError:
                self._folder = None
        return self._folder
