"""The base of the small records on the hot path: dataclasses cost more than VERSION does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object) -> object:
        return lambda decorated: decorated


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value:
    """A frozen record: its annotations are its fields, assignments in its body their defaults.

        class Route(Value):
            dst: str
            gw: str = ""

    The constructor takes keywords only and raises TypeError for unknown or missing ones.
    """

    _fields: tuple[str, ...] = ()
    _known: frozenset[str] | None = None
    _needed: frozenset[str] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *vars(cls).get("__annotations__", ()))
        cls._known = None

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - each field has its own type
        # A node may have hundreds of links: sets are compared, and a field is looked at only
        # where something is wrong. Half of the classes are never used by a call.
        known = self._known
        if known is None:
            known = self._learn()
        if not self._needed <= values.keys() <= known:
            self._refuse(values)
        self.__dict__.update(values)

    @classmethod
    def _learn(cls) -> frozenset[str]:
        cls._known = known = frozenset(cls._fields)
        cls._needed = frozenset(field for field in cls._fields if not hasattr(cls, field))
        return known

    def _refuse(self, values: Mapping[str, object]) -> None:
        for field in self._fields:
            if field in self._needed and field not in values:
                message = f"{type(self).__name__} needs {field}"
                raise TypeError(message)
        unknown = (field for field in values if field not in self._fields)
        message = f"{type(self).__name__} has no {', '.join(unknown)}"
        raise TypeError(message)

    def but(self, **changes: Any) -> Self:  # noqa: ANN401 - each field has its own type
        """Return a copy with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: object) -> None:
        message = f"{type(self).__name__} is frozen: cannot set {name}"
        raise AttributeError(message)

    def _items(self) -> list[tuple[str, object]]:
        return [(field, getattr(self, field)) for field in self._fields]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._items() == other._items()

    __hash__ = None  # type: ignore[assignment]  # fields may be lists

    def __repr__(self) -> str:
        fields = ", ".join(f"{field}={value!r}" for field, value in self._items())
        return f"{type(self).__name__}({fields})"
