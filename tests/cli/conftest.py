"""The CLI in tests belongs to a user without any settings, whoever runs them."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder that nobody has used."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "BERTH_SERVER", "BERTH_TOKEN", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return home
