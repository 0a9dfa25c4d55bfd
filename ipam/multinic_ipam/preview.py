"""What the store would give, while nothing in it is changed: it may be read-only, or not there."""

from __future__ import annotations

import os
from errno import ENOENT, EROFS

from multinic_ipam.folders import Folder, plain
from multinic_ipam.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn, Self


class ReadOnlyFolder(Folder):
    """A folder that changes nothing: whatever would is refused as by a read-only file system."""

    __slots__ = ()

    def child(self, name: str, *, create: bool) -> ReadOnlyFolder:
        """Open a sub-folder; a missing one that is to be made is an empty one."""
        try:
            return self.existing_child(name)
        except FileNotFoundError:
            if not create:
                raise
            return NoFolder(f"{self.path}/{name}")

    def data_file(self, name: str, *, create: bool) -> int:
        del create
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(plain(name), flags, dir_fd=self.descriptor)

    def write(self, name: str, content: bytes) -> None:
        del content
        self._refuse(name)

    def overwrite(self, name: str, content: bytes) -> None:
        del content
        self._refuse(name)

    def create(self, name: str, content: bytes) -> None:
        del content
        self._refuse(name)

    def publish(self, prepared: str, folder: Folder, name: str) -> None:
        del prepared, folder
        self._refuse(name)

    def remove(self, name: str) -> bool:
        self._refuse(name)

    def remove_child(self, name: str) -> None:
        self._refuse(name)

    def lock_file(self, name: str) -> int:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise OSError(EROFS, os.strerror(EROFS), f"{self.path}/{name}")


class NoFolder(ReadOnlyFolder):
    """A folder that is not there: nothing is found in it."""

    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(-1, path)

    def child(self, name: str, *, create: bool) -> ReadOnlyFolder:
        if not create:
            self._miss(name)
        return NoFolder(f"{self.path}/{plain(name)}")

    def data_file(self, name: str, *, create: bool) -> int:
        del create
        self._miss(name)

    def names(self) -> list[str]:
        return []

    def exists(self, name: str) -> bool:
        del name
        return False

    def read(self, name: str) -> bytes:
        self._miss(name)

    def _miss(self, name: str) -> NoReturn:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), f"{self.path}/{name}")


class Preview(Store):
    """A store that is only asked; calls may change the real one meanwhile, since it is not locked.

    `choose` and `take` say what the store's own would, everything that changes something raises
    OSError.
    """

    def __init__(self, directory: str) -> None:
        super().__init__(directory, deadline=0.0)

    def __enter__(self) -> Self:
        root: ReadOnlyFolder
        try:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            root = ReadOnlyFolder(os.open(self._path, flags), self._path)
        except FileNotFoundError:
            root = NoFolder(self._path)
        try:
            self._open(root)
        except BaseException:
            root.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
