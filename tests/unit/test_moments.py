"""Moments of RFC 3339, against what `datetime` makes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_selectors.moments import seconds_since_1970

NOON = 1_796_126_400  # date -u -d 2026-12-01T12:00:00Z +%s


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T12:00:00Z",
        "2026-12-01t12:00:00z",
        "2026-12-01 12:00:00Z",
        "2026-12-01T12:00:00.999999999Z",
        "2026-12-01T12:00:00+00:00",
        "2026-12-01T12:00:00-00:00",
        "2026-12-01T13:30:00+01:30",
        "2026-12-02T11:59:00+23:59",
        "2026-11-30T12:01:00.5-23:59",
        "2026-12-01T11:59:60Z",  # a leap second is the next minute's first
    ],
)
def test_one_moment_in_many_words(text: str) -> None:
    assert NOON == seconds_since_1970(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -1),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("2038-01-19T03:14:08Z", 2**31),
    ],
)
def test_known_moments(text: str, expected: int) -> None:
    assert expected == seconds_since_1970(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "1796126400",
        "2026-12-01",
        "2026-12-01T12:00Z",
        "2026-12-01T12:00:00",  # whose noon?
        "2026-12-01T12:00:00.Z",
        "2026-12-01T12:00:00,5Z",
        "2026-12-01T12:00:00+0100",
        "2026-12-01T12:00:00+01",
        "2026-12-01T12:00:00+24:00",
        "2026-12-01T12:00:00+00:60",
        "2026-12-01T12:00:00Z ",
        " 2026-12-01T12:00:00Z",
        "2026-12-01T12:00:00ZZ",
        "2026-12-01_12:00:00Z",
        "2026-00-01T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-12-00T12:00:00Z",
        "2026-12-32T12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2100-02-29T12:00:00Z",
        "2026-12-01T24:00:00Z",
        "2026-12-01T12:60:00Z",
        "2026-12-01T12:00:61Z",
        "+026-12-01T12:00:00Z",
        "\uff12026-12-01T12:00:00Z",
        "2026-12-01T12:00:00.\u0663Z",
        "2026-12-01T12:00:00Z\0",
    ],
)
def test_no_moment(text: str) -> None:
    assert seconds_since_1970(text) is None


@given(
    st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)),  # noqa: DTZ001 - its zone comes next
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
)
def test_every_moment_is_as_datetime_has_it(naive: datetime, east: int) -> None:
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=east)))
    expected = (moment.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert expected == seconds_since_1970(moment.isoformat())


@given(st.text(alphabet="0123456789-:TZtz+. ", max_size=26))
def test_any_text_is_read_or_not(text: str) -> None:
    assert isinstance(seconds_since_1970(text), int | None)
