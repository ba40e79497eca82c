"""Make the gallery: a page of `symgrad explain` for every function of the library, and an index of them that searches.

    python docs/make_gallery.py                     # into build/extra/gallery, which the site takes along
    python docs/make_gallery.py --jobs 4 softmax    # some functions, in several processes

Some seconds for each function. A page that is there, and was made from the same sources, is not made again; so what was
stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from hashlib import sha256
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from symgrad import library
from symgrad.backends.base import source
from symgrad.errors import SymgradError
from symgrad.explanation import Explanation
from symgrad.explanation.build import Explained

HERE = Path(__file__).parent
ROOT = HERE.parent
OUT = ROOT / "build" / "extra" / "gallery"
CELLS = 48  # rows and columns of a thumbnail; of a larger J blocks are one cell
APART = 16  # rows and columns from which on no lines stand between cells


@cache
def stamp() -> str:
    """What tells one state of the sources from another."""
    paths = sorted([*(ROOT / "symgrad").rglob("*.py"), *(ROOT / "templates").iterdir(), Path(__file__)])
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def made(name: str, out: Path) -> str:
    """Write the page and the record of a function, if they are not there; return what was done."""
    record = out / f"{name}.json"
    if record.exists() and json.loads(record.read_text(encoding="utf-8"))["stamp"] == stamp():
        return "is there"
    declared = getattr(library, name)
    topic, about = next((topic, about) for topic, (about, names) in library.topics().items() if name in names)
    said = (declared.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    found = {"name": name, "stamp": stamp(), "topic": topic, "about": about, "said": " ".join(said.split())}
    try:
        explained = Explained(declared, {}, "numpy")
        page = Explanation(explained.document()).html()
        found["picture"] = thumbnail(explained.point.jacobian)
        back = '<header><p><a href="index.html">Gallery</a></p>'
        written(out / f"{name}.html", page.replace("<header>", back, 1))
    except SymgradError as error:
        found["left out"] = str(error)
    written(record, json.dumps(found))
    return found.get("left out", "made")


def written(path: Path, text: str) -> None:
    """Write a file, or leave none."""
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def thumbnail(jacobian: Any) -> str:
    """Where J is not 0, as a picture; of one that is too large to be worked out an empty frame."""
    if jacobian is None:
        return '<svg viewBox="0 0 8 8" role="img"><title>J is too large to be drawn</title></svg>'
    rows, columns = jacobian.shape
    high, wide = min(rows, CELLS), min(columns, CELLS)
    filled = [[False] * wide for _ in range(high)]
    for r, row in enumerate(jacobian != 0):
        for c, full in enumerate(row):
            filled[r * high // rows][c * wide // columns] |= bool(full)
    path, some = [], sum(map(int, (jacobian != 0).ravel()))
    for r, cells in enumerate(filled):
        x = 0
        for full, group in groupby(cells):
            width = len([*group])
            path += [f"M{x} {r}h{width}v1h-{width}z"] if full else []
            x += width
    lines = [f"M{x} 0v{high}" for x in range(1, wide)] + [f"M0 {y}h{wide}" for y in range(1, high)]
    between = f'<path class="between" d="{"".join(lines)}"/>' if lines and max(high, wide) <= APART else ""
    said = f"J, {rows} by {columns}: {some} of {jacobian.size} entries are not 0"
    return (
        f'<svg viewBox="0 0 {wide} {high}" role="img"><title>{said}</title>'
        f'<path class="none" d="M0 0h{wide}v{high}h-{wide}z"/><path class="full" d="{"".join(path)}"/>{between}</svg>'
    )


def index(out: Path) -> str:
    """The page that shows all of them, by topic."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob("*.json"))]
    records.sort(key=lambda r: (r["topic"], r["name"]))
    parts = "".join(
        f'<section aria-labelledby="{topic}"><h2 id="{topic}">{topic.capitalize()}</h2>'
        f"<p>{escape(some[0]['about'])}</p><ul>{''.join(map(card, some))}</ul></section>\n"
        for topic, group in groupby(records, key=lambda r: r["topic"])
        if (some := [*group])
    )
    fill = {"$COUNT": str(len(records)), "$STYLE": source("explain.css"), "$PARTS": parts}
    text = (HERE / "static" / "gallery.html").read_text(encoding="utf-8")
    for name, value in fill.items():
        text = text.replace(name, value)
    return text


def card(record: dict[str, str]) -> str:
    """A function on that page."""
    name, said = escape(record["name"]), escape(record["said"])
    if "left out" in record:
        return f'<li class="card"><div><b>{name}</b><span>{said} {escape(record["left out"])}</span></div></li>'
    shown = f"{record['picture']}<div><b>{name}</b><span>{said}</span></div>"
    return f'<li class="card"><a href="{name}.html">{shown}</a></li>'


def run(names: Sequence[str], out: Path, jobs: int) -> Iterator[tuple[str, str]]:
    """Make pages; say of each what was done."""
    if jobs == 1:
        yield from ((name, made(name, out)) for name in names)
        return
    with ProcessPoolExecutor(jobs) as pool:
        asked = {pool.submit(made, name, out): name for name in names}
        for done in as_completed(asked):
            yield asked[done], done.result()


def main(given: Sequence[str] | None = None) -> None:
    """Make what is asked for, and the index of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(given)
    names = asked.names or sorted(library.__all__)
    if unknown := [name for name in names if name not in library.__all__]:
        parser.error(f"the library has no {', '.join(unknown)}")
    asked.out.mkdir(parents=True, exist_ok=True)
    for count, (name, what) in enumerate(run(names, asked.out, asked.jobs), 1):
        print(f"{count} of {len(names)}  {name}: {what}", file=sys.stderr)
    written(asked.out / "index.html", index(asked.out))


if __name__ == "__main__":
    main()
