"""VERSION: constants (specification, section 2, "VERSION")."""

from __future__ import annotations

from multinic_cni.versions import NEWEST, SUPPORTED


def version(document: object) -> dict[str, object]:
    """Return the answer, in the version that was asked in where it is one of ours."""
    asked = document.get("cniVersion") if isinstance(document, dict) else None
    return {
        "cniVersion": asked if asked in SUPPORTED else NEWEST,
        "supportedVersions": list(SUPPORTED),
    }
