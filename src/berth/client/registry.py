"""Registry credentials that `docker login` kept, for the registries of the images at hand and no others."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from berth.model.registry import registry_of

HUB = "https://index.docker.io/v1/"
"""Under this key Docker keeps the login of Docker Hub."""
HELPER_S = 10.0


class Found(NamedTuple):
    """Values for the header X-Registry-Auth by registry, and what to tell the person about those that failed."""

    auth: dict[str, str]
    notices: list[str]


def credentials(images: Iterable[str], environ: Mapping[str, str]) -> Found:
    """The kept credentials for these images' registries; a registry without any is left out."""
    settings = _settings(environ)
    found = Found({}, [])
    for registry in dict.fromkeys(registry_of(image) for image in images):
        try:
            login = _login(registry, settings)
        except OSError as error:
            found.notices.append(f"going on without credentials for {registry}: {error}")
            continue
        if login:
            found.auth[registry] = _header(login)
    return found


def known_registries(environ: Mapping[str, str]) -> list[str]:
    """The registries for which `docker login` kept something."""
    settings = _settings(environ)
    keys = [*settings.get("auths", {}), *settings.get("credHelpers", {})]
    return list(dict.fromkeys(_host(key) for key in keys))


def _settings(environ: Mapping[str, str]) -> dict[str, Any]:
    base = environ.get("DOCKER_CONFIG") or str(Path(environ.get("HOME") or Path.home()) / ".docker")
    try:
        found = json.loads((Path(base) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _login(registry: str, settings: dict[str, Any]) -> dict[str, str]:
    """What Docker would send: from a helper for this registry, the common store, or the file itself."""
    key = HUB if registry == "docker.io" else registry
    helpers = settings.get("credHelpers", {})
    helper = helpers.get(registry) or helpers.get(key) or settings.get("credsStore", "")
    if helper:
        return _from_helper(helper, key)
    entries = (entry for name, entry in settings.get("auths", {}).items() if _host(name) == registry)
    return _from_entry(next(entries, {}), key)


def _host(key: str) -> str:
    host = key.partition("://")[2] or key
    host = host.partition("/")[0]
    return "docker.io" if host in ("index.docker.io", "registry-1.docker.io") else host


def _from_entry(entry: dict[str, str], key: str) -> dict[str, str]:
    if entry.get("identitytoken"):
        return {"identitytoken": entry["identitytoken"], "serveraddress": key}
    try:
        name, _, secret = base64.b64decode(entry.get("auth", "")).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise OSError("what 'docker login' kept for it is damaged; log in again") from error
    return {"username": name, "password": secret.rstrip("\0"), "serveraddress": key} if name else {}


def _from_helper(helper: str, key: str) -> dict[str, str]:
    """Ask `docker-credential-HELPER get`, as the docker CLI does: the registry on its standard input, JSON back.

    The protocol: github.com/docker/docker-credential-helpers. Raises OSError with words for a person.
    """
    if not re.fullmatch(r"[A-Za-z0-9._-]+", helper):
        raise OSError(f"'{helper}' cannot be the name of a credential helper")
    import subprocess  # only here: it costs as much as the rest of this module together

    program = f"docker-credential-{helper}"
    try:
        done = subprocess.run([program, "get"], input=key.encode(), capture_output=True, timeout=HELPER_S, check=False)
    except FileNotFoundError as error:
        raise OSError(f"{program} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} has not answered for {HELPER_S:g} s") from error
    if done.returncode:
        if b"not found" in done.stdout + done.stderr:
            return {}
        raise OSError(f"{program} ended with {done.returncode}")
    try:
        answer = json.loads(done.stdout)
        name, secret = answer["Username"], answer["Secret"]
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{program} answered with something else than credentials") from error
    if name == "<token>":
        return {"identitytoken": secret, "serveraddress": key}
    return {"username": name, "password": secret, "serveraddress": key}


def _header(login: dict[str, str]) -> str:
    """The value of X-Registry-Auth: JSON in URL-safe base64."""
    return base64.urlsafe_b64encode(json.dumps(login).encode()).decode()
