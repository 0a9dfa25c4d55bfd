"""Which NICs a pod gets: of the candidates, those of the right kind, healthy, by a strategy."""

from __future__ import annotations

from multinic_selectors.candidates import SelectionError, candidates_among, check_wish, is_named
from multinic_selectors.candidates import unmatched as unmatched_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from multinic_selectors.candidates import Admin, Choice, Wish
    from multinic_selectors.nics import Nic

    # A strategy: of candidates in their order, at most so many.
    Pick = Callable[[Sequence[Choice], int | None], "Picked"]
    Reasons = list[tuple[str, str]]  # (NIC, why not)


class Picked:
    """What a strategy takes, in the order of the candidates.

    `passed` says why not, for each other candidate; `shortage` what is missing if what the pod
    needs cannot be had: then nothing is taken.
    """

    __slots__ = ("chosen", "passed", "shortage")

    def __init__(
        self,
        chosen: Sequence[Choice],
        passed: Sequence[tuple[str, str]] = (),
        shortage: str = "",
    ) -> None:
        self.chosen = chosen
        self.passed = passed
        self.shortage = shortage

    @property
    def names(self) -> list[str]:
        return [choice.nic.name for choice in self.chosen]


class Judge:
    """What is said of a NIC besides its name and addresses; each answer is a reason, or empty.

    `misfit`: it is not of the wanted kind, so it does not count at all. `trouble`: it cannot carry
    traffic now; `lasting_trouble`: nor could it once it is set up. `conflict`: the delegate would
    fail on it, or break what others have there.
    """

    def misfit(self, _nic: Nic) -> str:
        return ""

    def trouble(self, nic: Nic) -> str:
        return nic.trouble

    def lasting_trouble(self, _nic: Nic) -> str:
        return ""

    def conflict(self, _nic: Nic) -> str:
        return ""


class Selection:
    """The chosen NICs in order, and for each other NIC (name, why it was not taken).

    `unhealthy` are those that would have been taken if they were in order.
    """

    __slots__ = ("chosen", "refused", "unhealthy")

    def __init__(
        self,
        chosen: Sequence[Choice],
        refused: Sequence[tuple[str, str]],
        unhealthy: Sequence[tuple[str, str]],
    ) -> None:
        self.chosen = chosen
        self.refused = refused
        self.unhealthy = unhealthy


def first(candidates: Sequence[Choice], limit: int | None) -> Picked:
    """Take the first ones: the strategy `none`, and that of `devClass` once the class is sorted."""
    chosen = candidates[:limit]
    passed = [(each.nic.name, f"{limit} are enough") for each in candidates[len(chosen) :]]
    return Picked(chosen, passed)


def select(
    nics: Sequence[Nic], admin: Admin, wish: Wish, judge: Judge | None = None, pick: Pick = first
) -> Selection:
    """Choose NICs; raises SelectionError that lists every NIC and why not.

    The order of `nics` does not matter: candidates are sorted by place, then by name.
    """
    judge = judge or Judge()
    candidates, refused = candidates_among(nics, admin)
    check_wish(candidates, wish)
    asked: list[Choice] = []
    for choice in candidates:
        reason = _why_not_asked(choice.nic, wish) or judge.misfit(choice.nic)
        if reason:
            refused.append((choice.nic.name, reason))
        else:
            asked.append(choice)
    limits = [each for each in (admin.nics, wish.nics) if each is not None and not wish.devices]
    strategy = _Strategy(admin, judge, pick, min(limits, default=None))
    usable, sick = strategy.sorted_by_health(asked)
    picked, conflicts = strategy.pick_without_conflict(usable)
    # A pod that asks for less than the admin's least gets what it asks for.
    narrowed = [len(asked)] if wish.masters else []
    needed = len(wish.devices) or max(1, min([admin.min_nics, *limits, *narrowed]))
    if picked.shortage or len(picked.chosen) < needed:
        others = [*unmatched_entries(nics, admin), *conflicts, *sick, *refused, *picked.passed]
        raise SelectionError(_too_few(picked, needed, others))
    missed = [each for each in sick if strategy.would_take(each[0], usable, asked)]
    spare = [each for each in sick if each not in missed]
    return Selection(picked.chosen, [*refused, *spare, *conflicts, *picked.passed], missed)


