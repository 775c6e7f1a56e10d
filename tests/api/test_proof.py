"""Who may speak: tokens on every path, roles, bounds of bodies, one form of errors."""

import io
import json
from pathlib import Path

import msgspec
import pytest

from berth.api.body import MOST_BYTES
from berth.control.commands.tokens import make_token
from berth.model.change import DropToken, PutToken
from tests.api.lab import lab, node_with

CLOSED = ["/v1/cards", "/v1/jobs", "/v1/openapi.json", "/metrics", "/readyz", "/v1/nothing", "/"]


@pytest.mark.parametrize("path", CLOSED)
async def test_without_a_token_nothing_but_healthz_answers(tmp_path: Path, path: str) -> None:
    async with lab(tmp_path) as api:
        async with api.http.get(path) as answer:
            assert answer.status == 401
            body = await answer.json()
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        async with api.http.get("/healthz") as answer:
            assert (answer.status, await answer.json()) == (200, {"ok": True})
    assert body["exit_code"] == 4
    assert [error["code"] for error in body["errors"]] == ["token-missing"]
    assert "berth login" in body["errors"][0]["hint"]


@pytest.mark.parametrize("sent", ["Bearer nonsense", "Basic abc", "Bearer", "Bearer \xff\xfe", ""])
async def test_what_is_no_token_is_refused(tmp_path: Path, sent: str) -> None:
    async with lab(tmp_path) as api, api.http.get("/v1/cards", headers={"Authorization": sent}) as answer:
        assert answer.status == 401


async def test_a_revoked_token_is_worthless_at_once_also_for_kept_answers(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        assert (await api.call("GET", "/v1/cards", "user"))[0] == 200
        token = next(one for one in api.control.cluster.tokens.values() if one.role == "user")
        await api.commit(DropToken(token.id))
        status, value, _ = await api.call("GET", "/v1/cards", "user")
    assert (status, value["errors"][0]["code"]) == (401, "token-unknown")


async def test_an_expired_token_is_refused(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        token, api.secrets["old"] = make_token("user", "ann", "", 0.0)
        await api.commit(PutToken(msgspec.structs.replace(token, expires_at=api.control.clock.now() - 1)))
        status, value, _ = await api.call("GET", "/v1/cards", "old")
    assert (status, value["errors"][0]["code"]) == (401, "token-expired")


async def test_an_agents_token_opens_nothing_but_its_stream(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        for path in ("/v1/cards", "/v1/jobs/x", "/metrics"):
            status, value, _ = await api.call("GET", path, "agent")
            assert (status, value["errors"][0]["code"]) == (403, "agent-token")


async def test_a_user_may_not_do_what_admins_do(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        for method, path, body in (
            ("POST", "/v1/tokens", {"role": "admin"}),
            ("GET", "/v1/tokens", None),
            ("POST", "/v1/nodes/gpu-1/drain", {"reason": "x"}),
            ("POST", "/v1/cards/fence", {"uuid": "GPU-gpu-1-0", "reason": "x"}),
        ):
            status, value, _ = await api.call(method, path, "user", json=body)
            assert (status, value["exit_code"], value["errors"][0]["code"]) == (403, 4, "admin-only")


async def test_bodies_are_bounded(tmp_path: Path) -> None:
    async def endless():  # type: ignore[no-untyped-def]
        for _ in range(MOST_BYTES // (1 << 20) + 2):
            yield b" " * (1 << 20)

    async with lab(tmp_path) as api:
        for data in (io.BytesIO(b" " * (MOST_BYTES + 1)), endless()):
            status, value, _ = await api.call("POST", "/v1/tokens", data=data)
            assert (status, value["errors"][0]["code"]) == (413, "body-too-large")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "no-such-path"),
        ("GET", "/v1/openapi.json/x", 404, "no-such-path"),
        ("PUT", "/v1/cards", 405, "method-not-allowed"),
        ("GET", "/v1/cards?limit=0", 422, "bad-request"),
        ("GET", "/v1/cards?cursor=%00", 422, "bad-cursor"),
        ("GET", "/v1/jobs?cursor=WzEsMl0", 422, "bad-cursor"),
        ("GET", "/v1/jobs/none/why", 404, "no-such-job"),
        ("DELETE", "/v1/tokens/none", 404, "no-such-token"),
        ("POST", "/v1/nodes/none/undrain", 404, "no-such-node"),
    ],
)
async def test_every_no_has_one_form(tmp_path: Path, method: str, path: str, status: int, code: str) -> None:
    async with lab(tmp_path) as api:
        got, value, _ = await api.call(method, path)
    assert got == status
    assert value["errors"][0]["code"] == code
    assert set(value["errors"][0]) == {"code", "message", "field", "file", "line", "column", "excerpt", "cut", "hint"}


async def test_the_openapi_document_describes_every_path(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        document = json.loads(await api.get("/v1/openapi.json"))
    assert document["openapi"].startswith("3.")
    for path, methods in document["paths"].items():
        for method, what in methods.items():
            assert what["summary"], (method, path)
            if path.startswith("/v1/"):
                assert "401" in what["responses"], (method, path)
    assert {"/v1/cards", "/v1/jobs/{key}", "/v1/jobs/{key}/logs", "/v1/events"} <= set(document["paths"])
