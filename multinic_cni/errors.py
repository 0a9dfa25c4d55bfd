"""Errors that a runtime can read: a code of the CNI specification, a message and details."""

from __future__ import annotations

# Section 5 of the specification ("Error").
INCOMPATIBLE_VERSION = 1
UNSUPPORTED_FIELD = 2
UNKNOWN_CONTAINER = 3
BAD_ENVIRONMENT = 4
IO_FAILURE = 5
DECODE_FAILURE = 6
BAD_CONF = 7
TRY_AGAIN = 11
NOT_AVAILABLE = 50
LIMITED_CONNECTIVITY = 51
# Not in the specification's list, but what the official plugins answer.
BAD_NETNS = 8
INTERNAL = 999
# Ours, from 100 on.
NO_NICS = 100
NO_ADDRESS = 101
NAME_TAKEN = 102
ALREADY_ATTACHED = 103
DELEGATE_FAILED = 104
CHECK_FAILED = 105
ROUTING_FAILED = 106

RESERVED = range(1, 100)


class CniError(Exception):
    """A failure with its code; `message` says what is wrong, `details` what to do or see."""

    def __init__(self, code: int, message: str, details: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def to_document(self, cni_version: str) -> dict[str, object]:
        document: dict[str, object] = {
            "cniVersion": cni_version,
            "code": self.code,
            "msg": self.message,
        }
        if self.details:
            document["details"] = self.details
        return document


def io_failure(doing: str, error: OSError) -> CniError:
    """Word a failed system call: what was being done, on which file, and the kernel's reason."""
    # Python gives a descriptor's number as the name where it was given one.
    where = f" {error.filename}" if isinstance(error.filename, str) else ""
    reason = error.strerror or type(error).__name__
    return CniError(IO_FAILURE, f"cannot {doing}: {reason}{where}")


def join_errors(errors: list[CniError]) -> CniError:
    """Make one error of several: the first one's code, every message."""
    if len(errors) == 1:
        return errors[0]
    message = f"{len(errors)} errors: " + "; ".join(error.message for error in errors)
    details = "; ".join(error.details for error in errors if error.details)
    return CniError(errors[0].code, message, details)
