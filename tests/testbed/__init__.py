"""Real engines on one machine for Berth's tests: Docker hosts, Swarms, a registry and stand-in GPUs."""
