"""What is sealed opens only with its key and under its name; the key file is its owner's alone."""

import stat
from pathlib import Path

import msgspec
import pytest

from berth.model.errors import Refused
from berth.model.stored import Content, FileObject, NewFile
from berth.vault import AesVault, read_or_make

KEY = bytes(range(32))


def test_what_is_sealed_opens_again_and_shows_nothing() -> None:
    vault = AesVault(KEY)
    sealed = vault.seal(Content(b"hunter2"), "secret/a")
    assert vault.unseal(sealed, "secret/a").reveal() == b"hunter2"
    assert b"hunter2" not in sealed
    assert sealed != vault.seal(Content(b"hunter2"), "secret/a")


@pytest.mark.parametrize(
    ("key", "name", "change"),
    [(bytes(32), "secret/a", 0), (KEY, "secret/b", 0), (KEY, "config/a", 0), (KEY, "secret/a", 1)],
)
def test_nothing_else_opens_it(key: bytes, name: str, change: int) -> None:
    sealed = bytearray(AesVault(KEY).seal(Content(b"hunter2"), "secret/a"))
    sealed[-1] ^= change
    with pytest.raises(Refused) as caught:
        AesVault(key).unseal(bytes(sealed), name)
    assert caught.value.problems[0].code == "secret-unreadable"


@pytest.mark.parametrize("junk", [b"", b"\x01", b"\x02" + bytes(40)])
def test_junk_is_not_opened(junk: bytes) -> None:
    with pytest.raises(Refused):
        AesVault(KEY).unseal(junk, "secret/a")


def test_a_digest_tells_contents_apart_and_needs_the_key() -> None:
    vault = AesVault(KEY)
    assert vault.digest(Content(b"a")) == vault.digest(Content(b"a")) != vault.digest(Content(b"b"))
    other = AesVault(bytes(32)).digest(Content(b"a"))
    assert other.partition("-")[0] != vault.digest(Content(b"a")).partition("-")[0]
    assert other.partition("-")[2] != vault.digest(Content(b"a")).partition("-")[2]


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    key = read_or_make(path)
    assert (len(key), read_or_make(path)) == (32, key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["secret.key"]


@pytest.mark.parametrize(
    ("text", "mode", "words"), [(None, 0o640, "chmod 600"), ("c2hvcnQ=", 0o600, "32"), ("?", 0o600, "32")]
)
def test_a_key_file_that_is_none(tmp_path: Path, text: str | None, mode: int, words: str) -> None:
    path = tmp_path / "secret.key"
    read_or_make(path)
    if text is not None:
        path.write_text(text)
    path.chmod(mode)
    with pytest.raises(Refused) as caught:
        read_or_make(path)
    (problem,) = caught.value.problems
    assert problem.code == "secret-key-file"
    assert words in problem.message + problem.hint


def test_a_content_is_in_no_repr_and_no_json() -> None:
    new = NewFile(file=FileObject(kind="secret", name="a"), content=Content(b"hunter2"))
    assert "hunter2" not in repr(new)
    with pytest.raises(TypeError):
        msgspec.json.encode(new)
