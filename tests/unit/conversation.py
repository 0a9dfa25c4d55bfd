"""Drive a task by hand: give it outcomes, and see which commands it wanted executed."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from multinic_cni.execution import Task
    from multinic_cni.process import Command, Outcome

T = TypeVar("T")
Answers: TypeAlias = "Callable[[str, str, str], Outcome]"


def converse(task: Task[T], outcomes: Iterable[Outcome]) -> tuple[T, list[Command]]:
    """Return what the task returns and the commands; every outcome must have been wanted."""
    commands: list[Command] = []
    waiting = iter(outcomes)
    try:
        command = next(task)
        for outcome in waiting:
            commands.append(command)
            command = task.send(outcome)
    except StopIteration as ended:
        assert [] == list(waiting), "the task ended before it had all outcomes"
        return ended.value, commands
    message = f"the task wants one more outcome, for {command}"
    raise AssertionError(message)


def conf_of(command: Command) -> Any:  # noqa: ANN401 - a JSON document
    return json.loads(command.stdin)


def install(folder: Path, *kinds: str) -> Path:
    """Make executables that nobody executes."""
    folder.mkdir(exist_ok=True)
    for kind in kinds:
        (folder / kind).write_text("#!/bin/false\n")
        (folder / kind).chmod(0o755)
    return folder


class Delegates:
    """Stands in for execution: answers for each (command, type, ifname), remembers all of them."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, str]] = []
        self.commands: list[Command] = []
        self.at_once: int | None = None

    def drive(
        self, tasks: Sequence[Task[Any]], _deadline: float, at_once: int | None = None
    ) -> list[Any]:
        """Let the tasks take turns, as they do when each delegate takes as long as the others."""
        self.at_once = at_once
        results: dict[int, object] = {}
        turns: deque[tuple[int, Task[Any], Outcome | None]] = deque(
            (index, task, None) for index, task in enumerate(tasks)
        )
        while turns:
            index, task, outcome = turns.popleft()
            try:
                command = task.send(outcome)  # type: ignore[arg-type]  # None starts it
            except StopIteration as ended:
                results[index] = ended.value
                continue
            turns.append((index, task, self._answer(command)))
        return [results[index] for index in range(len(tasks))]

    def _answer(self, command: Command) -> Outcome:
        environment = command.environment
        kind = command.executable.rpartition("/")[2]
        asked = (environment["CNI_COMMAND"], kind, environment["CNI_IFNAME"])
        self.asked.append(asked)
        self.commands.append(command)
        return self.answers(*asked)
