"""Links between the pages of the project lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page for page in ROOT.rglob("*.md") if not any(part.startswith(".") for part in page.relative_to(ROOT).parts)
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = [match[1] for match in LINK.finditer(page.read_text()) if "://" not in match[1]]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_of_the_docs_is_reached_from_the_readme_or_contributing() -> None:
    start = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    seen: set[Path] = set()
    while start:
        page = start.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        start += [
            (page.parent / match[1]).resolve() for match in LINK.finditer(page.read_text()) if "://" not in match[1]
        ]
    docs = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    decisions = {page for page in docs if page.parent.name == "decisions"}
    assert docs - decisions - seen == set()
