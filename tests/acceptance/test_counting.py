"""Counting: releases and submissions at the same moment, one of them twice; the number of free cards is exact."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.acceptance.engines import ON_HOST, host, lab  # noqa: F401 - fixtures
from tests.acceptance.mortal import Witness
from tests.testbed.daemons import DockerHost

CARDS = 8


@pytest.fixture(params=["simulated", pytest.param("docker", marks=pytest.mark.engine)])
def eight(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Berth]:
    """A server with eight cards, without work."""
    if request.param == "simulated":
        flags: tuple[str, ...] = ("--engine", "simulated", "--simulate", "n1=A100-SXM4-80GB:4,n2=A100-SXM4-80GB:4")
        with Berth(tmp_path, *flags) as berth:
            yield berth
        return
    host: DockerHost = request.getfixturevalue("host")  # noqa: F811
    with Witness([host]) as witness:
        with Berth(tmp_path, "--engine", "docker", "--docker-host", host.url, "--simulate", ON_HOST) as berth:
            yield berth
            berth.run("cancel", *(job["id"] for job in berth.json("jobs")), "-y")
            until(lambda: not host.docker("ps", "-aq", "--filter", "label=berth.task"), 20, "nothing is left")
        assert not witness.twice


def test_eight_releases_at_once_one_of_them_twice_leave_eight_free(eight: Berth) -> None:
    jobs = submitted(eight, 8)
    until(lambda: counted(eight) == {"running": 8}, 30)
    assert eight.free() == 0
    at_once(eight, [("cancel", job, "-y") for job in (*jobs, jobs[0])])
    until(lambda: not eight.json("jobs"), 30, "all are over")
    assert eight.free() == CARDS
    assert {job["state"] for job in eight.json("jobs", "--all")} == {"cancelled"}
    assert releases(eight) == dict.fromkeys(jobs, 1)


def test_of_ten_submissions_for_eight_cards_eight_run_and_two_wait(eight: Berth) -> None:
    jobs = submitted(eight, 10)
    until(lambda: counted(eight) == {"running": 8, "waiting": 2}, 30)
    stays(lambda: counted(eight) == {"running": 8, "waiting": 2}, 1.5)
    held = [card["job"] for card in eight.json("cards")]
    assert len(set(held)) == CARDS
    waiting = [job for job in eight.json("jobs") if job["state"] == "waiting"]
    assert [job["reason"] for job in waiting] == ["free-cards", "behind"]
    assert [job["position"] for job in waiting] == [1, 2]
    at_once(eight, [("cancel", held[0], "-y"), ("cancel", held[1], "-y"), ("cancel", held[0], "-y")])
    until(lambda: counted(eight) == {"running": 8}, 30, "the two that waited run")
    assert set(jobs) - {held[0], held[1]} == {card["job"] for card in eight.json("cards")}
    assert releases(eight) == {held[0]: 1, held[1]: 1}


def submitted(berth: Berth, number: int) -> list[str]:
    """So many jobs of one card, each by a command of its own, all at once; their ids."""
    words = [("run", "--gpus", "1", "--detach", "bb:1", "sleep", "600")] * number
    return [text.strip() for text in at_once(berth, words)]


def at_once(berth: Berth, commands: Sequence[Sequence[str]]) -> list[str]:
    """Type all of these at the same time; what each printed."""
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda words: berth(*words), commands))


def counted(berth: Berth) -> Counter[str]:
    """How many live jobs are in which state."""
    return Counter(job["state"] for job in berth.json("jobs"))


def releases(berth: Berth) -> Counter[str]:
    """How often each job's cards were given back."""
    return Counter(event["job"] for event in berth.json("events") if event["kind"] == "released")
