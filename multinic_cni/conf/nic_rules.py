"""Rules of what chooses the NICs: strategies, classes and rails."""

from __future__ import annotations

from multinic_cni.conf.problems import Problem, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Document = Mapping[str, Any]

BY_BANDWIDTH = ("perfOpt", "costOpt")


def strategies(document: Document) -> Iterator[Problem]:
    policy = document.get("attachPolicy") or {}
    strategy = policy.get("strategy", "none")
    if policy.get("target") is not None and strategy not in BY_BANDWIDTH:
        message = f"strategy {strategy} does not look at bandwidth: use perfOpt or costOpt"
        yield Problem(path="attachPolicy.target", message=message)
    yield from idle_kinds(policy.get("classes") or {}, "attachPolicy.classes")


def idle_kinds(classes: Document, path: str) -> Iterator[Problem]:
    """Refuse kinds of devices that say nothing."""
    for name, kinds in classes.items():
        for index, kind in enumerate(kinds):
            if not any(value is not None for value in kind.values()):
                message = "says nothing, so that it would fit every NIC"
                yield Problem(path=f"{join(path, name)}[{index}]", message=message)


def rails(document: Document) -> Iterator[Problem]:
    """Refuse two ways of naming NICs, and what would make one NIC two rails."""
    given = [key for key in ("rails", "railPciAddresses") if document.get(key) is not None]
    named = [key for key in ("masterNets", "masters") if document.get(key)]
    if not given:
        return
    if len(given) > 1:
        yield Problem(path="railPciAddresses", message="stands beside rails: keep one of them")
    elif named:
        message = f"stands beside {' and '.join(named)}: rails name the NICs themselves"
        yield Problem(path=given[0], message=message)
    rail_of: dict[str, int] = {}
    for number, alternatives in enumerate(rails_in(document)):
        for text in alternatives:
            other = rail_of.setdefault(_without_case(text), number)
            if other != number:
                message = f"{text} is an alternative of rail {other} already"
                yield Problem(path=f"{given[0]}[{number}]", message=message)


def _without_case(text: str) -> str:
    """Return what two alternatives have in common that mean the same; names have a case."""
    return text.lower() if ":" in text and not text.startswith("driver:") else text


def rails_in(document: Document) -> Sequence[Sequence[str]]:
    """Return the alternatives of each rail that the document itself names."""
    listed = document.get("rails")
    if not isinstance(listed, list):
        listed = document.get("railPciAddresses") or []
    return tuple((each,) if isinstance(each, str) else tuple(each) for each in listed)


def count_of_rails(document: Document) -> int:
    """Return how many rails the fabric has by the document."""
    number = document.get("rails")
    return number if isinstance(number, int) else len(rails_in(document))
