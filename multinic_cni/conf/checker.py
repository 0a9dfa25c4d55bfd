"""Check a document against the table: every mistake at once, in a third of a millisecond.

The table's schemas are tuples whose first item is the kind; scripts/schema.py writes them.
"""

from __future__ import annotations

from multinic_cni.conf.formats import FORMATS
from multinic_cni.conf.problems import Problem, join, shown, unknown_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Schema = tuple[Any, ...]

JSON_TYPES = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def check(document: object, schema: Schema) -> list[Problem]:
    """Return everything in a document that the schema refuses."""
    problems: list[Problem] = []
    _check(document, schema, "", problems)
    return problems


def near_misses(document: Mapping[str, object], known: Iterable[str]) -> list[tuple[str, str]]:
    """Return the keys that differ from a known one in case only, each with the known one."""
    by_lower = {name.lower(): name for name in known}
    return [
        (key, by_lower[key.lower()])
        for key in document
        if key.lower() in by_lower and by_lower[key.lower()] != key
    ]


def _check(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    CHECKS[schema[0]](value, schema, path, problems)


def _wrong_type(value: object, wanted: str, path: str, problems: list[Problem]) -> None:
    found = JSON_TYPES.get(type(value), "something else")
    problems.append(Problem(path=path, message=f"must be {wanted}, not {found}"))


def _any(_value: object, _schema: Schema, _path: str, _problems: list[Problem]) -> None:
    return


def _nullable(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    if value is not None:
        _check(value, schema[1], path, problems)


def _boolean(value: object, _schema: Schema, path: str, problems: list[Problem]) -> None:
    if type(value) is not bool:
        _wrong_type(value, "a boolean", path, problems)


def _integer(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    _, low, high = schema
    if type(value) is not int:
        _wrong_type(value, "a whole number", path, problems)
    elif low is not None and value < low:
        problems.append(Problem(path=path, message=f"must be at least {low}, not {shown(value)}"))
    elif high is not None and value > high:
        problems.append(Problem(path=path, message=f"must be at most {high}, not {shown(value)}"))


def _string(value: object, _schema: Schema, path: str, problems: list[Problem]) -> None:
    if type(value) is not str:
        _wrong_type(value, "a string", path, problems)


def _format(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    if type(value) is not str:
        _wrong_type(value, "a string", path, problems)
        return
    problem = FORMATS[schema[1]](value)
    if problem:
        problems.append(Problem(path=path, message=problem))


def _enum(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    if type(value) is not str or value not in schema[1]:
        allowed = ", ".join(repr(word) for word in schema[1])
        problems.append(Problem(path=path, message=f"must be one of {allowed}, not {shown(value)}"))


def _switch(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    """Check a boolean that has some more words than two."""
    if type(value) is not bool and not (type(value) is str and value in schema[1]):
        allowed = ", ".join(("true", "false", *(repr(word) for word in schema[1])))
        problems.append(Problem(path=path, message=f"must be one of {allowed}, not {shown(value)}"))


def _list(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    _, item, least, most = schema
    if not isinstance(value, list):
        _wrong_type(value, "a list", path, problems)
        return
    if len(value) < least or (most is not None and len(value) > most):
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        message = f"must have {limits} items, not {len(value)}"
        problems.append(Problem(path=path, message=message))
    for index, each in enumerate(value):
        _check(each, item, f"{path}[{index}]", problems)


def _map(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    if not isinstance(value, dict):
        _wrong_type(value, "an object", path, problems)
        return
    _, item, *formats = schema
    for key, each in value.items():
        wrong = [problem for name in formats if (problem := FORMATS[name](key))]
        problems += [Problem(path=join(path, key), message=message) for message in wrong]
        _check(each, item, join(path, key), problems)


def _object(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    _, keys, closed = schema
    if not isinstance(value, dict):
        _wrong_type(value, "an object", path, problems)
        return
    for key, (required, key_schema) in keys.items():
        if key in value:
            _check(value[key], key_schema, join(path, key), problems)
        elif required:
            problems.append(Problem(path=join(path, key), message="is missing"))
    if closed:
        problems += [
            unknown_key(path, key, each, keys) for key, each in value.items() if key not in keys
        ]
        return
    for key, known in near_misses(value, keys):
        message = f"is {known!r} meant? Keys are compared with regard to case"
        problems.append(Problem(path=join(path, key), message=message))


def _either(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    """Check a value that may be a list of what it may be alone."""
    _, alone, many = schema
    _check(value, many if isinstance(value, list) else alone, path, problems)


def _tagged(value: object, schema: Schema, path: str, problems: list[Problem]) -> None:
    """Check an object whose `type` decides what it may hold."""
    _, by_type, other = schema
    kind = value.get("type") if isinstance(value, dict) else None
    _check(value, by_type.get(kind, other) if isinstance(kind, str) else other, path, problems)


CHECKS: dict[str, Callable[[object, Schema, str, list[Problem]], None]] = {
    "any": _any,
    "nullable": _nullable,
    "boolean": _boolean,
    "integer": _integer,
    "string": _string,
    "format": _format,
    "enum": _enum,
    "switch": _switch,
    "list": _list,
    "map": _map,
    "object": _object,
    "either": _either,
    "tagged": _tagged,
}
