from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import ValidationError

from multinic_cni.conf import table
from multinic_cni.conf.checker import check
from multinic_cni.conf.models import NetConf
from scripts.schema import TABLE, table_source
from tests.unit.confs import document
from tests.unit.documents import VALID, mistaken

if TYPE_CHECKING:
    from tests.unit.document_words import Document


def test_table_is_what_the_models_give() -> None:
    assert table_source() == TABLE.read_text()


def test_table_is_the_one_that_is_imported() -> None:
    assert TABLE.resolve() == Path(table.__file__).resolve()


def models_refuse(conf: object) -> str:
    """Return the models' reasons; empty if they accept the document."""
    try:
        NetConf.model_validate(conf)
    except ValidationError as error:
        return str(error) or "refused"
    return ""


@settings(max_examples=100)
@given(VALID)
def test_valid_documents_pass_both(conf: Document) -> None:
    assert "" == models_refuse(conf)
    assert [] == check(conf, table.NET_CONF)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(mistaken())
def test_models_and_checker_refuse_the_same_documents(conf: Document) -> None:
    reasons = models_refuse(conf)
    problems = check(conf, table.NET_CONF)
    assert bool(reasons) == bool(problems), (reasons, problems)


@pytest.mark.parametrize("conf", [None, [], "conf", 1, True, {}], ids=repr)
def test_what_is_no_conf_at_all_is_refused_by_both(conf: object) -> None:
    assert "" != models_refuse(conf)
    assert [] != check(conf, table.NET_CONF)


@pytest.mark.parametrize(
    "change",
    [
        {"Attachments": []},
        {"Valid_attachments": []},
        {"CNI.dev/attachments": []},
        {"cni.dev/Valid-Attachments": []},
        {"attachments": 1},
        {"ipam": {"type": []}},
        {"ipam": {"type": {}}},
        {"ipam": {"type": True}},
        {"attachPolicy": {"class_": "a"}},
        {"timeout": 60.0},
        {"timeout": True},
        {"hosts": {"a": True}},
        {"hosts": {"a": 2**70}},
        {"multiNICIPAM": 1},
        {"plugin": []},
        {"plugin": [{"type": "tuning"}] * 17},
        {"subnet": []},
        {"subnet": ["10.1.0.0/24"] * 3},
        {"subnet": [""]},
        {"capabilities": {"ips": "true"}},
    ],
    ids=repr,
)
def test_documents_that_are_easily_judged_differently(change: Document) -> None:
    conf = document(**change)
    assert bool(models_refuse(conf)) == bool(check(conf, table.NET_CONF))
