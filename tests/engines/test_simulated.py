"""The simulated engine: what commands do, time by a clock that the test turns, and work that outlives the server."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from berth.engines.simulated import SimulatedEngine
from berth.engines.simulated.script import World, play
from berth.model.card import Card
from berth.model.job import Job
from berth.model.launch import Handle, Launch
from berth.model.node import Node
from berth.model.simulate import parse_simulate
from berth.model.spec import TaskSpec

CARD = Card(uuid="GPU-1", node="n1", index=0, vendor="simulated", model="A100-SXM4-80GB")


class Turned:
    """A clock that moves only when it is told, or when somebody sleeps."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds
        await asyncio.sleep(0)


def launch(name: str, *command: str, node: str = "n1", attempt: int = 1) -> Launch:
    spec = TaskSpec(image="any", command=command)
    job = Job(id=name, name=name, engine_name=name, spec=spec)
    on = Node(name=node, engine="simulated", engine_id=node)
    return Launch(
        cluster="c", job=job, task=f"{name}.1", slot=1, attempt=attempt, name=name, spec=spec, node=on, cards=(CARD,)
    )


@pytest.mark.parametrize(
    ("command", "seconds", "exit_code", "text"),
    [
        (("sleep", "90"), 90.0, 0, ""),
        (("sleep", "1m", "30s"), 90.0, 0, ""),
        (("sleep", "soon"), None, 0, None),
        (("true",), 0.0, 0, ""),
        (("false",), 0.0, 1, ""),
        (("exit", "3"), 0.0, 3, ""),
        (("echo", "a", "b"), 0.0, 0, "a b\n"),
        (("sh", "-c", "echo one; sleep 2 && echo 'two words'\nexit 4; echo never"), 2.0, 4, "one\ntwo words\n"),
        (("sh", "-c", "echo $NAME ${NAME}x $NONE"), 0.0, 0, "here herex \n"),
        (("printenv", "NAME"), 0.0, 0, "here\n"),
        (("printenv", "NONE"), 0.0, 1, ""),
        (("nvidia-smi", "-L"), 0.0, 0, "GPU 0: A100-SXM4-80GB (UUID: GPU-1)\n"),
        (("/usr/bin/python", "train.py"), None, 0, None),
        ((), None, 0, None),
        (("sh", "-c", ""), 0.0, 0, ""),
    ],
)
def test_commands(command: tuple[str, ...], seconds: float | None, exit_code: int, text: str | None) -> None:
    script = play(command, World({"NAME": "here"}, (CARD,)))
    assert (script.seconds, script.exit_code) == (seconds, exit_code)
    printed = "".join(line.text for line in script.lines)
    assert printed == text if text is not None else "until it is stopped" in printed


def test_a_program_ends_when_the_job_says_so() -> None:
    script = play(("python", "train.py"), World({"BERTH_SIMULATED_SECONDS": "2m"}))
    assert script == msgspec.structs.replace(play(("sleep", "120"), World({})), lines=())


async def test_an_hour_passes_in_a_moment() -> None:
    clock = Turned()
    engine = SimulatedEngine(parse_simulate("n1=A100:4"), clock)
    await engine.open()
    await engine.start(launch("a", "sh", "-c", "echo begun; sleep 1h; exit 7"))
    changes = engine.changes()
    assert await anext(changes)
    (life,) = (await engine.observe()).lives
    assert (life.state, life.exit_code, life.started_at, life.ended_at) == ("exited", 7, 1000.0, 4600.0)
    assert clock.at == 4600.0
    await engine.close()


async def test_work_outlives_the_server(tmp_path: Path) -> None:
    clock, path, nodes = Turned(), tmp_path / "simulated.json", parse_simulate("n1=A100:4")
    before = SimulatedEngine(nodes, clock, path)
    await before.open()
    for name, command in (("short", ("sleep", "10")), ("long", ("sleep", "1h")), ("gone", ("true",))):
        await before.start(launch(name, *command))
    await before.remove(
        Handle(engine_id=next(one.engine_id for one in (await before.observe()).lives if one.job == "gone"))
    )
    await before.prepare(launch("waits", "true"))
    await before.write_labels(Node(name="n1", engine="", engine_id="n1", engine_version=1), {"gpu.free": "2"}, ())
    with path.open("ab") as file:
        file.write(b'{"type":"slot","id":"cut')
    clock.at += 60
    after = SimulatedEngine(nodes, clock, path)
    await after.open()
    seen = await after.observe()
    assert {one.job: (one.state, one.exit_code) for one in seen.lives} == {
        "short": ("exited", 0),
        "long": ("running", None),
    }
    assert {one.name: one.attempt for one in seen.objects} == {"short": 1, "long": 1, "waits": 0}
    assert (seen.nodes[0].labels, seen.nodes[0].version) == ({"gpu.free": "2"}, 2)
    again = await after.start(launch("long", "sleep", "1h"))
    assert len((await after.observe()).lives) == 2
    fresh = await after.start(launch("new", "true"))
    assert fresh.object_version > again.object_version
    await after.close()
    await before.close()


async def test_the_journal_does_not_grow_without_end(tmp_path: Path) -> None:
    path = tmp_path / "simulated.json"
    engine = SimulatedEngine(parse_simulate("n1=A100:4"), Turned(), path)
    await engine.open()
    for number in range(1500):
        handle = await engine.start(launch(f"j{number}", "true"))
        await engine.remove(handle)
    await engine.close()
    assert len(path.read_bytes().splitlines()) < 1100


async def test_a_big_cluster_is_cheap() -> None:
    clock = Turned()
    engine = SimulatedEngine(parse_simulate(",".join(f"n{i}=A100:8" for i in range(1, 1001))), clock)
    await engine.open()
    for number in range(8000):
        await engine.start(launch(f"j{number}", "sleep", "1d", node=f"n{number % 1000 + 1}"))
    began = time.process_time()
    for number in range(100):
        handle = await engine.start(launch(f"k{number}", "true", node="n1"))
        await engine.remove(handle)
    churn = time.process_time() - began
    began = time.process_time()
    for _ in range(100):
        seen = await engine.observe()
    idle = time.process_time() - began
    assert (len(seen.lives), len(seen.nodes)) == (8000, 1000)
    assert churn < 0.5, "100 jobs must cost far less than a second"
    assert idle < 0.1, "an unchanged look must cost next to nothing"
    await engine.close()
