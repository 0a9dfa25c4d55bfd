"""The README against the net conf's models, docs/architecture.md against the modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multinic_cni import errors
from multinic_cni.conf.address_models import MultiNicIpam
from multinic_cni.conf.models import AttachPolicy, DeviceKind, NetConf
from multinic_cni.conf.node import PATH_KEYS, SCHEMA
from multinic_cni.conf.routing_models import Routing

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
README = (ROOT / "README.md").read_text()
# What the specification defines, what runtimes set, and the operator's keys that do nothing here.
NOT_OURS = {"cniVersion", "name", "type", "dns", "args", "capabilities"}
ELSEWHERE = ("set by", "accepted, unused")


def keys() -> list[str]:
    models = (NetConf, AttachPolicy, DeviceKind, MultiNicIpam, Routing)
    fields = {name: field for model in models for name, field in model.model_fields.items()}
    return sorted(
        field.alias or name
        for name, field in fields.items()
        if not (field.description or "").startswith(ELSEWHERE)
        and not (field.alias or name).startswith("cni.dev/")
        and name not in NOT_OURS
    )


@pytest.mark.parametrize("key", keys())
def test_key_stands_in_the_readme(key: str) -> None:
    assert f"`{key}`" in README or f'"{key}"' in README or f"ipam.{key}`" in README


@pytest.mark.parametrize("key", sorted({*SCHEMA[1], *PATH_KEYS}))
def test_key_of_the_nodes_file_stands_in_the_readme(key: str) -> None:
    assert f"`{key}`" in README


@pytest.mark.parametrize(
    "code",
    sorted(
        value
        for name, value in vars(errors).items()
        if name.isupper() and isinstance(value, int) and (value >= 100 or name == "BAD_NETNS")
    ),
)
def test_our_error_codes_stand_in_the_readme(code: int) -> None:
    assert f"| {code} |" in README


def modules() -> list[str]:
    """Return what the plugin's layers are made of, and what people do."""
    package = ROOT / "multinic_cni"
    folders = [each.parent for each in package.glob("*/__init__.py")]
    files = [*package.glob("*.py"), *(package / "admin").glob("*.py")]
    return sorted(each.stem for each in [*folders, *files] if not each.stem.startswith("__"))


@pytest.mark.parametrize("module", modules())
def test_module_stands_in_the_architecture(module: str) -> None:
    assert re.search(rf"\b{module}\b", ARCHITECTURE)
