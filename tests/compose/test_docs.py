"""docs/stack-files.md names exactly the keys of a service that are carried or ignored."""

import re
from pathlib import Path

from berth.compose import keys

PAGE = Path(__file__).parents[2] / "docs" / "stack-files.md"


def test_the_page_names_every_key_that_does_not_end_in_a_refusal() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")]
    listed = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    assert listed == {*keys.SERVICE.carried, *keys.SERVICE.ignored}
