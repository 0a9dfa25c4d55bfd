"""Shell patterns for NIC names: fnmatch compiles regular expressions, too dear at start-up."""

from __future__ import annotations

WILDCARDS = frozenset("*?[")


def is_glob(pattern: str) -> bool:
    return not WILDCARDS.isdisjoint(pattern)


def matches(name: str, pattern: str) -> bool:
    """Tell whether a name matches a pattern with *, ?, [abc], [a-z] and [!a-z]; case matters.

    Goes back to the last star only, so that no pattern can take exponential time.
    """
    if not is_glob(pattern):
        return name == pattern  # most are, and are asked of each NIC
    at_name = at_pattern = 0
    star = star_name = -1
    while at_name < len(name):
        if at_pattern < len(pattern) and pattern[at_pattern] == "*":
            star, star_name = at_pattern, at_name
            at_pattern += 1
            continue
        end = _end_of_unit(pattern, at_pattern)
        if end and _fits(name[at_name], pattern[at_pattern:end]):
            at_name, at_pattern = at_name + 1, end
        elif star >= 0:
            star_name += 1
            at_name, at_pattern = star_name, star + 1
        else:
            return False
    return not pattern[at_pattern:].strip("*")


def _end_of_unit(pattern: str, start: int) -> int:
    """Return where the pattern's unit for one character ends, 0 at the pattern's end."""
    if start >= len(pattern):
        return 0
    if pattern[start] == "[":
        # A bracket that stands first in the class belongs to it: []a] and [!]a].
        first = start + 2 if pattern[start + 1 : start + 2] == "!" else start + 1
        closing = pattern.find("]", first + 1)
        if closing > 0:
            return closing + 1
    return start + 1


def _fits(character: str, unit: str) -> bool:
    if unit == "?":
        return True
    if len(unit) == 1:
        return character == unit
    members = unit[1:-1]
    negated = members.startswith("!")
    return _in_class(character, members[1:] if negated else members) != negated


def _in_class(character: str, members: str) -> bool:
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            if members[at] <= character <= members[at + 2]:
                return True
            at += 3
        elif members[at] == character:
            return True
        else:
            at += 1
    return False
