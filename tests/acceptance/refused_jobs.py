"""The table of job files that are refused: one line per case, as in refused.py; test_refusals.py tries each.

`job` makes a file with an image; its text begins in line 2.
"""

# ruff: noqa: E501 - a case is one line, however long

from tests.acceptance.carded import TWINS
from tests.acceptance.refused import REFUSED, Case


def job(text: str) -> str:
    """A job file with an image."""
    return f"image: bb:1\n{text}\n"


CASES = [
    Case("no image", "command: ls\n", "image-missing", 1, "Write image: NAME:TAG"),
    Case("an image with capitals", "image: Foo/Bar\n", "bad-image", 1, "Write foo/bar"),
    Case("a misspelled key", job("comand: ls"), "unknown-key", 2, "Write command"),
    Case("a key of a stack's service", job("environment: {A: b}"), "unknown-key", 2, "Write env"),
    Case("a key of a stack", "services:\n  s: {image: 'bb:1'}\n", "unknown-key", 1, "berth stack deploy"),
    Case("a key of another section", job("cpus: 2"), "unknown-key", 2, "resources.limits.cpus"),
    Case("a key twice", job("gpus: 1\ngpus: 2"), "duplicate-key", 3, "Remove one"),
    Case("a key of a later version", job("array: 10"), "key-not-carried", 2, "later version"),
    Case("a negative number of cards", job("gpus: -1"), "gpu-count", 2, "Write gpus: 1"),
    Case("half a card", job("gpus: 0.5"), "gpu-count", 2, "Write gpus: 1"),
    Case("half a card of two", job("gpus: 2x0.5"), "gpu-count", 2, "Write gpus: 1"),
    Case("cards in words", job("gpus: two"), "gpu-count", 2, "Write gpus: 1"),
    Case("cards as a list", job("gpus: [0, 1]"), "gpu-count", 2, "Write gpus: 1"),
    Case("more cards than any node has", job("gpus: 3"), "too-many-cards", 2, "berth gpus"),
    Case("a card that is not there", job("env: {NV_GPU: 7}"), "unknown-card", 2, "Name a card"),
    Case("a UUID that several cards begin with", job(f"env: {{NV_GPU: {TWINS[0][:8]}}}"), "ambiguous-card", 2, "Write one in full"),
    Case("a constraint on a key that is none", job("constraints:\n  - node.label.x == y"), "bad-constraint", 3, "Write: node.labels.x == y"),
    Case("an open bracket", job("constraints: ['gpu.model =~ [']"), "bad-constraint", 2, "for example: ^A100"),
    Case("constraints that are no list", job("constraints: node.role == worker"), "wrong-type", 2, "Write"),
    Case("a model without a letter", job("model: '--'"), "bad-value", 2, "Write model: A100"),
    Case("a secret that is not there", job("secrets:\n  - nobody_made_it"), "secret-missing", 3, "secret create nobody_made_it"),
    Case("a time in words", job("time: long"), "bad-value", 2, "2h"),
    Case("no time at all", job("time: 0s"), "bad-value", 2, "Write time: 2h"),
    Case("a size in words", job("shm_size: lots"), "bad-value", 2, "such as 512M"),
    Case("a memory in words", job("resources:\n  limits:\n    memory: lots"), "bad-value", 4, "such as 512M"),
    Case("a restart condition that is none", job("restart:\n  condition: sometimes"), "bad-value", 3, "on-failure"),
    Case("a negative number of attempts", job("restart: {condition: any, max_attempts: -1}"), "out-of-range", 2, "Write max_attempts: 3"),
    Case("a misspelled key of restart", job("restart: {conditions: any}"), "unknown-key", 2, "Write condition"),
    Case("a name with a slash", job("name: a/b"), "bad-job-name", 2, "Write name: train"),
    Case("a queue that is none", job("queue: fast"), "unknown-queue", 2, "Write queue: default"),
    Case("a command with an open quote", job("command: \"sh -c 'x\""), "bad-value", 2, "Close it"),
    Case("a command that is a mapping", job("command: {a: b}"), "wrong-type", 2, "Write"),
    Case("an env value that is true", job("env: {A: true}"), "wrong-type", 2, 'Quote it: A: "true"'),
    Case("an env value that is a list", job("env: {A: [b]}"), "wrong-type", 2, "Write"),
    Case("a mount at a relative path", job("volumes: ['/a:b']"), "bad-mount", 2, "/host/path:/path"),
    Case("a mount of a relative path", job("volumes: ['./a:/b']"), "bad-mount", 2, "whole path"),
    Case("the mount of a card", job("volumes: ['/dev/nvidia0:/x']"), "mount-of-cards", 2, "Ask for a number of cards", REFUSED),
    Case("the socket with cards", job("gpus: 1\nvolumes:\n  - /var/run/docker.sock:/s"), "mount-of-socket", 4, "only the paths", REFUSED),
    Case("tabs", "image: bb:1\nenv:\n\tA: b\n", "yaml-tab", 3, "Indent with spaces"),
    Case("a quote that is not closed", job("command: 'a"), "yaml-syntax", 2, "Close it"),
    Case("two documents", job("---\nimage: bb:1"), "yaml-documents", 2, "Remove the ---"),
    Case("a list at the top", "- image: bb:1\n", "yaml-top", 1, "image:"),
    Case("an empty file", "", "yaml-empty", 1, "Name the file"),
    Case("a binary", b"\x7fELF\x02\x01\x01\x00\x00", "not-text", 1, "Name the YAML file"),
    Case("not UTF-8", b"image: bb:1 # \xe9\n", "not-utf-8", 1, "UTF-8"),
    Case("100 levels", job("env: " + "{a: " * 101 + "b" + "}" * 101), "yaml-too-deep", 2, "Check the brackets"),
]  # fmt: skip
