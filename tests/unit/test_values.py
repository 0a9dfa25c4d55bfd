from __future__ import annotations

import pytest

from multinic_cni.values import Value


class Hop(Value):
    link: int
    gateway: str = "none"


class LongHop(Hop):
    metric: int = 7


def test_constructor_takes_annotated_fields_and_defaults() -> None:
    hop = LongHop(link=3)
    assert (3, "none", 7) == (hop.link, hop.gateway, hop.metric)


def test_fields_are_frozen() -> None:
    hop = Hop(link=3)
    with pytest.raises(AttributeError, match="Hop is frozen: cannot set link"):
        hop.link = 4  # type: ignore[misc]
    assert 3 == hop.link


def test_missing_field_is_an_error() -> None:
    with pytest.raises(TypeError, match="Hop needs link"):
        Hop(gateway="10.0.0.1")  # type: ignore[call-arg]


def test_first_instance_of_a_class_is_checked_too() -> None:
    class Base(Value):
        link: int

    class Derived(Base):
        metric: int

    Base(link=1)
    with pytest.raises(TypeError, match="Derived needs metric"):
        Derived(link=1)  # type: ignore[call-arg]


def test_value_without_fields() -> None:
    class Empty(Value):
        pass

    assert Empty() == Empty()
    with pytest.raises(TypeError, match="Empty has no x"):
        Empty(x=1)


def test_unknown_fields_are_an_error() -> None:
    with pytest.raises(TypeError, match="Hop has no colour, size"):
        Hop(link=1, colour="red", size=2)  # type: ignore[call-arg]


def test_positional_arguments_are_an_error() -> None:
    with pytest.raises(TypeError):
        Hop(1)  # type: ignore[call-arg]


def test_but_changes_a_copy() -> None:
    hop = Hop(link=1, gateway="10.0.0.1")
    assert Hop(link=2, gateway="10.0.0.1") == hop.but(link=2)
    assert Hop(link=1, gateway="10.0.0.1") == hop
    with pytest.raises(TypeError, match="Hop has no colour"):
        hop.but(colour="red")


def test_equality_is_of_type_and_fields() -> None:
    assert Hop(link=1) == Hop(link=1, gateway="none")
    assert Hop(link=1) != Hop(link=2)
    assert Hop(link=1) != LongHop(link=1)
    assert Hop(link=1) != 1


def test_repr_names_every_field() -> None:
    assert "LongHop(link=1, gateway='none', metric=7)" == repr(LongHop(link=1))


def test_values_with_lists_are_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Hop(link=1))
