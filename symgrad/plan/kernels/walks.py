"""Lanes that are too many for one block: in blocks, one after the other, as often as reductions ask for.

What is reduced over the lanes is known when all of them have been walked along; who reads it and the elements again
walks along them once more. A sum that follows another reduction (`plan.followed`) is computed in the same walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...expr import Expr, indices, ref, refs, substitute
from ...ir import Equation
from ...records import replace
from ..followed import Followed, followed
from .data import Kernel, Walk


def in_blocks(kernel: Kernel) -> Kernel:
    """The kernel, which may have any number of lanes; itself where a program must have them all at once."""
    if not kernel.lanes:
        return kernel
    if not any(map(kernel.reduces, kernel.steps)):
        alone = all(kernel.spans(s) for s in kernel.steps if s.target in kernel.results)
        return replace(kernel, apart=True) if alone else kernel if kernel.keeps else _Walks(kernel).walked()
    if kernel.keeps or not all(map(kernel.reduces_all, filter(kernel.reduces, kernel.steps))):
        return kernel
    return _Walks(kernel).walked()


def is_free(kernel: Kernel) -> bool:
    """Whether lanes in blocks cost nothing where one block would hold them: each element is loaded once, as ever."""
    if not kernel.walks:
        return not kernel.lanes or kernel.apart
    computed = {s.target for s in kernel.steps}
    read = (r for s in kernel.steps for e in s.equations for r in e.reads if r.name not in computed)
    rows, lanes = {i for i, _ in kernel.rows}, {i for i, _ in kernel.lanes}
    again = kernel.strided and any(lanes & {*indices(r)} and not rows & {*indices(r)} for r in read)
    return len([w for w in kernel.walks if w.steps]) == 1 and not again


class _Walks:
    """What is known before which walk, and computed in which.

    known    what each step computes: the number of the walk before which it is there
    taken    reduction -> the number of the walk that computes it
    follows  sum -> how it follows another reduction
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.known: dict[str, int] = {}
        self.taken: dict[str, int] = {}
        self.follows: dict[str, Followed] = {}
        self.defined: dict[Expr, Expr] = {}
        self.reductions: list[Equation] = []
        for step in kernel.steps:
            first, *others = step.equations
            at = self._after(first, *others)
            if kernel.reduces(step):
                if not others and (found := self._followed(first)):
                    at, self.follows[step.target] = self.taken[found.first], found
                self.taken[step.target] = at
                self.reductions += [] if others else [first]
            elif not (others or first.where is not None or first.when or first.reduced):
                self.defined[ref(step.target, *first.subscripts)] = substitute(first.body, self.defined)
            self.known[step.target] = at + kernel.reduces(step)

    def _after(self, *equations: Equation) -> int:
        return max((self.known.get(r.name, 0) for e in equations for r in e.reads), default=0)

    def _followed(self, e: Equation) -> Followed | None:
        """How a sum follows a reduction, if all else that it reads is there when that is computed."""
        found = followed(e, self.reductions, self.defined)
        read = {r.name for r in refs(substitute(e.body, self.defined))} & self.known.keys()
        if found and all(self.known[n] <= self.taken[found.first] for n in read - {found.first}):
            return found
        return None

    def walked(self) -> Kernel:
        """The kernel with its walks."""
        kernel = self.kernel
        return replace(kernel, walks=tuple(map(self._walk, range(max(self.known.values()) + 1))))

    def _walk(self, number: int) -> Walk:
        kernel = self.kernel
        now = [s for s in kernel.steps if self.known[s.target] == number]
        before = [s for s in now if not kernel.spans(s) and s.target not in self.taken]
        elements = tuple(s.target for s in now if kernel.spans(s) and s.target in kernel.results)
        sums = [n for n, at in self.taken.items() if at == number]
        follows = {n: self.follows[n] for n in sums if n in self.follows}
        needed = {*self._needed([*elements, *sums], number)}
        meanwhile = {f.moves.name: f.meanwhile for f in follows.values() if f.meanwhile is not None}
        steps = [s for s in kernel.steps if s.target in needed]
        for k, step in enumerate(steps):
            if (body := meanwhile.get(step.target)) is not None:
                steps[k] = replace(step, equations=(step.equations[0].with_body(body),))
            elif step.target in sums:
                rows = tuple(e for e in step.equations if {*kernel.lanes}.isdisjoint(e.box))
                before += [replace(step, equations=rows)] if rows else []
                steps[k] = replace(step, equations=tuple(e for e in step.equations if e not in rows))
        return Walk(tuple(before), tuple(steps), elements, follows)

    def _needed(self, targets: Sequence[str], number: int) -> Iterator[str]:
        """What a walk computes: elements, anew; what is reduced in it, and what moves along with that."""
        stack, seen = [*targets], set[str]()
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            yield name
            for r in (r for e in self.kernel.step(name).equations for r in e.reads if r.name in self.known):
                if self.kernel.spans(self.kernel.step(r.name)) or self.known[r.name] > number:
                    stack.append(r.name)
