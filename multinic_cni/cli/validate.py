"""`multinic-cni validate`: every mistake of net confs and conflists, without a pod."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from multinic_cni.addressing import OWN as OWN_IPAM
from multinic_cni.cli.printing import print_warning
from multinic_cni.conf.models import NetConf
from multinic_cni.conf.netconf import check_version, problems_in, unknown_keys
from multinic_cni.conf.problems import Problem, nearest
from multinic_cni.conf.routing_rules import routed_by_the_node
from multinic_cni.conf.rules import OWN_TYPES
from multinic_cni.conf.share_words import ways_in
from multinic_cni.conf.table import NET_CONF
from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode
from multinic_cni.log import harmless


def validate(
    files: Annotated[list[Path], typer.Argument(help="Net confs or conflists.", exists=True)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Check net confs and conflists: every problem with its JSON path. Exit 1 if there is one.

    Unknown keys at the top are only a warning, since runtimes put some there.

    Example: multinic-cni validate /etc/cni/net.d/20-rails.conf
    """
    found = {str(file): problems_of_file(file) for file in files}
    for file in files:
        for warning in warnings_of_file(file):
            print_warning(f"{file}: warning: {warning}")
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
        confs = list(confs_in(file))
    except (CniError, OSError) as error:
        return [Problem(path="", message=str(error))]
    return [
        problem.but(path=".".join(filter(None, (path, problem.path))))
        for path, conf in confs
        for problem in problems_of(conf)
    ]


def warnings_of_file(file: Path) -> list[str]:
    """Return what is no error, but hardly meant: unknown keys at the top, another plugin's type."""
    try:
        confs = list(confs_in(file))
    except (CniError, OSError):
        return []  # that is a problem already
    found = [] if confs else [f"no plugin has one of the types {', '.join(OWN_TYPES)}"]
    for path, conf in confs:
        if not isinstance(conf, dict):
            continue
        found += [*_of_policy(conf), *_of_addresses(conf)]
        found += [*_of_default_route(conf), *_of_node_routes(conf)]
        for key in unknown_keys(conf):
            near = nearest(key, NET_CONF[1])
            hint = f"; did you mean {near!r}?" if near else ""
            found.append(f"{path}{'.' if path else ''}{key}: unknown key{hint}")
        if conf.get("type") not in OWN_TYPES:
            found.append(f"type: {conf.get('type')!r} is none of {', '.join(OWN_TYPES)}")
    return found


def _of_policy(conf: dict[str, Any]) -> Iterator[str]:
    policy = conf.get("attachPolicy")
    if not isinstance(policy, dict) or policy.get("target"):
        return
    if policy.get("strategy") == "costOpt":
        yield "attachPolicy: costOpt without a target: a pod that asks for none is refused"


def _of_addresses(conf: dict[str, Any]) -> Iterator[str]:
    ipam = conf.get("ipam")
    if not conf.get("subnet") or not isinstance(ipam, dict):
        return
    if ipam.get("type") != OWN_IPAM:
        near = nearest(str(ipam.get("type")), [OWN_IPAM])
        hint = f": did you mean {near!r}?" if near else ""
        yield f"subnet: is not used, since ipam.type is not {OWN_IPAM}{hint}"
    elif not ways_in(ipam):
        yield (
            "subnet: nothing says how nodes share it (hostBlock, perNodeBlockSize,"
            " perNodeNetworkPrefix): every node gives the same addresses"
        )


def _of_default_route(conf: dict[str, Any]) -> Iterator[str]:
    routing = conf.get("routing")
    if not isinstance(routing, dict) or not routing.get("defaultRoute"):
        return
    if routing.get("keepOnPrimary") is None:
        yield (
            "routing.defaultRoute: keepOnPrimary is missing here, so each node's node.json has to"
            " have it: an ADD where neither has is refused"
        )


def _of_node_routes(conf: dict[str, Any]) -> Iterator[str]:
    routing, plugin = conf.get("routing"), conf.get("plugin")
    head = plugin[0] if isinstance(plugin, list) and plugin else plugin
    if not isinstance(routing, dict) or not routing.get("nodeRoutes") or not isinstance(head, dict):
        return
    if routed_by_the_node(head) is False:
        mode = f" in mode {head.get('mode') or 'l2'}" if head.get("type") == "ipvlan" else ""
        yield (
            f"routing.nodeRoutes: is of no use with {head.get('type')}{mode}: its pods send to the"
            " wire themselves, past the node's routes; ipvlan in mode l3 or l3s goes by them"
        )


def confs_in(file: Path) -> Iterator[tuple[str, object]]:
    """Read a file; give (JSON path, conf) of the conf, or of each entry of ours in a conflist.

    Raises CniError, OSError.
    """
    document = decode(file.read_bytes(), str(file))
    if not isinstance(document, dict) or "plugins" not in document:
        yield "", document
        return
    entries = document["plugins"]
    if not isinstance(entries, list):
        yield "plugins", None  # no conf: that is its problem
        return
    for index, entry in enumerate(entries):
        if isinstance(entry, dict) and entry.get("type") in OWN_TYPES:
            # The runtime puts the list's name and version into each entry.
            whole = {**entry, **{key: document.get(key) for key in ("name", "cniVersion")}}
            yield f"plugins[{index}]", whole


def problems_of(document: object) -> list[Problem]:
    """Return what is wrong with one net conf, in the words that a runtime would get.

    The models decide, too: should they ever refuse what the table lets pass, it shows here.
    """
    if not isinstance(document, dict):
        return [Problem(path="", message="is not a JSON object")]
    try:
        check_version(document)
    except CniError as error:
        return [Problem(path="cniVersion", message=error.message)]
    found = problems_in(document)
    try:
        NetConf.model_validate(document)
    except ValidationError as error:
        return found or [Problem(path="", message=str(error))]
    return found


def _print(found: dict[str, list[Problem]]) -> None:
    console = Console(highlight=False, emoji=False, soft_wrap=True, file=sys.stdout)
    for file, problems in found.items():
        if not problems:
            console.print(Text(harmless(f"{file}: ")).append("valid", style="green"))
        for problem in problems:
            console.print(harmless(f"{file}: {problem}"), markup=False)
