"""Asks an image's registry whether it has the image and what the image's own configuration demands of cards.

The protocol is the OCI distribution specification with Docker's token authentication
(github.com/opencontainers/distribution-spec, distribution.github.io/distribution/spec/auth/token).
"""

import ipaddress
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from berth.dockerapi.references import Reference, reference
from berth.dockerapi.registry_login import Login, Unanswered, authorised, login_of
from berth.model.image import RegistryAnswer, Verdict, relevant
from berth.model.registry import HUB

CONNECT_S, WHOLE_S = 3.0, 8.0
MOST_BYTES = 8 << 20
"""Of a manifest or an image's configuration."""
CERTIFICATES = Path("/etc/docker/certs.d")
"""Where a Docker host keeps the authorities of its private registries."""
_KINDS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)


class _Platform(msgspec.Struct):
    os: str = ""
    architecture: str = ""


class _Part(msgspec.Struct):
    digest: str
    platform: _Platform | None = None


class _Manifest(msgspec.Struct):
    manifests: list[_Part] | None = None
    config: _Part | None = None


class _Settings(msgspec.Struct, rename={"env": "Env"}):
    env: list[str] | None = None


class _Image(msgspec.Struct):
    config: _Settings | None = None


class _Fault(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Faults(msgspec.Struct):
    errors: list[_Fault] | None = None


class Registries:
    """All registries, as this Docker host reaches them: `insecure` without TLS proofs, Docker Hub by its `mirrors`.

    `insecure` are hosts with their port, and networks ("10.0.0.0/8"); loopback is always among them, as in Docker.
    """

    def __init__(self, insecure: Iterable[str] = (), mirrors: Iterable[str] = ()) -> None:
        self._insecure = ("127.0.0.0/8", "::1/128", *insecure)
        self._mirrors = tuple(mirror.rstrip("/") for mirror in mirrors)

    async def ask(self, image: str, auth: str = "", arch: str = "amd64") -> RegistryAnswer:
        """What the registry says of the image; `auth` is an X-Registry-Auth value. Never raises for what the registry
        or the network does: that is an answer, too ("unreachable" for everything that is no definite yes or no).
        """
        where = reference(image)
        for mirror in self._mirrors if where.registry == HUB else ():
            answer = await self._at(mirror, where, Login(), arch)
            if answer.verdict == "found":  # any other answer is the mirror's own matter, as for Docker
                return answer
        login = login_of(auth)
        login = login if login.is_for(where.registry) else Login()
        answer = await self._at(f"https://{where.host}", where, login, arch)
        if answer.verdict == "unreachable" and self._is_insecure(where.host):
            answer = await self._at(f"http://{where.host}", where, login, arch)
        return answer

    def _is_insecure(self, host: str) -> bool:
        if host in self._insecure:
            return True
        name = host.rpartition(":")[0] or host
        try:
            address = ipaddress.ip_address("127.0.0.1" if name == "localhost" else name.strip("[]"))
        except ValueError:
            return False
        return any(address in ipaddress.ip_network(entry) for entry in self._insecure if "/" in entry)

    async def _at(self, base: str, where: Reference, login: Login, arch: str) -> RegistryAnswer:
        timeout = aiohttp.ClientTimeout(total=WHOLE_S, sock_connect=CONNECT_S)
        try:
            connector = aiohttp.TCPConnector(ssl=self._tls(urlsplit(base).netloc))
            async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
                env = await _Visit(session, base, where, login).environment(arch)
        except Unanswered as no:
            return RegistryAnswer(registry=where.registry, verdict=_verdict(no.status), said=str(no))
        except (aiohttp.ClientError, OSError, TimeoutError, msgspec.MsgspecError, ValueError) as error:
            said = str(error) or f"no answer within {WHOLE_S:g} s"
            return RegistryAnswer(registry=where.registry, verdict="unreachable", said=said)
        return RegistryAnswer(registry=where.registry, verdict="found", env=env)

    def _tls(self, host: str) -> ssl.SSLContext | bool:
        if self._is_insecure(host):
            return False
        found = sorted((CERTIFICATES / host).glob("*.crt"))
        if not found:
            return True
        context = ssl.create_default_context()
        for path in found:
            context.load_verify_locations(path)
        return context


class _Visit:
    """One image at one address; the token, once had, is used for all that follows."""

    def __init__(self, session: aiohttp.ClientSession, base: str, where: Reference, login: Login) -> None:
        self._session, self._where, self._login = session, where, login
        self._root = f"{base}/v2/{where.path}"
        self._headers: Mapping[str, str] = {}

    async def environment(self, arch: str) -> dict[str, str]:
        """The variables that demand something. Raises Unanswered, and what the network and decoding raise."""
        manifest = await self._manifest(self._where.mark)
        if manifest.config is None and manifest.manifests:
            manifest = await self._manifest(_chosen(manifest.manifests, arch).digest)
        if manifest.config is None:
            return {}
        data = await self._read(f"{self._root}/blobs/{manifest.config.digest}")
        settings = msgspec.json.decode(data, type=_Image).config
        entries = (entry.partition("=") for entry in (settings.env if settings else None) or ())
        return relevant({name: value for name, _, value in entries})

    async def _manifest(self, mark: str) -> _Manifest:
        data = await self._read(f"{self._root}/manifests/{mark}", {"Accept": _KINDS})
        return msgspec.json.decode(data, type=_Manifest)

    async def _read(self, url: str, headers: Mapping[str, str] | None = None) -> bytes:
        status, asked, data = await self._get(url, headers or {})
        if status == 401 and asked and not self._headers:
            self._headers = await authorised(self._session, asked, self._login)
            status, _, data = await self._get(url, headers or {})
        if status != 200:
            raise Unanswered(status, _said(status, data))
        return data

    async def _get(self, url: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        async with self._session.get(url, headers={**headers, **self._headers}) as answer:
            data = await answer.content.read(MOST_BYTES + 1)
            while len(data) <= MOST_BYTES and (more := await answer.content.read(MOST_BYTES + 1 - len(data))):
                data += more
            if len(data) > MOST_BYTES:
                raise ValueError(f"its answer is larger than {MOST_BYTES >> 20} MiB")
            return answer.status, answer.headers.get("WWW-Authenticate", ""), data


def _chosen(parts: list[_Part], arch: str) -> _Part:
    """The Linux image for this architecture, else the first that is an image at all (attestations are "unknown")."""
    known = [part for part in parts if part.platform is None or part.platform.os != "unknown"] or parts
    linux = [part for part in known if part.platform is not None and part.platform.os == "linux"]
    fit = [part for part in linux if part.platform is not None and part.platform.architecture == arch]
    return (fit or linux or known)[0]


def _verdict(status: int) -> Verdict:
    """What an HTTP status other than 200 means; 429 and 5xx are no answer to the question."""
    return "absent" if status == 404 else "denied" if status in (401, 403) else "unreachable"


def _said(status: int, data: bytes) -> str:
    """The registry's own words, shortened; else its HTTP status."""
    try:
        faults: Any = msgspec.json.decode(data, type=_Faults).errors
    except msgspec.MsgspecError:
        faults = None
    words = "; ".join(fault.message or fault.code for fault in faults or ())
    return words[:300] or f"HTTP {status}"
