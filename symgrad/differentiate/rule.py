"""Function -> Derivative: the equations of the vector-Jacobian product J^T v.

The one rule. For each distinct reference `x[h]` in the body of `out[f]`, with p the partial derivative of the body:

    over the same box and where:     grad_x[h] += grad_out[f] * p

The box stays and the subscripts are swapped. No Kronecker delta is built and nothing is solved; an index that `h` lacks
becomes a sum, so broadcasting needs no rule of its own. A body is swept once in reverse over its shared graph, and
neighbouring equations over one box are swept together, so the cost is a small multiple of the cost of forward however
many inputs and outputs there are.

How the reduction of an equation enters, with G = grad_out[f], b the body and T the result:

    sum        G p
    logsumexp  G exp(b - T) p
    max, min   G p [b == T] / (how many are equal): ties share
    prod       G p (the product of the bodies before) (the product of those after): exact with zeros, never G T / b
    argmax     nothing

The rules of functions of matrices stand in matrices.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..domain import Domain
from ..errors import UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    factors,
    indices,
    is_short,
    postorder,
    preorder,
    ref,
    refs,
    select,
    substitute,
)
from ..expr.sizes import count, equal
from ..ir import (
    Box,
    Derivative,
    Dtype,
    Equation,
    Function,
    Role,
    Signs,
    When,
    alive,
    may_be_steep,
    needed_at_times,
    ordered,
    recurrent,
    slopes_needed,
    unconditional,
)
from ..ir.signs import POSITIVE, is_in
from ..ops.row import unguarded
from ..records import replace
from .chain import condition_of, reverse, slopes, times
from .joint import Joint
from .matrices import cotangents
from .neighbours import is_choice_by_equality, with_neighbours
from .norms import Norms
from .rates import by_value


def differentiate(function: Function, inputs: Sequence[str] = ()) -> Derivative:
    """Return the joint equations of `function` and of its vector-Jacobian product.

    inputs  with respect to which; all of them, if none is named

    The seeds are `grad_output` (one output) or `grad_<output>`, of the outputs' shapes; the gradients `grad_<input>`,
    of the inputs' shapes, one for each real input. What nothing contributes to has no equation, and is zero.
    """
    return Sweep(function, inputs).derivative()


def sloped(function: Function) -> Function:
    """The function that the derivative is taken of, which has the value of `function`: neighbours.py; without guards
    that only keep values from 0/0."""
    bare = (e.with_body(unguarded(e.body)) if e.guarded else e for e in function.statements)
    return with_neighbours(replace(function, statements=tuple(bare)), slopes)


def with_locals_of(function: Function, smooth: Function) -> Function:
    """The function with the locals that the one that the derivative is taken of has for slopes alone."""
    own = iter(function.statements)
    statements = (next(own) if e.target in function.writers else e for e in smooth.statements)
    return replace(function, tensors=smooth.tensors, statements=tuple(statements))


def jumps(function: Function) -> set[Expr]:
    """The conditions with an equality of data that the derivative of a function is left with."""
    smooth = sloped(function)
    nodes = (n for e in smooth.statements for n in postorder(e.body) if isinstance(n, Apply))
    return {n.args[0] for n in nodes if is_choice_by_equality(n, smooth)}


class Sweep(Joint):
    def __init__(self, function: Function, inputs: Sequence[str] = ()) -> None:
        self.primal, smooth = function, sloped(function)
        function = with_locals_of(function, smooth)
        super().__init__(function)
        self.active = _active(function, inputs or function.inputs)
        # what has a cotangent: outputs, what is read by something that has one, and any tensor of a needed loop
        needed = {e.target for e in alive(function.statements, function.outputs)}
        pairs = list(zip(function.statements, smooth.statements, strict=True))
        self.bodies = {e: other.body for e, other in pairs}
        self.norms = Norms(function)
        self.signs = Signs(function)
        self.at_times = needed_at_times(smooth)
        found = slopes_needed(smooth)
        self.needed = {e: found[other] for e, other in pairs if other in found}
        self.touched = {*function.outputs, *(recurrent(function.statements) & needed)}
        self.seeds: list[tuple[str, str]] = []
        self.gradients: list[tuple[str, str]] = []

    def derivative(self) -> Derivative:
        function = self.function
        self._declare()
        for group in reversed(_groups(function, self._domain)):
            self._group(group)
        self._zeros()
        inputs = (*function.inputs, *(seed for _, seed in self.seeds))
        outputs = (*function.outputs, *(g for _, g in self.gradients))
        written = {e.target for e in self.statements} | {g for _, g in self.gradients} | set(inputs)
        forward = {t.name for t in function.tensors}
        tensors = [t for t in self.tensors if t.name in forward or t.name in written]
        joint = self.joined(ordered(self.statements), tensors, inputs, outputs)
        return Derivative(self.primal, joint, tuple(self.seeds), tuple(self.gradients))

    def _declare(self) -> None:
        """Name the seed of each output, and the tensor that accumulates the cotangent of each active tensor."""
        function = self.function
        read = {r.name for e in function.statements for r in e.reads}
        for output in function.outputs:
            seed = self.new("grad_output" if len(function.outputs) == 1 else f"grad_{output}", output, Role.SEED)
            self.seeds.append((output, seed))
            self.cotangent[output] = seed
            if output in read and output in self.active:
                total = self.new(f"grad_{output}_total", output, Role.LOCAL)
                box = function.box_of(function.table[output].shape)
                at = tuple(i for i, _ in box)
                self.statements.append(Equation(total, at, "none", ref(seed, *at), box))
                self.cotangent[output] = total
        for tensor in function.tensors:
            if tensor.role == Role.INPUT and tensor.name in self.active:
                self.cotangent[tensor.name] = self.new(f"grad_{tensor.name}", tensor.name, Role.GRADIENT)
                self.gradients.append((tensor.name, self.cotangent[tensor.name]))
            elif tensor.name in self.active and tensor.name not in self.cotangent:
                self.cotangent[tensor.name] = self.new(f"grad_{tensor.name}", tensor.name, Role.LOCAL)

    def _zeros(self) -> None:
        """The cotangent of what a loop computes and nothing differentiable reads is 0."""
        written = {e.target for e in self.statements}
        read = {r.name for e in self.statements for r in e.reads}
        for tensor in self.function.tensors:
            name = self.cotangent.get(tensor.name)
            if name in read and name not in written and tensor.role == Role.LOCAL:
                box = self.function.box_of(tensor.shape)
                self.statements.append(Equation(name, tuple(i for i, _ in box), "none", ZERO, box))

    def _group(self, group: Sequence[Equation]) -> None:
        """Sweep the equations of one box together."""
        if group[0].matrix is not None:
            self._matrix(group[0])
            return
        seeded = [(e, self._seed(e)) for e in group if e.target in self.active and e.reduce != "argmax"]
        own = {ref(e.target, *e.subscripts): e for e, _ in seeded}
        read = {r for e in group for r in e.reads if r in own} if len(group) > 1 else set()
        seeded = [(e, seed) for e, seed in seeded if seed is not ZERO or ref(e.target, *e.subscripts) in read]
        if not seeded:
            return
        bodies = [self.bodies[e] for e, _ in seeded]
        first = group[0]
        domain = self._domain(first)
        certain = unconditional(*bodies)

        def contribute(element: Ref, adjoint: Expr) -> None:
            if element.name in self.active and adjoint is not ZERO:
                where = domain
                if not (element in certain or self._is_there(element, first)):  # else there is no such target
                    condition, adjoint = condition_of(adjoint)
                    where = condition if where is None else apply("and", where, condition)
                    where = None if where is ONE else where
                    if Domain.of(first.box, where, self.function.facts).empty():  # no place selects it
                        return
                self._contribute(element, adjoint, first.box, where, first.when)

        def passed(element: Expr, adjoint: Expr) -> Expr:
            assert isinstance(element, Ref)
            contribute(element, adjoint)
            return self._seed(own[element])

        roots: list[tuple[Expr, Expr]] = []
        for e, g in seeded:
            r = ref(e.target, *e.subscripts)
            roots += [(r, ZERO)] if r in read else self._roots(e, g)
        computed: dict[Expr, Expr] = {r: self.bodies[own[r]] for r in own if r in read}
        for element, adjoint in reverse(roots, computed, passed, self.norms.partials):
            contribute(element, adjoint)

    def _roots(self, e: Equation, g: Expr) -> list[tuple[Expr, Expr]]:
        """What an equation is computed from, with cotangents: its body, or the parts of a product."""
        body = self.bodies[e]
        if self.primal.stabilize and e.target in self.function.elementwise:
            found = by_value(body, ref(e.target, *e.subscripts), g, self._is_positive)
            if found is not None:
                return found
        return [(body, g)]

    def _is_positive(self, node: Expr) -> bool:
        """Whether it is above 0 wherever it is computed, all that a product is made of if it is one."""
        return all(is_in(self.signs(f), POSITIVE) for side in factors(node) for f in side)

    def _domain(self, e: Equation) -> Expr | None:
        """Where the adjoint of an equation is: where that is, and its cotangent may be other than 0."""
        steep = may_be_steep(e, self.function.table)
        needed = self.needed.get(e, ()) if steep else ()
        conditions = dict.fromkeys((*e.conditions, *needed))
        there = e.target in self.at_times and e.target in self.cotangent  # nothing moves what has none
        if steep and there and not any(refs(c) for c in needed):
            conditions[apply("ne", ref(self.cotangent[e.target], *e.subscripts), ZERO)] = None
        return conjunction(conditions) if conditions else None

    def _contribute(self, element: Ref, adjoint: Expr, box: Box, where: Expr | None, when: When) -> None:
        """Add `adjoint` to the cotangent of an element, at every point of the box."""
        self.touched.add(element.name)
        shown = set(indices(*element.subscripts))
        kind = "sum" if any(i not in shown for i, _ in box) else "none"
        box = _shown_first(box, element.subscripts)
        target = self.cotangent[element.name]
        self.statements.append(Equation(target, element.subscripts, kind, adjoint, box, where, when))

    def _matrix(self, e: Equation) -> None:
        """The contributions of a function of matrices."""
        row = e.matrix
        assert row is not None
        if e.target not in self.active or e.target not in self.touched:
            return
        for which, operand, term in cotangents(self, e):
            read = set(indices(term.body, operand))  # a rule may have summed over a part of the batch itself
            mine = tuple(pair for pair in e.batch if pair[0] in read)
            box = (*mine, *(e.reduced[k] for k in row.operands[which]), *term.over)
            for element, adjoint in reverse([(operand, term.body)]):
                if element.name in self.active and adjoint is not ZERO:
                    self._contribute(element, adjoint, box, None, e.when)

    def _is_there(self, element: Ref, e: Equation) -> bool:
        """Whether `e` runs along whole axes of the element's tensor, or stays at places that are there."""
        domain, extents = e.domain(self.function.facts), dict(e.box)
        return all(
            s in extents and equal(extents[s], size)
            if isinstance(s, Index)
            else isinstance(s, Const) and domain.inside(s, size)
            for s, size in zip(element.subscripts, self.function.table[element.name].shape, strict=True)
        )

    def _seed(self, e: Equation) -> Expr:
        """The cotangent of the body of `e`."""
        if e.target not in self.touched:
            return ZERO
        return times(ref(self.cotangent[e.target], *e.subscripts), self.weight(e))

    def weight(self, e: Equation) -> Expr:
        """How much one point of the box counts in the derivative of the reduction: the table at the head."""
        result = ref(e.target, *e.subscripts)
        if e.reduce == "logsumexp":
            return apply("exp", e.body - result)
        for here in e.ties:
            count = self.new(f"count_{e.target}", e.target, Role.LOCAL)
            self.statements.append(
                Equation(count, e.subscripts, "sum", select(here, ONE, ZERO), e.box, e.where, e.when)
            )
            return select(here, 1 / ref(count, *e.subscripts), ZERO)
        if e.reduce == "prod":
            return self._others(e)
        return ONE

    def _others(self, e: Equation) -> Expr:
        """The product of the bodies at all other points that are reduced into the same element."""
        if any(i.name in self.function.packs for i, _ in e.reduced):
            raise UnsupportedError(
                f"{self.function.name}: the gradient of a product over all axes of a pack needs them one by one. Give "
                f"the axes names: x[n,m] instead of x[...]."
            )
        factor = e.body if e.where is None else select(e.where, e.body, ONE)
        if not is_short(factor, 1):
            name = self.local(f"factor_{e.target}", e.box)
            point = tuple(i for i, _ in e.box)
            self.statements.append(Equation(name, point, "none", factor, e.box, None, e.when))
            factor = ref(name, *point)
        return self._rest_of_rows(e, e.reduced, factor)

    def _rest_of_rows(self, e: Equation, reduced: Box, factor: Expr) -> Expr:
        """The product of the factors at all other points: those before in the row, times those after it; and so for the
        products of the rows. Exact where factors are 0, in linear time."""
        *outer, (i, extent) = reduced
        around = (*e.shown, *outer)
        at, row = tuple(j for j, _ in around), (*around, (i, extent))
        end = count(extent, {o.name for o in self.function.options})
        longer = (*around, (i, end + 1))
        before, after = (self.local(f"{word}_{e.target}", longer) for word in ("before", "after"))
        first, last = (before, ZERO, ONE, around), (after, end, ONE, around)
        up, down = ref(before, *at, i) * factor, factor * ref(after, *at, i + 1)
        others = ref(before, *at, i) * ref(after, *at, i + 1)
        recurrences = [first, (before, i + 1, up, row), last, (after, i, down, row)]
        if end is not extent:  # an empty row may have an extent below 0: from its end, places count from 0 too
            back: dict[Expr, Expr] = {i: extent - 1 - i}
            down = substitute(factor, back) * ref(after, *at, i)
            others = ref(before, *at, i) * ref(after, *at, extent - 1 - i)
            recurrences[2:] = [(after, ZERO, ONE, around), (after, i + 1, down, row)]
        for name, place, body, box in recurrences:
            self.statements.append(Equation(name, (*at, place), "none", body, box, None, e.when))
        if not outer:
            return others
        return others * self._rest_of_rows(e, tuple(outer), ref(before, *at, end))


