"""A reduction leaves out the terms that are neutral, and what is one number for those who read it is not computed.

`T[i,j] = where(j <= i, a[i,j], 0)/s` is 0 for j > i, and so is each term of `sum[j](T[i,j]*k[j,p])`: the sum takes the
condition. Where all who read T have it, T is computed there alone, and has no value elsewhere. Of
`u[i,j] = where(j <= i, a[i,j], -oo)` the maximum is one of the elements with j <= i, and exp(u[i,j] - m) is 0 elsewhere
if m is a number: if the maximum is one of any elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import partial

from ..domain import Domain, Facts, Opaque, alternatives
from ..expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Ref,
    conjunction,
    conjuncts,
    indices,
    operator,
    operators,
    postorder,
    product,
    ref,
    refs,
    select,
    signed_factors,
    substitute,
    transform,
    with_args,
)
from ..expr.names import Names
from ..ir import NEUTRAL, Equation, Tensor, reads_inside, reads_of
from ..ops import OPS
from ..ops.limits import ENDS, INFINITY, limit
from ..records import dataclass, replace
from .conditions import all_of
from .program import Item, Step


@dataclass(frozen=True, slots=True)
class _Outside:
    """A tensor that is `value` where a condition on the indices of its equation does not hold, and `body` where it
    does."""

    equation: Equation
    condition: Expr
    value: Expr
    body: Expr

    def chosen(self) -> Equation:
        """The equation with a choice between the two values."""
        e = self.equation
        asked = conjunction([c for c in conjuncts(self.condition) if c not in e.conditions])
        return e.with_body(select(asked, self.body, self.value))

    def at(self, element: Ref) -> Expr:
        """The condition at an element of the tensor."""
        return substitute(self.condition, dict(zip(self.equation.subscripts, element.subscripts, strict=True)))


@dataclass(slots=True)
class Known:
    """What is known of the tensors that are computed.

    outside   those that are one number outside of a domain
    infinite  those that may have an infinite value, inside of that domain, although the inputs are finite
    steep     those in which an exponential may leave the range of numbers
    partial   those that have no value at some places
    largest   what the largest value of is a tensor
    """

    outside: dict[str, _Outside] = field(default_factory=dict)
    infinite: set[str] = field(default_factory=set)
    steep: set[str] = field(default_factory=set)
    partial: set[str] = field(default_factory=set)
    largest: dict[str, Expr] = field(default_factory=dict)

    def leaves_range(self, body: Expr) -> bool:
        """Whether a value may be beyond every number that is printed, or be none: exp(u - max u) is not."""

        def grows(node: Expr) -> bool:
            if not (isinstance(node, Apply) and OPS[node.op].grows):
                return False
            match node.args[0]:
                case Apply(op="sub", args=(u, Ref(name=name))):
                    return self.largest.get(name) is not u
                case _:
                    return True

        if any(r.name in self.steep or r.name in self.partial or self.at_infinity(r) for r in refs(body)):
            return True
        return any(OPS[op].grows for op in operators(body)) and any(map(grows, postorder(body)))

    def at_infinity(self, element: Ref, domain: Domain | None = None) -> bool:
        """Whether an element may be infinite where it is read."""
        found = self.outside.get(element.name)
        if found is not None and found.value in ENDS and not (domain and domain.holds(found.at(element))):
            return True
        return element.name in self.infinite

    def learn(self, e: Equation, facts: Facts, fills: bool) -> _Outside | None:
        """Take note of what an equation computes; `fills` if it says alone what each element is."""
        found = _outside(e, self, facts) if fills else None
        if found is not None:
            self.outside[e.target] = found
        if _may_be_infinite(e if found is None else e.with_body(found.body), facts, self):
            self.infinite.add(e.target)
        if self.leaves_range(e.body):
            self.steep.add(e.target)
        if e.where is not None and not fills:
            self.partial.add(e.target)
        if e.reduce in ("max", "supremum"):
            self.largest[e.target] = e.body
        return found


def unmasked(
    equations: Sequence[Equation], border: int, table: dict[str, Tensor], names: Names, facts: Facts
) -> list[Equation]:
    """The equations of arrays without a `where` that selects 0 for what is 0 anyway: of `where(j <= i, w[i,j]*x[i], 0)`
    there is x times w, if w is 0 for j > i. One that stands around a product in a sum stands around a factor, or around
    the sum: what is summed is then a product of matrices. Backward begins at the `border`."""
    known, done = Known(), list[Equation]()
    targets = Counter(e.target for e in equations)
    for place, e in enumerate(equations):
        box = Domain.of(e.box, None, facts)
        if place == border:  # where forward left the range of numbers, its results, and so their gradients, are none
            known.steep.clear()

        def everywhere(body: Expr, box: Domain = box) -> bool:
            """Whether `body` has a value in all of the box."""
            return all(OPS[op].total for op in operators(body)) and reads_inside((body,), box, table)

        def plain(node: Expr) -> Expr:
            if not (isinstance(node, Apply) and node.op == "select" and node.args[2] is ZERO):
                return node
            condition, then, _ = node.args
            if not _is_affine(condition, facts) or _elsewhere(then, condition, True, known) is not ZERO:
                return node
            return then if everywhere(then) else node

        e = e.with_body(transform(e.body, plain, {"select"}))
        for part in _contracted(e, known, everywhere, table, names):
            done.append(part)
            fills = targets[e.target] == 1 and e.fills(table[e.target]) and not e.when
            known.learn(limited(part, facts, known), facts, fills)
    return done


def _contracted(
    e: Equation, known: Known, everywhere: Callable[[Expr], bool], table: dict[str, Tensor], names: Names
) -> list[Equation]:
    """A sum of `where(c, f*g, 0)` as that of `where(c, f, 0)*g`, if f has all indices of the condition c and g stays in
    the range of numbers, as 0 times an infinity is none; or as `where(c, s, 0)` with the sum s of f*g."""
    body, reduced = e.body, {i for i, _ in e.reduced}
    if e.reduce != "sum" or e.where is not None or not e.plain:
        return [e]
    if not (isinstance(body, Apply) and body.op == "select" and body.args[2] is ZERO and everywhere(body.args[1])):
        return [e]
    condition, then, _ = body.args
    above, below, sign = signed_factors(then)
    if below or len({frozenset(indices(f)) for f in above if reduced & {*indices(f)}}) < 2:
        return [e]
    asked = {*indices(condition)}
    if not asked & reduced:
        name = names.new(f"full_{e.target}")
        table[name] = Tensor(name, table[e.target].shape)
        total = ref(name, *e.subscripts)
        return [
            replace(e, target=name, body=then),
            Equation(e.target, e.subscripts, "none", select(condition, total, ZERO), e.shown, None, e.when),
        ]
    mine = [f for f in above if asked <= {*indices(f)}]
    others = [f for f in above if f not in mine]
    if not mine or any(map(known.leaves_range, others)):
        return [e]
    masked = select(condition, product(mine), ZERO)
    whole = product([masked if f is mine[0] else f for f in above if f is mine[0] or f not in mine])
    return [e.with_body(whole if sign > 0 else -whole)]


def narrowed(
    steps: Sequence[Item],
    temporaries: Set[str],
    optional: Set[str],
    table: Mapping[str, Tensor],
    facts: Facts,
    known: Known,
) -> list[Item]:
    """The steps of a procedure, whose `temporaries` nobody else reads, with reductions over terms that count.

    optional  results that may have no memory: who reads one does so in the loop that computes it, all of it
    known     of what was computed before; what is computed here is added
    """

    def narrow(e: Equation, names: bool) -> Equation:
        """Of a step that writes what its equations name (`names`), an element without a term that counts is one."""
        found = limited(e, facts, known)
        more = [c for c in found.conditions if c not in e.conditions]
        if more and not any(r.name in optional for r in e.reads):
            decided = [c for c in more if names and not any(i in indices(c) for i, _ in e.reduced)]
            more, e = decided, replace(found, where=all_of(c for c in found.conditions if c not in decided))
        return e.with_body(select(conjunction(more), found.body, NEUTRAL[e.reduce])) if more else found

    def narrow_item(item: Item) -> Item:
        if isinstance(item, Step):
            return item.mapped(partial(narrow, names=item.how == "write"), lambda size: size)
        first, turn, last = (tuple(map(narrow_item, some)) for some in (item.first, item.turn, item.last))
        return replace(item, first=first, turn=turn, last=last)

    narrow_steps: list[Item] = []
    for step in steps:
        step = narrow_item(step)
        narrow_steps.append(step)
        alone = isinstance(step, Step) and len(step.equations) == 1 and step.how == "fill" and not step.when
        for e in step.equations:
            found = known.learn(e, facts, alone and e.fills(table[e.target]) and not e.when)
            if isinstance(step, Step) and found is not None:
                narrow_steps[-1] = replace(step, equations=(found.chosen(),))
    done: list[Item] = []
    readers: dict[str, list[Equation]] = {}
    for step in reversed(narrow_steps):
        mine = readers.get(step.targets[0], [])
        if isinstance(step, Step) and step.target in temporaries and any(e.conditions for e in mine):
            step = _on_demand(step, known.outside.get(step.target), mine, table, facts)
        done.append(step)
        for e in step.equations:
            for name in dict.fromkeys(r.name for r in e.reads):
                readers.setdefault(name, []).append(e)
    return done[::-1]


def _on_demand(
    step: Step, zero: _Outside | None, readers: Sequence[Equation], table: Mapping[str, Tensor], facts: Facts
) -> Step:
    """The step with the conditions under which alone it is read: nobody asks for its other elements. A condition of its
    own that somebody reads outside of becomes a choice: what it leaves out is filled no more."""
    e, *others = step.equations
    if others or step.how != "fill" or step.when or e.when or e.matrix is not None or not e.fills(table[step.target]):
        return step
    seen = [(other, r, d) for other in readers for r, d in reads_of(other, facts) if r.name == step.target]
    asked = [] if zero is None else conjuncts(zero.condition)
    for other, r, _ in seen:
        back = dict(zip(r.subscripts, e.subscripts, strict=True))
        told = (c for c in other.conditions if {*indices(c)} <= back.keys() and _is_affine(c, facts))
        asked += [substitute(c, back) for c in told]

    def always(c: Expr) -> bool:
        return all(d.holds(substitute(c, dict(zip(e.subscripts, r.subscripts, strict=True)))) for _, r, d in seen)

    known = [c for c in dict.fromkeys(asked) if always(c)]
    if not known:
        return step
    if zero is not None and all(c in known for c in conjuncts(zero.condition)):
        e = replace(e, body=zero.body, where=None)
    reduced = {i for i, _ in e.reduced}
    chosen = [c for c in e.conditions if reduced.isdisjoint(indices(c)) and not always(c)]
    if chosen:
        e = e.with_body(select(conjunction(chosen), e.body, NEUTRAL.get(e.reduce, ZERO)))
    where = conjunction([*(c for c in e.conditions if c not in chosen), *known])
    return replace(step, equations=(replace(e, where=where),), how="write", begins=True)


def limited(e: Equation, facts: Facts, known: Known) -> Equation:
    """A reduction without the terms that are neutral to it: what is added up is `where(i >= 1, x[i-1], 0) * w[i]` at
    i >= 1 alone."""
    neutral = NEUTRAL.get(e.reduce)
    if neutral is None or not e.reduced:
        return e
    conditions, body, _ = counting(e.body, neutral, known, facts)
    domain = e.domain(facts)
    missing = [c for c in conditions if not domain.holds(c)]
    where = conjunction([*e.conditions, *missing]) if missing else e.where
    return replace(e, where=where, body=body) if conditions else e


def _outside(e: Equation, known: Known, facts: Facts) -> _Outside | None:
    """Where an element is one number, and which, if it is known of some."""
    if e.reduce != "none" or e.matrix is not None or any(not _is_affine(c, facts) for c in e.conditions):
        return None
    conditions, body, value = counting(e.body, ZERO if e.conditions else None, known, facts)
    conditions = [*e.conditions, *conditions]
    return _Outside(e, conjunction(conditions), ZERO if value is None else value, body) if conditions else None


def _may_be_infinite(e: Equation, facts: Facts, known: Known) -> bool:
    """Whether a value may be infinite, as one that is computed from an infinity or from nothing is."""
    domain = e.domain(facts)
    if operator(INFINITY) in operators(e.body) or any(known.at_infinity(r, domain) for r in refs(e.body)):
        return True
    if NEUTRAL.get(e.reduce) not in ENDS:
        return False
    shadow, _ = domain.project([i for i, _ in e.reduced], dark=True)
    return not Domain.of(e.box, None, facts).entails(*shadow.atoms)


def counting(body: Expr, value: Expr | None, known: Known, facts: Facts) -> tuple[list[Expr], Expr, Expr | None]:
    """The conditions on places outside of which `body` is `value`, or the first number that is found if that is None;
    what it is where they hold; and the value."""
    found: list[Expr] = []
    asked: set[Expr] = set()
    while True:
        for condition, holds, said in _conditions(body, known, facts):
            if condition.key in asked:
                continue
            asked.add(condition.key)
            elsewhere = _elsewhere(body, condition, holds, known)
            if elsewhere is not None and (value is None or elsewhere.key is value.key):
                value = elsewhere
                found += said
                chosen = {n: n.args[1 if holds else 2] for n in postorder(body) if _asks(n, condition)}
                body = substitute(body, chosen)
                break
        else:
            return found, body, value


def _conditions(body: Expr, known: Known, facts: Facts) -> Iterator[tuple[Expr, bool, list[Expr]]]:
    """The conditions on places on which parts of `body` are a number or infinite, each with whether they are that
    where it does not hold, and what is said where they are something else."""
    for node in postorder(body) if known.outside or "select" in operators(body) else ():
        if isinstance(node, Ref) and node.name in known.outside:
            condition = known.outside[node.name].at(node)
            yield condition, True, conjuncts(condition)
        elif isinstance(node, Apply) and node.op == "select":
            condition, then, otherwise = node.args
            holds = _is_number(otherwise)
            if (holds or _is_number(then)) and _is_affine(condition, facts, holds):
                atoms = alternatives(condition, facts, holds).only
                yield condition, holds, [condition] if holds else [a.condition for a in atoms or ()]


def _elsewhere(body: Expr, condition: Expr, holds: bool, known: Known) -> Expr | None:
    """The number, or the infinity, that `body` is where the condition does not hold (does, if not `holds`)."""
    done: dict[Expr, Expr] = {}
    unsure: set[Expr] = set()  # what may be infinite
    for node in postorder(body):
        done[node] = node
        if isinstance(node, Ref):
            if holds and node.name in known.outside and known.outside[node.name].at(node).key is condition.key:
                done[node] = known.outside[node.name].value
            elif known.at_infinity(node):
                unsure.add(node)
        elif _asks(node, condition):
            done[node] = done[node.args[2 if holds else 1]]
        elif isinstance(node, Apply) and node.args:
            args = [done[a] for a in node.args]
            certain = unsure.isdisjoint(args)
            divided = node.op == "div" and args[0] is ZERO  # by what is not 0 where somebody asks
            done[node] = ZERO if divided else limit(node.op, *args) if certain else with_args(node, args)
            if not certain and not _is_number(done[node]):
                unsure.add(done[node])
    return done[body] if _is_number(done[body]) else None


def _asks(node: Expr, condition: Expr) -> bool:
    return isinstance(node, Apply) and node.op == "select" and node.args[0].key is condition.key


def _is_number(node: Expr) -> bool:
    return isinstance(node, Const) or node in ENDS


def _is_affine(condition: Expr, facts: Facts, holds: bool = True) -> bool:
    """Whether it is one condition on places, which are no data."""
    if any(r.subscripts or r.name not in facts.integers for r in refs(condition)):
        return False  # asked first: the alternatives of conditions in conditions are many
    only = alternatives(condition, facts, holds).only
    return only is not None and not any(isinstance(a, Opaque) for a in only)