class _Strategy:
    """A way of picking, kept away from NICs that are sick or in conflict."""

    def __init__(self, admin: Admin, judge: Judge, pick: Pick, limit: int | None) -> None:
        self._admin = admin
        self._judge = judge
        self._pick = pick
        self._limit = limit

    def sorted_by_health(self, asked: Sequence[Choice]) -> tuple[list[Choice], Reasons]:
        """Return those that may be taken, and (name, trouble) of the others.

        Unless sick ones are skipped, the strategy chooses among all: `fail` looks at its choice.
        """
        usable: list[Choice] = []
        sick: Reasons = []
        for choice in asked:
            trouble = self._trouble(choice.nic) if self._admin.unhealthy == "skip" else ""
            if trouble:
                sick.append((choice.nic.name, trouble))
            else:
                usable.append(choice)
        return usable, sick

    def pick_without_conflict(self, usable: Sequence[Choice]) -> tuple[Picked, Reasons]:
        """Pick; what is taken but cannot be had is replaced by others.

        Raises SelectionError where nothing can replace it: a conflict is a mistake of a conf, for
        which no pod shall quietly get less.
        """
        conflicts: Reasons = []
        wanted = picked = self._pick(usable, self._limit)
        while True:
            self._refuse_trouble(picked)
            found = [
                (choice.nic.name, reason)
                for choice in picked.chosen
                for reason in [self._judge.conflict(choice.nic)]
                if reason
            ]
            if not found:
                break
            conflicts += found
            names = {name for name, _ in conflicts}
            usable = [choice for choice in usable if choice.nic.name not in names]
            picked = self._pick(usable, self._limit)
        if conflicts and (picked.shortage or len(picked.chosen) < len(wanted.chosen)):
            raise SelectionError("; ".join(f"NIC {name}: {reason}" for name, reason in conflicts))
        return picked, conflicts

    def would_take(self, name: str, usable: Sequence[Choice], asked: Sequence[Choice]) -> bool:
        """Tell whether a sick NIC would be taken if it alone were in order."""
        with_it = [each for each in asked if each in usable or each.nic.name == name]
        return name in self._pick(with_it, self._limit).names

    def _refuse_trouble(self, picked: Picked) -> None:
        for choice in picked.chosen if self._admin.unhealthy == "fail" else ():
            trouble = self._trouble(choice.nic)
            if trouble:
                message = f"NIC {choice.nic.name} is wanted, but {trouble}"
                raise SelectionError(f"{message} (attachPolicy.unhealthy is fail)")

    def _trouble(self, nic: Nic) -> str:
        if self._admin.takes_nics and not nic.up:
            # Nor can anybody know whether it will have a carrier.
            return self._judge.lasting_trouble(nic)
        return self._judge.trouble(nic)


def _why_not_asked(nic: Nic, wish: Wish) -> str:
    if wish.devices:
        return "" if nic.name in wish.devices else "the runtime has given the pod other devices"
    if wish.masters and not any(is_named(nic, master) for master in wish.masters):
        return "the pod asks for other masters"
    return ""


def _too_few(picked: Picked, needed: int, refused: Sequence[tuple[str, str]]) -> str:
    reasons = [f"{name}: usable" for name in picked.names]
    reasons += [f"{name}: {reason}" for name, reason in refused]
    listed = "; ".join(reasons) or "the node has no NIC"
    nics = "1 NIC" if needed == 1 else f"{needed} NICs"
    missing = picked.shortage or f"{nics} needed, {len(picked.chosen)} usable on this node"
    return f"{missing} ({listed})"
