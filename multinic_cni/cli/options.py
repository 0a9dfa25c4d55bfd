"""What the commands on a node have in common: their options."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from multinic_cni.conf.table import NET_CONF_DEFAULTS
from multinic_ipam.networks import Network, NetworkError, format_address, parse_address

DEFAULT_DATA_DIR = str(NET_CONF_DEFAULTS["dataDir"])


def address(text: str) -> str:
    """Return an address as we write it."""
    try:
        return format_address(*parse_address(text))
    except NetworkError as error:
        raise typer.BadParameter(str(error)) from None


def network(text: str) -> str:
    """Return a block of addresses as we write it."""
    try:
        return str(Network.parse(text))
    except NetworkError as error:
        raise typer.BadParameter(str(error)) from None


DataDir = Annotated[
    str,
    typer.Option(
        "--data-dir", metavar="DIR", help="The net conf's dataDir.", callback=os.path.abspath
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SysRoot = Annotated[
    str,
    typer.Option(
        "--sysroot",
        metavar="DIR",
        help="Another node, whose files scripts/collect.sh has put into this folder;"
        " all other folders are then below it.",
        callback=lambda path: os.path.abspath(path) if path else "",
    ),
]
