"""Finds the Docker daemon as the docker CLI would: a host, the environment, a context; `transport` connects to it."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from berth.model.errors import BadInput, Problem

DEFAULT_SOCKET = "unix:///var/run/docker.sock"
SCHEMES = ("unix://", "tcp://", "ssh://", "http://", "https://")


class TlsFiles(msgspec.Struct, frozen=True):
    """Paths of PEM files ("" = none) for a TLS connection; `verify` False skips the proof of the server."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    verify: bool = True


class Address(msgspec.Struct, frozen=True):
    """Where a daemon listens: its URL, the TLS files for it (None: plain), and who named it, in words."""

    url: str
    tls: TlsFiles | None = None
    source: str = ""


class _Config(msgspec.Struct, frozen=True, rename={"current": "currentContext"}):
    current: str = ""


class _Endpoint(msgspec.Struct, frozen=True, rename={"host": "Host", "skip": "SkipTLSVerify"}):
    host: str = ""
    skip: bool = False


class _Context(msgspec.Struct, frozen=True, rename={"name": "Name", "endpoints": "Endpoints"}):
    name: str
    endpoints: dict[str, _Endpoint] = {}


def find(given: str = "", environ: Mapping[str, str] | None = None) -> Address:
    """Where the daemon is. `given` is a URL, the name of a context, or "" for what the docker CLI would use.

    Precedence as in docker/cli `resolveContextName`: DOCKER_HOST, DOCKER_CONTEXT, the configured context, the
    local socket. Raises BadInput when a context is named that does not exist or cannot be read.
    """
    env = os.environ if environ is None else environ
    folder = Path(env.get("DOCKER_CONFIG") or Path(env.get("HOME") or "~").expanduser() / ".docker")
    if "://" in given:
        return _by_url(given, env, folder, "the given Docker host")
    if given:
        return _by_context(given, env, folder, "the given Docker context")
    if env.get("DOCKER_HOST"):
        return _by_url(env["DOCKER_HOST"], env, folder, "DOCKER_HOST")
    if env.get("DOCKER_CONTEXT"):
        return _by_context(env["DOCKER_CONTEXT"], env, folder, "DOCKER_CONTEXT")
    return _by_context(_configured(folder), env, folder, f"the current context in {folder / 'config.json'}")


def _by_url(url: str, env: Mapping[str, str], folder: Path, source: str) -> Address:
    if not url.startswith(SCHEMES):
        raise BadInput(
            Problem(
                code="bad-docker-host",
                message=f"{url} ({source}) is not an address of a Docker daemon.",
                hint="Write unix:///var/run/docker.sock, ssh://user@host, tcp://host:2376, or the name of a context.",
            )
        )
    return Address(url, _tls_of_environment(env, folder) if url.startswith(("tcp://", "https://")) else None, source)


def _tls_of_environment(env: Mapping[str, str], folder: Path) -> TlsFiles | None:
    verify = bool(env.get("DOCKER_TLS_VERIFY"))
    if not verify and not env.get("DOCKER_TLS"):
        return None
    return _tls_files(Path(env.get("DOCKER_CERT_PATH") or folder), verify)


def _tls_files(folder: Path, verify: bool) -> TlsFiles:
    ca, cert, key = (
        str(folder / f"{name}.pem") if (folder / f"{name}.pem").exists() else "" for name in ("ca", "cert", "key")
    )
    return TlsFiles(ca, cert, key, verify)


def _by_context(name: str, env: Mapping[str, str], folder: Path, source: str) -> Address:
    if name == "default":
        url = env.get("DOCKER_HOST") or DEFAULT_SOCKET
        return _by_url(url, env, folder, "the default Docker context")
    key = hashlib.sha256(name.encode()).hexdigest()
    context = _read(folder / "contexts" / "meta" / key / "meta.json", _Context)
    endpoint = context.endpoints.get("docker") if context else None
    if endpoint is None or not endpoint.host:
        raise _unknown_context(name, folder, source)
    files = _tls_files(folder / "contexts" / "tls" / key / "docker", not endpoint.skip)
    return Address(endpoint.host, files if files.ca or files.cert else None, f"the Docker context {name}")


def _unknown_context(name: str, folder: Path, source: str) -> BadInput:
    known = sorted(
        context.name for path in folder.glob("contexts/meta/*/meta.json") if (context := _read(path, _Context))
    )
    return BadInput(
        Problem(
            code="unknown-docker-context",
            message=f"There is no Docker context {name} with a Docker endpoint ({source}).",
            hint=f"Use one of: {', '.join(['default', *known])}; `docker context ls` shows them.",
        )
    )


def _configured(folder: Path) -> str:
    config = _read(folder / "config.json", _Config)
    return (config.current if config else "") or "default"


def _read(path: Path, shape: type[Any]) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(
            Problem(
                code="bad-docker-config",
                message=f"{path} cannot be read as a Docker client's file: {error}.",
                hint="Mend or remove that file, or give --docker-host an address.",
            )
        ) from error
