"""Both forms of the executable serve every verb where there is no Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import SHARED_SUBNET
from tests.pytest_netns import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Namespace, Runtime

FORMS = [PROJECT / "dist/bundle/multinic-cni", PROJECT / "dist/multinic-cni"]
# In a mount namespace of its own the interpreters and their libraries are covered up.
NO_PYTHON = (
    "unshare",
    "--mount",
    "sh",
    "-ec",
    """
    for d in /usr/lib/python3* /usr/local/lib/python3*; do
      [ ! -d $d ] || mount -t tmpfs none $d
    done
    for f in /usr/bin/python3* /usr/local/bin/python3*; do
      [ ! -f $f ] || mount --bind /dev/null $f
    done
    ! /usr/bin/python3 -c "" 2>/dev/null
    export PATH=/nowhere
    exec "$0"
    """,
)


@pytest.mark.parametrize("executable", FORMS, ids=["one folder", "one file"])
def test_every_verb(executable: Path, runtime: Runtime, pod: Namespace) -> None:
    bare = runtime.but(executable=executable, wrapper=NO_PYTHON)
    conf = runtime.conf(**SHARED_SUBNET)
    attachment = bare.attachment(pod, conf)

    versions = bare.call("VERSION", {"cniVersion": "1.1.0"}).result()
    assert versions["supportedVersions"] == ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]
    bare.call("STATUS", conf).succeeded()
    attachment.add()
    assert set(pod.links()) == {"net1", "net1-1", "net1-2", "net1-3"}
    attachment.check().succeeded()
    valid = [{"containerID": f"c-{pod.name}", "ifname": "net1"}]
    bare.call("GC", conf | {"cni.dev/valid-attachments": valid}).succeeded()
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.links() == {}
