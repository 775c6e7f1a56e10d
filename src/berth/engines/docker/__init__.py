"""One Docker host: a container per attempt; `engine` carries out, `wanted` writes requests, `look` reads containers."""

from berth.engines.docker.engine import DockerEngine

__all__ = ["DockerEngine"]
