"""The scripts for shells, tried in the shell itself where this machine has it."""

import shutil
import subprocess

import pytest

from berth.cli.main import run

ASK = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_berth
echo "${COMPREPLY[*]}"
"""


def _script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["completion", shell], {}) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("bash"), reason="this machine has no bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["berth", "st"], "stack"),
        (["berth", "stack", ""], "deploy config ls ps rm"),
        (["berth", "stack", "deploy", "--pl"], "--plan"),
        (["berth", "run", "--ti"], "--time"),
        (["berth", "node", "dr"], "drain"),
        (["berth", "completion", ""], "bash zsh fish"),
        (["berth", "why", "--zzz"], ""),
    ],
)
def test_bash(typed: list[str], offered: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = _script("bash", capsys) + ASK
    done = subprocess.run(["bash", "-c", script, "bash", *typed], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (offered, "")


@pytest.mark.skipif(not shutil.which("zsh"), reason="this machine has no zsh")
def test_zsh_takes_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    script = "autoload -U compinit; compinit -u\n" + _script("zsh", capsys) + "\nprint -r ${_comps[berth]}"
    done = subprocess.run(["zsh", "-fc", script], capture_output=True, text=True, check=True)
    assert "_berth" in done.stdout


@pytest.mark.skipif(not shutil.which("fish"), reason="this machine has no fish")
def test_fish_takes_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    script = _script("fish", capsys) + "\ncomplete -C 'berth stack de'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
    assert "deploy" in done.stdout


def test_the_scripts_name_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    from berth.cli.main import LOCAL, VERBS

    for shell in ("bash", "zsh", "fish"):
        script = _script(shell, capsys)
        assert [name for name in [*VERBS, *LOCAL] if name.split()[-1] not in script] == []
