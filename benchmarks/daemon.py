"""A Docker daemon as a benchmark sees it: bare API calls, and each container's start and death by the node's clock."""

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.testbed.daemons import UnixConnection
from tests.testbed.image import IMAGE

KINDS = json.dumps({"type": ["container"], "event": ["start", "die"]})
STEP_S = 0.002


class Bare:
    """The engine's own API over its socket, one connection kept open: the peer in the same run."""

    def __init__(self, path: Path) -> None:
        self._connection = UnixConnection(path, timeout=60)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """One request. Raises RuntimeError for an answer that is not a success."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {told[:300]!r}")
        return json.loads(told) if told.strip() else None

    def network(self, name: str, driver: str) -> None:
        """What `docker network create` does."""
        self.call("POST", "/networks/create", {"Name": name, "Driver": driver, "CheckDuplicate": True})

    def run(self, name: str, command: Sequence[str], network: str = "default") -> None:
        """What `docker run --detach` does: create, then start."""
        body = {"Image": IMAGE, "Cmd": command, "HostConfig": {"NetworkMode": network}}
        made = self.call("POST", f"/containers/create?name={name}", body)
        self.call("POST", f"/containers/{made['Id']}/start")

    def service(self, name: str, node: str, command: Sequence[str], network: str = "") -> None:
        """What `docker service create --detach` does, on a named node, with no restarts."""
        template = {
            "ContainerSpec": {"Image": IMAGE, "Args": command},
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": [f"node.hostname=={node}"]},
            "Networks": [{"Target": network}] if network else [],
        }
        body = {"Name": name, "TaskTemplate": template, "Mode": {"Replicated": {"Replicas": 1}}}
        self.call("POST", "/services/create", body)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Moment(NamedTuple):
    """A container's start or death: seconds since the epoch, and what the daemon knows of it (name and labels)."""

    action: str
    at: float
    about: Mapping[str, str]


class Ear:
    """Context manager: hears every start and death on one daemon as they happen."""

    def __init__(self, path: Path) -> None:
        self._connection = UnixConnection(path, timeout=600)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._ready = threading.Event()
        self.moments: list[Moment] = []

    def __enter__(self) -> "Ear":
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the daemon tells no events")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._connection.close()

    def wait(self, action: str, about: Callable[[Mapping[str, str]], bool], limit_s: float = 60.0) -> Moment:
        """The first moment of this kind. Raises RuntimeError when it does not come."""
        end = time.monotonic() + limit_s
        while True:
            for moment in self.moments:
                if moment.action == action and about(moment.about):
                    return moment
            if time.monotonic() > end:
                raise RuntimeError(f"no {action} within {limit_s:g} s")
            time.sleep(STEP_S)

    def _listen(self) -> None:
        self._connection.request("GET", f"/events?filters={quote(KINDS)}")
        answer = self._connection.getresponse()
        self._ready.set()
        try:
            for line in answer:
                told = json.loads(line)
                self.moments.append(Moment(told["Action"], told["timeNano"] / 1e9, told["Actor"]["Attributes"]))
        except (OSError, ValueError):
            return  # closed in the middle of a line
