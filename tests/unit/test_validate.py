from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from multinic_cni.cli.app import app
from multinic_cni.cli.validate import problems_of, problems_of_file
from multinic_cni.conf import table
from multinic_cni.conf.checker import check
from tests.unit.confs import document
from tests.unit.test_checker import MISTAKES
from tests.unit.test_nic_rules import BROKEN as BROKEN_BY_NICS
from tests.unit.test_rules import BROKEN

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("changes", [changes for changes, _ in MISTAKES.values()], ids=MISTAKES)
def test_same_paths_as_the_checker(changes: dict[str, object]) -> None:
    conf = document(**changes)
    expected = [each.path for each in check(conf, table.NET_CONF)]
    assert expected == [each.path for each in problems_of(conf)]


@pytest.mark.parametrize(
    ("changes", "path"),
    [(each[0], each[1]) for each in [*BROKEN.values(), *BROKEN_BY_NICS.values()]],
    ids=[*BROKEN, *BROKEN_BY_NICS],
)
def test_same_rules(changes: dict[str, object], path: str) -> None:
    assert [path] == [each.path for each in problems_of(document(**changes))]


@pytest.mark.parametrize("conf", [None, [], "rails"], ids=repr)
def test_no_object(conf: object) -> None:
    assert ["is not a JSON object"] == [str(each) for each in problems_of(conf)]


def test_version() -> None:
    (problem,) = problems_of(document(cniVersion="0.2.0"))
    assert "cniVersion" == problem.path


def write(folder: Path, conf: object) -> Path:
    file = folder / "20-rails.conf"
    file.write_text(conf if isinstance(conf, str) else json.dumps(conf))
    return file


def paths(folder: Path, conf: object) -> list[str]:
    return [each.path for each in problems_of_file(write(folder, conf))]


def test_cost_opt_without_a_target_is_a_warning(tmp_path: Path) -> None:
    """Pods may name one; those that do not are refused by it."""
    for policy, warned in (({}, True), ({"target": "10G"}, False), ({"target": None}, True)):
        conf = document(attachPolicy={"strategy": "costOpt", **policy})
        ended = CliRunner().invoke(app, ["validate", str(write(tmp_path, conf))])
        assert 0 == ended.exit_code
        warning = "warning: attachPolicy: costOpt without a target: a pod that asks for none is"
        assert warned == (warning in ended.stderr)


def test_valid_file(tmp_path: Path) -> None:
    assert [] == paths(tmp_path, document())


def test_file_that_is_no_json(tmp_path: Path) -> None:
    (problem,) = problems_of_file(write(tmp_path, '{"name": '))
    assert "" == problem.path
    assert "is not JSON" in problem.message


def conflist(*plugins: object, **words: object) -> dict[str, object]:
    return {"cniVersion": "1.0.0", "name": "rails", "plugins": list(plugins), **words}


ENTRY = {"type": "multinic-cni", "plugin": {"type": "macvlan"}}


def test_conflist_gives_its_entries_name_and_version(tmp_path: Path) -> None:
    assert [] == paths(tmp_path, conflist({"type": "portmap", "x": 1}, ENTRY))


def test_paths_in_a_conflist(tmp_path: Path) -> None:
    wrong = {**ENTRY, "timeout": 0, "plugin": {}}
    expected = ["plugins[1].plugin.type", "plugins[1].timeout"]
    assert expected == paths(tmp_path, conflist({"type": "bridge"}, wrong))


def test_conflist_without_a_list(tmp_path: Path) -> None:
    assert ["plugins"] == paths(tmp_path, conflist() | {"plugins": {}})


def test_name_of_a_conflist(tmp_path: Path) -> None:
    assert ["plugins[0].name"] == paths(tmp_path, conflist(ENTRY, name="a/b"))


def run(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, list(arguments))
    return ended.exit_code, ended.output


def test_command_on_a_valid_conf(tmp_path: Path) -> None:
    file = write(tmp_path, document())
    assert (0, f"{file}: valid\n") == run("validate", str(file))


def test_command_on_a_mistake(tmp_path: Path) -> None:
    file = write(tmp_path, document(timeout=0))
    assert (1, f"{file}: timeout: must be at least 1, not 0\n") == run("validate", str(file))


def test_command_speaks_json(tmp_path: Path) -> None:
    file = write(tmp_path, document(timeout=0))
    status, output = run("validate", "--json", str(file))
    expected = [{"file": str(file), "path": "timeout", "message": "must be at least 1, not 0"}]
    assert (1, expected) == (status, json.loads(output))


def test_schema_command() -> None:
    status, output = run("schema")
    schema = json.loads(output)
    assert 0 == status
    assert {"cniVersion", "name", "type", "plugin"} == set(schema["required"])
    assert set(table.NET_CONF[1]) == set(schema["properties"])
