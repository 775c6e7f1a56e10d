"""Names of images taken apart, credentials read, and a registry's answers told, against a real small HTTP server."""

import base64
import json
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from berth.dockerapi.references import reference
from berth.dockerapi.registry import Registries
from berth.dockerapi.registry_login import Login, login_of
from berth.model.image import RegistryAnswer

INDEX = "application/vnd.oci.image.index.v1+json"
ENV = ["PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=12.4", "API_KEY=x"]
AUTH = base64.urlsafe_b64encode(json.dumps({"username": "team", "password": "pass"}).encode()).decode()

Handler = Callable[[web.Request], web.StreamResponse]


@pytest.mark.parametrize(
    ("name", "registry", "host", "path", "mark"),
    [
        ("busybox", "docker.io", "registry-1.docker.io", "library/busybox", "latest"),
        ("nvidia/cuda:12.4.1-base", "docker.io", "registry-1.docker.io", "nvidia/cuda", "12.4.1-base"),
        ("docker.io/nvidia/cuda", "docker.io", "registry-1.docker.io", "nvidia/cuda", "latest"),
        ("localhost:5000/a/b:2", "localhost:5000", "localhost:5000", "a/b", "2"),
        ("nvcr.io/nvidia/pytorch:24.05-py3", "nvcr.io", "nvcr.io", "nvidia/pytorch", "24.05-py3"),
        ("r.example/x:1@sha256:ab", "r.example", "r.example", "x", "sha256:ab"),
        ("index.docker.io/nvidia/cuda", "docker.io", "registry-1.docker.io", "nvidia/cuda", "latest"),
        ("Team/x", "Team", "Team", "x", "latest"),
    ],
)
def test_a_name_is_taken_apart(name: str, registry: str, host: str, path: str, mark: str) -> None:
    found = reference(name)
    assert (found.registry, found.host, found.path, found.mark) == (registry, host, path, mark)


def test_credentials_are_read_and_never_shown() -> None:
    assert login_of(AUTH) == Login(username="team", password="pass")
    assert "pass" not in repr(login_of(AUTH))
    assert login_of("") == login_of("%%%") == Login()


class Registry:
    """A registry with one image `a/b:1` for two architectures; `guard` decides who may read."""

    def __init__(self) -> None:
        self.address = ""
        self.guard: Handler | None = None
        self.tokens: list[str] = []
        self.trouble = 0

    async def manifest(self, request: web.Request) -> web.StreamResponse:
        if (no := self._no(request)) is not None:
            return no
        mark = request.match_info["mark"]
        if mark == "1":
            entries = [("unknown", "unknown", "d0"), ("linux", "arm64", "d1"), ("linux", "amd64", "d2")]
            parts = [{"digest": d, "platform": {"os": os, "architecture": arch}} for os, arch, d in entries]
            return web.json_response({"manifests": parts}, content_type=INDEX)
        if mark == "d2":
            return web.json_response({"config": {"digest": "c"}})
        fault = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
        return web.json_response(fault, status=404)

    async def blob(self, request: web.Request) -> web.StreamResponse:
        return self._no(request) or web.json_response({"config": {"Env": ENV}})

    async def token(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.query_string)
        if self.trouble:
            return web.json_response({}, status=self.trouble)
        if request.headers.get("Authorization") != "Basic " + base64.b64encode(b"team:pass").decode():
            return web.json_response({}, status=401)
        return web.json_response({"token": "t0"})

    def _no(self, request: web.Request) -> web.StreamResponse | None:
        return self.guard(request) if self.guard else None

    def by_token(self, request: web.Request) -> web.StreamResponse | None:
        if request.headers.get("Authorization") == "Bearer t0":
            return None
        asked = f'Bearer realm="http://{self.address}/token",service="here",scope="repository:a/b:pull"'
        return web.json_response(
            {"errors": [{"code": "UNAUTHORIZED"}]}, status=401, headers={"WWW-Authenticate": asked}
        )


@pytest.fixture
async def registry() -> AsyncIterator[Registry]:
    """The registry on a free port of loopback, where no TLS is wanted."""
    found = Registry()
    app = web.Application()
    app.add_routes(
        [
            web.get("/v2/a/{name}/manifests/{mark}", found.manifest),
            web.get("/v2/a/{name}/blobs/{digest}", found.blob),
            web.get("/token", found.token),
        ]
    )
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.address = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield found
    finally:
        await runner.cleanup()


async def ask(registry: Registry, image: str, auth: str = "") -> RegistryAnswer:
    return await Registries().ask(f"{registry.address}/{image}", auth)


async def test_the_image_of_this_architecture_tells_what_it_demands_and_nothing_else(registry: Registry) -> None:
    answer = await ask(registry, "a/b:1")
    assert (answer.verdict, answer.env) == ("found", {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"})


async def test_an_image_that_is_not_there_is_absent_in_the_registry_s_words(registry: Registry) -> None:
    answer = await ask(registry, "a/b:2")
    assert (answer.verdict, answer.said, answer.registry) == ("absent", "manifest unknown", registry.address)


async def test_a_token_is_fetched_with_the_credentials_for_the_scope_that_was_asked(registry: Registry) -> None:
    registry.guard = registry.by_token  # type: ignore[assignment]
    assert (await ask(registry, "a/b:1")).verdict == "denied"
    assert (await ask(registry, "a/b:1", AUTH)).verdict == "found"
    assert set(registry.tokens) == {"service=here&scope=repository:a/b:pull"}


async def test_who_gives_tokens_and_is_in_trouble_has_not_denied(registry: Registry) -> None:
    registry.guard = registry.by_token  # type: ignore[assignment]
    registry.trouble = 503
    answer = await ask(registry, "a/b:1", AUTH)
    assert (answer.verdict, answer.said) == ("unreachable", f"HTTP 503 from http://{registry.address}/token")


async def test_credentials_of_another_registry_are_not_shown(registry: Registry) -> None:
    registry.guard = registry.by_token  # type: ignore[assignment]
    login = {"username": "team", "password": "pass", "serveraddress": "https://elsewhere.example/v2/"}
    other = base64.urlsafe_b64encode(json.dumps(login).encode()).decode()
    assert (await ask(registry, "a/b:1", other)).verdict == "denied"
    own = base64.urlsafe_b64encode(json.dumps({**login, "serveraddress": registry.address}).encode()).decode()
    assert (await ask(registry, "a/b:1", own)).verdict == "found"


async def test_a_mirror_that_has_the_image_answers_for_the_hub_without_a_login(registry: Registry) -> None:
    hub = Registries(mirrors=[f"http://{registry.address}"])
    assert (await hub.ask("a/b:1", AUTH)).verdict == "found"
    registry.guard = registry.by_token  # type: ignore[assignment]
    assert (await hub.ask("a/b:1", AUTH)).verdict != "found", "the hub's password is not the mirror's"


async def test_an_overloaded_registry_has_not_answered(registry: Registry) -> None:
    registry.guard = lambda _: web.json_response({"errors": [{"code": "TOOMANYREQUESTS"}]}, status=429)
    assert await ask(registry, "a/b:1") == RegistryAnswer(
        registry=registry.address, verdict="unreachable", said="TOOMANYREQUESTS"
    )


async def test_a_registry_that_is_away_is_an_answer_too() -> None:
    answer = await Registries().ask("127.0.0.1:1/a/b:1")
    assert (answer.verdict, answer.registry) == ("unreachable", "127.0.0.1:1")
