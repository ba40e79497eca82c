"""`symgrad.records.dataclass` makes what that of the standard library makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from symgrad import records

HOW = [
    {},
    {"slots": True},
    {"eq": False},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "kw_only": True},
]


def made(dataclass: Callable[..., Any], how: dict[str, bool]) -> Any:
    """A class, and one that adds to it."""

    @dataclass(**how)
    class Place:
        kind: ClassVar[str] = "place"
        x: int
        y: int = 2
        seen: list[int] = field(default_factory=list, compare=False)
        note: str = field(default="", repr=False, compare=False)

    @dataclass(**how)
    class Named(Place):
        name: str = "here"

    return Named


def raised(work: Callable[[], object]) -> Any:
    try:
        return work()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_class_is_as_that_of_the_standard_library(how: dict[str, bool]) -> None:
    def of(kind: Any, replace: Any) -> list[Any]:
        one, same, other = kind(x=1), kind(x=1, note="other"), kind(x=2, y=1, seen=[3], name="there")
        return [
            *map(repr, (one, same, other)),
            *(one == same, one == other, one == 1, len({type(raised(lambda a=a: hash(a))) for a in (one, other)})),
            how.get("eq") is False or raised(lambda: hash(one) == hash(same)),
            raised(lambda: kind(1, 2, [4], "", "near").name),
            raised(kind),
            raised(lambda: setattr(one, "x", 5)),
            raised(lambda: delattr(one, "y")),
            repr(dataclasses.replace(other, y=7)),
            repr(replace(other, y=7)),
            raised(lambda: replace(other, q=7)),
            dataclasses.asdict(other),
            repr(copy.copy(other)),
            repr(copy.deepcopy(other)),
            other.seen is copy.deepcopy(other).seen,
            kind.__match_args__,
            hasattr(one, "__dict__"),
            str(inspect.signature(kind)).count(","),
        ]

    ours = of(made(records.dataclass, how), records.replace)
    assert ours == of(made(dataclasses.dataclass, how), dataclasses.replace)


@records.dataclass(frozen=True, slots=True)
class Kept:
    """One that pickle finds."""

    x: int
    y: int = 2


def test_a_class_without_fields() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Space:
        """Nothing."""

    assert records.replace(Space()) == Space()
    assert {Space(): repr(Space())}[Space()].endswith("Space()")


def test_the_package_has_no_other() -> None:
    package = Path(records.__file__).parent
    other = re.compile(r"from dataclasses import .*\bdataclass\b")
    others = [p.name for p in package.rglob("*.py") if other.search(p.read_text())]
    assert others == ["records.py"]


def test_a_frozen_one_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1)


def test_the_fields_of_a_frozen_class_are_written_by_its_slots() -> None:
    calls = made(records.dataclass, {"frozen": True, "slots": True}).__init__.__code__.co_names
    assert "write" not in calls and "write_x" in calls
