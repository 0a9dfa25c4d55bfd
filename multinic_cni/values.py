"""The base of the small records on the hot path: dataclasses cost more than VERSION does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *vars(cls).get("__annotations__", ()))

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - each field has its own type
        given = self.__dict__
        for field in self._fields:
            if field in values:
                given[field] = values.pop(field)
            elif not hasattr(type(self), field):
                message = f"{type(self).__name__} needs {field}"
                raise TypeError(message)
        if values:
            message = f"{type(self).__name__} has no {', '.join(values)}"
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
