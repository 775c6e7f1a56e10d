"""Secrets over HTTP: what each role may do, what is kept, and that a repeated request finds nothing to guess from."""

import base64
from pathlib import Path
from typing import Any

from berth.model.spec import FileRef, TaskSpec
from tests.api.lab import lab, node_with, running

SECRET = "correct-horse"


def body(name: str, text: str = SECRET) -> dict[str, str]:
    """The body of a creation."""
    return {"name": name, "data": base64.b64encode(text.encode()).decode()}


def codes(answer: tuple[int, Any, Any]) -> tuple[int, list[str]]:
    """Status and codes of a refusal."""
    return answer[0], [error["code"] for error in answer[1]["errors"]]


async def test_a_secret_goes_in_and_never_comes_out(tmp_path: Path) -> None:
    async with lab(tmp_path) as server:
        status, made, _ = await server.call("POST", "/v1/secrets", "user", json=body("key"))
        assert status == 201
        assert (made["name"], made["user"], made["used_by"]) == ("key", "user", [])
        listed = (await server.get("/v1/secrets", "admin"))["items"]
        assert [one["name"] for one in listed] == ["key"]
        assert SECRET not in str(made) + str(listed) + str(await server.get("/v1/events"))
        (kept,) = server.control.cluster.files.values()
        assert SECRET.encode() not in kept.sealed
        status, gone, _ = await server.call("DELETE", "/v1/secrets/key", "user")
        assert (status, gone["name"]) == (200, "key")
        assert codes(await server.call("DELETE", "/v1/secrets/key", "user")) == (404, ["no-such-secret"])


async def test_only_the_owner_or_an_admin_removes_one_and_only_while_it_is_not_used(tmp_path: Path) -> None:
    spec = TaskSpec(image="x", secrets=(FileRef(source="key", target="key"),))
    async with lab(tmp_path, [*node_with(), *running(spec=spec)]) as server:
        await server.call("POST", "/v1/secrets", "admin", json=body("key"))
        assert codes(await server.call("DELETE", "/v1/secrets/key", "user")) == (403, ["not-yours"])
        assert codes(await server.call("DELETE", "/v1/secrets/key")) == (403, ["file-in-use"])
        assert codes(await server.call("POST", "/v1/secrets", "agent", json=body("b"))) == (403, ["agent-token"])


async def test_wrong_names_sizes_and_repeats(tmp_path: Path) -> None:
    async with lab(tmp_path) as server:
        for wrong, code in ((body("a b"), "file-name"), (body("a" * 65), "file-name"), (body("a", ""), "file-size")):
            assert codes(await server.call("POST", "/v1/secrets", json=wrong)) == (422, [code])
        headers = {"Idempotency-Key": "k1"}
        first = await server.call("POST", "/v1/secrets", json=body("key"), headers=headers)
        again = await server.call("POST", "/v1/secrets", json=body("key"), headers=headers)
        assert (first[0], again[0], first[1]) == (201, 201, again[1])
        other = await server.call("POST", "/v1/secrets", json=body("key", "other"), headers=headers)
        assert codes(other) == (422, ["key-reused"])
        assert codes(await server.call("POST", "/v1/secrets", json=body("key"))) == (422, ["file-taken"])
