"""State folders: whole files that appear at once, and no symbolic link ever followed."""

from __future__ import annotations

import os
from errno import EISDIR, ELOOP, ENXIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
CHUNK = 1 << 16
UNFINISHED = ".new"


NO_FILE_IN_ITS_PLACE = frozenset({EISDIR, ELOOP, ENXIO})


class Folder:
    """An open directory; every name is looked up in it and must be a plain one.

    Work goes through the directory's descriptor, so that nobody can put a link into the path
    between two steps. Errors are the OSErrors of the system calls.
    """

    __slots__ = ("descriptor", "path")

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self.path = path

    @classmethod
    def existing(cls, path: str) -> Folder:
        """Open a directory by its path, which the admin chose."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path)

    @classmethod
    def at(cls, path: str) -> Folder:
        """Open a directory as `existing`, and make what is missing of it."""
        try:
            return cls.existing(path)
        except FileNotFoundError:
            os.makedirs(path, DIRECTORY_MODE, exist_ok=True)
            return cls.at(path)

    def child(self, name: str, *, create: bool) -> Folder:
        """Open a sub-folder; a symbolic link in its place is an error (ELOOP or ENOTDIR)."""
        try:
            return self.existing_child(name)
        except FileNotFoundError:
            if not create:
                raise
        try:
            os.mkdir(name, DIRECTORY_MODE, dir_fd=self.descriptor)
        except FileExistsError:
            pass  # another process made it in the meantime
        return self.existing_child(name)

    def existing_child(self, name: str) -> Self:
        """Open a sub-folder as `child`; it is of the folder's own kind."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(plain(name), flags, dir_fd=self.descriptor)
        return type(self)(descriptor, f"{self.path}/{name}")

    def names(self) -> list[str]:
        return sorted(os.listdir(self.descriptor))

    def exists(self, name: str) -> bool:
        try:
            os.stat(plain(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        # O_NONBLOCK: a FIFO that somebody planted must not hold the call.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(plain(name), flags, dir_fd=self.descriptor)
            try:
                return read_all(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            error.filename = f"{self.path}/{name}"
            raise

    def write(self, name: str, content: bytes) -> None:
        """Replace a file at once: readers see the old content or the new, never a part."""
        temporary = _unfinished(name)
        self.create(temporary, content)
        try:
            os.rename(
                temporary, plain(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor
            )
        except OSError:
            self.remove(temporary)
            raise

    def overwrite(self, name: str, content: bytes) -> None:
        """Change a file in place, a fifth of `write`'s cost: for hints that may be torn or lost."""
        try:
            descriptor = self.data_file(name, create=True)
        except OSError as error:
            if error.errno not in NO_FILE_IN_ITS_PLACE:
                raise
            self.write(name, content)  # which takes the place of a link
            return
        try:
            os.pwrite(descriptor, content, 0)
            os.truncate(descriptor, len(content))
        finally:
            os.close(descriptor)

    def create(self, name: str, content: bytes) -> None:
        """Write a new file, in place of what a killed process may have left under its name."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, FILE_MODE, dir_fd=self.descriptor)
        except FileExistsError:
            # The old file may have other names already: it is unlinked and not truncated, or the
            # owner of those would lose the content.
            self.remove(name)
            descriptor = os.open(name, flags, FILE_MODE, dir_fd=self.descriptor)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError:
            self.remove(name)
            raise
        finally:
            os.close(descriptor)

    def publish(self, prepared: str, folder: Folder, name: str) -> None:
        """Give a file that `create` made a name in another folder, where it then stands whole.

        FileExistsError if the name is taken.
        """
        os.link(
            prepared,
            plain(name),
            src_dir_fd=self.descriptor,
            dst_dir_fd=folder.descriptor,
            follow_symlinks=False,
        )

    def remove(self, name: str) -> bool:
        """Remove a file; tell whether it was there."""
        try:
            os.unlink(plain(name), dir_fd=self.descriptor)
        except FileNotFoundError:
            return False
        return True

    def remove_unfinished(self, name: str) -> None:
        """Remove what a `write` of that name left when it was killed."""
        self.remove(_unfinished(name))

    def remove_child(self, name: str) -> None:
        os.rmdir(plain(name), dir_fd=self.descriptor)

    def lock_file(self, name: str) -> int:
        """Open, and create where it is missing, a file that is only there to be locked."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(plain(name), flags, FILE_MODE, dir_fd=self.descriptor)

    def data_file(self, name: str, *, create: bool) -> int:
        """Open a file that is changed in place."""
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        flags |= os.O_CREAT if create else 0
        return os.open(plain(name), flags, FILE_MODE, dir_fd=self.descriptor)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_all(descriptor: int) -> bytes:
    """Return a file's content, without the five calls that a Python file object makes first."""
    content = b""
    while chunk := os.read(descriptor, CHUNK):
        content += chunk
    return content


def plain(name: str) -> str:
    """Return the name if it names an entry of the folder itself; raises ValueError."""
    if not name or name in {".", ".."} or "/" in name or "\0" in name:
        message = f"{name!r} is not a plain file name"
        raise ValueError(message)
    return name


def is_unfinished(name: str) -> bool:
    """Tell whether a file is what a `write` left when it was killed, or is about to rename."""
    return name.startswith(".") and name.endswith(UNFINISHED)


def _unfinished(name: str) -> str:
    return f".{plain(name)}{UNFINISHED}"
