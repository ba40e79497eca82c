"""Draw formulas at random, print and check each, and keep what came of it; print docs/hunted.md.

    python docs/make_hunted.py scalars 300 --seed 1               # in NumPy and C
    python docs/make_hunted.py affine 50 --seed 1 --to torch,jax
    python docs/make_hunted.py programs 50 --seed 1 --options checkpoint=sqrt
    python docs/make_hunted.py                                    # the table of what is kept

What came of a formula is kept in build/hunted, a line each, as soon as it is known: what was stopped goes on. Remove it
after a change. What fails is printed at once and shrunk; give it a row of tests/formulas.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from make_tables import table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # where the next stands

from random_formulas import affine, compositions, disagreement, programs, scalars, shrunk, tensors

HERE = Path(__file__).parent
KEPT = HERE.parent / "build" / "hunted"
KINDS = {
    "scalars": (scalars, "scalars"),
    "affine": (affine, "affine subscripts"),
    "statements": (tensors, "statements"),
    "compositions": (compositions, "compositions of the library"),
    "programs": (programs, "programs"),
}
LANGUAGES = {"numpy": "NumPy", "c": "C", "torch": "torch", "jax": "JAX", "triton": "Triton", "pallas": "Pallas"}


def hunt(kind: str, count: int, number: int, languages: list[str], options: Mapping[str, object]) -> None:
    """Draw formulas until `count` of this seed were no refusals."""
    KEPT.mkdir(parents=True, exist_ok=True)
    asked = (f"{name}={value}" for name, value in options.items())
    kept = KEPT / f"{'-'.join((kind, str(number), *languages, *asked))}.jsonl"
    known = {line["text"]: line for line in _lines(kept)}
    drawn: set[str] = set()
    checked = 0

    @seed(number)
    @settings(max_examples=100 * count, phases=(Phase.generate,), deadline=None, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(text=KINDS[kind][0]())
    def one(text: str) -> None:
        nonlocal checked
        if checked >= count or text in drawn:
            return
        drawn.add(text)
        if text not in known:
            start = time.monotonic()
            said = {to: disagreement(text, to, **options) for to in languages}
            known[text] = {"kind": kind, "text": text, "said": said, "seconds": time.monotonic() - start}
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[text]) + "\n")
            for to, report in said.items():
                if report:
                    small = shrunk(text, lambda t, to=to: bool(disagreement(t, to, **options)), most=20)
                    print(f"{text}\n{to}: {small}\n{disagreement(small, to, **options)}\n", flush=True)
        checked += any(s is not None for s in known[text]["said"].values())

    one()


def write() -> None:
    """Print docs/hunted.md from what is kept."""
    drawn: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str]] = set()
    for line in (line for kept in sorted(KEPT.glob("*.jsonl")) for line in _lines(kept)):
        for to, said in line["said"].items():
            if (line["text"], to) not in seen:
                seen.add((line["text"], to))
                drawn[line["kind"], to] += said is not None
                wrong[line["kind"], to] += bool(said)
    rows = [
        (name, LANGUAGES[to], str(drawn[kind, to]), str(wrong[kind, to]))
        for kind, (_, name) in KINDS.items()
        for to in LANGUAGES
        if drawn[kind, to]
    ]
    (HERE / "hunted.md").write_text(table(("kind", "in", "formulas", "disagree"), rows), encoding="utf-8")


def _lines(kept: Path) -> list[dict]:
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hunt for formulas whose printed code is wrong.")
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("count", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", default="numpy,c")
    parser.add_argument("--options", default="", metavar="NAME=VALUE,...", help="of sg.check, such as save=minimal")
    asked = parser.parse_args()
    if asked.kind:
        pairs = dict(part.split("=") for part in asked.options.split(",") if part)
        options = {name: {"true": True, "false": False}.get(value, value) for name, value in pairs.items()}
        hunt(asked.kind, asked.count, asked.seed, asked.to.split(","), options)
    else:
        write()
