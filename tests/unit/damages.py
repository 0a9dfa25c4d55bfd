"""Ways in which a store may be damaged, and what must be found and mended of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from multinic_cni.admin.findings import check_store
from tests.unit.admin import EARLIER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.admin import AdminNode


@dataclass(frozen=True)
class Damage:
    """What is done to a store in which pod a lives with 10.1.0.1, and what must be found.

    `left` are the findings after a repair, `files` the address files.
    """

    do: Callable[[AdminNode], object]
    found: set[tuple[str, str]]
    left: set[tuple[str, str]]
    files: dict[str, str]


A = {"10.1.0.1": "a net1"}
POOL = "pools/10.1.0.0-24"


def found_in(node: AdminNode) -> set[tuple[str, str]]:
    return {(each.kind, each.subject) for each in check_store(node.path)}


def write_double(node: AdminNode) -> None:
    node.record("b", "10.1.0.1")


def overlap(node: AdminNode) -> None:
    node.reserve("10.1.0.200", "b\r\nnet1", folder="10.1.0.128-25")


def import_gone(node: AdminNode) -> None:
    node.reserve("10.1.0.2", "b\r\neth0")
    node.write("imported/10.1.0.2", str(node.host_local_folder()))


def put_folder_there(node: AdminNode) -> None:
    (node.data / "pools/10.1.0.0-24/10.1.0.2").mkdir()


def damage_record_with_address(node: AdminNode) -> None:
    node.attach("b", "10.1.0.2").write_text('{"format": 1')


def copy_record(node: AdminNode) -> None:
    file = node.data / "attachments/rails/a:net1.json"
    (file.parent / "b:net1.json").write_bytes(file.read_bytes())


def lose(node: AdminNode) -> None:
    (node.data / "pools/10.1.0.0-24/10.1.0.1").unlink()


def give_to(content: str) -> Callable[[AdminNode], object]:
    return lambda node: node.reserve("10.1.0.1", content)


def put(path: str, content: str = "") -> Callable[[AdminNode], object]:
    return lambda node: node.write(path, content)


DAMAGES = {
    "double, of records": Damage(
        write_double, {("double", "10.1.0.1")}, {("double", "10.1.0.1")}, A
    ),
    "double, of blocks": Damage(
        put("pools/10.1.0.0-25/10.1.0.1", "a\r\nnet1"),
        {("double", "10.1.0.1"), ("foreign", "10.1.0.0/24"), ("orphaned", "10.1.0.1")},
        {("double", "10.1.0.1"), ("foreign", "10.1.0.0/24"), ("orphaned", "10.1.0.1")},
        A,
    ),
    "orphaned": Damage(put(f"{POOL}/10.1.0.2", "b\r\nnet1"), {("orphaned", "10.1.0.2")}, set(), A),
    "orphaned by its own record": Damage(
        put(f"{POOL}/10.1.0.2", "a\r\nnet1"), {("orphaned", "10.1.0.2")}, set(), A
    ),
    "missing": Damage(lose, {("missing", "10.1.0.1")}, set(), A),
    "another's": Damage(
        give_to("b\r\nnet1"), {("missing", "10.1.0.1"), ("orphaned", "10.1.0.1")}, set(), A
    ),
    "empty": Damage(give_to(""), {("damaged", "10.1.0.1")}, set(), A),
    "no text": Damage(
        lambda node: (node.data / f"{POOL}/10.1.0.1").write_bytes(b"\xff\0"),
        {("damaged", "10.1.0.1")},
        set(),
        A,
    ),
    "empty, of nobody": Damage(put(f"{POOL}/10.1.0.2"), {("damaged", "10.1.0.2")}, set(), A),
    "folder": Damage(put_folder_there, {("damaged", "10.1.0.2")}, {("damaged", "10.1.0.2")}, A),
    "record": Damage(
        damage_record_with_address,
        {("damaged", "rails b:net1")},
        {("damaged", "rails b:net1")},
        A | {"10.1.0.2": "b net1"},
    ),
    "record without an address": Damage(
        put("attachments/rails/b:net1.json", "{"), {("damaged", "rails b:net1")}, set(), A
    ),
    "copied record": Damage(copy_record, {("damaged", "rails b:net1")}, set(), A),
    "later record": Damage(
        put("attachments/rails/b:net1.json", '{"format": 99}'),
        {("foreign", "rails b:net1")},
        {("foreign", "rails b:net1")},
        A,
    ),
    "unfinished record": Damage(
        put("attachments/rails/.a:net1.json.new", "{"),
        {("damaged", "attachments/rails/.a:net1.json.new")},
        set(),
        A,
    ),
    "unfinished reservation": Damage(
        put("pools/.reservation"), {("damaged", "pools/.reservation")}, set(), A
    ),
    "unfinished cursor": Damage(
        put(f"{POOL}/.last_reserved_ip.0.new"),
        {("damaged", f"{POOL}/.last_reserved_ip.0.new")},
        set(),
        A,
    ),
    "foreign file": Damage(
        put(f"{POOL}/notes.txt"),
        {("foreign", f"{POOL}/notes.txt")},
        {("foreign", f"{POOL}/notes.txt")},
        A | {"notes.txt": ""},
    ),
    "outside": Damage(
        put(f"{POOL}/10.9.0.1", "b\r\nnet1"),
        {("foreign", f"{POOL}/10.9.0.1")},
        {("foreign", f"{POOL}/10.9.0.1")},
        A | {"10.9.0.1": "b net1"},
    ),
    "other spelling": Damage(
        put("pools/fd00::-64/fd00:0::1", "b\r\nnet1"),
        {("foreign", "pools/fd00::-64/fd00:0::1")},
        {("foreign", "pools/fd00::-64/fd00:0::1")},
        A | {"fd00:0::1": "b net1"},
    ),
    "stray folder": Damage(
        lambda node: (node.data / "pools/rails").mkdir(),
        {("foreign", "pools/rails")},
        {("foreign", "pools/rails")},
        A,
    ),
    "overlap": Damage(
        overlap,
        {("foreign", "10.1.0.0/24"), ("orphaned", "10.1.0.200")},
        set(),
        A,
    ),
    "vanished pod": Damage(
        lambda node: node.attach("b", "10.1.0.2", lives=False),
        {("stale", "rails b:net1")},
        set(),
        A,
    ),
    "earlier boot": Damage(
        lambda node: node.attach("b", "10.1.0.2", boot=EARLIER),
        {("stale", "rails b:net1")},
        set(),
        A,
    ),
    "swept record": Damage(
        lambda node: node.record("b", "10.1.0.2", lives=False),
        {("stale", "rails b:net1")},
        set(),
        A,
    ),
    "record of a dead pod names a living one's": Damage(
        lambda node: node.record("b", "10.1.0.1", lives=False),
        {("stale", "rails b:net1")},
        set(),
        A,
    ),
    "source gone": Damage(import_gone, {("stale", "10.1.0.2")}, set(), A),
}
