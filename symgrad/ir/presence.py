"""Which optional inputs are given where a value is read: what is read with a bias alone is computed with one alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..records import replace
from .equations import Equation, When
from .order import alive

Ways = int  # a set of the ways to give optional inputs: the k-th input is given in way w if bit k of w is set


def where_read(equations: Sequence[Equation], outputs: Collection[str]) -> tuple[Equation, ...]:
    """The equations, each under the conditions under which an output depends on it; without those that none does."""
    equations = alive(equations, outputs)
    names = [*dict.fromkeys(name for e in equations for name, _ in e.when)]
    if not names:
        return equations
    whole = (1 << (1 << len(names))) - 1
    given = {name: sum(1 << way for way in range(1 << len(names)) if way >> k & 1) for k, name in enumerate(names)}

    def of(when: When) -> Ways:
        found = whole
        for name, present in when:
            found &= given[name] if present else whole ^ given[name]
        return found

    read: dict[str, Ways] = dict.fromkeys(outputs, whole)
    known: dict[str, Ways] = {}
    while known != read:  # a recurrence reads what an equation behind it writes
        known = dict(read)
        for e in reversed(equations):
            for r in e.reads:
                read[r.name] = read.get(r.name, 0) | read.get(e.target, 0) & of(e.when)

    def narrowed(e: Equation) -> Equation | None:
        ways = read.get(e.target, 0) & of(e.when)
        if not ways or ways == of(e.when):
            return e if ways else None
        when = ((name, present) for name in names for present in (True, False) if not ways & ~of(((name, present),)))
        return replace(e, when=tuple(when))

    return tuple(found for e in equations if (found := narrowed(e)) is not None)
