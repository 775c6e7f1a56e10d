"""Whole processes of the CLI against a real `berth up` on the simulated engine."""

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, until

CARDS = """services:
  work:
    image: busybox
    command: sleep 600
    deploy:
      resources:
        reservations:
          devices:
            - {capabilities: [gpu], count: COUNT}
"""


@pytest.fixture(scope="module")
def berth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Berth]:
    """Two nodes, three cards."""
    spec = "node1=A100-SXM4-80GB:2,node2=Tesla-V100-SXM2-16GB:1"
    with Berth(tmp_path_factory.mktemp("cli"), "--engine", "simulated", "--simulate", spec) as server:
        yield server


@pytest.fixture(autouse=True)
def _nothing_left(berth: Berth) -> Iterator[None]:
    """Every test leaves an empty cluster."""
    yield
    for stack in berth.items("/v1/stacks"):
        berth("stack", "rm", "-y", stack["name"])
    for job in berth.items("/v1/jobs"):
        berth("cancel", "-y", job["id"])
    until(lambda: _empty(berth), what="an empty cluster", step=0.02)


def _empty(berth: Berth) -> bool:
    return not berth.items("/v1/jobs") and all(card["state"] == "free" for card in berth.items("/v1/cards"))


def _stack(berth: Berth, count: int, name: str = "stack.yml") -> str:
    path = berth.folder / name
    path.write_text(CARDS.replace("COUNT", str(count)))
    return str(path)


def test_cards_gpus_and_nodes(berth: Berth) -> None:
    cards = berth("cards").splitlines()
    assert cards[0].split() == ["NODE", "INDEX", "MODEL", "MEMORY", "STATE", "HELD", "BY", "UUID"]
    assert [line.split()[:3] for line in cards[1:]] == [
        ["node1", "0", "A100-SXM4-80GB"],
        ["node1", "1", "A100-SXM4-80GB"],
        ["node2", "0", "Tesla-V100-SXM2-16GB"],
    ]
    models = berth("gpus").splitlines()
    assert models[0].split() == ["MODEL", "MEMORY", "FREE", "USED", "TOTAL", "WAITING", "NODES"]
    assert models[1].split()[0] == "A100-SXM4-80GB"
    assert models[1].split()[-5:] == ["2", "0", "2", "0", "1"]
    assert [line.split()[:4] for line in berth("nodes").splitlines()[1:]] == [
        ["node1", "ready", "2", "2"],
        ["node2", "ready", "1", "1"],
    ]
    assert {card["state"] for card in berth.json("cards")} == {"free"}


def test_a_job_waits_is_explained_and_starts(berth: Berth) -> None:
    first = berth("run", "--detach", "--gpus", "2", "--name", "first", "busybox", "sleep", "600").strip()
    assert berth("wait", "--for", "running", "--timeout", "20s", first) == "first: running\n"
    second = berth("run", "--detach", "--gpus", "2", "--name", "second", "busybox", "sleep", "600").strip()
    assert berth.refused("wait", "--for", "running", "--timeout", "0.5s", "second", code=6) == ""
    why = berth("why", "second")
    assert why.splitlines()[0] == berth.json("why", second)["message"]
    assert "node1" in why
    queue = berth("queue").splitlines()
    assert queue[1].split()[:3] == ["1", second, "second"]
    assert "second" in [line.split()[1] for line in berth("jobs").splitlines()[1:]]
    assert berth("cancel", "first") == "first: cancelled\n"
    assert berth("wait", "--for", "running", "--timeout", "20s", second) == "second: running\n"
    assert berth.refused("wait", "first", code=1) == ""
    assert "cancelled" in berth("history", first)


def test_hold_release_requeue(berth: Berth) -> None:
    berth("run", "--detach", "--gpus", "2", "--name", "big", "busybox", "sleep", "600")
    job = berth("run", "--detach", "--gpus", "2", "--name", "later", "busybox", "sleep", "600").strip()
    assert berth("hold", "later").startswith("later: held")
    assert berth.job(job)["reason"] == "held"
    assert berth("release", job) == "later: released\n"
    assert "berth requeue" in berth.refused("hold", "big", code=4)
    assert berth("requeue", "-y", "big") == "big: back in the queue\n"
    assert berth.json("cancel", "-y", "later", "big")[1]["name"] == "big"


