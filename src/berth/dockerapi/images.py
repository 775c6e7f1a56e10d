"""What a daemon's registries say of images: they are reached as the daemon itself is configured to reach them."""

import msgspec

from berth.dockerapi.client import Docker
from berth.dockerapi.registry import Registries
from berth.model.image import RegistryAnswer

_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}


class _Index(msgspec.Struct, rename="pascal"):
    secure: bool = True
    mirrors: list[str] | None = None


class _Config(msgspec.Struct, rename={"nets": "InsecureRegistryCIDRs", "hosts": "IndexConfigs"}):
    nets: list[str] | None = None
    hosts: dict[str, _Index] | None = None


class _Info(msgspec.Struct, rename={"config": "RegistryConfig", "arch": "Architecture"}):
    config: _Config | None = None
    arch: str = ""


class Images:
    """One daemon's registries. How they are reached is read from the daemon at the first question."""

    def __init__(self, docker: Docker) -> None:
        self._docker = docker
        self._registries: Registries | None = None
        self._arch = "amd64"

    async def ask(self, image: str, auth: str) -> RegistryAnswer:
        """What the image's registry says of it. Raises EngineError when the daemon does not answer."""
        if self._registries is None:
            info = msgspec.json.decode(await self._docker.read("/info"), type=_Info)
            self._arch = _ARCH.get(info.arch, info.arch) or self._arch
            self._registries = _registries(info.config or _Config())
        return await self._registries.ask(image, auth, self._arch)


def _registries(config: _Config) -> Registries:
    hosts = config.hosts or {}
    hub = hosts.get("docker.io", _Index())
    insecure = [host for host, index in hosts.items() if not index.secure]
    return Registries([*insecure, *(config.nets or ())], hub.mirrors or ())
