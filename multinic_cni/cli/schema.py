"""`multinic-cni schema`: the JSON Schema of the net conf, for editors."""

from __future__ import annotations

import json

import typer

from multinic_cni.conf.models import NetConf


def schema() -> None:
    """Print the JSON Schema of the net conf.

    Example: multinic-cni schema > multinic-cni.schema.json
    """
    typer.echo(json.dumps(NetConf.model_json_schema(by_alias=True), indent=2))
