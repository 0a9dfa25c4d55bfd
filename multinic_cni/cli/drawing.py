"""A machine as an SVG drawing: boxes within boxes, as lstopo draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from multinic_cni.admin.machine import GPU, NUMA, PORT, ROOT, SWITCH, Device, Machine, Place
from multinic_cni.cli.wording import lines_of_device, lines_of_nic, title_of
from multinic_cni.log import harmless

SVG = "http://www.w3.org/2000/svg"
FONT = 12
LETTER = 7.3  # the width of a letter of a monospace font of that size, rounded up
LINE = 16
GAP = 10
WIDEST = 1500  # boxes that would make a row wider begin another one
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
SICK, ELSEWHERE = "sick NIC", "elsewhere"
NIC_BOX = "NIC"
# Fill and border. Every box says in words what it is: colours only help to find it.
COLOURS = {
    NUMA: ("#f4f1ea", "#8a8371"),
    ROOT: ("#ffffff", "#8a8371"),
    SWITCH: ("#e9edf2", "#64748b"),
    PORT: ("#e9edf2", "#64748b"),
    GPU: ("#dcf0d0", "#4d7c2a"),
    NIC_BOX: ("#d6e6fa", "#2a62a8"),
    SICK: ("#fadcd6", "#b03a26"),
    ELSEWHERE: ("#f4f1ea", "#8a8371"),
}


@dataclass
class Box:
    """A rectangle with lines of text at its top and boxes below them; x and y are the page's."""

    kind: str
    lines: Sequence[str]
    inside: Sequence[Box] = ()
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    rows: list[list[Box]] = field(default_factory=list)

    def measure(self) -> None:
        """Find out the size that text and inner boxes need."""
        for box in self.inside:
            box.measure()
        self.rows = list(_rows(self.inside))
        text = max(round(len(line) * LETTER) for line in self.lines)
        row_widths = [sum(box.width + GAP for box in row) - GAP for row in self.rows]
        self.width = max(text, *row_widths, 0) + 2 * GAP
        row_heights = [max(box.height for box in row) + GAP for row in self.rows]
        self.height = len(self.lines) * LINE + sum(row_heights) + 2 * GAP

    def place(self, x: int, y: int) -> None:
        """Put the box there, and the inner ones into it."""
        self.x, self.y = x, y
        top = y + GAP + len(self.lines) * LINE + GAP
        for row in self.rows:
            left = x + GAP
            for box in row:
                box.place(left, top)
                left += box.width + GAP
            top += max(box.height for box in row) + GAP

    def walk(self) -> Iterator[Box]:
        yield self
        for box in self.inside:
            yield from box.walk()


def drawing_of(machine: Machine, name: str) -> str:
    """Return the drawing as an SVG document."""
    boxes = boxes_of(machine)
    width = max((box.x + box.width for box in boxes), default=0) + GAP
    height = max((box.y + box.height for box in boxes), default=0) + GAP
    size = f'width="{width}" height="{height}"'
    font = f'font-family="monospace" font-size="{FONT}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="{SVG}" {size} viewBox="0 0 {width} {height}" {font}>',
            f"<title>{_text(f'GPUs and NICs of {name}')}</title>",
            f'<rect {size} fill="#ffffff"/>',
            *(line for top in boxes for box in top.walk() for line in _drawn(box)),
            "</svg>",
            "",
        ]
    )


def boxes_of(machine: Machine) -> list[Box]:
    """Return the outermost boxes, one below the other, each with its inner ones in place."""
    boxes = [_box(place) for place in machine.places]
    if machine.elsewhere:
        inside = [
            Box(SICK if each.trouble else NIC_BOX, ["NIC", *lines_of_nic(each)])
            for each in machine.elsewhere
        ]
        boxes.append(Box(ELSEWHERE, ["not on PCI"], inside))
    if not boxes:
        boxes.append(Box(ELSEWHERE, ["no GPU and no NIC"]))
    top = GAP
    for box in boxes:
        box.measure()
        box.place(GAP, top)
        top += box.height + GAP
    return boxes


def _box(part: Place | Device) -> Box:
    if isinstance(part, Place):
        return Box(part.kind, [title_of(part)], [_box(each) for each in part.inside])
    kind = SICK if any(nic.trouble for nic in part.nics) else part.kind
    return Box(kind, lines_of_device(part))


def _rows(boxes: Sequence[Box]) -> Iterator[list[Box]]:
    """Share boxes out over rows that are not too wide."""
    row: list[Box] = []
    width = 0
    for box in boxes:
        if row and width + box.width > WIDEST:
            yield row
            row, width = [], 0
        row.append(box)
        width += box.width + GAP
    if row:
        yield row


def _drawn(box: Box) -> Iterator[str]:
    fill, border = COLOURS[box.kind]
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="4"'
        f' fill="{fill}" stroke="{border}" class="{box.kind}"/>'
    )
    for number, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        y = box.y + GAP + FONT + number * LINE
        yield (
            f'<text x="{box.x + GAP}" y="{y}"{weight} xml:space="preserve"'
            f' textLength="{round(len(line) * LETTER)}">{_text(line)}</text>'
        )


def _text(text: str) -> str:
    """Make a text fit for XML, which has no words for control characters and surrogates."""
    return harmless(text).translate(ENTITIES)
