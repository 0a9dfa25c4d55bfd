"""The net confs that a command finds in files and folders, for commands on several networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from multinic_cni.cli.printing import print_warning
from multinic_cni.cli.validate import confs_in
from multinic_cni.conf.netconf import NetConf, problems_in, read_net_conf
from multinic_cni.conf.rules import OWN_TYPES
from multinic_cni.errors import BAD_CONF, CniError, io_failure

SUFFIXES = (".conf", ".conflist", ".json")


def net_confs(
    paths: Sequence[Path], belongs: Callable[[NetConf], bool]
) -> tuple[list[NetConf], list[CniError]]:
    """Read the confs of files, and of folders those that `belongs` picks.

    A wrong conf keeps no other from being read: its error stands beside them. A folder may have
    other plugins' files, broken ones, too: that is a warning.
    """
    found: list[NetConf] = []
    errors: list[CniError] = []
    for path in paths:
        if path.is_dir():
            for file in _files(path):
                found += filter(belongs, _confs(file, _documents_of_folder(file), errors))
            continue
        try:
            documents = list(_documents(path))
        except OSError as error:
            raise io_failure("read the net conf", error) from error
        if not documents:
            message = f"{path}: no plugin has one of the types {', '.join(OWN_TYPES)}"
            errors.append(CniError(BAD_CONF, message))
        found += _confs(path, documents, errors)
    return found, errors


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES and file.is_file())


def _documents_of_folder(file: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        return list(_documents(file))
    except (CniError, OSError) as error:
        print_warning(f"multinic-cni: warning: {file}: {error}")
        return []


def _confs(
    file: Path, documents: Sequence[tuple[str, dict[str, Any]]], errors: list[CniError]
) -> Iterator[NetConf]:
    for path, document in documents:
        try:
            yield _read(file, path, document)
        except CniError as error:
            errors.append(error)


def _documents(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the confs of ours as (JSON path, document)."""
    for path, document in confs_in(file):
        if isinstance(document, dict) and document.get("type") in OWN_TYPES:
            yield path, document


def _read(file: Path, path: str, document: dict[str, Any]) -> NetConf:
    if not problems_in(document):  # the log is for calls
        document = {key: value for key, value in document.items() if key != "logFile"}
        document["logLevel"] = "error"
    try:
        return read_net_conf(document, str(document["type"]))
    except CniError as error:
        where = f"{file}: {path}" if path else str(file)
        raise CniError(error.code, f"{where}: {error.message}", error.details) from error
