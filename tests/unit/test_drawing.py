"""The drawing of `multinic-cni topology --svg`: its geometry, and that it is one document."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from multinic_cni.admin.machine import Device, Machine, Place, machine_of
from multinic_cni.admin.nic_facts import PciFacts, facts_of
from multinic_cni.cli.drawing import LETTER, SVG, WIDEST, Box, boxes_of, drawing_of
from tests.unit.machines import NAMES, machine

if TYPE_CHECKING:
    from pathlib import Path


def machine_called(name: str, folder: Path) -> Machine:
    host = machine(name, folder)
    return machine_of(host, facts_of(host, {}))


def parsed(document: str) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314 - our own


def overlap(one: Box, other: Box) -> bool:
    apart = (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )
    return not apart


def within(inner: Box, outer: Box) -> bool:
    return (
        outer.x < inner.x
        and outer.y < inner.y
        and inner.x + inner.width < outer.x + outer.width
        and inner.y + inner.height < outer.y + outer.height
    )


@pytest.mark.parametrize("name", NAMES)
def test_boxes_lie_within_theirs_and_side_by_side(name: str, tmp_path: Path) -> None:
    tops = boxes_of(machine_called(name, tmp_path))
    assert not any(overlap(one, other) for one, other in combinations(tops, 2))
    for box in (each for top in tops for each in top.walk()):
        assert all(within(inner, box) for inner in box.inside)
        assert not any(overlap(one, other) for one, other in combinations(box.inside, 2))
        assert box.width > max(len(line) for line in box.lines) * LETTER


@pytest.mark.parametrize("name", NAMES)
def test_document_has_every_device_once_within_the_page(name: str, tmp_path: Path) -> None:
    found = machine_called(name, tmp_path)
    root = parsed(drawing_of(found, name))
    assert f"{{{SVG}}}svg" == root.tag
    texts = [each.text or "" for each in root.iter(f"{{{SVG}}}text")]
    devices = [each for place in found.places for each in devices_in(place)]
    titles = [text for text in texts if text.startswith(("GPU ", "NIC "))]
    assert sorted(f"{each.kind} {each.pci.address}" for each in devices) == sorted(titles)
    for each in found.elsewhere:
        assert 1 == texts.count(each.nic.name)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{{{SVG}}}rect"):
        at = {key: float(box.get(key, "0")) for key in ("x", "y", "width", "height")}
        assert at["x"] + at["width"] <= width
        assert at["y"] + at["height"] <= height


def devices_in(place: Place) -> list[Device]:
    return [
        device
        for each in place.inside
        for device in ([each] if isinstance(each, Device) else devices_in(each))
    ]


def test_boxes_that_would_make_a_row_too_wide_begin_another(tmp_path: Path) -> None:
    """Boxes of a little more than a third of the width: two of them fit into a row."""
    pci = next(each.pci for each in devices_in(machine_called("laptop", tmp_path).places[0]))
    model = "m" * int(WIDEST / 3 / LETTER)
    inside = [Device(kind="GPU", pci=pci, location=None, model=model) for _ in range(4)]
    machine_of_four = Machine(
        places=[Place(kind="switch", name="'x'", inside=inside)], elsewhere=[]
    )
    (top,) = boxes_of(machine_of_four)
    heights = [box.y for box in top.inside]
    assert heights == sorted(heights)
    assert [2, 2] == [heights.count(height) for height in sorted(set(heights))]
    assert top.width <= WIDEST + top.inside[0].width


def test_texts_are_harmless() -> None:
    """What firmware or a planted file says must not become markup, nor break the document."""
    pci = PciFacts(
        address='<&"\x1b\udc80\ufffe',
        vendor="",
        product="",
        device_class="",
        driver="]]>",
        location=None,
        physical="",
        virtual={},
    )
    device = Device(kind="GPU", pci=pci, location=None, model="<script>alert(1)</script>")
    found = Machine(places=[Place(kind="switch", name="'x'", inside=[device])], elsewhere=[])
    root = parsed(drawing_of(found, "<node>"))
    assert not list(root.iter(f"{{{SVG}}}script"))
    texts = [each.text for each in root.iter(f"{{{SVG}}}text")]
    assert ["switch 'x'", 'GPU <&" \\udc80\\ufffe', "<script>alert(1)</script>", ": ]]>"] == texts


def test_nothing_to_draw() -> None:
    root = parsed(drawing_of(Machine(places=[], elsewhere=[]), "bare"))
    assert ["no GPU and no NIC"] == [each.text for each in root.iter(f"{{{SVG}}}text")]


def test_sick_nics_look_different_and_say_why(tmp_path: Path) -> None:
    root = parsed(drawing_of(machine_called("laptop", tmp_path), "laptop"))
    assert 1 == sum(each.get("class") == "sick NIC" for each in root.iter(f"{{{SVG}}}rect"))
    assert "no carrier" in [each.text for each in root.iter(f"{{{SVG}}}text")]
