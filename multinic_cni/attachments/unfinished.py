"""Attachments whose ADD or DEL is under way, or was killed half-way."""

from __future__ import annotations

from multinic_cni.attachments.record import DamagedRecordError, read_record
from multinic_cni.attachments.records import contents
from multinic_cni.errors import CniError
from multinic_cni.jsontext import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.attachments.record import Record


def unfinished(data_dir: str) -> Iterator[Record]:
    """Walk their records; raises OSError if a folder cannot be read.

    One that cannot be read says nothing. Others, which are most, are parsed only.
    """
    for path, content in contents(data_dir):
        try:
            document = parse(content, path)
            if isinstance(document, dict) and document.get("complete") is not True:
                yield read_record(content, path)
        except (CniError, DamagedRecordError):
            continue
