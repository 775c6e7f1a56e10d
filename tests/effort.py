"""How many random cases a test takes: a sample in `make check`, all in `make test`, which sets BERTH_TESTS=whole."""

import os

WHOLE = os.environ.get("BERTH_TESTS") == "whole"
SAMPLE = 4


def examples(whole: int) -> int:
    """Hypothesis's max_examples for a test that `make test` runs with `whole` of them."""
    return whole if WHOLE else max(whole // SAMPLE, 1)
