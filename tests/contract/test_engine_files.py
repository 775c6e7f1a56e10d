"""Secrets and configs on real engines: placed on a Docker host, kept in the store of a Swarm."""

import json
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from berth.model.errors import BadInput, EngineError
from berth.model.launch import Launch
from berth.model.spec import FileRef
from berth.model.stored import Content, FileObject, NewFile, PlacedFile
from tests.acceptance.berth import until
from tests.contract import beds
from tests.contract.beds import Bed, Desk
from tests.testbed.lab import Lab

BEDS = {
    "docker-20.10": lambda lab: beds.docker(lab, "debian"),
    "docker-today": lambda lab: beds.docker(lab, "today"),
    "swarm-20.10": lambda lab: beds.swarm(lab, "debian"),
    "swarm-today": lambda lab: beds.swarm(lab, "today"),
}
SECRET = b"correct-horse-battery-staple\n"


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.engine) for name in BEDS])
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Each real engine in turn."""
    with Lab("efi", "10.90.0") as lab, BEDS[request.param](lab) as bed:
        yield bed


@pytest.fixture
async def desk(bed: Bed) -> AsyncIterator[Desk]:
    """An opened engine that is swept at the end."""
    async with beds.desk_at(bed) as desk:
        yield desk


def placed(launch: Launch) -> Launch:
    """The launch with two files, one of them for a user alone."""
    files = (
        PlacedFile(target="/run/secrets/key", uid=1234, gid=77, mode=0o400, content=Content(SECRET)),
        PlacedFile(target="/etc/deep/app.conf", uid=0, gid=0, mode=0o444, content=Content(b"debug=1\n")),
    )
    return msgspec.structs.replace(launch, files=files)


def new(name: str, content: bytes, kind: str = "secret", **fields: object) -> NewFile:
    """A file whose digest tells its content."""
    file = FileObject(kind=kind, name=name, digest=f"digest-{len(content)}", **fields)  # type: ignore[arg-type]
    return NewFile(file=file, content=Content(content))


@pytest.mark.needs("no store")
async def test_files_are_placed_with_owner_and_mode_and_survive_a_restart(desk: Desk, bed: Bed) -> None:
    script = "ls -ln /run/secrets/key; ls -ln /etc/deep/app.conf; cat /run/secrets/key /etc/deep/app.conf; sleep 600"
    launch = placed(desk.launch("sh", "-c", script, user="1234:77", read_only=True))
    handle = await desk.engine.start(launch)
    await desk.until(lambda seen: any(life.state == "running" for life in seen.lives))
    bed.person("restart", "-t", "0", handle.engine_id)
    until(lambda: len(bed.person("logs", handle.engine_id).splitlines()) == 8)
    lines = bed.person("logs", handle.engine_id).splitlines()
    assert lines[0].split()[:4] == ["-r--------", "1", "1234", "77"]
    assert lines[1].split()[:4] == ["-r--r--r--", "1", "0", "0"]
    assert lines[2:4] == [SECRET.decode().strip(), "debug=1"] == lines[6:8]
    details = json.loads(bed.person("inspect", handle.engine_id))[0]
    assert SECRET.decode().strip() not in json.dumps(details)
    folder = next(mount["Source"] for mount in details["Mounts"] if mount["Destination"] == "/run/secrets/key")
    await desk.engine.remove(handle)
    assert folder.startswith("/run/berth-secrets/")
    assert left_at(bed, folder) == ""


@pytest.mark.needs("no store")
async def test_a_start_that_is_refused_leaves_no_files(desk: Desk, bed: Bed) -> None:
    launch = placed(desk.launch("sleep", "600", workdir="not/absolute"))
    with pytest.raises(EngineError):
        await desk.engine.start(launch)
    assert left_at(bed, f"/run/berth-secrets/{launch.cluster}/{launch.task}.{launch.attempt}/0") == ""
    assert "berth" not in bed.person("ps", "-a", "--format", "{{.Command}}")


def left_at(bed: Bed, path: str) -> str:
    """What a container that binds the host's folder reads at a path of it; "" when there is nothing."""
    show = f"cat {path} 2>/dev/null || true"
    return bed.person("run", "--rm", "-v", "/run/berth-secrets:/run/berth-secrets:ro", "bb:1", "sh", "-c", show)


@pytest.mark.needs("services")
async def test_a_swarm_keeps_what_a_stack_brings_and_changes_labels_alone(desk: Desk, bed: Bed) -> None:
    files = desk.engine.files
    assert files is not None
    first = (new("st_key", SECRET, labels={"a": "b"}), new("st_app", b"x=1\n", "config"))
    await files.ensure(first, "st", "ann")
    await files.ensure((new("st_key", SECRET, labels={"a": "c"}), first[1]), "st", "bob")
    (seen,) = [one for one in await files.all("secret") if one.name == "st_key"]
    assert (seen.stack, seen.user, seen.labels["a"]) == ("st", "ann", "c")
    changed = (new("st_key", b"other"), new("st_app", b"other", "config"))
    assert [(one.code, "st_" in one.message) for one in await files.changed(changed)] == [("file-changed", True)] * 2
    assert await files.changed(first) == ()
    other_key = msgspec.structs.replace(first[0], file=msgspec.structs.replace(first[0].file, digest="newkey-29"))
    assert await files.changed((other_key,)) == ()
    await files.ensure((other_key,), "st", "ann")
    await files.remove_stack("st")
    await files.remove_stack("st")
    assert bed.person("secret", "ls", "-q") == bed.person("config", "ls", "-q") == ""


@pytest.mark.needs("services")
async def test_a_secret_that_docker_made_is_compared_by_the_swarm_itself(desk: Desk, bed: Bed) -> None:
    files = desk.engine.files
    assert files is not None
    await files.create(new("hand", SECRET), "ann")
    with pytest.raises(BadInput, match="there is a secret hand already"):
        await files.create(new("hand", SECRET), "ann")
    await files.remove("secret", "hand")
    bed.hosts[0].docker("secret", "create", "hand", "/etc/hostname")
    with pytest.raises(BadInput, match="never changes"):
        await files.ensure((new("hand", SECRET),), "st", "ann")
    await files.remove("secret", "hand")
    await files.remove("secret", "hand")
    assert await files.all("secret") == ()


@pytest.mark.needs("services")
async def test_a_swarm_says_who_uses_a_secret(desk: Desk) -> None:
    files = desk.engine.files
    assert files is not None
    await files.create(new("used", SECRET), "ann")
    launch = desk.launch(secrets=(FileRef(source="used", target="used"),))
    handle = await desk.engine.start(launch)
    assert [one.users for one in await files.all("secret")] == [(launch.name,)]
    with pytest.raises(EngineError, match="in use"):
        await files.remove("secret", "used")
    await files.ensure((new("used", SECRET), new("free", SECRET)), "st", "ann")
    assert await files.remove_stack("st") == ("secret used",)
    assert [one.name for one in await files.all("secret")] == ["used"]
    await desk.engine.remove(handle)
    assert await files.remove_stack("st") == ()
