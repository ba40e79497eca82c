"""The site and the gallery are built, and read; the site takes a quarter of a minute."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pages import LOOSE, ROOT, script

import symgrad as sg
from symgrad import library

pytestmark = pytest.mark.long


class Page(HTMLParser):
    """The links, ids and classes of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.images, self.tags = set(), set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.links |= {given["href"]} if tag == "a" and given.get("href") else set()
        self.ids |= {given["id"]} if given.get("id") else set()
        self.images += [given] if tag == "img" else []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, from nothing, with warnings as errors."""
    out = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-d", out / "read", ROOT / "docs", out / "site"]
    done = subprocess.run(list(map(str, line)), cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out / "site"


def test_no_link_of_the_site_leads_nowhere(site):
    left = {"gallery", "source"}  # another page's test; files that are shown
    pages = {path: Page(path) for path in site.rglob("*.html") if not left & {*path.relative_to(site).parts}}
    assert len(pages) > 35
    for path, page in pages.items():
        for link in page.links:
            target, _, place = link.partition("#")
            if re.match(r"https?:|mailto:", link) or target.startswith("gallery/"):
                continue
            there = (path.parent / target).resolve() if target else path
            assert there.exists(), f"{path.relative_to(site)}: {link}"
            assert not place or there not in pages or place in pages[there].ids, f"{path.relative_to(site)}: {link}"


def test_the_site_needs_no_network(site):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//", text), path.name


def test_the_reference_has_every_function(site):
    ids = Page(site / "api.html").ids
    assert {f"symgrad.{name}" for name in sg.__all__ if not name.isupper()} | {"symgrad.SO3"} <= ids


def test_formulas_are_mathml_and_files_have_their_names(site):
    assert "cube.py" in (site / "tutorials" / "question.html").read_text(encoding="utf-8")
    assert "<math" in (site / "why-grad-output.html").read_text(encoding="utf-8")


def test_every_page_has_its_text(site):
    assert all(image.get("alt") for path in site.glob("*.html") for image in Page(path).images)
    for page in ("first", "declare", "torch", "scipy", "c", "recurrences", "compared", "api", "library", "gallery"):
        assert Page(site / f"{page}.html").tags.count("h1") == 1


def test_the_picture_is_what_is_printed(request):
    draw = script("make_picture")
    found = draw.picture()
    if request.config.getoption("--update"):
        draw.PICTURE.write_text(found, encoding="utf-8")
    assert LOOSE.sub("", draw.PICTURE.read_text(encoding="utf-8")) == LOOSE.sub("", found), "docs/make_picture.py"


NAMES = ("squares", "softmax", "linear")


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """A gallery of some functions."""
    out = tmp_path_factory.mktemp("gallery")
    script("make_gallery").main([*NAMES, "--jobs", "1", "--out", str(out)])
    return out


def test_the_gallery_has_a_page_for_each(gallery):
    index = (gallery / "index.html").read_text(encoding="utf-8")
    page = Page(gallery / "index.html")
    assert {f"{name}.html" for name in NAMES} <= page.links and {"search", "found", "statistics"} <= page.ids
    assert f"{len(NAMES)} functions" in index and "$" not in re.sub(r"\$\{\w+\.?.*?\}", "", index)
    for name in NAMES:
        text = (gallery / f"{name}.html").read_text(encoding="utf-8")
        assert 'href="index.html"' in text and "Why the gradient is multiplied by" in text
        assert "agrees with the formula" in text
        said = json.loads((gallery / f"{name}.json").read_text(encoding="utf-8"))["said"]
        assert said and getattr(library, name).__doc__.startswith(said[:20])


def test_thumbnails_are_where_j_is_not_0(gallery):
    picture = json.loads((gallery / "squares.json").read_text(encoding="utf-8"))["picture"]
    assert ElementTree.fromstring(picture)[0].text == "J, 3 by 2: 4 of 6 entries are not 0"
    assert 'd="M0 0h1v1h-1zM0 1h2v1h-2zM1 2h1v1h-1z"' in picture
    assert "J is too large" in script("make_gallery").thumbnail(None)


def test_what_is_there_is_not_made_again(gallery, capsys):
    script("make_gallery").main(["softmax", "--jobs", "1", "--out", str(gallery)])
    assert "softmax: is there" in capsys.readouterr().err
    assert f"{len(NAMES)} functions" in (gallery / "index.html").read_text(encoding="utf-8")


def test_what_has_no_gradient_is_listed_without_a_page():
    make = script("make_gallery")
    record = {"name": "f", "said": "f.", "left out": "f has no gradient.", "topic": "scalars", "about": "."}
    assert "href" not in make.card(record) and "f has no gradient." in make.card(record)


def test_an_unknown_function_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        script("make_gallery").main(["softmaks", "--out", str(tmp_path)])
    assert "the library has no softmaks" in capsys.readouterr().err
    assert not Path(tmp_path, "index.html").exists()
