"""What an equation reads, and at which points of its box: the one walk that knows the branches of a `where`."""

from __future__ import annotations

from ..domain import NOTHING, Domain, Facts, alternatives
from ..expr import Apply, Expr, Ref, postorder
from .data import Equation

CASES = 8  # in which one node is evaluated that are kept apart; of more, what is common to them


def reads_of(e: Equation, facts: Facts = NOTHING) -> list[tuple[Ref, Domain]]:
    """The elements that an equation reads or writes, sizes and options among them, each with where it does: in order
    of appearance, the target first.

    The domains of an element may overlap. Each is no smaller than the points at which it is read.
    """
    domain = e.domain(facts)
    found = [(r, domain) for s in e.subscripts for r in postorder(s) if isinstance(r, Ref)]
    whole = Domain.of(e.box, None, facts)  # of the condition itself
    found += [(r, whole) for r in postorder(e.where) if isinstance(r, Ref)] if e.where is not None else []
    return found + [(n, d) for n, d in evaluated(e.body, domain) if isinstance(n, Ref)]


def evaluated(body: Expr, domain: Domain) -> list[tuple[Expr, Domain]]:
    """Every node of `body` with where it is evaluated, if `body` is on `domain`: in a branch of a `where` only where
    its condition holds, or fails. A node in several branches is there several times."""
    nodes = list(postorder(body))
    known: dict[Expr, dict[Domain, None]] = {node: {} for node in nodes}
    known[body][domain] = None
    for node in reversed(nodes):  # after all that read it
        if len(known[node]) > CASES:
            first, *others = known[node]
            common = tuple(a for a in first.atoms if all(a in d.atoms for d in others))
            known[node] = {Domain(first.indices, common, first.facts): None}
        for here in known[node]:
            for position, a in enumerate(node.args):
                if not isinstance(node, Apply) or node.op != "select" or position == 0:
                    known[a].setdefault(here)
                    continue
                for atoms in alternatives(node.args[0], here.facts, position == 1):
                    known[a].setdefault(here.meet(*atoms))
    return [(node, here) for node in nodes for here in known[node]]
