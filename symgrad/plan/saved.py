"""What forward hands to backward: the cheapest values from which backward can have what it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from ..expr import Apply, Const, Expr, Operator, Ref, postorder, preorder, ref, refs, transformer
from ..expr.names import Names
from ..ir import Equation, Function, Role, Tensor, below, by_target, disjoint, reached, writes_once
from ..ops import COMPARISONS, OPS, Op
from ..ops.row import CALL
from ..records import dataclass, replace

NOMINAL = 64  # the size of every axis when saving is weighed against computing again
APART = 20  # the operations for which an element counts of an array that is put together of parts: it stands in memory
NEVER = float("inf")
TRIALS = 16  # values that are tried in the place of those computed from them
ADDED_UP = ("sum", "prod", "logsumexp")  # what another order rounds otherwise
ROUNDED = ("torch", "jax")  # there results that are computed in float32 are returned in the type of the inputs


def with_exact_results(
    primal: Function,
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    tensors: dict[str, Tensor],
    names: Names,
) -> tuple[list[Equation], list[Equation]]:
    """The equations, where an output that backward compares with what it computes, or computes that from, has a local
    name before it is rounded and returned: `h == out` holds nowhere if h is rounded less than out, or is another h."""
    compared, writers = reached(below([*forward, *backward]), _compared(backward)), by_target(forward)
    some = [n for n in primal.outputs if n in compared & {*writers} and not _chosen(n, writers, primal.inputs)]
    if not some:
        return [*forward], [*backward]
    own = {name: names.new(f"exact_{name}") for name in some}
    put = transformer(lambda n: ref(own.get(n.name, n.name), *n.subscripts) if isinstance(n, Ref) else n)
    ahead = [replace(e.mapped(put), target=own.get(e.target, e.target)) for e in forward]
    for name, new in own.items():
        tensors[new] = replace(tensors[name], name=new, role=Role.LOCAL)
        box = primal.box_of(tensors[name].shape)
        at = tuple(i for i, _ in box)
        ahead.append(Equation(name, at, "none", ref(new, *at), box))
    return ahead, [e.mapped(put) for e in backward]


def _compared(equations: Iterable[Equation]) -> set[str]:
    """What is compared with another value: ties are told by it."""
    return {
        r.name
        for n in postorder(*(root for e in equations for root in e.expressions))
        if isinstance(n, Apply) and n.op in COMPARISONS and all(refs(a) for a in n.args)
        for r in refs(n)
    }


def _chosen(name: str, writers: Mapping[str, list[Equation]], inputs: Sequence[str]) -> bool:
    """Whether its elements are those of inputs, or their absolute values and the like: half precision has them."""
    seen, names = {name}, [name]  # a recurrence reads itself
    while names:
        name = names.pop()
        es = writers.get(name)
        if es is None:
            if name not in inputs:
                return False
            continue
        if any(e.reduce not in ("none", "max", "min", "supremum") for e in es):
            return False
        if not disjoint(es) or not all(map(writes_once, es)):  # they are added up
            return False
        for node in preorder((e.body for e in es), _values_of):
            if isinstance(node, Ref):
                names += [node.name] if node.name not in seen else []
                seen.add(node.name)
            elif isinstance(node, Apply) and node.args and not _keeps(OPS[node.op]):
                return False
    return True


def _keeps(row: Op) -> bool:
    """Whether half precision has the values of an operator, where it has those that it is given."""
    return row.name == "neg" or row.integral and not row.arithmetic or row.kind == "choice"


def _values_of(node: Expr) -> tuple[Expr, ...]:
    """What a value is made of, without the condition of a choice."""
    return node.args[OPS[node.op].kind == "choice" :] if isinstance(node, Apply) else ()


def choose_saved(
    primal: Function,
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    tensors: Mapping[str, Tensor],
    operation: float,
    long: bool = False,
    apart: bool = False,
    unsaved: Collection[str] = (),
) -> tuple[list[str], list[Equation]]:
    """What to save, in order of input, output, intermediate; and the equations that backward computes again.

    operation  what one operation on an element costs, where keeping the element costs 1
    unsaved    what is computed again in any case; what has fewer axes, as a number for each row of it, is saved

    Inputs and outputs are free, a value is computed again where that costs less than keeping it; never what a function
    of whole matrices gives, or a loop from turn to turn. Of a `long` straight line, whose values have most of
    what they are computed from in common, all are, where that costs less. Backward that may be called `apart` from
    forward then computes outputs again, too, where what that needs beyond its own operations costs less than keeping
    them: it reads inputs alone. There sums that tell ties are saved: added up in another order, none would be one.
    """
    cut = _Cut(primal, forward, tensors, operation, unsaved)
    if apart:
        cut.keep_sums(_compared(backward))
    read = {r.name for e in backward for r in e.reads}
    needed = [n for n in tensors if n in read and cut.known(n)]
    ways = (False, True) if long else (False,)
    best = min((cut.choice(needed, (), again) for again in ways), key=lambda choice: choice.cost)
    kept: list[str] = []
    again = [name for name in cut.writers if name in best.saved and name not in cut.free and not cut.dear(name)]
    for name in (*again, *cut.below(best.saved))[:TRIALS]:  # what is saved may serve others too
        trial = cut.choice(needed, [*kept, name])
        if trial.cost < best.cost:
            best, kept = trial, [*kept, name]
    if long and apart and best.saved <= cut.free:
        alone = cut.choice(needed, (), True, cut.inputs)
        outputs = sum(cut.keep(name) for name in best.saved - cut.inputs)
        there = [*backward, *(e for e in forward if e.target in best.recomputed)]
        more = (e for e in forward if e.target in alone.recomputed)
        if alone.saved <= cut.inputs and operation * _more(more, there) <= outputs:
            best = alone
    order = [n for n in tensors if n in best.saved]
    results = {*primal.outputs}
    order.sort(key=lambda n: (n not in cut.inputs, n not in results))
    return order, [e for e in forward if e.target in best.recomputed]


@dataclass(slots=True)
class _Choice:
    """What is saved, what is computed again, and what both cost."""

    saved: set[str] = field(default_factory=set)
    recomputed: set[str] = field(default_factory=set)
    cost: float = 0.0


class _Cut:
    def __init__(
        self,
        primal: Function,
        forward: Sequence[Equation],
        tensors: Mapping[str, Tensor],
        operation: float,
        unsaved: Collection[str] = (),
    ) -> None:
        self.writers = by_target(forward)
        self.inputs = set(primal.inputs)
        self.free = {*primal.inputs, *primal.outputs}
        self.tensors = tensors
        self.operation, self.unsaved = operation, {*unsaved}
        self.sums: set[str] = set()
        self.reads = {
            name: [n for n in dict.fromkeys(r.name for e in es for r in e.reads) if self.known(n)]
            for name, es in self.writers.items()
        }

    def keep_sums(self, names: Collection[str]) -> None:
        """Compute no sum again of those below these names, nor those of what they read."""
        seen, stack = set[str](), [*names]
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack += self.reads.get(name, ())
        self.sums = {name for name in seen if any(e.reduce in ADDED_UP for e in self.writers.get(name, ()))}

    def known(self, name: str) -> bool:
        """Whether `name` is a tensor of forward."""
        return name in self.writers or name in self.inputs

    def keep(self, name: str) -> float:
        """The cost of saving it."""
        return float(NOMINAL ** len(self.tensors[name].shape))

    def work(self, name: str) -> float:
        """The cost of computing it again from what it reads; 0 for what is made of options, sizes and indices."""
        if not self.reads[name] or name in self.unsaved:
            return 0.0
        if self.operation == NEVER or name in self.sums or any(e.matrix for e in self.writers[name]):
            return NEVER
        axes = len(self.tensors[name].shape)
        if any(axes < len(self.tensors[n].shape) for n in self.unsaved.intersection(self.reads[name])):
            return NEVER
        es = self.writers[name]
        operations = sum(_weight(e) * float(NOMINAL ** len(e.box)) for e in es)
        if not (all(e.plain for e in es) or (len(es) == 1 and _reshapes(es[0]))):
            operations += APART * self.keep(name)
        return self.operation * operations

    def dear(self, name: str) -> bool:
        """Whether computing it again costs more than keeping it, even if what it reads is there."""
        return name in self.writers and self.work(name) >= self.keep(name)

    def below(self, saved: Collection[str]) -> list[str]:
        """What values that are saved, and are cheap themselves, were computed from: it would be saved instead."""
        found: dict[str, None] = {}
        stack = [n for n in self.writers if n in saved and not self.dear(n)]
        while stack:
            for name in self.reads.get(stack.pop(), ()):
                if name not in found and name not in self.free:
                    found[name] = None
                    stack += [name] if not self.dear(name) else []
        return [name for name in found if name not in saved]

    def choice(
        self, needed: Sequence[str], kept: Sequence[str], again: bool = False, given: Collection[str] | None = None
    ) -> _Choice:
        """The cheaper of keeping and computing again for each value, where the values `kept` are saved in any case.

        again  compute all again that can be, whatever each would cost by itself
        given  what is there at no cost; if nothing is said, inputs, outputs, and what costs more than to be kept
        """
        free = self.free.union(n for n in needed if self.dear(n)) if given is None else {*given}
        free.update(kept)  # these are saved in any case
        price: dict[str, float] = {}

        def settle(root: str) -> None:
            stack = [root]
            path: set[str] = set()  # a loop from turn to turn costs NEVER: one of them is kept
            while stack:
                name = stack[-1]
                path.add(name)
                if name in price:
                    stack.pop()
                elif name in free:
                    price[name] = 0.0
                elif waiting := [n for n in self.reads[name] if n not in price and n not in path]:
                    stack += waiting
                else:
                    below = sum(price.get(n, NEVER) for n in self.reads[name])
                    work = self.work(name) + below
                    price[name] = 0.0 if again and work < NEVER else min(work, self.keep(name))

        result = _Choice()
        stack = [*needed]
        while stack:
            name = stack.pop()
            if name in result.saved or name in result.recomputed:
                continue
            settle(name)
            if name in free or name not in self.unsaved and price[name] >= self.keep(name) > 0:
                result.saved.add(name)
                result.cost += 0.0 if name in self.free else self.keep(name)
            else:
                result.recomputed.add(name)
                result.cost += self.work(name)
                stack += self.reads[name]
        return result


def _reshapes(e: Equation) -> bool:
    """Whether the target holds the elements of another tensor in other axes."""
    copies = e.reduce == "none" and e.where is None and isinstance(e.body, Ref)
    return copies and not any(r.subscripts for r in refs(*e.subscripts))


def _weight(e: Equation) -> int:
    """Operations at one point, a call of a function counted five times, or more as its row says; one of the file
    (functions.py) as what it is made of."""
    nodes = [n for n in postorder(e.body) if isinstance(n, Apply)]
    made = [OPS[n.op].helper for n in nodes if isinstance(n.op, Operator)]
    lines = [value for helper in made if helper for _, value in helper.lines if isinstance(value, Expr)]
    nodes += [n for n in postorder(*lines) if isinstance(n, Apply)]
    return (e.reduce != "none") + sum(1 if OPS[n.op].cheap or _small_power(n) else _call(OPS[n.op]) for n in nodes)


def _call(row: Op) -> int:
    return 5 if row.helper is not None else 5 * row.cost // CALL


def _more(equations: Iterable[Equation], there: Iterable[Equation]) -> float:
    """The operations of equations, but for those that stand in others, each counted once."""
    known = {n.key for n in postorder(*(e.body for e in there))}
    total = 0.0
    for e in equations:
        new = {n.key for n in postorder(e.body) if isinstance(n, Apply)} - known
        total += len(new) * float(NOMINAL ** len(e.box))
        known |= new
    return total


def _small_power(node: Apply) -> bool:
    return node.op == "pow" and isinstance(node.args[1], Const) and node.args[1].value.denominator == 1
