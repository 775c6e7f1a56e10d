"""docs/cli.md lists every verb and no other."""

import re
from pathlib import Path

from berth.cli.main import LOCAL, VERBS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_lists_every_verb_and_no_other() -> None:
    known = {*VERBS, *LOCAL}
    listed = set()
    for typed in re.findall(r"^\| `berth ([^`]*)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        words = typed.split()
        listed.add(" ".join(words[:2]) if " ".join(words[:2]) in known else words[0])
    assert listed == known
