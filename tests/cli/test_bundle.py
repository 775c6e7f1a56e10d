"""What travels with a stack: the files, what they name, and nothing else."""

import base64
import io
from pathlib import Path

import pytest

from berth.cli.bundle import Bundle, names_path
from berth.cli.images import images_in, images_to_log_in_for
from berth.client.errors import ClientError


def _stack(home: Path, text: str = "services: {a: {image: x, env_file: a.env, user: $WHO}}\n") -> str:
    path = home / "stack.yml"
    path.write_text(text)
    return str(path)


def _text(source: dict[str, str]) -> str:
    return base64.b64decode(source["data"]).decode()


def test_files_and_the_dotenv_beside_the_first(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    path = _stack(tmp_path)
    body = Bundle([path], {"WHO": "ann", "SECRET": "s"}).body
    assert [source["path"] for source in body["files"]] == [path]
    assert _text(body["dotenv"]) == "A=1\n"
    assert (body["extra"], body["variables"]) == ({}, {})


def test_needs_are_answered_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text("B=2\n")
    bundle = Bundle([_stack(tmp_path, "env_file: [a.env, gone.env]\nuser: $WHO ${UNSET}")], {"WHO": "ann"})
    bundle.add({"files": ["a.env", "gone.env"], "variables": ["WHO", "UNSET"]})
    assert _text(bundle.body["extra"]["a.env"]) == "B=2\n"
    assert bundle.body["extra"]["gone.env"] is None
    assert bundle.body["variables"] == {"WHO": "ann", "UNSET": None}


@pytest.mark.parametrize("needs", [{"files": ["/etc/passwd"]}, {"variables": ["AWS_SECRET_ACCESS_KEY"]}])
def test_what_the_files_do_not_name_never_travels(tmp_path: Path, needs: dict[str, list[str]]) -> None:
    bundle = Bundle([_stack(tmp_path)], {"AWS_SECRET_ACCESS_KEY": "s"})
    with pytest.raises(ClientError) as caught:
        bundle.add(needs)
    assert caught.value.problems[0]["code"] == "not-named"


def test_contents_of_secrets_travel_when_they_are_named_and_name_nothing_themselves(tmp_path: Path) -> None:
    (tmp_path / "pw").write_bytes(b"\xff SECRET_NAME other.txt")
    bundle = Bundle([_stack(tmp_path, "secrets: {a: {file: ./pw}, b: {file: gone}}")], {"SECRET_NAME": "s"})
    bundle.add({"contents": ["./pw", "gone"]})
    assert base64.b64decode(bundle.body["contents"]["./pw"]["data"]) == b"\xff SECRET_NAME other.txt"
    assert bundle.body["contents"]["gone"] is None
    for needs in ({"variables": ["SECRET_NAME"]}, {"contents": ["other.txt"]}, {"files": ["other.txt"]}):
        with pytest.raises(ClientError) as caught:
            bundle.add(needs)
        assert caught.value.problems[0]["code"] == "not-named"


def test_a_server_that_asks_in_circles_is_left(tmp_path: Path) -> None:
    bundle = Bundle([_stack(tmp_path)], {})
    bundle.add({"variables": ["WHO"]})
    with pytest.raises(ClientError):
        bundle.add({"variables": ["WHO"]})


@pytest.mark.parametrize(
    ("text", "path", "named"),
    [
        ("env_file: a.env", "a.env", True),
        ("env_file: ${STAGE:-dev}.env", "prod.env", True),
        ("env_file: ['conf/$STAGE.env', x]", "conf/prod.env", True),
        ("env_file: ${STAGE}.env", "/etc/passwd", False),
        ("user: $WHO", "/etc/passwd", False),
    ],
)
def test_paths_that_a_file_names(text: str, path: str, named: bool) -> None:
    assert names_path(text, path) is named


def test_files_that_cannot_be_read_are_told_in_one_go(tmp_path: Path) -> None:
    huge = tmp_path / "huge.yml"
    huge.write_bytes(b"#" * 5_000_000)
    with pytest.raises(ClientError) as caught:
        Bundle(["/nowhere/stack.yml", str(tmp_path), str(huge)], {})
    assert [(one["code"], one["file"], one["message"]) for one in caught.value.problems] == [
        ("unreadable-file", "/nowhere/stack.yml", "no such file or directory"),
        ("unreadable-file", str(tmp_path), "is a directory"),
        ("file-too-big", str(huge), "larger than 4 MiB"),
    ]


def test_images_of_a_text() -> None:
    text = 'a:\n  image: ghcr.io/x/y:1 # c\nb:\n  "image": "busybox"\nc: \n - image: ${REG}/z\n'
    assert images_in(text) == ["ghcr.io/x/y:1", "busybox", "${REG}/z"]
    assert images_to_log_in_for(text + "REG=reg:5000", ["reg:5000", "other.io"]) == [
        "ghcr.io/x/y:1",
        "busybox",
        "any",
        "reg:5000/any",
    ]


def test_standard_input_is_named_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"services: {}\n")))
    assert [source["path"] for source in Bundle(["-"], {}).body["files"]] == ["standard input"]
