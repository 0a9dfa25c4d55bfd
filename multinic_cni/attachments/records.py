"""The records of a node's attachments, read without their locks: whole, but of a moment ago."""

from __future__ import annotations

import os

from multinic_cni.attachments.claim import ATTACHMENTS, LOCK, RECORD, network_folder
from multinic_cni.attachments.record import DamagedRecordError, read_record
from multinic_cni.errors import CniError, io_failure
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.attachments.record import Record
    from multinic_ipam.folders import Folder


class Seen(Value):
    """A record, or why it cannot be read: `damaged`, or of a later release, or by the system."""

    network: str
    key: str
    record: Record | None = None
    trouble: str = ""
    damaged: bool = False


def all_records(data_dir: str) -> Iterator[Seen]:
    """Walk every record of the node; slow."""
    for network in networks(data_dir):
        yield from records_of(data_dir, network)


def records_of(data_dir: str, network: str) -> Iterator[Seen]:
    """Walk every record of a network; slow."""
    for key in keys(data_dir, network):
        try:
            record = peek(data_dir, network, key)
        except DamagedRecordError as error:
            yield Seen(network=network, key=key, trouble=str(error), damaged=True)
        except CniError as error:
            yield Seen(network=network, key=key, trouble=error.message)
        except OSError as error:
            trouble = io_failure("read a record", error).message
            yield Seen(network=network, key=key, trouble=trouble)
        else:
            if record is not None:
                yield Seen(network=network, key=key, record=record)


def contents(data_dir: str) -> Iterator[tuple[str, bytes]]:
    """Walk what stands in the records, with their paths; raises OSError if a folder is not read.

    A record that cannot be read is left out.
    """
    for network in networks(data_dir):
        try:
            with network_folder(data_dir, network, create=False) as folder:
                for name in folder.names():
                    content = _content(folder, name) if name.endswith(RECORD) else b""
                    if content:
                        yield f"{folder.path}/{name}", content
        except FileNotFoundError:
            continue  # its last attachment has just gone


def _content(folder: Folder, name: str) -> bytes:
    try:
        return folder.read(name)
    except OSError:
        return b""


def addresses_named_elsewhere(data_dir: str, network: str, key: str) -> set[str]:
    """Return what attachments of the same name in other networks have.

    An address file says containerID and ifname only, and networks with one block share its files.
    """
    named: set[str] = set()
    for other in networks(data_dir):
        try:
            record = None if other == network else peek(data_dir, other, key)
        except (CniError, DamagedRecordError, OSError):
            continue  # nobody can know what it has
        if record is not None:
            named.update(each.address for each in record.reservations)
    return named


def keys(data_dir: str, network: str) -> Iterator[str]:
    """Walk the keys of a network's attachments that have a record or a lock left behind."""
    try:
        with network_folder(data_dir, network, create=False) as folder:
            names = list(filter(_is_text, folder.names()))
    except FileNotFoundError:
        return
    suffixes = (RECORD, LOCK)
    found = {name[: -len(end)] for name in names for end in suffixes if name.endswith(end)}
    yield from sorted(found)


def networks(data_dir: str) -> list[str]:
    """Return the networks that have, or had, attachments on this node."""
    path = f"{data_dir}/{ATTACHMENTS}"
    try:
        return sorted(
            entry.name
            for entry in os.scandir(path)
            if entry.is_dir(follow_symlinks=False) and _is_text(entry.name)
        )
    except FileNotFoundError:
        return []


def _is_text(name: str) -> bool:
    """Tell whether a file name is UTF-8. All of ours are; others cannot be written down."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_record(data_dir: str, network: str, key: str) -> bool:
    try:
        with network_folder(data_dir, network, create=False) as folder:
            return folder.exists(key + RECORD)
    except FileNotFoundError:
        return False


def peek(data_dir: str, network: str, key: str) -> Record | None:
    """Read one record, None where there is none; raises as read_record, and OSError."""
    try:
        with network_folder(data_dir, network, create=False) as folder:
            return read_record(folder.read(key + RECORD), f"{folder.path}/{key}{RECORD}")
    except FileNotFoundError:
        return None
