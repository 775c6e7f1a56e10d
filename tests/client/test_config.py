"""Which server, token and CA are used, and how they are kept."""

import stat
from pathlib import Path

import pytest

from berth.client.config import DEFAULT_SERVER, Flags, Target, address, directory, keep, target, write_private
from berth.client.errors import ClientError


def _home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_nothing_kept_means_this_machine(tmp_path: Path) -> None:
    assert target(Flags(), _home(tmp_path)) == Target(DEFAULT_SERVER, "", "")


def test_what_was_kept_is_used_and_private(tmp_path: Path) -> None:
    environ = _home(tmp_path)
    token = tmp_path / "token"
    write_private(token, "kept-token\n")
    written = keep("berth.example.org:7700/", str(token), "/etc/ca.pem", environ)
    assert target(Flags(), environ) == Target("http://berth.example.org:7700", "kept-token", "/etc/ca.pem")
    assert written == directory(environ) / "config.json"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (token, written)} == {0o600}


def test_environment_overrides_what_was_kept_and_flags_override_both(tmp_path: Path) -> None:
    environ = _home(tmp_path)
    typed = tmp_path / "typed"
    typed.write_text("typed-token\n")
    keep("http://kept:1", str(tmp_path / "gone"), "", environ)
    environ |= {"BERTH_SERVER": "http://env:2", "BERTH_TOKEN": "env-token"}
    assert target(Flags(), environ) == Target("http://env:2", "env-token")
    assert target(Flags("http://flag:3", str(typed), "ca"), environ) == Target("http://flag:3", "typed-token", "ca")


@pytest.mark.parametrize("server", ["http://other:7700", "https://berth:7700", "http://berth:7701"])
def test_a_kept_token_goes_to_no_other_server(tmp_path: Path, server: str) -> None:
    environ = _home(tmp_path)
    write_private(tmp_path / "token", "kept-token\n")
    keep("http://berth:7700", str(tmp_path / "token"), "", environ)
    assert target(Flags("http://berth:7700/"), environ).token == "kept-token"
    assert target(Flags(server), environ).token == ""
    assert target(Flags(), {**environ, "BERTH_SERVER": server}).token == ""


def test_the_environment_s_token_goes_to_the_environment_s_server_alone(tmp_path: Path) -> None:
    environ = {**_home(tmp_path), "BERTH_SERVER": "http://berth:7700", "BERTH_TOKEN": "env-token"}
    assert target(Flags(), environ).token == "env-token"
    assert target(Flags("http://other:7700"), environ).token == ""
    assert target(Flags("http://other:7700"), {**_home(tmp_path), "BERTH_TOKEN": "env-token"}).token == "env-token"


def test_a_kept_authority_is_no_other_server_s(tmp_path: Path) -> None:
    environ = _home(tmp_path)
    keep("https://berth:7700", "", "/etc/ca.pem", environ)
    assert target(Flags(), environ).ca == "/etc/ca.pem"
    assert target(Flags("https://other"), environ).ca == ""


def test_loopback_has_several_names(tmp_path: Path) -> None:
    environ = _home(tmp_path)
    write_private(tmp_path / "token", "kept-token\n")
    keep("http://127.0.0.1:7700", str(tmp_path / "token"), "", environ)
    assert target(Flags("http://localhost:7700"), environ).token == "kept-token"


@pytest.mark.parametrize("content", ["", "two words", "tökén", "line\nline"])
def test_a_token_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t"
    path.write_text(content)
    with pytest.raises(ClientError) as caught:
        target(Flags(token_file=str(path)), {})
    assert caught.value.exit_code == 2
    assert content not in str(caught.value) or not content


def test_a_token_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="No such file"):
        target(Flags(token_file=str(tmp_path / "gone")), {})


def test_settings_that_are_no_json(tmp_path: Path) -> None:
    write_private(directory(_home(tmp_path)) / "config.json", "{")
    with pytest.raises(ClientError) as caught:
        target(Flags(), _home(tmp_path))
    assert caught.value.problems[0]["code"] == "bad-settings"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("host", "http://host"),
        ("https://h:1/", "https://h:1"),
        ("https://h/berth/", "https://h/berth"),
        ("[::1]:7700", "http://[::1]:7700"),
    ],
)
def test_addresses(typed: str, kept: str) -> None:
    assert address(typed) == kept


@pytest.mark.parametrize("typed", ["ftp://h", "http://", "https://user:secret@h"])
def test_addresses_that_are_none(typed: str) -> None:
    with pytest.raises(ClientError) as caught:
        address(typed)
    assert caught.value.problems[0]["code"] == "bad-address"
