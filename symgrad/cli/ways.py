"""How a function is printed and checked, and where it goes: what options of the command say, or a project's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from ..backends import BACKENDS, OPTIONS, takers
from ..backends.options import flag
from ..errors import TargetError
from ..records import dataclass
from ..source.layout import listed

WORDS = "symgrad.words"  # of the command line, in the meta of a context


class OfOneRun(click.Option):
    """An option that a project does not settle."""


@dataclass(frozen=True, slots=True)
class Way:
    """The same as data, which another process is sent.

    options    of the languages, those that were given
    flat       write into `out` itself, and not into a folder of each function there
    unchecked  print without a check
    full, seconds, seed, case  as `symgrad.verify.check` is told
    """

    languages: tuple[str, ...] = ("numpy",)
    options: tuple[tuple[str, Any], ...] = ()
    stabilize: bool = True
    out: Path = Path()
    flat: bool = False
    unchecked: bool = False
    full: bool = False
    seconds: float | None = None
    seed: int = 0
    case: int | None = None

    def folder(self, function: str) -> Path:
        """Where the files of a function go."""
        return self.out if self.flat else self.out / function

    @property
    def how(self) -> dict[str, Any]:
        """What the check is told."""
        return {"full": self.full, "seconds": self.seconds, "seed": self.seed, "case": self.case}


OWN = {f.name for f in fields(Way)}.difference(["options"]).union(OPTIONS)  # the parameters of commands that say it


def ways_of(to: str, ways: Mapping[str, Any]) -> dict[str, Any]:
    """Of the options that were given, those that a language has."""
    return {way: value for way, value in ways.items() if to.partition(":")[0] in takers(way)}


def way_of(parameters: Mapping[str, Any]) -> Way:
    """What the parameters of a command say."""
    plain = {name: value for name, value in parameters.items() if name in OWN.difference(OPTIONS)}
    return Way(options=tuple(given(parameters).items()), **plain)


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The options of languages that were given."""
    return {name: value for name in OPTIONS if (value := parameters.get(name))}


def refuse_unused(ways: Mapping[str, Any], languages: tuple[str, ...], where: str = "") -> None:
    """Raise TargetError where none of the languages has an option that was given."""
    asked = {name.partition(":")[0]: None for name in languages}
    for way in ways:
        if not asked.keys() & {*takers(way)}:
            said = [f"{flag(way)} is an option of {listed(takers(way))}. Add {takers(way)[0]} to --to."]
            said += [f"{n}: {BACKENDS[n].instead[way]}" for n in asked if way in BACKENDS[n].instead]
            raise TargetError(where + " ".join(said))
