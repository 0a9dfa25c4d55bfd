"""The commands of `multinic-cni`."""

from __future__ import annotations

import typer

from multinic_cni import __version__
from multinic_cni.cli.explain import explain
from multinic_cni.cli.gc import gc
from multinic_cni.cli.ipam import ipam
from multinic_cni.cli.nics import nics
from multinic_cni.cli.routes import routes
from multinic_cni.cli.schema import schema
from multinic_cni.cli.topology import topology
from multinic_cni.cli.validate import validate

app = typer.Typer(
    name="multinic-cni",
    help="A CNI plugin that attaches a pod to several NICs of its node.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command()(validate)
app.command()(explain)
app.command()(nics)
app.command()(topology)
app.command()(schema)
app.add_typer(ipam, name="ipam")
app.command()(gc)
app.add_typer(routes, name="routes")


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    *,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """A CNI plugin that attaches a pod to several NICs of its node."""  # noqa: D401 - typer's help
    del version
