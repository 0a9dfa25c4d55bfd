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

    `passed` says why not, for each other candidate, `why` may say why for the chosen; `shortage` is
    what is missing if what the pod needs cannot be had: then nothing is taken. `notes` are for the
    admin, of what the choice could not go by.
    """

    __slots__ = ("chosen", "notes", "passed", "shortage", "why")

    def __init__(
        self,
        chosen: Sequence[Choice],
        passed: Sequence[tuple[str, str]] = (),
        shortage: str = "",
        why: Sequence[tuple[str, str]] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.chosen = chosen
        self.notes = notes
        self.passed = passed
        self.shortage = shortage
        self.why = why

    @property
    def names(self) -> list[str]:
        return [choice.nic.name for choice in self.chosen]

    def is_less_than(self, other: Picked) -> bool:
        """Compare what the pod gets: bandwidth where that was chosen by, else NICs."""
        mine, others = (sum(choice.megabits for choice in each.chosen) for each in (self, other))
        return mine < others if others else len(self.chosen) < len(other.chosen)


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
    """The chosen NICs in order, and (name, why not) of all others, in four groups.

    `unhealthy` are those that would have been taken if all were in order, `conflicts` those that
    others have replaced, `missing` the entries of the conf that fit no NIC; `refused` is the rest.
    `why` may say why a chosen one was taken; `notes` are the strategy's.
    """

    __slots__ = ("chosen", "conflicts", "missing", "notes", "refused", "unhealthy", "why")

    def __init__(
        self,
        picked: Picked,
        *,
        refused: Sequence[tuple[str, str]] = (),
        unhealthy: Sequence[tuple[str, str]] = (),
        conflicts: Sequence[tuple[str, str]] = (),
        missing: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.chosen = picked.chosen
        self.why = picked.why
        self.notes = picked.notes
        self.refused = [*refused, *picked.passed]
        self.unhealthy = unhealthy
        self.conflicts = conflicts
        self.missing = missing


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
    wanted, others = _parted(candidates, lambda nic: _why_not_asked(nic, wish))
    asked, misfits = _parted(wanted, judge.misfit)
    refused += [*others, *misfits]
    limits = [each for each in (admin.nics, wish.nics) if each is not None and not wish.devices]
    strategy = _Strategy(admin, judge, pick, min(limits, default=None))
    usable, sick = strategy.sorted_by_health(asked)
    missing = unmatched_entries(nics, admin)
    picked, conflicts = strategy.pick_without_conflict(usable, [*missing, *sick, *refused])
    # A pod that asks for less than the admin's least gets what it asks for.
    narrowed = [len(wanted)] if wish.masters else []
    needed = len(wish.devices) or max(1, min([admin.min_nics, *limits, *narrowed]))
    if picked.shortage or len(picked.chosen) < needed:
        others = [*missing, *conflicts, *sick, *refused, *picked.passed]
        raise _too_few(picked, needed, [*_usable(picked), *others])
    would_be = strategy.choice_among_all(asked) if sick else ()
    return Selection(
        picked,
        refused=[*refused, *(each for each in sick if each[0] not in would_be)],
        unhealthy=[each for each in sick if each[0] in would_be],
        conflicts=conflicts,
        missing=missing,
    )


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
        return (
            _parted(asked, self._trouble) if self._admin.unhealthy == "skip" else (list(asked), [])
        )

    def pick_without_conflict(
        self, usable: Sequence[Choice], others: Reasons
    ) -> tuple[Picked, Reasons]:
        """Pick; what is taken but cannot be had is replaced by others.

        Raises SelectionError where nothing can replace it: a conflict is a mistake of a conf, for
        which no pod shall quietly get less. `others` are the reasons against the rest.
        """
        conflicts: Reasons = []
        wanted = picked = self._pick(usable, self._limit)
        while True:
            self._refuse_trouble(picked, others)
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
        if conflicts and (picked.shortage or picked.is_less_than(wanted)):
            reasons = [*conflicts, *_usable(picked), *others, *picked.passed]
            raise SelectionError(_by_reason(conflicts, ("NIC ", "NICs ")), reasons)
        return picked, conflicts

    def choice_among_all(self, asked: Sequence[Choice]) -> list[str]:
        """Return what would be taken if all were in order."""
        return self._pick(asked, self._limit).names

    def _refuse_trouble(self, picked: Picked, others: Reasons) -> None:
        for choice in picked.chosen if self._admin.unhealthy == "fail" else ():
            trouble = self._trouble(choice.nic)
            if trouble:
                message = f"NIC {choice.nic.name} is wanted, but {trouble}"
                usable = [each for each in _usable(picked) if each[0] != choice.nic.name]
                reasons = [(choice.nic.name, trouble), *usable, *others, *picked.passed]
                raise SelectionError(f"{message} (attachPolicy.unhealthy is fail)", reasons)

    def _trouble(self, nic: Nic) -> str:
        if self._admin.takes_nics and not nic.up:
            # Nor can anybody know whether it will have a carrier.
            return self._judge.lasting_trouble(nic)
        return self._judge.trouble(nic)


def _parted(
    choices: Sequence[Choice], why_not: Callable[[Nic], str]
) -> tuple[list[Choice], Reasons]:
    """Part those against which there is nothing from (name, why not) of the others."""
    passed: list[Choice] = []
    refused: Reasons = []
    for choice in choices:
        reason = why_not(choice.nic)
        if reason:
            refused.append((choice.nic.name, reason))
        else:
            passed.append(choice)
    return passed, refused


def _why_not_asked(nic: Nic, wish: Wish) -> str:
    if wish.devices:
        return "" if nic.name in wish.devices else "the runtime has given the pod other devices"
    if wish.masters and not any(is_named(nic, master) for master in wish.masters):
        return "the pod asks for other masters"
    return ""


def _usable(picked: Picked) -> Reasons:
    return [(name, "usable") for name in picked.names]


def _too_few(picked: Picked, needed: int, reasons: Reasons) -> SelectionError:
    listed = _by_reason(reasons) or "the node has no NIC"
    nics = "1 NIC" if needed == 1 else f"{needed} NICs"
    missing = picked.shortage or f"{nics} needed, {len(picked.chosen)} usable on this node"
    return SelectionError(f"{missing} ({listed})", reasons, missing)


def _by_reason(reasons: Reasons, heads: tuple[str, str] = ("", "")) -> str:
    """Say each reason once, after those that it is against and one of the heads: one, several."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    return "; ".join(
        f"{heads[len(alike) > 1]}{', '.join(alike)}: {reason}" for reason, alike in names.items()
    )
