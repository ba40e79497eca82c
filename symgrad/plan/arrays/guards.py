"""Lines of a procedure, and the order in which those under one guard stand together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from ...ir import When
from ...records import dataclass, replace
from ..sequence import in_sequence
from .below import below
from .commands import Assign, Statement, Unpack, flat, tops
from .tree import Array, Var


@dataclass(frozen=True, slots=True)
class Line:
    """A statement with what it is computed for, before lines are grouped."""

    statement: Statement
    serves: tuple[str, ...]
    when: When


def as_read(lines: Sequence[Line], keep: Collection[str]) -> list[Line]:
    """What is read only where an optional input is given, or is not, is computed only there.

    keep  the names that are read after these lines
    """
    assigned = Counter(name for line in lines for name in targets_of(line.statement))
    asked: dict[str, When] = {}  # by name, what all lines that read it ask for
    result: list[Line] = []
    for line in reversed(lines):
        match line.statement:
            case Assign(name) if assigned[name] == 1 and name not in keep:
                more = [w for w in asked.get(name, ()) if w not in line.when]
                line = replace(line, when=(*line.when, *more))
        result.append(line)
        for name in names_read(line.statement):
            asked[name] = tuple(w for w in asked.get(name, line.when) if w in line.when)
    return result[::-1]


def by_guards(lines: Sequence[Line]) -> list[Line]:
    """The lines in an order in which those under one guard, or its contrary, follow each other, as far as what they
    read allows; none passes one that writes into an array."""
    result: list[Line] = []
    waiting: list[Line] = []
    for line in lines:
        if isinstance(line.statement, (Assign, Unpack)):
            waiting.append(line)
        else:
            result += [*_by_guard(waiting, result[-1] if result else None), line]
            waiting = []
    return [*result, *_by_guard(waiting, result[-1] if result else None)]


def _by_guard(lines: Sequence[Line], last: Line | None) -> list[Line]:
    """Assignments: next is one under the guard of the last, or else the first, of those that wait for no other."""
    before: list[set[int]] = []
    written: dict[str, int] = {}
    read: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        reads, writes = names_read(line.statement), targets_of(line.statement)
        mine = {written[n] for n in (*reads, *writes) if n in written}
        mine.update(other for n in writes for other in read.pop(n, ()))
        before.append(mine - {place})
        written.update(dict.fromkeys(writes, place))
        for name in reads:
            read.setdefault(name, []).append(place)
    return [lines[n] for n in in_sequence(before, [*map(_kinds, lines)], () if last is None else _kinds(last))]


def _kinds(line: Line) -> tuple[object, ...]:
    """The guard, and that of what is computed in its other branch."""
    return (line.serves, line.when), (line.serves, frozenset(name for name, _ in line.when))


def targets_of(s: Statement) -> list[str]:
    return [name for x in flat(s) for name in (x.names if isinstance(x, Unpack) else (x.name,)) if name is not None]


def arrays_in(s: Statement) -> list[Array]:
    """Every array expression of a statement."""
    return [a for top in tops(s) for a in below(top)]


def names_read(s: Statement) -> list[str]:
    return [a.name for a in arrays_in(s) if isinstance(a, Var)]
