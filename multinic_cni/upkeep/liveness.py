"""Whether an attachment's pod still lives: only then do its addresses and links count."""

from __future__ import annotations

import os

from multinic_cni import host
from multinic_cni.log import log
from multinic_cni.netns import PodNetns
from multinic_cni.removal import pod_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.attachments.record import Record

PROC = "/proc"
FIRST_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO, include/linux/proc_ns.h


class Living:
    """The pods of this moment. Processes are listed once, for however many records."""

    def __init__(self) -> None:
        self._boot_id = host.boot_id()
        self._by_netns: dict[tuple[int, int], list[str]] | None = None

    def has(self, record: Record) -> bool:
        """Tell whether the record's netns exists: at its path, or because a process is in it.

        The path may have been unmounted while containers still run; inode numbers are reused, so
        the identity counts and not the name. A netns that cannot be opened is not gone.
        """
        if record.boot_id != self._boot_id:
            return False
        try:
            pod = pod_of(record, record.netns)
        except OSError as error:
            log.warning("netns cannot be looked at", path=record.netns, reason=error.strerror)
            return True
        if pod is not None:
            pod.close()
            return True
        if os.stat(f"{PROC}/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
            return True  # the pod's processes cannot be seen from here
        if self._by_netns is None:
            self._by_netns = _processes_by_netns()
        inside = self._by_netns.get((record.netns_id.device, record.netns_id.inode), ())
        return any(_is_in(process, record) for process in inside)


def _processes_by_netns() -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = {}
    for process in filter(str.isdecimal, os.listdir(PROC)):
        try:
            status = os.stat(f"{PROC}/{process}/ns/net")
        except OSError:
            continue  # it has ended since
        found.setdefault((status.st_dev, status.st_ino), []).append(process)
    return found


def _is_in(process: str, record: Record) -> bool:
    try:
        pod = PodNetns(f"{PROC}/{process}/ns/net")
    except OSError:
        return False  # it has ended since
    same = pod.id.is_same(record.netns_id)
    pod.close()
    return same
