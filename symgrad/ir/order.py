"""Lists of equations: by target, in an order in which each reads only what stands before it, without the unused."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .data import Equation


class Cycle(Exception):
    """Tensors that are computed from each other; `names` in the order of reading."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(" -> ".join(names))
        self.names = tuple(names)


def by_target(equations: Sequence[Equation]) -> dict[str, list[Equation]]:
    """The equations of each tensor, in order of first appearance."""
    found: dict[str, list[Equation]] = {}
    for e in equations:
        found.setdefault(e.target, []).append(e)
    return found


def ordered(equations: Sequence[Equation]) -> tuple[Equation, ...]:
    """The equations, each after all that write what it reads; ties keep their order. Raises Cycle if there is none."""
    writers = by_target(equations)
    done: list[Equation] = []
    state: dict[str, str] = {}
    for root in writers:
        stack = [root]
        while stack:
            target = stack[-1]
            if state.get(target) == "done":
                stack.pop()
                continue
            state[target] = "open"
            reads = dict.fromkeys(r.name for e in writers[target] for r in e.reads if r.name in writers)
            waiting = [r for r in reads if state.get(r) != "done"]
            if any(state.get(r) == "open" for r in waiting):
                raise Cycle([t for t in reversed(stack) if state.get(t) == "open"])
            if waiting:
                stack.extend(reversed(waiting))
                continue
            done += writers[target]
            state[target] = "done"
            stack.pop()
    return tuple(done)


def alive(equations: Sequence[Equation], outputs: Collection[str]) -> tuple[Equation, ...]:
    """The equations that the outputs depend on."""
    needed = set(outputs)
    kept: list[Equation] = []
    for e in reversed(equations):
        if e.target in needed:
            kept.append(e)
            needed.update(r.name for r in e.reads)
    return tuple(reversed(kept))
