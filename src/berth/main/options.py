"""What `berth up` was asked for: its flags as one value, checked before anything is opened."""

import ipaddress
import os
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from berth.model.errors import BadInput, Refused

DEFAULT_LISTEN = "127.0.0.1:7700"
ENGINE_WORDS = ("auto", "docker", "swarm", "simulated")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of `berth up`; `data` is the folder of everything that must survive a restart."""

    engine: str = "auto"
    simulate: str = ""
    cards: Path | None = None
    data: Path
    host: str = "127.0.0.1"
    port: int = 7700
    store: str = ""
    docker_host: str = ""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False
    remember: bool = True

    @property
    def address(self) -> str:
        """The URL at which clients on this machine reach the server."""
        scheme = "https" if self.tls_cert else "http"
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 - compared, not bound
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def default_data() -> Path:
    """`$XDG_DATA_HOME/berth`, by default `~/.local/share/berth`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "berth"


def parse_listen(text: str) -> tuple[str, int]:
    """HOST:PORT, [IPv6]:PORT, or :PORT (loopback). Raises BadInput."""
    try:
        parts = urlsplit(f"//{text}" if not text.startswith(":") else f"//127.0.0.1{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port or parts.path:
        raise BadInput.of(
            "bad-listen", f"--listen {text} is not HOST:PORT.", f"--listen {DEFAULT_LISTEN}", field="--listen"
        )
    return host, port


def check(options: Options) -> None:
    """Refuse what must not be started: half of TLS, or plain HTTP where others can listen in."""
    if bool(options.tls_cert) != bool(options.tls_key):
        raise BadInput.of("tls-pair", "--tls-cert and --tls-key belong together.", "--tls-cert F --tls-key F")
    for file in (options.tls_cert, options.tls_key):
        if file is not None and not os.access(file, os.R_OK):
            raise BadInput.of("tls-file", f"{file} cannot be read.", "Check its path and its owner")
    if not options.tls_cert and not options.insecure and not loopback(options.host):
        raise Refused.of(
            "plain-beyond-loopback",
            f"listening on {options.host} without TLS would send tokens in the clear.",
            "--tls-cert F --tls-key F, or --insecure if the network is your own",
        )


def loopback(host: str) -> bool:
    """True for an address that only this machine can reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
