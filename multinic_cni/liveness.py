"""Whether an attachment's pod still lives: only then do its addresses and links count."""

from __future__ import annotations

import os

from multinic_cni import host
from multinic_cni.log import log
from multinic_cni.netns import PodNetns, open_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from multinic_cni.attachments.record import Record
    from multinic_selectors.loads import Load
    from multinic_selectors.nics import Nic

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
            pod = open_same((record.netns,), record.netns_id)
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


def loads_of_the_living(data_dir: str, nics: Iterable[Nic]) -> dict[str, Load]:
    """Return what loads_on does, without pods that went and had no DEL; slower. Raises OSError."""
    from multinic_cni.attachments.records import all_records  # noqa: PLC0415 - if others fall short
    from multinic_selectors.loads import Load  # noqa: PLC0415 - the same

    living = Living()
    names = {nic.index: nic.name for nic in nics}
    loads: dict[str, Load] = {}
    for record in (seen.record for seen in all_records(data_dir)):
        for nic in record.nics if record is not None and living.has(record) else ():
            load = loads.setdefault(names.get(nic.index, nic.nic), Load())
            load.attachments += 1
            load.megabits += nic.megabits
    return loads


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