def test_run_ends_as_the_command_does(berth: Berth) -> None:
    done = berth.run("run", "busybox", "sh", "-c", "echo hello; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "hello\n", "")
    done = berth.run("run", "--json", "--name", "ok", "busybox", "echo", "hello")
    assert (done.returncode, json.loads(done.stdout)["state"], done.stderr) == (0, "succeeded", "hello\n")
    assert berth("logs", "ok") == "hello\n"
    assert berth.json("logs", "--tail", "1", "ok")[0]["text"] == "hello\n"
    assert berth("wait", "ok") == "ok: succeeded (exit 0)\n"
    assert berth("history", "ok").splitlines()[1].split()[-2:] == ["exit", "0"]


def test_run_says_why_it_waits_and_what_ended_it(berth: Berth) -> None:
    berth("run", "--detach", "--gpus", "2", "busybox", "sleep", "600")
    with _started(berth.environ, "run", "--gpus", "2", "--name", "late", "busybox", "true") as stream:
        until(lambda: [job for job in berth.json("queue") if job["reason"]], what="it waits")
        time.sleep(1.5)
        berth("cancel", "late")
        out, err = stream.communicate(timeout=20)
    assert (stream.returncode, out) == (125, "")
    assert "berth: late waits: " in err
    assert "berth: late cancelled" in err


def test_a_job_file_is_submitted(berth: Berth) -> None:
    path = berth.folder / "job.yaml"
    path.write_text("name: file\nimage: busybox\ncommand: [echo, hi]\n")
    job = berth("submit", str(path)).strip()
    assert berth("wait", job) == "file: succeeded (exit 0)\n"
    assert berth("logs", "-f", job) == "hi\n"
    path.write_text("image: busybox\ngpu: 1\n")
    err = berth.refused("submit", str(path), code=2)
    assert err.startswith(f"{path}:2:1: ")
    assert "gpus" in err


def test_logs_of_several_slots_carry_the_slot(berth: Berth) -> None:
    path = berth.folder / "two.yml"
    path.write_text(
        "services:\n  w:\n    image: busybox\n    command: echo hi\n    deploy:\n      replicas: 2\n"
        "      restart_policy: {condition: none}\n"
    )
    berth("stack", "deploy", "-c", str(path), "two", "--wait", "--timeout", "20s")
    berth("wait", "two_w")
    assert sorted(berth("logs", "two_w").splitlines()) == ["1 | hi", "2 | hi"]
    assert berth("logs", "--slot", "2", "two_w") == "hi\n"


def test_needs_travel_with_a_stack(berth: Berth) -> None:
    path = berth.folder / "needs.yml"
    (berth.folder / "work.env").write_text("FROM_FILE=f\n")
    path.write_text(
        "services:\n  w:\n    image: busybox\n    command: env\n    env_file: work.env\n"
        "    environment: {FROM_SHELL: $NEEDED}\n    deploy:\n      restart_policy: {condition: none}\n"
    )
    done = _process({**berth.environ, "NEEDED": "s"}, "stack", "deploy", "-c", str(path), "needs")
    assert done.returncode == 0
    berth("wait", "needs_w")
    assert {"FROM_FILE=f", "FROM_SHELL=s"} <= set(berth("logs", "needs_w").splitlines())


def test_a_stack_is_deployed_changed_and_removed(berth: Berth) -> None:
    path = _stack(berth, 2)
    assert berth("stack", "deploy", "-c", path, "s", "--wait", "--timeout", "20s").startswith("s_work: created; ")
    assert "unchanged" in berth("stack", "deploy", "-c", path, "s")
    tasks = berth("stack", "ps", "s").splitlines()
    assert tasks[1].split()[:3] == ["s_work.1", "running", "node1"]
    assert [row["name"] for row in berth.json("stack", "ls")] == ["s"]
    told = berth("stack", "deploy", "-c", "-", "t", stdin=Path(path).read_text())
    assert told.startswith("t_work: created; waits: ")
    assert told.endswith("(berth why t_work)\n")
    err = berth.refused("stack", "deploy", "-c", path, "t", "--wait", "--timeout", "0.5s", code=6)
    assert "\nt_work: waits: " in err
    assert berth("scale", "t_work=0") == "t_work: 0 replicas wanted\n"
    assert berth("stack", "rm", "s").startswith("s: removed")
    assert "no-such-stack" in berth.refused("stack", "rm", "nothing", code=3)


def test_plan_ends_with_what_would_happen(berth: Berth) -> None:
    assert "starts now on node1 with 2 cards: A100-SXM4-80GB 0, 1" in berth(
        "stack", "deploy", "-c", _stack(berth, 2), "s", "--plan"
    )
    assert berth("run", "--plan", "--gpus", "1", "busybox").endswith(
        "All of it starts now. Nothing has been changed.\n"
    )
    berth("run", "--detach", "--gpus", "2", "busybox", "sleep", "600")
    assert berth.run("run", "--plan", "--gpus", "2", "busybox").returncode == 6
    never = berth.run("run", "--plan", "--gpus", "1", "-c", "node.labels.zone == moon", "busybox")
    assert never.returncode == 2
    assert "can never run" in never.stdout
    assert len(berth.json("jobs")) == 1


def test_errors_have_a_place_a_hint_and_a_code(berth: Berth) -> None:
    path = _stack(berth, -1, "wrong.yml")
    err = berth.refused("stack", "deploy", "-c", path, "s", code=2)
    assert err.startswith(f"{path}:9:")
    assert "\n  | " in err
    assert "\n  -> " in err
    assert err.rstrip().splitlines()[-1].startswith("  code: ")
    assert berth.json("jobs") == []


def test_what_is_not_there(berth: Berth) -> None:
    assert "no job" in berth.refused("why", "nobody", code=3)
    assert "code: " in berth.refused("logs", "nobody", code=3)
    berth.refused("card", "fence", "GPU-none", "--reason", "r", code=3)
    berth.refused("node", "undrain", "nowhere", code=3)


def test_an_ambiguous_name_lists_the_candidates(berth: Berth) -> None:
    ids = [berth("run", "--detach", "--name", "twin", "busybox", "sleep", "600").strip() for _ in range(2)]
    err = berth.refused("cancel", "twin", code=2)
    assert all(job in err for job in ids)


def test_nodes_and_cards_are_taken_out_of_use_and_back(berth: Berth) -> None:
    assert berth("node", "drain", "node2", "--reason", "new driver").startswith("node2: draining")
    assert "new driver" in berth("nodes")
    assert berth("node", "undrain", "node2") == "node2: gets work again\n"
    uuid = berth.json("cards")[0]["uuid"]
    berth("card", "fence", uuid, "--reason", "ECC errors")
    assert (berth.json("cards")[0]["state"], berth.free()) == ("fenced", 2)
    berth("card", "unfence", uuid)
    assert berth("node", "label", "node1", "zone=idc", "gone-") == "node1: zone=idc, gone removed\n"
    assert berth.json("nodes")[0]["labels"]["zone"] == "idc"
    assert "berth node drain node2" in berth.refused("node", "fence", "node2", "--reason", "off", "-y", code=4)


def test_tokens_and_whose_job_it_is(berth: Berth) -> None:
    made = berth.run("token", "create", "--role", "user", "--name", "ann")
    token = made.stdout.strip()
    assert made.stdout == f"{token}\n"
    assert "shown only this once" in made.stderr
    job = berth("run", "--detach", "busybox", "sleep", "600").strip()
    environ = {**berth.environ, "BERTH_TOKEN": token}
    done = _process(environ, "cancel", "-y", job)
    assert done.returncode == 4
    assert "belongs to" in done.stderr
    assert [row["name"] for row in berth.json("token", "ls") if row["role"] == "user"] == ["ann"]
    row = next(row for row in berth.json("token", "ls") if row["name"] == "ann")
    assert token not in json.dumps(berth.json("token", "ls"))
    assert berth("token", "revoke", row["id"], "-y") == f"{row['id']}: revoked\n"
    gone = _process(environ, "jobs")
    assert gone.returncode == 4
    assert f"berth login {berth.url}" in gone.stderr


def test_login_proves_the_token_and_keeps_it_private(berth: Berth, tmp_path: Path) -> None:
    token = (berth.folder / "data" / "admin.token").read_text().strip()
    environ = {**berth.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    wrong = _process(environ, "login", berth.url, stdin="wrong-token\n")
    assert wrong.returncode == 4
    assert list(tmp_path.iterdir()) == []
    assert _process(environ, "cards").returncode == 5 or _process(environ, "cards").returncode == 4
    assert _process(environ, "login", berth.url, stdin=f"{token}\n").returncode == 0
    assert stat.S_IMODE((tmp_path / "berth" / "token").stat().st_mode) == 0o600
    assert _process(environ, "cards").returncode == 0
    assert token not in (tmp_path / "berth" / "config.json").read_text()


def test_events(berth: Berth) -> None:
    job = berth("run", "--detach", "--name", "seen", "busybox", "sleep", "600").strip()
    kinds = [event["kind"] for event in berth.json("events", "--job", job)]
    assert "submitted" in kinds
    assert "seen" in berth("events")
    with _started(berth.environ, "events", "-f", "--json") as stream:
        lines = _reading(stream)
        until(lambda: lines or not berth("run", "--detach", "busybox", "true"), what="an event", step=0.5)
        assert json.loads(lines[0])["kind"]
        stream.send_signal(signal.SIGINT)
        assert stream.wait(10) == 130


def test_watching_json_gives_one_object_per_line(berth: Berth) -> None:
    with _started(berth.environ, "jobs", "--watch", "--json") as stream:
        lines = _reading(stream)
        job = berth("run", "--detach", "--gpus", "1", "busybox", "sleep", "600").strip()
        until(lambda: lines and json.loads(lines[-1])["state"] == "running", what="the job runs")
        assert {json.loads(line)["id"] for line in lines} == {job}


def test_ctrl_c_detaches_and_says_how_to_come_back(berth: Berth) -> None:
    with _started(berth.environ, "run", "--name", "stays", "busybox", "sleep", "600") as stream:
        until(lambda: [job for job in berth.json("jobs") if job["state"] == "running"], what="the job runs")
        time.sleep(0.3)
        stream.send_signal(signal.SIGINT)
        _, err = stream.communicate(timeout=10)
    job = berth.job("stays")
    assert stream.returncode == 130
    assert f"berth logs -f {job['id']}" in err
    assert "Traceback" not in err
    assert job["state"] == "running"


def test_destructive_verbs_ask_on_a_terminal(berth: Berth) -> None:
    job = berth("run", "--detach", "--name", "kept", "busybox", "sleep", "600").strip()
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "berth", "cancel", job]
    with subprocess.Popen(words, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=berth.environ) as asked:
        os.close(theirs)
        question = os.read(ours, 100)
        os.write(ours, b"n\n")
        assert asked.wait(10) == 1
    os.close(ours)
    assert question == f"End {job}? [y/N] ".encode()
    assert berth.job("kept")["state"] != "cancelled"


def test_version_names_both_sides(berth: Berth) -> None:
    assert berth("version").splitlines()[1].startswith("server  0.")
    assert berth.json("version")["engine"] == "simulated"


def test_a_server_that_is_gone(tmp_path: Path, berth: Berth) -> None:
    environ = {**berth.environ, "BERTH_SERVER": "http://127.0.0.1:9"}
    for words in (["cards"], ["run", "busybox"], ["stack", "ls"], ["events", "-f"], ["jobs", "--watch"]):
        done = _process(environ, *words)
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr.startswith("berth: no Berth answers at http://127.0.0.1:9: connection refused\n  -> ")
    assert _process(environ, "version").returncode == 0


def test_nothing_heavy_is_imported(berth: Berth) -> None:
    code = (
        "import sys; before = set(sys.modules); from berth.cli.main import run; assert run(['cards'], {}) == 0;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=berth.environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "berth"


def _process(environ: dict[str, str], *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "berth", *words], input=stdin, capture_output=True, text=True, env=environ, timeout=30
    )


def _listening() -> None:
    """Ctrl-C is heard, as at a terminal; what a shell starts in the background would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _started(environ: dict[str, str], *words: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "berth", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
        preexec_fn=_listening,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def _reading(process: "subprocess.Popen[str]") -> list[str]:
    """The lines of a process's output, as they come."""
    lines: list[str] = []

    def follow() -> None:
        assert process.stdout is not None
        for line in iter(process.stdout.readline, ""):
            lines.append(line)

    threading.Thread(target=follow, daemon=True).start()
    return lines
