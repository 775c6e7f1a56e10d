"""What the server says of a job's keys is told as the flags that were typed."""

from berth.cli.flags import in_flags
from berth.client.errors import ClientError

BODY = {"gpus": -1, "constraints": ["zone == a", "gpu.free = 2"], "volumes": ["/dev:/x"]}


def told(message: str = "", hint: str = "", field: str = "") -> tuple[str, str, str]:
    """Message, hint and field after the change; code and exit code stay."""
    problem = {"code": "gpu-count", "message": message, "hint": hint, "field": field}
    error = in_flags(ClientError([problem], 4), BODY)
    assert error.exit_code == 4
    assert error.problems[0]["code"] == "gpu-count"
    return error.problems[0]["message"], error.problems[0]["hint"], error.problems[0]["field"]


def test_keys_with_values_become_flags() -> None:
    assert told("gpus: -1 is negative.", "Write gpus: 1, or gpus: all", "gpus") == (
        "--gpus -1 is negative.", "Write --gpus 1, or --gpus all", "--gpus",
    )  # fmt: skip


def test_an_entry_of_a_list_is_quoted() -> None:
    assert told(field="constraints.1")[2] == "-c gpu.free = 2"
    assert told(field="volumes.0")[2] == "-v /dev:/x"
    assert told(field="env.NAME")[2] == "-e NAME"


def test_other_words_stay() -> None:
    said = ("Write: node.labels.time == 3", "the key gpu-time: x, and my.gpus: 1", "deploy.replicas")
    assert told(*said) == said
    assert told(field="constraints.7")[2] == "-c 7"
