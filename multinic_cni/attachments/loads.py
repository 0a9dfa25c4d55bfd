"""What attached pods have taken of the node's NICs: counted in the records, the only truth of it.

    <dataDir>/choosing      locked by a call that counts, until its own record is written

A call that counts reads every record of the node: seven milliseconds of CPU for 110 pods
of four NICs. Strategies that do not count cost nothing of it.
"""

from __future__ import annotations

import os

from multinic_cni.cancellation import cancelled
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.jsontext import parse
from multinic_ipam.folders import Folder
from multinic_ipam.locks import LockTimeoutError, lock
from multinic_selectors.nics import MOST_MEGABITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from multinic_selectors.loads import Load
    from multinic_selectors.nics import Nic

CHOOSING = "choosing"


def loads_on(data_dir: str, boot_id: str, nics: Iterable[Nic] = ()) -> dict[str, Load]:
    """Return each NIC's load by its name; raises OSError if a folder cannot be read.

    Records of earlier boots count no more: their pods are gone. One that cannot be read says
    nothing. One of a later release counts if its NICs are written as ours are. `nics` are those of
    the node now: one that was renamed is known by its index, which stays.
    """
    from multinic_selectors.loads import Load  # noqa: PLC0415 - for strategies that count

    names = {nic.index: nic.name for nic in nics}
    loads: dict[str, Load] = {}
    for record in _documents(data_dir):
        if record.get("bootID") != boot_id:
            continue
        for nic in record["nics"]:
            load = loads.setdefault(names.get(nic.get("index"), nic["nic"]), Load())
            load.attachments += 1
            load.megabits += nic.get("megabits", 0)
    return loads


def _documents(data_dir: str) -> Iterator[Mapping[str, Any]]:
    from multinic_cni.attachments.records import contents  # noqa: PLC0415 - for those that count

    for path, content in contents(data_dir):
        try:
            document = parse(content, path)
        except CniError:
            continue
        nics = document.get("nics") if isinstance(document, dict) else None
        if isinstance(document, dict) and isinstance(nics, list) and all(map(_is_nic, nics)):
            yield document


def _is_nic(document: object) -> bool:
    match document:
        case {"nic": str(), **others}:
            megabits = others.get("megabits", 0)
            return type(megabits) is int and 0 <= megabits <= MOST_MEGABITS
        case _:
            return False


class Turn:
    """The right to choose by what others have taken; end it when one's own record says the rest."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor

    def end(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_turn(data_dir: str, deadline: float) -> Turn:
    """Wait until no other call is choosing by what it has counted; CniError 11 at the deadline.

    Two calls that counted the same would take the same NICs, or bandwidth twice.
    """
    with Folder.at(data_dir) as root:
        descriptor = root.lock_file(CHOOSING)
    try:
        lock(descriptor, deadline, cancelled)
    except LockTimeoutError:
        os.close(descriptor)
        message = "other calls are choosing NICs by what is taken; the deadline (timeout) passed"
        raise CniError(TRY_AGAIN, message, f"lock: {data_dir}/{CHOOSING}") from None
    except BaseException:
        os.close(descriptor)
        raise
    return Turn(descriptor)
