from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.attachments.record import DamagedRecordError, read_record
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_ipam.networks import Network, parse_address
from tests.unit.records import record

WHOLE = record().to_bytes()
PATH = "/data/attachments/rails/c0ffee:net1.json"


def facts(content: bytes) -> dict[str, Any]:
    """Return everything that a record says, its addresses as texts."""
    read = read_record(content, PATH)
    nics = [
        {
            **{
                field: getattr(nic, field)
                for field in ("nic", "index", "kind", "mac", "ifname", "confs", "result")
            },
            "reservations": [(each.block, each.address) for each in nic.reservations],
        }
        for nic in read.nics
    ]
    fields = [field for field in read._fields if not field.startswith("_") and field != "nics"]
    return {**{field: getattr(read, field) for field in fields}, "nics": nics}


@pytest.mark.parametrize("complete", [True, False])
def test_what_is_written_is_read_back(*, complete: bool) -> None:
    written = record(complete=complete)
    found = facts(written.to_bytes())
    assert [
        [("10.1.0.0/24", "10.1.0.7"), ("fd00::/64", "fd00::7")],
        [],
    ] == [nic["reservations"] for nic in found["nics"]]
    for field in ("nic", "index", "kind", "mac", "ifname", "confs", "result"):
        assert [getattr(nic, field) for nic in written.nics] == [n[field] for n in found["nics"]]
    for field in found.keys() - {"nics"}:
        assert getattr(written, field) == found[field], field


def test_reading_and_writing_changes_nothing() -> None:
    assert WHOLE == read_record(WHOLE, PATH).to_bytes()


def test_function_of_a_nic_in_the_pod_is_kept() -> None:
    first, second = record().nics
    whole = record().but(nics=(first, second.but(pci="0000:3b:00.2")))
    found = read_record(whole.to_bytes(), PATH)
    assert ["", "0000:3b:00.2"] == [nic.pci for nic in found.nics]
    assert whole.to_bytes() == found.to_bytes()
    assert b'"pci"' not in WHOLE


def test_reservations_of_all_nics() -> None:
    assert ["10.1.0.7", "fd00::7"] == [each.address for each in record().reservations]


def test_people_can_read_it() -> None:
    document = json.loads(WHOLE)
    expected = (1, "rails", "c0ffee", "net1", "default/pod-a", True)
    words = ("format", "network", "containerID", "ifname", "pod", "complete")
    assert expected == tuple(document[word] for word in words)


@given(st.integers(0, len(WHOLE) - 1))
def test_torn_record_is_damaged(length: int) -> None:
    with pytest.raises(DamagedRecordError, match=r"c0ffee:net1\.json"):
        read_record(WHOLE[:length], PATH)


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Name every place in a document but those inside of confs, which belong to delegates."""
    if path and path[-1] == "confs":
        return [path]
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(deeper for key, each in items for deeper in paths(each, (*path, key)))]


DOCUMENT = json.loads(WHOLE)
# Of a result, the specification lets a plugin leave out much.
NEEDED = [path for path in paths(DOCUMENT) if path and "result" not in path[:-1]]


@pytest.mark.parametrize(
    "path",
    [path for path in NEEDED if isinstance(path[-1], str)],
    ids=lambda p: ".".join(map(str, p)),
)
def test_every_key_is_needed(path: tuple[Any, ...]) -> None:
    document = json.loads(WHOLE)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    with pytest.raises(DamagedRecordError, match=re.escape(str(path[-1]))):
        read_record(json.dumps(document).encode(), PATH)


STRANGE = st.sampled_from([None, True, -1, 1.5, "", "x", [], [1], {}, {"a": 1}])


@given(
    path=st.sampled_from(paths(DOCUMENT)[1:]),
    value=STRANGE,
    remove=st.booleans(),
)
def test_no_damage_surprises(path: tuple[Any, ...], value: object, *, remove: bool) -> None:
    document = json.loads(WHOLE)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    try:
        read = read_record(json.dumps(document).encode(), PATH)
    except DamagedRecordError:
        return
    # What was read can be worked with and written again.
    assert read.to_bytes() == read_record(read.to_bytes(), PATH).to_bytes()
    assert {str} == {type(conf["type"]) for nic in read.nics for conf in nic.confs} | {str}
    assert {4, 6} >= {parse_address(each.address)[0] for each in read.reservations}
    assert {4, 6} >= {Network.parse(each.block).version for each in read.reservations}


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"{}", b'{"format": 1}', b'{"format": 0}', b'{"format": "1"}', b"\xff"],
    ids=repr,
)
def test_what_is_no_record(content: bytes) -> None:
    with pytest.raises(DamagedRecordError, match=r"c0ffee:net1\.json"):
        read_record(content, PATH)


@pytest.mark.parametrize("megabits", [1_000_000_001, int("9" * 4200), -1], ids=range(3))
def test_bandwidth_that_no_nic_has(megabits: int) -> None:
    """Planted, it would be printed, and counted with."""
    document = json.loads(WHOLE)
    document["nics"][0]["megabits"] = 1_000_000_000
    assert 1_000_000_000 == read_record(json.dumps(document).encode(), PATH).nics[0].megabits
    document["nics"][0]["megabits"] = megabits
    with pytest.raises(DamagedRecordError, match=r"nics\[0\]\.megabits: must be at") as raised:
        read_record(json.dumps(document).encode(), PATH)
    assert len(str(raised.value)) < 300


def test_record_of_a_later_release_is_not_damaged() -> None:
    later = json.dumps({"format": 2, "unknownToUs": 1}).encode()
    with pytest.raises(CniError, match="later release") as raised:
        read_record(later, PATH)
    assert TRY_AGAIN == raised.value.code


def test_conf_of_a_version_that_nobody_speaks() -> None:
    """Delegates' confs are compared by it."""
    document = json.loads(WHOLE)
    document["nics"][0]["confs"][0]["cniVersion"] = "9.9.9"
    with pytest.raises(DamagedRecordError, match="cniVersion"):
        read_record(json.dumps(document).encode(), PATH)
