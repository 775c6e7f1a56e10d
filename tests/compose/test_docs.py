"""docs/stack-files.md names exactly the keys of a service that are carried or ignored, and the rules of lint."""

import re
from pathlib import Path

from berth.compose import keys
from berth.compose.lint_rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "stack-files.md"


def listed(section: str) -> list[str]:
    """The first column of the table under a heading."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {section}\n")[2]
    return [row.split("|")[1] for row in re.split(r"\n#", text)[0].splitlines() if row.startswith("| `")]


def test_the_page_names_every_key_that_does_not_end_in_a_refusal() -> None:
    found = {key for row in listed("Keys of a service") for key in re.findall(r"`([^`]+)`", row)}
    assert found == {*keys.SERVICE.carried, *keys.SERVICE.ignored}


def test_the_page_names_every_rule_of_lint_and_which_of_them_berth_run_hears() -> None:
    assert [row.strip() for row in listed("Lint")] == [f"`{rule.code}`" + " *" * rule.typed for rule in RULES]