def _shown_first(box: Box, subscripts: tuple[Expr, ...]) -> Box:
    extents = dict(box)
    shown = indices(*subscripts)
    return (*((i, extents[i]) for i in shown), *((i, extent) for i, extent in box if i not in shown))


def _active(function: Function, inputs: Sequence[str]) -> set[str]:
    """The tensors that depend on a real input among `inputs` through real values."""
    active = {name for name in inputs if function.table[name].dtype == Dtype.REAL}
    real = [e for e in function.statements if function.table[e.target].dtype == Dtype.REAL]
    known = -1
    while known < len(active):  # once, unless something is computed from what stands below it
        known = len(active)
        for e in real:
            if e.target not in active and any(r.name in active for r in refs(e.body)):
                active.add(e.target)
    return active


def _groups(function: Function, domain: Callable[[Equation], Expr | None]) -> list[list[Equation]]:
    """Neighbouring equations without reduction, over one box, whose adjoints have one domain; they do not read each
    other, or share what is computed, whose cotangent is then found once."""
    groups: list[list[Equation]] = []
    written: dict[str, Equation] = {}
    computed: dict[Expr, None] = {}

    def operands(node: Expr) -> Sequence[Expr]:
        return () if isinstance(node, Ref) or node in computed else node.args

    for e in function.statements:
        last = groups[-1][0] if groups else None
        together = (
            last is not None
            and e.reduce == last.reduce == "none"
            and (e.box, e.when, domain(e)) == (last.box, last.when, domain(last))
        )
        inner = [r for r in e.reads if r.name in written] if together else []
        if inner:
            same = all(r.name in function.elementwise and r.subscripts == written[r.name].subscripts for r in inner)
            met = preorder([e.body], operands) if same else []
            together = any(isinstance(n, Apply) and n in computed for n in met)
        if together:
            groups[-1].append(e)
        else:
            groups.append([e])
            written, computed = {}, {}
        written[e.target] = e
        computed |= dict.fromkeys(preorder([e.body], operands))
    return groups
