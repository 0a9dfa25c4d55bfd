"""Write multinic_cni/conf/table.py from the pydantic models of the net conf.

python scripts/schema.py           write the file
python scripts/schema.py --check   exit 1 if the file is not what the models give
"""

from __future__ import annotations

import argparse
import pprint
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT), str(PROJECT / "ipam"), str(PROJECT / "selectors")]

from multinic_cni.conf.models import NetConf  # noqa: E402 - the path must be set first

TABLE = PROJECT / "multinic_cni" / "conf" / "table.py"

HEADER = '''"""The net conf's schema as constants, written by scripts/schema.py from models.py."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# fmt: off
# The kinds stand in checker.py. An object's keys map to (required, schema).
'''

Json = dict[str, Any]
Schema = tuple[Any, ...]


def table_source() -> str:
    """Return the text of table.py."""
    document = NetConf.model_json_schema(by_alias=True)
    definitions = document.get("$defs", {})
    blocks = {
        "NET_CONF": document,
        "ATTACH_POLICY": definitions["AttachPolicy"],
        "ROUTING": definitions["Routing"],
    }
    defaults = {
        f"{name}_DEFAULTS": {
            key: value["default"]
            for key, value in block["properties"].items()
            if value.get("default") is not None
        }
        for name, block in blocks.items()
    }
    constants = {"NET_CONF": convert(document, definitions), **defaults}
    assignments = (
        f"{name}: {'tuple' if isinstance(value, tuple) else 'dict[str, object]'}"
        f"{'[Any, ...]' if isinstance(value, tuple) else ''} = {_literal(value)}\n"
        for name, value in constants.items()
    )
    return HEADER + "\n".join(assignments)


def convert(schema: Json, definitions: Json) -> Schema:
    """Turn one JSON Schema, of the few forms that the models use, into the table's tuple."""
    if "$ref" in schema:
        return convert(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    for keyword, converter in (("oneOf", _tagged), ("anyOf", _any_of)):
        if keyword in schema:
            return converter(schema[keyword], definitions)
    if "const" in schema or "enum" in schema:
        return ("enum", tuple(schema.get("enum") or [schema["const"]]))
    kind = schema.get("type", "any")
    return CONVERTERS[kind](schema, definitions)


def _any_of(options: list[Json], definitions: Json) -> Schema:
    rest = [option for option in options if option.get("type") != "null"]
    if len(rest) < len(options):
        inner = convert(rest[0], definitions) if len(rest) == 1 else _any_of(rest, definitions)
        return ("nullable", inner)
    alone, many = (convert(option, definitions) for option in options)
    if (alone, many[0]) == (("boolean",), "enum"):
        return ("switch", many[1])
    if many[0] != "list":
        message = f"no rule for anyOf {options}"
        raise ValueError(message)
    return ("either", alone, many)


def _tagged(options: list[Json], definitions: Json) -> Schema:
    by_type: dict[str, Schema] = {}
    other: Schema = ("any",)
    for option in options:
        converted = convert(option, definitions)
        _, tag = converted[1]["type"]
        if tag[0] == "enum":
            by_type[tag[1][0]] = converted
        else:
            other = converted
    return ("tagged", by_type, other)


def _object(schema: Json, definitions: Json) -> Schema:
    extra = schema.get("additionalProperties", True)
    if "properties" not in schema:
        values = ("any",) if extra is True else convert(extra, definitions)
        names = schema.get("propertyNames")
        return ("map", values, names["format"]) if names else ("map", values)
    required = schema.get("required", [])
    keys = {
        key: (key in required, convert(value, definitions))
        for key, value in schema["properties"].items()
    }
    return ("object", keys, extra is False)


def _string(schema: Json, _definitions: Json) -> Schema:
    return ("format", schema["format"]) if "format" in schema else ("string",)


CONVERTERS = {
    "any": lambda _schema, _definitions: ("any",),
    "boolean": lambda _schema, _definitions: ("boolean",),
    "integer": lambda schema, _: ("integer", schema.get("minimum"), schema.get("maximum")),
    "string": _string,
    "array": lambda schema, definitions: (
        "list",
        convert(schema["items"], definitions),
        schema.get("minItems", 0),
        schema.get("maxItems"),
    ),
    "object": _object,
}


def _literal(value: object) -> str:
    return pprint.pformat(value, width=100, sort_dicts=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    source = table_source()
    if parser.parse_args().check:
        return 0 if TABLE.read_text() == source else 1
    TABLE.write_text(source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
