"""What is wrong with a net conf, gathered before anything is said."""

from __future__ import annotations

from multinic_cni.errors import BAD_CONF, UNSUPPORTED_FIELD, CniError
from multinic_cni.jsontext import encode
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


LONGEST_VALUE = 60
MOST_LISTED = 50  # a hostile conf must not fill a runtime's log


class Problem(Value):
    """One mistake: the JSON path of the value, what is wrong, and the code it alone would give."""

    path: str
    message: str
    code: int = BAD_CONF

    @property
    def key(self) -> str:
        """The top-level key that the problem lies in."""
        return self.path.partition(".")[0].partition("[")[0]

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def unknown_key(path: str, key: str, value: object, known: Iterable[str]) -> Problem:
    """Word an unknown key with its value, as the specification wants it, and the nearest known."""
    near = nearest(key, known)
    hint = f"; did you mean {near!r}?" if near else ""
    message = f"unknown key with value {shortened(value)}{hint}"
    return Problem(path=join(path, key), message=message, code=UNSUPPORTED_FIELD)


def shortened(value: object) -> str:
    """Return a value's JSON, its beginning if it is long."""
    text = encode(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def shown(value: object) -> str:
    """Return a value as Python writes it, its beginning if it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the known key that a misspelt one most likely stands for."""
    import difflib  # noqa: PLC0415 - only to word an error

    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(key.lower(), by_lower, n=1)
    return by_lower[matches[0]] if matches else None


def join(path: str, key: str) -> str:
    """Append an object's key to a JSON path."""
    word = key.replace("_", "a").replace("-", "a")
    if not word.isalnum():
        return f"{path}[{key!r}]"
    return f"{path}.{key}" if path else key


def to_error(problems: Sequence[Problem]) -> CniError:
    """Make one error of all problems; code 2 only if nothing but unsupported fields is wrong."""
    codes = {problem.code for problem in problems}
    code = codes.pop() if len(codes) == 1 else BAD_CONF
    listed = "; ".join(str(problem) for problem in problems[:MOST_LISTED])
    if len(problems) > MOST_LISTED:
        listed += f"; and {len(problems) - MOST_LISTED} more"
    return CniError(
        code,
        f"invalid net conf: {listed}",
        "correct the net conf; `multinic-cni validate FILE` checks it without a pod",
    )
