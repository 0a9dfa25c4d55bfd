"""`multinic-cni ipam check`: what is wrong in the store, and its repair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from multinic_cni.admin.findings import Finding, check_store
from multinic_cni.admin.repair import Mend, repair_store
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir
from multinic_cni.cli.printing import failing_on_one_line, print_json, print_line, print_table

COLUMNS = ("KIND", "WHAT", "PROBLEM", "WHAT TO DO")


def check(
    *,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what no living pod can lose by.")
    ] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Check the store of this node: exit 1 if anything is wrong, or is left after --repair.

    - double: two pods, or two blocks, have one address

    - missing: a living pod's address has no file, or somebody else's

    - damaged: a file that cannot be read, or was not finished

    - foreign: a file that is not the store's; blocks that overlap

    - orphaned: an address that no record names

    - stale: a pod that has gone without a DEL

    Example: multinic-cni ipam check --repair
    """
    with failing_on_one_line("check the store"):
        check_store(data_dir)  # first: no repair of what is no store
        mends = repair_store(data_dir) if repair else []
        findings = check_store(data_dir)
    if as_json:
        print_json(
            {
                "mended": [_mend(each) for each in mends if not each.error],
                "failed": [_failure(each) for each in mends if each.error],
                "findings": [_finding(each) for each in findings],
            }
        )
    else:
        _print(mends, findings)
    if findings:
        raise typer.Exit(1)


def _mend(mend: Mend) -> dict[str, str]:
    return {"subject": mend.subject, "deed": mend.deed}


def _failure(mend: Mend) -> dict[str, str]:
    return {"subject": mend.subject, "error": mend.error}


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "kind": finding.kind,
        "subject": finding.subject,
        "problem": finding.problem,
        "advice": finding.advice,
    }


def _print(mends: Sequence[Mend], findings: Sequence[Finding]) -> None:
    for mend in mends:
        print_line(f"{mend.subject}: {mend.error or mend.deed}")
    if findings:
        print_table(COLUMNS, [list(_finding(each).values()) for each in findings])
    else:
        print_line("nothing is wrong")
