from __future__ import annotations

import errno

import pytest

from multinic_cni.errors import (
    BAD_CONF,
    DELEGATE_FAILED,
    IO_FAILURE,
    TRY_AGAIN,
    CniError,
    io_failure,
    join_errors,
)


def test_document_has_the_specifications_keys() -> None:
    document = CniError(BAD_CONF, "name: is missing", "give it one").to_document("1.0.0")
    expected = {
        "cniVersion": "1.0.0",
        "code": 7,
        "msg": "name: is missing",
        "details": "give it one",
    }
    assert expected == document


def test_no_details_no_key() -> None:
    assert {"cniVersion": "0.4.0", "code": 11, "msg": "busy"} == CniError(
        TRY_AGAIN, "busy"
    ).to_document("0.4.0")


def test_str_is_the_message() -> None:
    assert "busy" == str(CniError(TRY_AGAIN, "busy", "details"))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "10.1.0.7"),
            "cannot use the store: No space left on device 10.1.0.7",
        ),
        (OSError(errno.EIO, "Input/output error"), "cannot use the store: Input/output error"),
        (OSError(errno.EIO, "Input/output error", 7), "cannot use the store: Input/output error"),
        (TimeoutError(), "cannot use the store: TimeoutError"),
    ],
    ids=["with a file", "without", "with a descriptor", "without a reason"],
)
def test_io_failure(error: OSError, message: str) -> None:
    failure = io_failure("use the store", error)
    assert (IO_FAILURE, message) == (failure.code, failure.message)


def test_one_error_stays_as_it_is() -> None:
    error = CniError(DELEGATE_FAILED, "macvlan failed", "repeat it")
    assert error is join_errors([error])


def test_several_errors_are_one_with_every_message() -> None:
    joined = join_errors(
        [
            CniError(DELEGATE_FAILED, "first", "repeat it"),
            CniError(TRY_AGAIN, "second"),
            CniError(BAD_CONF, "third", "see there"),
        ]
    )
    assert DELEGATE_FAILED == joined.code
    assert "3 errors: first; second; third" == joined.message
    assert "repeat it; see there" == joined.details
