"""Classes of devices that the node defines, for all net confs.

<folder>/*.json     {"fast": [{"vendor": "15b3", "minSpeed": "100Gbps"}]}
"""

from __future__ import annotations

import os

from multinic_cni.conf.checker import check
from multinic_cni.conf.nic_rules import idle_kinds
from multinic_cni.conf.table import NET_CONF
from multinic_cni.errors import BAD_CONF, CniError, io_failure
from multinic_cni.jsontext import decode
from multinic_selectors.foreign_files import ForeignFileError, read_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from multinic_cni.conf.checker import Schema

LARGEST = 64 << 10
MOST = 256


def known_classes(
    own: Mapping[str, Any], folder: str, wanted: Collection[str]
) -> Mapping[str, Any]:
    """Return the kinds of each class that a net conf or a file in the folder defines.

    The conf's own class goes before the node's of the same name: who writes a network says what it
    means by a name. The folder is read unless the conf itself defines all that are `wanted`. Raises
    CniError 5, 6 or 7, which names the file.
    """
    if wanted and own.keys() >= set(wanted):
        return own
    classes: dict[str, Any] = {}
    files: dict[str, str] = {}
    for path in _files(folder):
        for name, kinds in _read(path).items():
            if name in files:
                message = f"class {name!r} is defined in {files[name]} and in {path}"
                raise CniError(BAD_CONF, message, "remove it from one of them")
            classes[name], files[name] = kinds, path
    return {**classes, **own}


def _files(folder: str) -> list[str]:
    """Return the paths of the folder's files, of none where there is no folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise io_failure("read the node's classes", error) from error
    if len(names) > MOST:
        message = f"{folder} has {len(names)} files of classes: at most {MOST} are read"
        raise CniError(BAD_CONF, message)
    return [f"{folder}/{name}" for name in names if not name.startswith(".")]


def _read(path: str) -> Mapping[str, Any]:
    """Return a file's classes; links are followed, since that is how Kubernetes mounts files."""
    try:
        content = read_foreign(path, LARGEST)
    except ForeignFileError:
        message = f"{path} is no file of classes: it must be a plain file of at most 64 KiB"
        raise CniError(BAD_CONF, message) from None
    except OSError as error:
        raise io_failure("read a file of classes", error) from error
    if content is None:
        return {}  # removed since the folder was listed
    document = decode(content, path)
    problems = check(document, _schema())
    if not isinstance(document, dict) or problems:
        raise CniError(BAD_CONF, f"{path}: {'; '.join(map(str, problems))}")
    idle = list(idle_kinds(document, ""))
    if idle:
        raise CniError(BAD_CONF, f"{path}: {'; '.join(map(str, idle))}")
    return document


def _schema() -> Schema:
    """Return what the net conf's own classes must be like: an object of lists of kinds."""
    _, policy, _ = NET_CONF[1]["attachPolicy"][1][1]
    schema: Schema = policy["classes"][1][1]
    return schema
