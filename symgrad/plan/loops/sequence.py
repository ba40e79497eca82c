"""The order of independent steps: what can share a loop stands together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from heapq import heappop, heappush

from ...expr import Index
from ..program import Item, Step


def in_sequence(steps: Sequence[Item]) -> tuple[Item, ...]:
    """The steps, each after those it reads: next is the first that can share the loop of the last one, else the first
    under its guard, else the first."""
    place = {name: n for n, step in enumerate(steps) for name in step.targets}
    waiting = []
    readers: list[list[int]] = [[] for _ in steps]
    for n, step in enumerate(steps):
        below = {place[r.name] for e in step.equations for r in e.reads if place.get(r.name, n) != n}
        waiting.append(len(below))
        for m in below:
            readers[m].append(n)
    kinds = [_kinds(step) for step in steps]
    ready: dict[Hashable, list[int]] = {}
    done: list[int] = []
    taken = [False] * len(steps)

    def offer(n: int) -> None:
        for kind in kinds[n]:
            heappush(ready.setdefault(kind, []), n)

    for n, number in enumerate(waiting):
        if not number:
            offer(n)
    while len(done) < len(steps):
        wishes = kinds[done[-1]] if done else ((),)
        heaps = [heap for kind in wishes if (heap := ready.get(kind))]
        for heap in heaps:
            while heap and taken[heap[0]]:
                heappop(heap)
        n = heappop(next(heap for heap in heaps if heap))
        taken[n] = True
        done.append(n)
        for m in readers[n]:
            waiting[m] -= 1
            if not waiting[m]:
                offer(m)
    return tuple(steps[n] for n in done)


def _kinds(step: Item) -> tuple[Hashable, ...]:
    """What the step may have in common with another one: guard and outer loop, the guard, nothing."""
    guard = (step.serves, step.when)
    if not isinstance(step, Step):
        return guard, ()
    first = step.equations[0]
    outer = first.subscripts[0] if first.subscripts else None
    extent = dict(first.box)[outer].key if isinstance(outer, Index) and outer in dict(first.box) else None
    return (guard, extent), guard, ()
