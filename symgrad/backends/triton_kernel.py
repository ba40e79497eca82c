"""One kernel as a function of Python: what it computes of its elements, and its stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TypeVar

from ..expr import ZERO, Const, Expr, Index, Ref, apply, conjunction, conjuncts, product, ref
from ..expr.names import Names
from ..ir import Dtype, Equation, When, show_equations
from ..plan.followed import BEFORE, NOW, SEEN, SO_FAR, Followed
from ..plan.kernels import Choice, Kernel, Walk, picks
from ..plan.program import Step
from ..records import replace
from ..source import python as py
from ..source.layout import cut_text
from ..source.python import NONE, Assign, Def, Do, Expression, Given, If, Name, Operation, Word, call
from .triton_elements import Elements, Scope, Surroundings
from .triton_expressions import NAN_TOO, Value
from .triton_lanes import PROGRAM, flat, joined, pointer

JIT = Word("triton.jit")
CONSTANT = "tl.constexpr"
NEUTRAL: Mapping[str, Expression] = {
    "sum": py.Number("0.0"),
    "max": call("float", py.text("-inf")),
    "min": call("float", py.text("inf")),
}
LONGEST = 84  # columns of an equation


def is_placed(e: Equation, shape: Sequence[Expr]) -> bool:
    """Whether an element stands at a computed place, or it may be beyond an axis, so that there is none where the
    equation does not hold; others are 0 there."""
    box = dict(e.box)

    def is_there(s: Expr, n: Expr) -> bool:
        return isinstance(n, Const) if isinstance(s, Const) else isinstance(s, Index) and box.get(s, n) is n

    return not all(map(is_there, e.subscripts, shape))


def placed_where(equations: Sequence[Equation]) -> Expr | None:
    """Where one of some equations holds."""
    if any(e.where is None for e in equations):
        return None
    return reduce(lambda a, b: a if a is b else apply("or", a, b), (e.where for e in equations if e.where is not None))


def parts_of(name: str) -> str:
    """What the memory for the parts of a sum is called; or for terms."""
    return f"{name}_parts"


def places_of(name: str) -> str:
    """What the memory for the places of terms is called."""
    return f"{name}_places"


def total_of(name: str) -> str:
    """What the memory is called in which a result is added up."""
    return f"{name}_total"


class KernelText:
    """A kernel: its function, and what a launch passes."""

    elements: Elements
    of_elements: type[Elements] = Elements

    def __init__(self, kernel: Kernel, around: Surroundings) -> None:
        self.kernel, self.around = kernel, around
        self.elements = self.of_elements(kernel, around)
        self.lanes, self.tree, self.word = self.elements.lanes, self.elements.tree, self.elements.word
        self.real = self.elements.real
        self.written: dict[str, None] = {}
        self.last: list[py.Statement] = []
        self.walk: Walk | None = None  # that which statements are part of
        self.placed_as: dict[Ref, str] = {}  # what elements of one tensor are called
        self.function = self._function()

    # the function

    def _body(self) -> list[py.Statement]:
        kernel, first = self.kernel, self.elements.first
        first.lines += self.lanes.begun()
        if kernel.strided:
            self.elements.begin_row()
        for step in () if kernel.walks else kernel.steps:
            self._step(step)
        for number, walk in enumerate(kernel.walks):
            self._walk(walk, back=number % 2 == 1)
        if kernel.strided:
            first.lines.append(self.lanes.rows_of_program(merged(self.elements.every.lines)))
        return [*merged(first.lines), *merged(self.last)]

    def _function(self) -> Def:
        body = self.lanes.needed(self._body())
        names, words = py.spoken(body)
        self.sizes = [n for n in self.around.sizes if n in names]
        self.numbers = [n for n in self.around.options if n in names]
        self.flags = [g for g in self.around.gradients if self.flag(g).name in words]
        self.presence = [n for n in self.around.optional if f"has_{n}" in words]
        self.blocks = {w: extent for w, extent in self.lanes.blocks.items() if w.name in words}
        strides = {n: [r.name for r in some] for n, some in self.elements.strides.items()}
        self.strides = {n: [(axis, s) for axis, s in enumerate(some) if s in names] for n, some in strides.items()}
        parameters: list[Given] = []
        for n in self.read:
            parameters += [Given(pointer(n)), *(Given(Name(s)) for _, s in self.strides.get(n, ()))]
        parameters += [Given(pointer(n)) for n in self.written if n not in self.read]
        parameters += [Given(Name(n)) for n in self.sizes]
        parameters += [Given(Name(n), kind=CONSTANT if self.around.is_plain(n) else "") for n in self.numbers]
        parameters += [Given(Word(f"has_{n}"), kind=CONSTANT) for n in self.presence]
        parameters += [Given(w, kind=CONSTANT) for w in (*(self.flag(g) for g in self.flags), *self.blocks)]
        parameters += [Given(self.real, kind=CONSTANT)] if self.real.name in words else []
        self.uses_real = self.real.name in words
        return Def(Word(self.around.name), tuple(parameters), body, self._about(), (JIT,))

    def _described(self) -> Sequence[Step]:
        """The steps that the text of the function says."""
        return self.kernel.steps

    def _adds(self, step: Step) -> bool:
        """Whether a step adds to what is there."""
        return step.target in self.kernel.added

    def _about(self) -> tuple[str, ...]:
        """The equations."""
        lines = [
            line.replace(" = ", " += ", 1) if self._adds(step) else line
            for step in self._described() for line in show_equations(step.equations)
        ]  # fmt: skip
        quotes = 3 if len(lines) > 1 else 6  # before the first, and behind it, if it is all
        return tuple(
            part for k, line in enumerate(lines) for part in cut_text(line, 0, LONGEST if k else LONGEST - quotes)
        )

    @property
    def read(self) -> dict[str, None]:
        """The tensors that it reads."""
        return self.elements.read

    @property
    def scope(self) -> Scope:
        """The innermost block."""
        return self.elements.scope

    def flag(self, gradient: str) -> Word:
        """What tells whether a gradient is needed."""
        return self.word("NEEDS", self.around.gradients[gradient])

    # what is computed

    def _walk(self, walk: Walk, back: bool = False) -> None:
        """One way along the lanes, or back; what is reduced on it is kept at its end."""
        for step in walk.before:
            self._step(step)
        if not walk.steps:
            return
        self.walk = walk
        self.elements.begin_turn()
        seen, now = self.lanes.counts(back)
        self.elements.known |= {SEEN: Value(seen, Dtype.INT), NOW: Value(now, Dtype.INT)}
        for step in walk.steps:
            self._step(step)
        lines = merged(self.elements.end_turn())
        self.walk = None
        match lines:
            case [If(condition, body, [])]:  # which is known when the kernel is compiled
                self.scope.lines.append(If(condition, self._turns(body, back)))
            case _:
                self.scope.lines += self._turns(lines, back)
        for step in filter(self.kernel.reduces, walk.steps):
            with Under(self, step.when):
                for name, (first, *_) in self._groups(step):
                    self._keep(step, Name(name), first)

    def _turns(self, body: Sequence[py.Statement], back: bool) -> list[py.Statement]:
        """The body for one block of lanes after the other, or back."""
        return [self.lanes.walk(body, back)]

    def _step(self, step: Step) -> None:
        """A step; under a condition, where an input must be given for it."""
        with Under(self, step.when):
            for name, equations in self._groups(step):
                self._value(step, name, equations)

    def _groups(self, step: Step) -> list[tuple[str, list[Equation]]]:
        """The equations of each element, with those that add to one that they pick."""
        groups: dict[tuple[Expr, ...], list[Equation]] = {}
        for e in step.equations:
            home = next((s for s, (first, *_) in groups.items() if s != e.subscripts and picks(first, e)), e.subscripts)
            groups.setdefault(home, []).append(e)
        if len(groups) == 1:
            return [(step.target, next(iter(groups.values())))]
        said = ["_".join(str(s.value) for s in at if isinstance(s, Const)) for at in groups]
        said = said if all(said) and len({*said}) == len(said) else [*map(str, range(len(groups)))]
        for at, place in zip(groups, said, strict=True):
            if (own := ref(step.target, *at)) not in self.placed_as:
                self.placed_as[own] = self.elements.names.new(f"{step.target}_{place}")
        return [(self.placed_as[ref(step.target, *at)], found) for at, found in groups.items()]

    def _value(self, step: Step, name: str, equations: list[Equation]) -> None:
        """One element of a step: a variable, and where it is kept."""
        first, *others = equations
        element, own, kernel = ref(step.target, *first.subscripts), Name(name), self.kernel
        if step.target in kernel.scattered:
            self._scatter(step, first)
            return
        if not others and self._is_copy(step, first):
            self.elements.load([first.body], (), name)
            self.elements.known[element] = value = self.tree.leaf(first.body)  # type: ignore[arg-type]  # it is an element
            assert isinstance(value.tree, Name), "what is loaded has a name"
            own = value.tree
        elif self.walk or element not in self.elements.known:  # what moves on a walk is there at its end
            self._begin(step, own, element)
            self._add_up(step, own, equations)
            self.elements.spans[name] = frozenset().union(*(self._span_of(e, first) for e in equations))
            plain = not others and first.reduce == "none" and first.where is None
            self.elements.pad(name, first.body if plain else None)
            self.elements.known[element] = Value(own, self.around.table[step.target].dtype)
        if step.target in self.walk.results if self.walk else not self._gathers(step):
            self._keep(step, own, first)

    def _keep(self, step: Step, own: Name, first: Equation) -> None:
        """Write what is computed to memory, if it is a result."""
        if step.target in self.kernel.parts:
            self._part(step, own, first)
        elif step.target in self.kernel.results:
            shape = self.around.table[step.target].shape
            some = [e for e in step.equations if e.subscripts == first.subscripts]
            where = placed_where(some) if is_placed(first, shape) else None
            asked = () if where is None else (*conjuncts(where),)
            self._store(step, step.target, own, first.subscripts, shape, asked)

    def _gathers(self, step: Step) -> bool:
        """Whether a walk adds something up."""
        return bool(self.kernel.walks) and self.kernel.reduces(self.kernel.step(step.target))

    def _begin(self, step: Step, own: Name, element: Ref) -> None:
        """What a program adds up, of its rows or on a walk, and what moves on that, has a value before."""
        extents: list[Expression] = []
        home = self.elements.every
        if element in self.elements.known:
            return
        if self._is_added_up(step):
            home, shown = self.elements.first, {i for i, _ in step.equations[0].shown}
            if not shown.isdisjoint(self.lanes.lanes):
                extents = [b if i in shown or not self.lanes.several else py.integer(1) for i, b in self.lanes.along]
        elif not self._gathers(step) and (self.walk is None or self.kernel.spans(step)):
            return
        home.lines.append(Assign(own, self._neutral(step.equations[0].reduce, extents)))

    def _neutral(self, reduce: str, extents: Sequence[Expression]) -> Expression:
        """What a reduction begins with."""
        return call("tl.full", py.Several(tuple(extents)), NEUTRAL.get(reduce, NEUTRAL["sum"]), self.real)

    def _zero(self, e: Equation) -> Expression:
        """What is there where no equation of an element holds."""
        return py.Number("0.0")

    def _larger(self, reduce: str, own: Expression, more: Expression) -> Expression:
        """A maximum, or a minimum, of what is there and of more."""
        return call(f"tl.{reduce}imum", own, more, NAN_TOO)

    def _where(self, condition: Expression, value: Expression, otherwise: Expression) -> Expression:
        """A choice."""
        return call("tl.where", condition, value, otherwise)

    def _last_of(self, name: str) -> Word:
        """What is called what something was before a block."""
        return Word(f"{name}_before")

    def _add_up(self, step: Step, own: Name, equations: Sequence[Equation], more: bool = False) -> None:
        """The sum of what equations say, and of what is there if it is `more`; what is either there or absent in one
        place."""
        left = [tuple(w for w in e.when if w not in step.when) for e in equations]
        rest = [*zip(equations, left, strict=True)]
        added_up = self._is_added_up(step)
        gathered = more or added_up or self._gathers(step)
        begun = gathered or bool(left[0])
        if [len(w) for w in left[:2]] == [1, 1] and left[0] != left[1] and left[0][0][0] == left[1][0][0]:
            self._assign_either(own, equations[:2], gathered)
            rest = rest[2:]
        elif begun and not gathered:
            self.scope.lines.append(Assign(own, self._zero(equations[0])))
        for e, when in rest:
            with Under(self, when):
                line = self._assigned(own, e, equations[0], begun)
                self.scope.lines += self._needed(step, [line]) if added_up else [line]
            begun = True

    def _assigned(self, own: Name, e: Equation, first: Equation, begun: bool) -> Assign:
        """What an equation says, assigned; or added to what there is already."""
        tree = self._right(e, first)
        walked = self.walk.follows if self.walk else {}
        if any(f.moves.name == e.target for f in walked.values()):
            self.scope.lines.append(Assign(self._last_of(own.name), own))
        follows = walked.get(e.target)
        if not begun:
            return Assign(own, tree)
        if follows is not None:
            self.scope.lines.append(py.Comment(follows.about))
            return _added(own, self._so_far(own, follows), tree)
        if e.reduce in ("max", "min"):
            return Assign(own, self._larger(e.reduce, own, tree))
        if isinstance(tree, Operation) and tree.op == "neg":
            return Assign(own, tree.operands[0], "-=")
        return Assign(own, tree, "+=")

    def _so_far(self, own: Name, follows: Followed) -> Expression:
        """What the sum of the blocks before is, now that something else has moved."""
        known = self.elements.known
        last = self._last_of(known[follows.moves].tree.name)  # type: ignore[union-attr]  # it is a variable
        known |= {SO_FAR: Value(own, Dtype.REAL), BEFORE: Value(last, Dtype.REAL)}
        return self.tree(follows.value)

    def _is_copy(self, step: Step, e: Equation) -> bool:
        """Whether it is an element of another tensor, as it stands."""
        table, body = self.around.table, e.body
        if not isinstance(body, Ref) or body.name not in table or e.where is not None or e.reduce != "none":
            return False
        return not e.when and table[body.name].dtype == table[step.target].dtype

    def _assign_either(self, own: Name, equations: Sequence[Equation], begun: bool) -> None:
        bodies = []
        outer = self.scope
        for e in equations:
            self.elements.scope = Scope(outer)
            self.scope.lines.append(self._assigned(own, e, e, begun))
            bodies.append(self.scope.lines)
        self.elements.scope = outer
        (name, present), *_ = [w for w in equations[0].when if w not in equations[1].when]
        self.scope.lines.append(If(self._given(name, present), *bodies))

    def _given(self, name: str, present: bool) -> Expression:
        """Whether an optional input is given."""
        if name in self.around.passed:
            self.read.setdefault(name)
            return Operation("is not" if present else "is", (pointer(name), NONE))
        found = Word(f"has_{name}")
        return found if present else Operation("not", (found,))

    def _right(self, e: Equation, first: Equation) -> Expression:
        """What an equation adds to its element: 0 where it does not hold."""
        moved = [(a, b) for a, b in zip(first.subscripts, e.subscripts, strict=True) if a is not b]
        where = [*e.conditions, *(apply("eq", a, b) for a, b in moved)]
        self.elements.load([e.body], where)
        tree = self.tree(e.body) if e.reduce == "none" else self.tree.number(e.body)
        if e.reduce == "none":
            condition = self.tree.condition(conjunction(where)) if where else None
            if condition is None:
                return tree
            if isinstance(tree, Operation) and tree.op == "neg":  # in front of the choice
                return Operation("neg", (self._where(condition, tree.operands[0], py.Number("0.0")),))
            return self._where(condition, tree, py.Number("0.0"))
        return self._reduced(e, tree, where)

    def _span_of(self, e: Equation, first: Equation) -> frozenset[Index]:
        span = self.elements.span_with_loaded(e.body, *e.conditions)
        span |= {a for a, b in zip(first.subscripts, e.subscripts, strict=True) if a is not b and isinstance(a, Index)}
        return frozenset(i for i in span if e.reduce == "none" or i not in {i for i, _ in e.reduced})

    # reductions

    def _reduced(self, e: Equation, tree: Expression, where: Sequence[Expr]) -> Expression:
        """A reduction over lanes; over rows it is that of a part."""
        along = self.lanes.rows if self.kernel.flat else self.lanes.lanes
        reduced = [i for i, _ in e.reduced if i in along]
        if not reduced:
            if not where:
                return tree
            return call("tl.where", self.tree.condition(conjunction(where)), tree, NEUTRAL[e.reduce])
        conditions = [self.tree.condition(conjunction(where))] if where else []
        mask = self.lanes.mask(reduced, *conditions)
        if e.reduce != "sum" or where or not self.elements.is_0_outside(e.body, reduced):
            assert mask is not None
            tree = call("tl.where", mask, tree, NEUTRAL[e.reduce])
        if not self.lanes.several:
            return call(f"tl.{e.reduce}", tree, axis=py.integer(0))
        if along.keys() <= {*reduced} | (along.keys() - self.elements.span_with_loaded(e.body, *where)):
            return call(f"tl.{e.reduce}", tree)
        for i in reduced:
            place = py.integer(list(along).index(i))
            tree = call(f"tl.{e.reduce}", tree, axis=place, keep_dims=Word("True"))
        return tree

    # stores

    def _needed(self, step: Step, lines: Sequence[py.Statement]) -> list[py.Statement]:
        """What is done for some gradients alone."""
        launched = {g for s in self.kernel.steps if s.target in self.kernel.results for g in s.serves}
        asked = [g for g in step.serves if g in self.around.gradients]
        if not asked or {*asked} >= launched:
            return [*lines]
        return [If(py.joined("or", [self.flag(g) for g in asked]), [*lines])]

    def _store(
        self,
        step: Step,
        name: str,
        value: Expression,
        subscripts: Sequence[Expr],
        shape: Sequence[Expr],
        where: Sequence[Expr] = (),
    ) -> None:
        self.written[name] = None
        address, mask = self._placed(name, subscripts, shape, where)
        options = {} if mask is None else {"mask": mask}
        store = Do(call("tl.store", address, value, **options))
        self.scope.lines += self._needed(step, [*self._before(name, value, address, mask), store])

    def _placed(
        self, name: str, subscripts: Sequence[Expr], shape: Sequence[Expr], where: Sequence[Expr]
    ) -> tuple[Expression, Expression | None]:
        """Where an element is in memory, and which lanes have one."""
        span = self.elements.span_with_loaded(*subscripts, *where)
        mask = self.lanes.mask(span, *([self.tree.condition(conjunction(where))] if where else []))
        return self.lanes.address(name, subscripts, shape), mask

    def _before(
        self, name: str, value: Expression, address: Expression, mask: Expression | None
    ) -> list[py.Statement]:
        """What is there already, added to a value, where that is asked for."""
        if name not in self.kernel.added:
            return []
        options = {} if mask is None else {"mask": mask, "other": py.Number("0.0")}
        return [Assign(value, call("tl.load", address, **options), "+=")]

    def _is_added_up(self, step: Step) -> bool:
        """Whether a program adds up the parts of its rows."""
        return step.target in self.kernel.parts and self.kernel.strided and self.kernel.sums_all(step.target)

    def _part(self, step: Step, own: Name, e: Equation) -> None:
        """The part of a sum that a program, or a row, has."""
        shape, name = self.around.table[step.target].shape, parts_of(step.target)
        self.written[name] = None
        rows = [(i, extent) for i, extent in self.kernel.rows if i in {i for i, _ in e.reduced}]
        if not self.kernel.flat and not self._is_added_up(step):
            subscripts, extents = [i for i, _ in rows], [extent for _, extent in rows]
            self._store(step, name, own, (*subscripts, *e.subscripts), (*extents, *shape))
            return
        start = Operation("mul", (PROGRAM, self.tree.place(product(shape)))) if shape else PROGRAM
        inner = flat(e.subscripts, shape)
        address = joined([pointer(name), start, *([self.tree.place(inner)] if inner is not ZERO else [])])
        mask = self.lanes.mask(self.elements.span_with_loaded(*e.subscripts))
        store = Do(call("tl.store", address, own, **({} if mask is None else {"mask": mask})))
        if self.kernel.flat:
            self.scope.lines += self._needed(step, [store])
            return
        self.last += self._needed(step, [store])

    def _scatter(self, step: Step, e: Equation) -> None:
        """The term of a row, and the place that it is added to; nothing is added where the equation does not hold."""
        shape = self.around.table[step.target].shape
        term, place = parts_of(step.target), places_of(step.target)
        at = flat(e.subscripts, shape)
        self.elements.load([e.body, at], e.conditions)
        tree, where = self.tree(e.body), self.tree.place(at)
        if e.conditions:
            condition = self.tree.condition(conjunction(e.conditions))
            tree = call("tl.where", condition, tree, py.Number("0.0"))
            where = call("tl.where", condition, where, py.integer(0))
        subscripts, extents = [i for i, _ in e.box], [extent for _, extent in e.box]
        self._store(step, term, tree, subscripts, extents)
        self._store(step, place, where, subscripts, extents)


Text = TypeVar("Text", bound=KernelText)


def texts(
    found: Sequence[Choice], which: str, around: Surroundings, made: Callable[[Kernel, Surroundings], Text]
) -> list[tuple[list[Text], list[Text]]]:
    """The kernels of forward or of backward as functions: in order, those for short rows and those for long ones."""
    taken = Names()

    def some(way: int, more: str) -> Iterator[list[Text]]:
        alone = sum(len(choice[way] or choice[0]) for choice in found) == 1
        for choice in found:
            names = [f"_{which}_{'' if alone else k.results[0] + '_'}{more}kernel" for k in choice[way]]
            own = [replace(around, name=taken.new(name)) for name in names]
            yield [made(k, a) for k, a in zip(choice[way], own, strict=True)]

    return [*zip(some(0, ""), some(1, "long_"), strict=True)]


class Under:
    """What is built while it lasts stands under a condition on optional inputs."""

    def __init__(self, text: KernelText, when: When) -> None:
        self.text, self.when = text, when

    def __enter__(self) -> None:
        self.outer = self.text.scope
        if self.when:
            self.text.elements.scope = Scope(self.outer)

    def __exit__(self, *_: object) -> None:
        lines, self.text.elements.scope = self.text.scope.lines, self.outer
        if self.when and lines:
            asked = py.joined("and", [self.text._given(*w) for w in self.when])
            self.outer.lines.append(If(asked, lines))


def merged(lines: Sequence[py.Statement]) -> list[py.Statement]:
    """Neighbours under one condition as one block; those under one and where it does not hold as two branches."""
    found: list[py.Statement] = []
    for line in lines:
        last = found[-1] if found else None
        if isinstance(line, If) and isinstance(last, If) and not (line.otherwise or last.otherwise):
            if line.condition == last.condition:
                found[-1] = If(last.condition, merged([*last.body, *line.body]))
                continue
            if line.condition == _opposite(last.condition):
                found[-1] = If(last.condition, last.body, merged(line.body))
                continue
        found.append(If(line.condition, merged(line.body), merged(line.otherwise)) if isinstance(line, If) else line)
    return found


def _opposite(condition: Expression) -> Expression:
    """The condition that holds where this one does not."""
    match condition:
        case Operation("is" | "is not" as op, operands):
            return Operation("is not" if op == "is" else "is", operands)
        case Operation("not", (inner,)):
            return inner
    return Operation("not", (condition,))


def _added(own: Name, first: Expression, more: Expression) -> Assign:
    """A sum, assigned."""
    if isinstance(first, Operation) and first.op == "add" and first.operands[0] == own:
        return Assign(own, Operation("add", (first.operands[1], more)), "+=")
    return Assign(own, Operation("add", (first, more)))
