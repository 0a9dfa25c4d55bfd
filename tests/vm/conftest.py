"""The tests of guest/ are collected here and executed in one virtual machine.

Every test of that folder is an ordinary pytest test, written for the guest. On the host each
becomes an item of the same name, whose reports are those which pytest made in the guest, so that
selection, failure texts and counts are the usual ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vm.machine import GuestRun

GUEST_TESTS = Path(__file__).parent / "guest"
RUN = pytest.StashKey[GuestRun]()


class GuestItem(pytest.Item):
    """A test which is executed elsewhere: no fixture of its is set up on the host."""

    def runtest(self) -> None:
        """Nothing happens here: the reports of the guest are what counts."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def pytest_itemcollected(item: pytest.Item) -> None:
    if GUEST_TESTS in item.path.parents:
        item.add_marker(pytest.mark.vm)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Replace what -k and -m left, so that the guest executes no more than was asked for."""
    wanted = []
    for index, item in enumerate(items):
        if GUEST_TESTS in item.path.parents and item.parent is not None:
            items[index] = GuestItem.from_parent(item.parent, name=item.name)
            wanted.append(items[index].nodeid)
    if wanted:
        session.stash[RUN] = GuestRun(wanted, session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> pytest.TestReport | None:
    if not isinstance(item, GuestItem) or call.when == "collect" or call.excinfo is not None:
        return None
    return item.session.stash[RUN].report(item, call.when)
