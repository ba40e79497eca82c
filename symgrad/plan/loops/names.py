"""Names in words for the scalars of a procedure, and how long an expression is in print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count

from ...expr import Apply, Const, Expr, Index, Ref, ref, substitution
from ...expr.names import numbered
from ...ops import is_call
from ...records import replace
from .data import Block, Local, Loop, Node, Rewriter, Store, walk, with_inner


def length_of(node: Expr, lengths: Mapping[Expr, int]) -> int:
    """About how many characters `node` takes in print."""
    if isinstance(node, Ref):
        own = len(node.name.split("@")[0])
        return own + (2 if node.subscripts else 0) + sum(lengths.get(s, 4) + 4 for s in node.subscripts)
    if isinstance(node, Index):
        return len(node.name)
    if isinstance(node, Apply):
        own = 2 + len(node.op) if is_call(node) else 3
        return own + sum(map(lengths.__getitem__, node.args))
    return len(str(node))


def distinct_scalars(block: Block) -> Block:
    """`block`, a whole procedure, with scalars of its own for each copy of a turn: a name means one value."""
    declared = Counter(n.name for n in walk(block) if isinstance(n, Local))
    serial = count(1)

    def own(block: Block) -> Block:
        done: list[Node] = []
        new: dict[Expr, Expr] = {}
        rewrite = _putting(new)
        for node in block:
            name = node.name if isinstance(node, Local) else ""
            node = rewrite.node(with_inner(node, own))
            if isinstance(node, Local) and declared[name] > 1:
                copy = f"{name}@copy{next(serial)}"
                new = {**new, ref(name): ref(copy)}
                rewrite, node = _putting(new), replace(node, name=copy)
            done.append(node)
        return tuple(done)

    return own(block)


def _putting(new: Mapping[Expr, Expr]) -> Rewriter:
    return Rewriter(substitution(new))


def name_scalars(block: Block, taken: Iterable[str], longer: Mapping[str, str]) -> Block:
    """Scalars get the names that are printed: words, or `longer` ones where these are taken, or with a number."""
    fixed = {n.name for n in walk(block) if isinstance(n, Local) and not set("#@") & set(n.name)}
    fixed |= {n.index.name for n in walk(block) if isinstance(n, Loop)}
    chosen: dict[str, str] = {}
    _choose(block, fixed | set(taken), {}, longer, chosen)
    return _putting({ref(old): ref(new) for old, new in chosen.items()}).block(block)


def value_name(element: Ref, joint: str = "_") -> str:
    """What the value of one element is called beside its array: `rstd_i`."""
    letters = "".join(str(s) for s in element.subscripts if isinstance(s, (Index, Const)))
    return f"{element.name}{joint}{letters or 'value'}"


def _choose(
    block: Block, visible: set[str], counters: dict[str, int], longer: Mapping[str, str], chosen: dict[str, str]
) -> None:
    given: dict[str, tuple[str, int]] = {}  # the names of this block, which those after it may have again
    stored = {n.value: n.element for n in reversed(block) if isinstance(n, Store)}
    accumulators = Counter(n.name.split("#")[0] for n in block if isinstance(n, Local) and "#" in n.name)
    for node in block:
        if isinstance(node, Local) and set("#@") & set(node.name):
            word = node.name.split("#")[0].split("@")[0].replace("~", "")
            if word in visible or accumulators[word] > 1:
                element = stored.get(ref(node.name))
                if element is not None:
                    word = value_name(ref(chosen.get(element.name, element.name), *element.subscripts))
                word = longer.get(node.name, word)
            before = counters.get(word, 1)
            name, counters[word] = numbered(word, visible, before)
            given[name] = word, before
            visible.add(name)
            chosen[node.name] = name
        for inner in node.blocks:
            _choose(inner, visible, counters, longer, chosen)
    visible.difference_update(given)
    for word, before in reversed(given.values()):
        counters[word] = before
