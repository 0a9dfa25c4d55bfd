"""The executable called as a container runtime calls it, and what it answers."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.pytest_netns import Namespace

PROJECT = Path(__file__).resolve().parents[1]
EXECUTABLE = PROJECT / "dist/bundle/multinic-cni"
DELEGATES = "/usr/lib/cni"
CALL_SECONDS = 120

Document = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a call of the plugin gave: its exit status and what it printed."""

    status: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def document(self) -> Document:
        """The one JSON document on stdout; more than one, or anything else, is a failure."""
        document = json.loads(self.stdout)
        assert isinstance(document, dict)
        return document

    def result(self) -> Document:
        """Return the document of a verb that prints one and has succeeded."""
        assert self.status == 0, f"{self.stdout}\n{self.stderr}"
        return self.document

    def succeeded(self) -> None:
        """Assert success of a verb that prints nothing."""
        assert (self.status, self.stdout) == (0, ""), f"{self.stdout}\n{self.stderr}"

    def error(self, code: int) -> str:
        """Assert an error of that code; return its message."""
        assert self.status == 1, f"status {self.status}: {self.stdout}\n{self.stderr}"
        document = self.document
        assert document.keys() - {"details"} == {"cniVersion", "code", "msg"}
        assert document["code"] == code, document
        assert document["msg"]
        return str(document["msg"])


@dataclass(frozen=True)
class Runtime:
    """Calls the executable inside a node, as a container runtime would."""

    node: Namespace
    data_dir: Path
    path: str = DELEGATES
    executable: Path = EXECUTABLE
    wrapper: tuple[str, ...] = ()  # executes the plugin, within the node

    def but(self, **changes: Any) -> Runtime:  # noqa: ANN401 - fields of any type
        return replace(self, **changes)

    def conf(self, **keys: object) -> Document:
        """Return a net conf; a key that is None is left out."""
        conf: Document = {
            "cniVersion": "1.1.0",
            "name": "rails",
            "type": "multinic-cni",
            "plugin": {"type": "macvlan", "mode": "bridge"},
            "dataDir": str(self.data_dir),
        } | keys
        return {key: value for key, value in conf.items() if value is not None}

    def environment(self, command: str, **keys: str | None) -> dict[str, str]:
        environment = {
            "PATH": os.environ["PATH"],
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": "",
            "CNI_NETNS": "",
            "CNI_IFNAME": "",
            "CNI_PATH": self.path,
        } | keys
        return {name: value for name, value in environment.items() if value is not None}

    def start(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a call; the net conf is to be written to its stdin."""
        return subprocess.Popen(
            self.node_command(),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def node_command(self) -> list[str]:
        return self.node.command(*self.wrapper, self.executable)

    def call(self, command: str, conf: Document | bytes, **keys: str | None) -> Answer:
        """Call once; `keys` are environment variables, None for one that is not set."""
        stdin = conf if isinstance(conf, bytes) else json.dumps(conf).encode()
        started = time.monotonic()
        with self.start(self.environment(command, **keys)) as process:
            try:
                stdout, stderr = process.communicate(stdin, CALL_SECONDS)
            except BaseException:
                process.kill()
                raise
        seconds = time.monotonic() - started
        return Answer(process.returncode, stdout.decode(), stderr.decode(), seconds)

    def attachment(
        self, pod: Namespace, conf: Document, *, ifname: str = "net1", cni_args: str = ""
    ) -> Attachment:
        return Attachment(self, pod, conf, ifname=ifname, cni_args=cni_args)


@dataclass
class Attachment:
    """One attachment as its runtime knows it; `result` is ADD's and goes into later calls."""

    runtime: Runtime
    pod: Namespace
    conf: Document
    ifname: str = "net1"
    container_id: str = ""
    cni_args: str = ""
    result: Document | None = None

    def variables(self, **keys: str | None) -> dict[str, str | None]:
        return {
            "CNI_CONTAINERID": self.container_id or f"c-{self.pod.name}",
            "CNI_NETNS": self.pod.path,
            "CNI_IFNAME": self.ifname,
            "CNI_ARGS": self.cni_args,
        } | keys

    def call(self, command: str, conf: Document | None = None, /, **keys: str | None) -> Answer:
        """Call with the attachment's conf, or another one; nothing is added to it."""
        return self.runtime.call(
            command, self.conf if conf is None else conf, **self.variables(**keys)
        )

    @contextmanager
    def started(self, command: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start a call with the conf on its stdin; at the end it is killed if it still runs."""
        environment = self.runtime.environment(command, **self.variables())
        with self.runtime.start(environment) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(self.conf).encode())
            process.stdin.close()
            process.stdin = None
            try:
                yield process
            finally:
                process.kill()

    def add(self) -> Document:
        self.result = self.call("ADD").result()
        return self.result

    def check(self) -> Answer:
        return self.call("CHECK", self.conf | {"prevResult": self.result})

    def delete(self, **keys: str | None) -> Answer:
        """DEL as libcni does it: prevResult from 0.4.0 on."""
        knows_result = self.result and self.conf["cniVersion"] not in {"0.3.0", "0.3.1"}
        conf = self.conf | ({"prevResult": self.result} if knows_result else {})
        return self.call("DEL", conf, **keys)
