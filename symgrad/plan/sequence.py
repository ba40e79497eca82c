"""The order of what does not depend on each other: what has something in common stands together."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from heapq import heappop, heappush

from ..expr import Index
from .program import Item, Step

Kinds = tuple[Hashable, ...]  # what an item has in common with others, the closest first


def in_sequence(before: Sequence[Collection[int]], kinds: Sequence[Kinds], first: Kinds = ()) -> list[int]:
    """The numbers 0, 1, ..., each after those `before` it: next is the first that has the most in common with the last
    one, which of the first one is what is of the kinds `first`."""
    waiting = [len(numbers) for numbers in before]
    after: list[list[int]] = [[] for _ in before]
    for n, numbers in enumerate(before):
        for m in numbers:
            after[m].append(n)
    ready: dict[Hashable, list[int]] = {}
    left = dict.fromkeys(range(len(before)))
    done: list[int] = []

    def offer(n: int) -> None:
        for kind in (*kinds[n], None):  # of None are all
            heappush(ready.setdefault(kind, []), n)

    for n, number in enumerate(waiting):
        if not number:
            offer(n)
    while left:
        heaps = [ready.get(kind, []) for kind in (*(kinds[done[-1]] if done else first), None)]
        for heap in heaps:
            while heap and heap[0] not in left:
                heappop(heap)
        n = heappop(next(heap for heap in heaps if heap))
        del left[n]
        done.append(n)
        for m in after[n]:
            waiting[m] -= 1
            if not waiting[m]:
                offer(m)
    return done


def steps_in_sequence(steps: Sequence[Item]) -> list[Item]:
    """The steps, each after those it reads; those that can share a loop, or stand under one guard, together."""
    place = {name: n for n, step in enumerate(steps) for name in step.targets}
    reads = ({place[r.name] for e in step.equations for r in e.reads if r.name in place} for step in steps)
    return [steps[n] for n in in_sequence([m - {n} for n, m in enumerate(reads)], [*map(_kinds, steps)])]


def _kinds(step: Item) -> tuple[Hashable, ...]:
    """What the step may have in common with another one: guard and outer loop, or the guard, or what it asks for."""
    guard, asks = (step.serves, step.when), (step.serves, frozenset(name for name, _ in step.when))
    if not isinstance(step, Step):
        return guard, asks
    first = step.equations[0]
    outer = first.subscripts[0] if first.subscripts else None
    extent = dict(first.box)[outer].key if isinstance(outer, Index) and outer in dict(first.box) else None
    return (guard, extent), guard, asks
