"""`multinic-cni ipam`: the commands on this node's store of addresses."""

from __future__ import annotations

import typer

from multinic_cni.cli.ipam_check import check
from multinic_cni.cli.ipam_import import import_folder
from multinic_cni.cli.ipam_list import list_addresses
from multinic_cni.cli.ipam_release import release
from multinic_cni.cli.ipam_show import show

ipam = typer.Typer(help="Look at and mend the addresses of this node.", no_args_is_help=True)
ipam.command("list")(list_addresses)
ipam.command()(show)
ipam.command()(release)
ipam.command()(check)
ipam.command("import")(import_folder)
