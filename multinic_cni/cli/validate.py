"""`multinic-cni validate`: every mistake of net confs and conflists, without a pod."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console

from multinic_cni.conf.models import NetConf
from multinic_cni.conf.netconf import check_version
from multinic_cni.conf.problems import Problem, join, nearest
from multinic_cni.conf.rules import OWN_TYPES, rule_problems
from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode


def validate(
    files: Annotated[list[Path], typer.Argument(help="Net confs or conflists.", exists=True)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Check net confs and conflists: every problem with its JSON path. Exit 1 if there is one.

    Example: multinic-cni validate /etc/cni/net.d/20-rails.conf
    """
    found = {str(file): problems_of_file(file) for file in files}
    if as_json:
        listed = [
            {"file": file, "path": problem.path, "message": problem.message}
            for file, problems in found.items()
            for problem in problems
        ]
        typer.echo(json.dumps(listed))
    else:
        _print(found)
    if any(found.values()):
        raise typer.Exit(1)


def problems_of_file(file: Path) -> list[Problem]:
    """Return what is wrong with a conf, or with every entry of ours in a conflist."""
    try:
        document = decode(file.read_bytes(), str(file))
    except (CniError, OSError) as error:
        return [Problem(path="", message=str(error))]
    if not isinstance(document, dict) or "plugins" not in document:
        return problems_of(document)
    entries = document["plugins"]
    if not isinstance(entries, list):
        return [Problem(path="plugins", message="must be a list")]
    found = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict) or entry.get("type") not in OWN_TYPES:
            continue
        # The runtime puts the list's name and version into each entry.
        whole = {**entry, **{key: document.get(key) for key in ("name", "cniVersion")}}
        for problem in problems_of(whole):
            path = f"plugins[{index}].{problem.path}" if problem.path else f"plugins[{index}]"
            found.append(problem.but(path=path))
    return found


def problems_of(document: object) -> list[Problem]:
    """Return what is wrong with one net conf, by the models and the rules across fields."""
    if not isinstance(document, dict):
        return [Problem(path="", message="is not a JSON object")]
    try:
        check_version(document)
        NetConf.model_validate(document)
    except CniError as error:
        return [Problem(path="cniVersion", message=error.message)]
    except ValidationError as error:
        return [_worded(each) for each in error.errors()]
    return rule_problems(document)


def _worded(error: Any) -> Problem:  # noqa: ANN401 - pydantic_core.ErrorDetails
    path = ""
    # Members of unions stand in the location by their tag or class name: they are no keys.
    for part in error["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _is_union_member(part):
            path = join(path, part)
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        near = nearest(error["loc"][-1], _known_keys())
        message = "unknown key" + (f"; did you mean {near!r}?" if near else "")
    return Problem(path=path, message=message)


def _is_union_member(part: str) -> bool:
    tags = {"multi-nic-ipam", "multi-config", "host-device-ipam", "delegate", "str"}
    return part in tags or part == "Plugin" or part.startswith(("list[", "function-after["))


def _known_keys() -> set[str]:
    schema = NetConf.model_json_schema(by_alias=True)
    blocks = [schema, *schema["$defs"].values()]
    return {key for block in blocks for key in block.get("properties", {})}


def _print(found: dict[str, list[Problem]]) -> None:
    console = Console(highlight=False, soft_wrap=True, file=sys.stdout)
    for file, problems in found.items():
        if not problems:
            console.print(f"{file}: [green]valid[/green]")
        for problem in problems:
            console.print(f"{file}: {problem}", markup=False)
