"""A real API on loopback: granian, a real store and cluster; without the loop, so that nothing moves by itself."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import aiohttp

from berth.api.app import create_app
from berth.api.serve import Server, Tls, serve
from berth.control.agents import Agents
from berth.control.commands.tokens import make_token
from berth.control.context import Control, Settings
from berth.control.mirror.cluster import Cluster
from berth.engines.simulated import SimulatedEngine
from berth.main.clock import SystemClock
from berth.model.change import Change, PutAttempt, PutCard, PutJob, PutNode, PutTask, PutToken, Take
from berth.model.job import Attempt
from berth.model.simulate import parse_simulate
from berth.model.token import Role
from berth.ports import Engine, LogStore
from berth.store import make_logs, make_store
from berth.vault import AesVault
from tests import build


class Lab:
    """One server; `get` and the others answer (status, JSON, headers) for the token named by role."""

    def __init__(self, control: Control, server: Server, secrets: dict[str, str]) -> None:
        self.control = control
        self.server = server
        self.secrets = secrets
        self.http = aiohttp.ClientSession(f"http://127.0.0.1:{server.port}")

    def headers(self, role: str = "admin", **more: str) -> dict[str, str]:
        """The headers of a caller."""
        return {"Authorization": f"Bearer {self.secrets[role]}", **more}

    async def call(
        self, method: str, path: str, role: str = "admin", headers: dict[str, str] | None = None, **options: Any
    ) -> tuple[int, Any, Any]:
        """One request."""
        sent = {**self.headers(role), **(headers or {})}
        async with self.http.request(method, path, headers=sent, **options) as answer:
            text = await answer.read()
            is_json = answer.content_type == "application/json"
            return answer.status, (await answer.json() if is_json and text else text), answer.headers

    async def get(self, path: str, role: str = "admin", **options: Any) -> Any:
        """The JSON at a path that must be there."""
        status, value, _ = await self.call("GET", path, role, **options)
        assert status == 200, value
        return value

    async def commit(self, *changes: Change) -> None:
        """Change the cluster as a command would."""
        await self.control.writer.commit(tuple(changes))


@contextlib.asynccontextmanager
async def lab(
    folder: Path,
    changes: Sequence[Change] = (),
    store: str = "memory:",
    engine: Engine | None = None,
    tls: Tls | None = None,
) -> AsyncIterator[Lab]:
    """A server whose store holds these changes, with one token per role (names: role)."""
    kept = make_store(store)
    kept.open()
    control = Control(
        Cluster(kept.load()),
        kept,
        engine or SimulatedEngine(parse_simulate("gpu-1=A100-SXM4-80GB:2"), SystemClock()),
        SystemClock(),
        cast(LogStore, make_logs(folder / "logs")),
        Settings(cluster_id="c1", engine="simulated"),
    )
    control.vault = AesVault(bytes(32))
    secrets = {}
    roles: tuple[tuple[str, Role, str], ...] = (
        ("admin", "admin", ""),
        ("user", "user", ""),
        ("agent", "agent", "gpu-1"),
    )
    for name, role, node in roles:
        token, secrets[name] = make_token(role, name, node, control.clock.now())
        await control.writer.commit((PutToken(token),))
    if changes:
        await control.writer.commit(tuple(changes))
    app = create_app(control, Agents(control))
    server = await serve(app, "127.0.0.1", 0, tls)
    found = Lab(control, server, secrets)
    try:
        yield found
    finally:
        await found.http.close()
        await server.stop()
        await control.writer.close()
        kept.close()


def node_with(name: str = "gpu-1", cards: int = 2, **fields: Any) -> list[Change]:
    """A node and its cards."""
    put: list[Change] = [PutNode(build.node(name, **fields))]
    return put + [PutCard(build.card(name, index)) for index in range(cards)]


def running(
    job_id: str = "j1", node: str = "gpu-1", index: int = 0, at: float = 1_700_000_000.0, **fields: Any
) -> list[Change]:
    """A job that runs on one card since `at`."""
    card = build.card(node, index)
    job = build.job(job_id, submitted_at=at - 10, **fields)
    task = build.task(
        job_id, state="running", attempt=1, node=node, cards=(card.uuid,), started_at=at, granted_at=at - 1, gone=False
    )
    attempt = Attempt(task=task.id, attempt=1, node=node, cards=task.cards, granted_at=at - 1, started_at=at)
    return [PutJob(job), PutTask(task), Take(task.id, build.whole(card)), PutAttempt(attempt)]


def waiting(job_id: str, **fields: Any) -> list[Change]:
    """A job that waits."""
    return [PutJob(build.job(job_id, submitted_at=1_700_000_100.0, **fields)), PutTask(build.task(job_id))]
