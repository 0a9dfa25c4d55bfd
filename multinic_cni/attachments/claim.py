"""The claim on an attachment: its lock, held for a whole call, and its record.

    <dataDir>/attachments/<network>/<containerID>:<ifname>.lock
    <dataDir>/attachments/<network>/<containerID>:<ifname>.json

Delegates inherit the lock's descriptor. A runtime that gives up kills the plugin with SIGKILL, but
its delegates live on: a DEL that came now would be undone by them a second later, so it has to wait
until the last one has ended.
"""

from __future__ import annotations

import os
import time
from select import poll

from multinic_cni.attachments.record import Record, read_record
from multinic_cni.cancellation import cancelled
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.log import log
from multinic_ipam.folders import Folder
from multinic_ipam.locks import LockTimeoutError, lock, try_lock

TYPE_CHECKING = False

ATTACHMENTS = "attachments"
# How long a DEL waits before it ends what a dead call left: runtimes have limits of their own.
PATIENCE_SHARE, LONGEST_PATIENCE = 2 / 3, 20.0
RECORD, LOCK, DAMAGED = ".json", ".lock", ".damaged"


class Claim:
    """A locked attachment. Close it at the call's end."""

    def __init__(self, folder: Folder, key: str, descriptor: int) -> None:
        self._folder = folder
        self._key = key
        self._lock = descriptor
        self._leash: tuple[int, int] | None = None
        self._orphans = False

    def has_record(self) -> bool:
        return self._folder.exists(self._key + RECORD)

    def read(self) -> Record | None:
        """Return the record, None where there is none; DamagedRecordError as read_record."""
        name = self._key + RECORD
        try:
            content = self._folder.read(name)
        except FileNotFoundError:
            return None
        return read_record(content, f"{self._folder.path}/{name}")

    def write(self, record: Record) -> None:
        self._folder.write(self._key + RECORD, record.to_bytes())

    def forget(self) -> None:
        self._folder.remove(self._key + RECORD)

    def quarantine(self) -> None:
        """Put a damaged record aside, where people find it and no call does."""
        os.rename(
            self._key + RECORD,
            self._key + DAMAGED,
            src_dir_fd=self._folder.descriptor,
            dst_dir_fd=self._folder.descriptor,
        )
        log.error("damaged record put aside", file=f"{self._folder.path}/{self._key}{DAMAGED}")

    def let_children_inherit(self) -> None:
        """Let delegates that are executed from now on hold the lock, too."""
        os.set_inheritable(self._lock, True)
        if self._leash is None:
            self._leash = os.pipe()
            os.set_inheritable(self._leash[1], True)

    def has_orphans(self, patience: float = 0) -> bool:
        """Tell whether a process that a delegate left behind still holds the lock with us.

        Waits for its end so many seconds. Nobody can ask a lock who holds it. But all who inherited
        it have inherited the end of a pipe as well, which reads as closed when the last of them has
        gone.
        """
        if self._leash is None:
            return self._orphans
        reader, writer = self._leash
        os.close(writer)
        closed = poll()
        closed.register(reader, 0)  # POLLHUP alone, which needs no asking
        orphans = not closed.poll(patience * 1000)
        os.close(reader)
        self._leash = None
        self._orphans = self._orphans or orphans
        return self._orphans

    def close(self) -> None:
        """Give the lock back. Its file goes while it is held, unless a record still needs it.

        Whoever waits for a file that has gone notices and opens the new one. A file that orphans
        hold as well stays, so that the next call waits for them.
        """
        try:
            if not self.has_orphans() and not self._folder.exists(self._key + RECORD):
                self._folder.remove_unfinished(self._key + RECORD)
                self._folder.remove(self._key + LOCK)
        finally:
            os.close(self._lock)
            self._folder.close()


def claim(data_dir: str, network: str, key: str, deadline: float) -> Claim:
    """Lock an attachment, new or old; CniError 11 if another call holds it until the deadline."""
    return _claim(network_folder(data_dir, network, create=True), key, deadline)


def _claim(folder: Folder, key: str, deadline: float) -> Claim:
    try:
        return Claim(folder, key, _locked(folder, key, deadline))
    except BaseException:
        folder.close()
        raise


def claim_existing(data_dir: str, network: str, key: str, deadline: float) -> Claim | None:
    """Lock an attachment that a call has begun at some time; None where none ever was.

    Nothing is created: a DEL of a container that never was must leave no trace.
    """
    try:
        folder = network_folder(data_dir, network, create=False)
    except FileNotFoundError:
        return None
    if not folder.exists(key + LOCK) and not folder.exists(key + RECORD):
        folder.close()
        return None
    return _claim(folder, key, deadline)


def claim_for_delete(data_dir: str, network: str, key: str, deadline: float) -> Claim | None:
    """Lock as `claim_existing`, but end delegates of dead calls after some of the time.

    A delegate that hangs is why runtimes kill the plugin: the pod must be deletable all the same.
    """
    now = time.monotonic()
    patience = min((deadline - now) * PATIENCE_SHARE, LONGEST_PATIENCE)
    try:
        return claim_existing(data_dir, network, key, now + patience)
    except CniError as error:
        if error.code != TRY_AGAIN or cancelled():
            raise
    from multinic_cni.orphans import end_orphans  # noqa: PLC0415 - where one holds the lock

    end_orphans(f"{data_dir}/{ATTACHMENTS}/{network}/{key}{LOCK}")
    return claim_existing(data_dir, network, key, deadline)


def claim_idle(data_dir: str, network: str, key: str) -> Claim | None:
    """Lock an attachment if no call holds it: a busy lock means that it is alive."""
    folder = network_folder(data_dir, network, create=False)
    try:
        descriptor = folder.lock_file(key + LOCK)
    except OSError:
        folder.close()
        raise
    if try_lock(descriptor) and os.fstat(descriptor).st_nlink:
        return Claim(folder, key, descriptor)
    os.close(descriptor)
    folder.close()
    return None


def key_of(container_id: str, ifname: str) -> str:
    """Name an attachment within its network; ':' occurs in neither part."""
    return f"{container_id}:{ifname}"


def network_folder(data_dir: str, network: str, *, create: bool) -> Folder:
    if not create and not os.path.isdir(data_dir):
        raise FileNotFoundError(data_dir)
    with Folder.at(data_dir) as root, root.child(ATTACHMENTS, create=create) as attachments:
        return attachments.child(network, create=create)


def _locked(folder: Folder, key: str, deadline: float) -> int:
    while True:
        descriptor = folder.lock_file(key + LOCK)
        try:
            lock(descriptor, deadline, cancelled)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except LockTimeoutError:
            os.close(descriptor)
            message = (
                f"attachment {key} is busy: another call on it, or a delegate that such a call left"
                " running, holds its lock"
            )
            raise CniError(TRY_AGAIN, message, f"lock: {folder.path}/{key}{LOCK}") from None
        except BaseException:
            os.close(descriptor)
            raise
        # The call that we waited for has removed the file: others would lock the new one.
        os.close(descriptor)
