"""README.md and the pages of docs/ show what their commands and programs print; `pytest --update` writes that anew.

What their blocks are is said in pages.py.
"""

from __future__ import annotations

import re

import pytest
from pages import BLOCK, GENERATED, ROOT, compared, missing, script

README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))
APART = {  # pages that another test runs
    "distributed.md": "tests/frameworks/test_distributed.py starts its programs on several devices",
    "robotics.md": "tests/test_robotics.py goes on in its folder",
}
RUN = [page for page in DOCS if page.name not in APART and BLOCK.search(page.read_text(encoding="utf-8"))]
PAGES = [README, *RUN, *NOTEBOOKS]


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.in_turn
def test_shows_what_is_printed(page, tmp_path, monkeypatch, request):
    if lacking := missing(page.read_text(encoding="utf-8")):
        pytest.skip(f"without {', '.join(lacking)}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("symgrad.cli.config._processors", lambda: 1)  # beside JAX, no process has a copy
    compared(page, tmp_path, request.config.getoption("--update"))


def test_shows_a_piece_of_the_committed_file():
    pieces = [m[3] for m in BLOCK.finditer(README.read_text()) if m[3].startswith("def forward")]
    assert pieces
    for piece in pieces:
        assert piece in (GENERATED / "linear" / "linear_numpy.py").read_text()


def test_the_first_screen_has_the_two_commands():
    first = [m[3].splitlines()[0] for m in BLOCK.finditer(README.read_text()) if m[1] == "console"][:2]
    assert first[0].startswith("$ pip install -q . && symgrad generate ")
    assert first[1] == '$ pip install -e ".[test,all]" && pytest'


@pytest.mark.parametrize("name", ["operators.md", "library.md"])
def test_the_tables_are_what_the_rows_say(name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == script("make_tables").PAGES[name](), "make_tables.py"


def test_links_lead_somewhere():
    for page in (README, *DOCS, ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", BLOCK.sub("", page.read_text()))):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page.name}: {link}"
