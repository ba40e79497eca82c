"""A Function under construction: the one thing the three doors write to.

A door declares inputs and options, hands over equations in which the extents of most indices are still unknown, and
calls `finish`. The draft hoists inner reductions, splits what depends on an optional input, infers every extent in
rounds, orders the equations, and refuses what makes no sense.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..errors import DeclarationError, ShapeError, UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Number,
    Ref,
    apply,
    const,
    index,
    indices,
    is_exact,
    postorder,
    ref,
    refs,
    show,
    size,
    substitute,
    value_of,
)
from ..ir import Dim, Dtype, Equation, Function, Option, Role, Tensor, When, show_element
from ..ops import OPS
from .names import check_name

_LARGEST_PRODUCT = 10_000  # terms of a polynomial subscript that are multiplied out
_EXTENT = "#extent"  # ref(_EXTENT, i) is the extent of the index i, until `finish` knows it


@dataclass(frozen=True, slots=True)
class _Pending:
    """An equation whose box is not known yet; `extents` are those that the user gave."""

    target: str
    subscripts: tuple[Expr, ...]
    reduce: str
    body: Expr
    extents: Mapping[Index, Expr]
    where: Expr | None
    when: When

    @property
    def order(self) -> tuple[Index, ...]:
        """The indices of the equation, those of the target first, and the given ones even if nothing mentions them."""
        mentioned = indices(*self.subscripts, self.body, *(() if self.where is None else (self.where,)))
        bound = [i for i in self.extents if i not in mentioned]
        return (*mentioned, *bound)


class Draft:
    """The declaration of one function, written by a door."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name, "function")
        self.dims: dict[str, Dim] = {}
        self.tensors: dict[str, Tensor] = {}
        self.options: list[Option] = []
        self._pending: list[_Pending] = []
        self._shapes: dict[str, list[Expr | None]] = {}
        self._hoisted: dict[tuple[object, ...], str] = {}

    # declaring

    def dim(self, name: str, pack: bool = False) -> Expr:
        """Return the size of that name, declared if it is new. A pack is named `...` or `*batch`."""
        if name not in self.dims:
            if name != "...":
                self._fresh(name.removeprefix("*"), "size")
            self.dims[name] = Dim(name, pack)
        return ref(name)

    def input(self, name: str, shape: Sequence[Expr], dtype: Dtype = Dtype.REAL, optional: bool = False) -> None:
        """Declare an input tensor; its shape is made of `dim`s and constants, a pack only in front."""
        self._fresh(name, "input")
        packs = [e for e in shape[1:] if isinstance(e, Ref) and e.name in self.dims and self.dims[e.name].pack]
        if packs:
            raise DeclarationError(f"{self.name}: {name} has {show(packs[0])} behind another axis; a pack comes first.")
        self.tensors[name] = Tensor(name, tuple(shape), dtype, Role.INPUT, optional, named=True)

    def option(self, name: str, default: Number) -> Expr:
        """Declare a number that is given by keyword at run time; an int default makes it an integer."""
        self._fresh(name, "option")
        dtype = Dtype.INT if isinstance(default, int) else Dtype.REAL
        self.options.append(Option(name, default, dtype))
        return ref(name)

    def _fresh(self, name: str, what: str) -> None:
        check_name(name, what)
        taken = {"input": self.tensors, "size": self.dims, "option": {o.name for o in self.options}}
        for kind, names in taken.items():
            if name in names or f"*{name}" in names:
                owner = f"{'a' if kind == 'size' else 'an'} {kind}"
                raise DeclarationError(f"{self.name}: {name!r} is taken by {owner}; {what}s need their own.")

    # equations

    def extent(self, i: Index) -> Expr:
        """The extent of the index `i` in the equation where this stands."""
        return ref(_EXTENT, i)

    def name_for(self, wish: str) -> str:
        """A tensor name that is not taken: `wish`, else `wish` and a number."""
        taken = {*self.tensors, *self._shapes, *self.dims, *(o.name for o in self.options)}
        taken.update(p.target for p in self._pending)
        name, number = wish, 2
        while name in taken:
            name, number = f"{wish}_{number}", number + 1
        return name

    def reduce(
        self,
        kind: str,
        over: Sequence[Index],
        body: Expr,
        extents: Mapping[Index, Expr] | None = None,
        where: Expr | None = None,
        name: str | None = None,
    ) -> Expr:
        """Hoist `kind[over](body)` to an equation of its own and return the reference to it.

        kind   sum, mean, max, min, prod, logsumexp, argmax
        name   the name of the new tensor; words are made up if None
        Its indices are those of the body that are not reduced. The same reduction twice is one equation.
        """
        given = dict(extents or {})
        word = kind
        if kind == "mean":
            kind, body = "sum", body / _product(self.extent(i) for i in over)
        mentioned = indices(body, *(() if where is None else (where,)))
        free = tuple(i for i in mentioned if i not in over)
        inner = {i: given[i] for i in over if i in given}
        for i in over:
            if i not in mentioned and i not in inner:
                raise DeclarationError(f"{self.name}: {kind}[{i.name}] of {show(body)}, which has no index {i.name}.")
        same = (kind, tuple(over), body, tuple(inner.items()), where)
        if name is None and same in self._hoisted:
            return ref(self._hoisted[same], *free)
        target = self.name_for(name or _reduction_name(word, body))
        self._hoisted[same] = target
        # an index that is reduced but not mentioned still counts: it is in the box by its given extent
        self._add(_Pending(target, free, kind, body, {i: given[i] for i in (*free, *over) if i in given}, where, ()))
        return ref(target, *free)

    def define(
        self,
        target: str,
        subscripts: Sequence[Expr],
        body: Expr,
        extents: Mapping[Index, Expr] | None = None,
        where: Expr | None = None,
        shape: Sequence[Expr] | None = None,
        named: bool = True,
        reduce: str = "sum",
    ) -> None:
        """Say what `target[subscripts]` is. Twice for one target: the contributions add up.

        An index of the body (or of `extents`) that the target does not show is reduced by `reduce`; a target of several
        equations is a sum. `shape` gives the target's shape where the subscripts do not tell it. `named` says that the
        user chose the name.
        """
        if target in self.tensors:
            raise DeclarationError(f"{self.name}: {target} is an input; give the result a name of its own.")
        if named:
            check_name(target, "result")
        if shape is not None:
            self._shapes[target] = list(shape)
        subs = tuple(subscripts)
        shown = set(indices(*subs))
        mentioned = (*indices(body, *(() if where is None else (where,))), *(extents or {}))
        kind = reduce if any(i not in shown for i in mentioned) else "none"
        self._add(_Pending(target, subs, kind, body, dict(extents or {}), where, ()))

    def _add(self, pending: _Pending) -> None:
        for body, when in self._split(pending.body, pending.reduce in ("none", "sum")):
            if when and body is ZERO and pending.reduce != "none":
                continue  # it stands in a given(...) that is settled the other way, and is not read
            self._pending.append(replace(pending, body=body, when=when))

    # optional inputs

    def _split(self, body: Expr, additive: bool) -> list[tuple[Expr, When]]:
        """The variants of `body`: a term that is an optional input alone is a contribution of its own; a factor that is
        optional gives two variants, with and without it."""
        optional = [n for n in self._optional(body)]
        if not optional:
            return [(body, ())]
        if additive:
            alone = [t for t in _terms(body) if self._is_optional(t)]
            if alone:
                rest = _drop_terms(body, set(alone))
                parts = self._split(rest, additive) if rest is not None else []
                return [*parts, *((t, ((_optional_name(t), True),)) for t in alone)]
        name = optional[0]
        present = self._given(body, name, True)
        absent = self._without(self._given(body, name, False), name)
        return [
            *((b, ((name, True), *w)) for b, w in self._split_rest(present, name, additive)),
            *((b, ((name, False), *w)) for b, w in self._split(absent, additive)),
        ]

    def _split_rest(self, body: Expr, settled: str, additive: bool) -> list[tuple[Expr, When]]:
        others = [n for n in self._optional(body) if n != settled]
        if not others:
            return [(body, ())]
        hidden = {r: ref(f"#{r.name}", *r.subscripts) for r in refs(body) if r.name == settled}
        shown = {v: k for k, v in hidden.items()}
        return [(substitute(b, shown), w) for b, w in self._split(substitute(body, hidden), additive)]

    def _optional(self, body: Expr) -> list[str]:
        return list(dict.fromkeys(r.name for r in refs(body) if r.name in self.tensors and self.tensors[r.name].optional))

    def _is_optional(self, term: Expr) -> bool:
        term = term.args[0] if isinstance(term, Apply) and term.op == "neg" else term
        return isinstance(term, Ref) and term.name in self.tensors and self.tensors[term.name].optional

    def _given(self, body: Expr, name: str, present: bool) -> Expr:
        """Settle every `given(name, then, otherwise)`."""
        chosen: dict[Expr, Expr] = {}
        for node in postorder(body):
            if isinstance(node, Apply) and node.op == "given":
                mask, then, otherwise = node.args
                if isinstance(mask, Ref) and mask.name == name:
                    chosen[node] = then if present else otherwise
        return substitute(body, chosen)

    def _without(self, body: Expr, name: str) -> Expr:
        """`body` where the optional `name` has left the sum or product it stands in."""
        mine = {r for r in refs(body) if r.name == name}
        gone: dict[Expr, Expr] = {}
        for node in postorder(body):
            if not isinstance(node, Apply) or not any(a in mine for a in node.args):
                continue
            a, *rest = node.args
            b = rest[0] if rest else None
            if node.op in ("add", "mul") and b is not None and not (a in mine and b in mine):
                kept = b if a in mine else a
                if node.op == "add" or not isinstance(kept, Const):
                    gone[node] = kept
                    continue
            if node.op in ("sub", "div") and b in mine and a not in mine:
                gone[node] = a
                continue
            raise DeclarationError(
                f"{self.name}: {name} is optional, and stands in {show(node)}; only from a sum or a product can an "
                f"absent input disappear. Say what counts without it: sg.given({name}, then, otherwise)."
            )
        left = substitute(body, gone)
        if any(r.name == name for r in refs(left)):
            raise DeclarationError(
                f"{self.name}: {show(body)} is nothing without {name}, which is optional. "
                f"Say what counts then: sg.given({name}, then, otherwise)."
            )
        return left

    # finishing

    def finish(self, outputs: Sequence[str], formula: str = "", source: str = "") -> Function:
        """Return the Function; `outputs` are names of tensors that equations define.

        Raises ShapeError for an index or size with two extents, or with none; DeclarationError for an unknown name;
        UnsupportedError for a recurrence.
        """
        self._check_references(outputs)
        extents, shapes = _Ranges(self, self._pending).solve()
        equations = []
        for number, p in enumerate(self._pending):
            box = tuple((i, extents[number, i]) for i in p.order)
            known = {ref(_EXTENT, i): e for i, e in box}
            where = None if p.where is None else substitute(p.where, known)
            body = substitute(p.body, known)
            subscripts = tuple(substitute(s, known) for s in p.subscripts)
            equations.append(Equation(p.target, subscripts, p.reduce, body, box, where, p.when))
        tensors = dict(self.tensors)
        for e in equations:
            if e.target not in tensors:
                role = Role.OUTPUT if e.target in outputs else Role.LOCAL
                dtype = Dtype.INT if e.reduce == "argmax" else self._dtype(e, tensors)
                named = e.target not in self._hoisted.values()
                tensors[e.target] = Tensor(e.target, shapes[e.target], dtype, role, named=named)
        return Function(
            name=self.name,
            dims=tuple(self.dims.values()),
            tensors=tuple(tensors.values()),
            statements=_ordered(self.name, equations),
            inputs=tuple(self.tensors),
            outputs=tuple(outputs),
            options=tuple(self.options),
            formula=formula,
            source=source,
        )

    def _check_references(self, outputs: Sequence[str]) -> None:
        if not outputs:
            raise DeclarationError(f"{self.name} returns nothing; a function has at least one output.")
        ranks: dict[str, int] = {n: len(t.shape) for n, t in self.tensors.items()}
        ranks |= {p.target: len(p.subscripts) for p in self._pending}
        numbers = {*self.dims, *(o.name for o in self.options), _EXTENT}
        for p in self._pending:
            for r in refs(*p.subscripts, p.body, *(() if p.where is None else (p.where,)), *p.extents.values()):
                if r.name in numbers:
                    continue
                if r.name not in ranks:
                    raise DeclarationError(
                        f"{self.name}: {show_element(p.target, p.subscripts)} mentions {r.name}, which is not declared. "
                        f"Known: {', '.join([*ranks, *sorted(n for n in numbers if n[0] != '#')])}."
                    )
                if len(r.subscripts) != ranks[r.name]:
                    raise ShapeError(
                        f"{self.name}: {show_element(r.name, r.subscripts)} has {len(r.subscripts)} subscripts; "
                        f"{r.name} has {ranks[r.name]} axes."
                    )
            for i in p.order:
                if i.name in ranks or i.name in self.dims and not self.dims[i.name].pack:
                    raise DeclarationError(f"{self.name}: {i.name} is both an index and the name of a tensor or size.")
        for name in outputs:
            if name not in ranks or name in self.tensors:
                raise DeclarationError(f"{self.name}: the output {name} is not defined by any equation.")

    def _dtype(self, equation: Equation, tensors: Mapping[str, Tensor]) -> Dtype:
        kinds = {n.name: n.dtype for n in tensors.values()} | {o.name: o.dtype for o in self.options}
        return dtype_of(equation.body, kinds)


def dtype_of(body: Expr, kinds: Mapping[str, Dtype]) -> Dtype:
    """What `body` is, given the dtypes of the tensors and options by name (anything else is a size)."""
    found: dict[Expr, Dtype] = {}
    for node in postorder(body):
        if isinstance(node, Const):
            found[node] = Dtype.INT if is_exact(node) and node.value.denominator == 1 else Dtype.REAL
        elif isinstance(node, Ref):
            found[node] = kinds.get(node.name, Dtype.INT)
        elif isinstance(node, Index):
            found[node] = Dtype.INT
        elif isinstance(node, Apply):
            result = OPS[node.op].result
            below = [found[a] for a in (node.args[1:] if node.op == "select" else node.args)]
            whole = node.op in ("add", "sub", "mul", "neg", "select", "abs", "maximum", "minimum") and all(
                b != Dtype.REAL for b in below
            )
            found[node] = Dtype.BOOL if result == "bool" else Dtype.INT if result == "int" or whole else Dtype.REAL
    return found[body]


def _product(factors: Iterable[Expr]) -> Expr:
    result: Expr = ONE
    for factor in factors:
        result = result * factor
    return result


def _reduction_name(kind: str, body: Expr) -> str:
    """Words for a reduction: `sum_x` when one tensor is reduced, else `total`, `largest`, ..."""
    names = list(dict.fromkeys(r.name for r in refs(body) if r.subscripts and r.name != _EXTENT))
    if isinstance(body, Ref) or len(names) == 1:
        return f"{kind}_{names[0]}"
    return {"sum": "total", "max": "largest", "min": "smallest", "prod": "product", "argmax": "position"}.get(kind, kind)


def _terms(body: Expr) -> list[Expr]:
    """The terms of a sum, signs kept."""
    terms: list[Expr] = []
    stack = [(body, False)]
    while stack:
        node, negative = stack.pop()
        if isinstance(node, Apply) and node.op in ("add", "sub"):
            a, b = node.args
            stack += [(b, negative != (node.op == "sub")), (a, negative)]
        elif isinstance(node, Apply) and node.op == "neg":
            stack.append((node.args[0], not negative))
        else:
            terms.append(-node if negative else node)
    return terms


def _drop_terms(body: Expr, gone: set[Expr]) -> Expr | None:
    kept = [t for t in _terms(body) if t not in gone]
    if not kept:
        return None
    result = ZERO
    for term in kept:
        result = result + term
    return result


def _optional_name(term: Expr) -> str:
    term = term.args[0] if isinstance(term, Apply) and term.op == "neg" else term
    assert isinstance(term, Ref)
    return term.name


def _ordered(name: str, equations: list[Equation]) -> tuple[Equation, ...]:
    """The equations, each after what it reads; ties keep the order of the declaration."""
    writers: dict[str, list[int]] = {}
    for number, e in enumerate(equations):
        writers.setdefault(e.target, []).append(number)
    done: list[Equation] = []
    state: dict[str, str] = {}
    for root in range(len(equations)):
        stack = [equations[root].target]
        while stack:
            target = stack[-1]
            if state.get(target) == "done":
                stack.pop()
                continue
            state[target] = "open"
            reads = dict.fromkeys(r.name for n in writers[target] for r in equations[n].reads if r.name in writers)
            waiting = [r for r in reads if state.get(r) != "done"]
            if any(state.get(r) == "open" for r in waiting):
                cycle = [t for t in stack if state.get(t) == "open"]
                raise UnsupportedError(
                    f"{name}: {' -> '.join(reversed(cycle))} is computed from itself. A recurrence cannot be printed "
                    f"yet; write out its steps, or declare one step as the function."
                )
            if waiting:
                stack.extend(reversed(waiting))
                continue
            done += [equations[n] for n in writers[target]]
            state[target] = "done"
            stack.pop()
    return tuple(done)


class _Ranges:
    """Infers the extent of every index and the shape of every tensor, in rounds.

    First what plain subscripts say, until nothing is new; then one subscript such as `2*i + r` with a single unknown
    index, and again. Each fact keeps the place that told it, for the message when two places disagree.
    """

    def __init__(self, draft: Draft, pending: Sequence[_Pending]) -> None:
        self.draft = draft
        self.pending = pending
        self.extents: dict[tuple[int, Index], Expr] = {}
        self.told_by: dict[tuple[int, Index], str] = {}
        self.shapes: dict[str, list[Expr | None]] = {n: list(t.shape) for n, t in draft.tensors.items()}
        for p in pending:
            self.shapes.setdefault(p.target, list(draft._shapes.get(p.target, [None] * len(p.subscripts))))
        # where a result is also written at `n + i`, a plain subscript does not tell how long the axis is
        self.mixed = {
            (p.target, axis)
            for p in pending
            for axis, s in enumerate(p.subscripts)
            if not isinstance(s, (Index, Const)) and not any(r.name in self.shapes for r in refs(s))
        }
        self.slots = [
            (number, r.name, axis, s)
            for number, p in enumerate(pending)
            for r in (
                ref(p.target, *p.subscripts),
                *refs(p.body, *p.subscripts, *(() if p.where is None else (p.where,))),
            )
            if r.name in self.shapes
            for axis, s in enumerate(r.subscripts)
        ]

    def solve(self) -> tuple[dict[tuple[int, Index], Expr], dict[str, tuple[Expr, ...]]]:
        for number, p in enumerate(self.pending):
            for i, extent in p.extents.items():
                self.extents[number, i] = extent
                self.told_by[number, i] = "as given"
        while self._plain() or self._literal() or self._affine():
            pass
        for number, p in enumerate(self.pending):
            for i in p.order:
                if (number, i) not in self.extents:
                    self._ask(p, i)
            self._check_literals(p)
        return self.extents, {name: self._shape(name) for name in self.shapes}

    def _shape(self, name: str) -> tuple[Expr, ...]:
        shape = self.shapes[name]
        if None in shape:
            axis = shape.index(None)
            raise ShapeError(
                f"{self.draft.name}: nothing tells how long axis {axis} of {name} is. "
                f"Say it by an index with an extent: {name}[{'k:n' if len(shape) == 1 else '..., k:n, ...'}] = 0."
            )
        return tuple(e for e in shape if e is not None)

    def _plain(self) -> bool:
        """A plain subscript and the axis it stands in have one extent."""
        news = False
        for number, name, axis, s in self.slots:
            if not isinstance(s, Index):
                continue
            here, there = self.extents.get((number, s)), self.shapes[name][axis]
            if (name, axis) in self.mixed and self.pending[number].target == name and here is not None:
                continue
            if here is None and there is not None:
                self.extents[number, s] = there
                self.told_by[number, s] = f"in {name} (axis {axis})"
                news = True
            elif here is not None and there is None and name in self.shapes:
                self.shapes[name][axis] = here
                news = True
            elif here is not None and there is not None and here.key is not there.key:
                self._clash(number, s, name, axis, here, there)
        return news

    def _clash(self, number: int, i: Index, name: str, axis: int, here: Expr, there: Expr) -> None:
        p = self.pending[number]
        if i in p.extents and (name != p.target or name in self.draft._shapes):
            return  # a given extent wins; that it fits is checked when the code runs
        raise ShapeError(
            f"{self.draft.name}: {i.name} has two sizes in {show_element(p.target, p.subscripts)}\n"
            f"    it runs over {show(here)} {self.told_by.get((number, i), '')}\n"
            f"    and over {show(there)} in {name} (axis {axis})\n"
            f"  Give both axes one name, or use two indices."
        )

    def _literal(self) -> bool:
        """An axis of a result that is written at expressions reaches as far as the largest of them."""
        news = False
        for name, shape in self.shapes.items():
            for axis, extent in enumerate(shape):
                if extent is not None:
                    continue
                ends = []
                for number, p in enumerate(self.pending):
                    if p.target == name:
                        known = {i: e for (n, i), e in self.extents.items() if n == number}
                        ends.append(_largest(self._settled(number, p.subscripts[axis]), known))
                if all(e is not None for e in ends):
                    shape[axis] = _most([tidy(e + 1) for e in ends if e is not None])
                    news = True
        return news

    def _affine(self) -> bool:
        """`S*i + rest` over an axis of h elements: i runs over (h - 1 - max(rest))//S + 1."""
        for number, name, axis, s in self.slots:
            extent = self.shapes[name][axis]
            if isinstance(s, Index) or extent is None:
                continue
            s = self._settled(number, s)
            unknown = [i for i in indices(s) if (number, i) not in self.extents]
            if len(unknown) != 1:
                continue
            i = unknown[0]
            known = {j: e for (n, j), e in self.extents.items() if n == number}
            if ref(_EXTENT, i) in refs(s):
                inner = _merged(s, i, extent, known)
                if inner is not None:
                    self.extents[number, i] = inner
                    self.told_by[number, i] = f"by {name} (axis {axis})"
                    return True
                continue
            step = coefficient(s, i)
            if step is None:
                continue
            most = _largest(substitute(s, {i: ZERO}), known)
            if most is None:
                continue
            if is_exact(step) and value_of(step) < 0:
                self.extents[number, i] = apply("floordiv", most, -step) + 1
            elif step is ONE:
                self.extents[number, i] = tidy(extent - most)
            elif size(whole := tidy(extent - 1 - most + step)) < size(less := tidy(extent - 1 - most)):
                self.extents[number, i] = apply("floordiv", whole, step)
            else:
                self.extents[number, i] = apply("floordiv", less, step) + 1
            self.told_by[number, i] = f"by {show_element(name, (s,))}"
            return True
        return False

    def _check_literals(self, p: _Pending) -> None:
        """Refuse `y[2]` beside `y[i:2]`."""
        for s, extent in zip(p.subscripts, self.shapes[p.target], strict=True):
            if extent is not None and is_exact(s) and is_exact(extent) and value_of(s) >= value_of(extent):
                raise ShapeError(
                    f"{self.draft.name}: {show_element(p.target, p.subscripts)} is past the end of its axis, "
                    f"which has {show(extent)} elements. Give the other index of this axis another extent."
                )

    def _settled(self, number: int, s: Expr) -> Expr:
        """The subscript `s` with the extents that are known so far in place."""
        known: dict[Expr, Expr] = {}
        for r in refs(s):
            for i in indices(r) if r.name == _EXTENT else ():
                if (number, i) in self.extents:
                    known[r] = self.extents[number, i]
        return substitute(s, known)

    def _ask(self, p: _Pending, i: Index) -> None:
        place = f"{show_element(p.target, p.subscripts)} = {show(p.body)}"
        raise ShapeError(
            f"{self.draft.name}: nothing tells how far the index {i.name} runs in {place}. "
            f'Say it: sum[{i.name}:n](...) in a reduction, or sg.indices("{i.name}", {i.name}="n").'
        )


def coefficient(s: Expr, i: Index) -> Expr | None:
    """What `i` is multiplied by in the subscript `s`, if `s` is linear in it; None otherwise."""
    slope = substitute(s, {i: ONE}) - substitute(s, {i: ZERO})
    again = substitute(s, {i: const(2)}) - substitute(s, {i: ONE})
    a, b = _expand(slope), _expand(again)
    return _rebuild(a) if a is not None and a == b else None


def _merged(s: Expr, i: Index, extent: Expr, known: Mapping[Index, Expr]) -> Expr | None:
    """The extent of `i` in a merged subscript such as `h*extent(i) + i`, over an axis of `extent` elements."""
    unknown = ref("#unknown")
    last = _largest(substitute(s, {ref(_EXTENT, i): unknown, i: unknown - 1}), known)
    if last is None:
        return None
    placeholder = index("#unknown")
    last = substitute(last, {unknown: placeholder})
    step = coefficient(last, placeholder)
    return None if step is None else apply("floordiv", tidy(extent - 1 - substitute(last, {placeholder: ZERO})), step)


Polynomial = dict[tuple[Expr, ...], int]


def _expand(s: Expr) -> Polynomial | None:
    """An integer expression as a polynomial of its atoms; None if it is no polynomial with integer coefficients."""
    done: dict[Expr, Polynomial | None] = {}
    for node in postorder(s):
        value: Polynomial | None
        if isinstance(node, Const):
            value = {(): int(node.value)} if node.value.denominator == 1 else None
            value = {} if value == {(): 0} else value
        elif isinstance(node, Apply) and node.op in ("add", "sub", "mul", "neg"):
            parts = [done[a] for a in node.args]
            known = [p for p in parts if p is not None]
            large = node.op == "mul" and prod(len(p) for p in known) > _LARGEST_PRODUCT
            value = None if large or len(known) < len(parts) else _combine(node.op, known)
        else:
            value = {(node.key,): 1}
        done[node] = value
    return done[s]


def _combine(op: str, parts: list[Polynomial]) -> Polynomial:
    result: Polynomial = {}
    if op == "mul":
        for m, c in parts[0].items():
            for n, d in parts[1].items():
                monomial = tuple(sorted((*m, *n), key=lambda e: e.serial))
                result[monomial] = result.get(monomial, 0) + c * d
    else:
        signs = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}[op]
        for sign, part in zip(signs, parts, strict=True):
            for m, c in part.items():
                result[m] = result.get(m, 0) + sign * c
    return {m: c for m, c in result.items() if c}


def _rebuild(polynomial: Polynomial) -> Expr:
    result = ZERO
    for monomial, c in polynomial.items():
        term: Expr = const(abs(c))
        for atom in monomial:
            term = term * atom
        result = result + term if c > 0 else result - term
    return result


def tidy(s: Expr) -> Expr:
    """An integer expression with like terms collected."""
    polynomial = _expand(s)
    return s if polynomial is None else _rebuild(polynomial)


def _largest(s: Expr, extents: Mapping[Index, Expr]) -> Expr | None:
    """The largest value of the subscript `s` over the box; None if an extent is unknown or it is not linear."""
    ends: dict[Expr, Expr] = {}
    for i in indices(s):
        step = coefficient(s, i)
        if step is None or i not in extents:
            return None
        falling = is_exact(step) and value_of(step) < 0
        ends[i] = ZERO if falling else extents[i] - 1
    polynomial = _expand(substitute(s, ends))
    return None if polynomial is None else _rebuild(polynomial)


def _most(ends: list[Expr]) -> Expr:
    """The largest of several extents, where that can be told."""
    if all(is_exact(e) for e in ends):
        return max(ends, key=value_of)
    distinct = list({e.key: e for e in ends}.values())
    result = distinct[0]
    for end in distinct[1:]:
        difference = _expand(end - result)
        if difference is not None and all(c <= 0 for c in difference.values()):
            continue  # sizes are not negative
        if difference is not None and all(c >= 0 for c in difference.values()):
            result = end
        else:
            result = apply("maximum", result, end)
    return result


def fresh_indices(count: int, taken: Iterable[str]) -> tuple[Index, ...]:
    """`count` one-letter indices that are not in `taken`: i, j, k, l, ..., then i1, j1, ..."""
    used = set(taken)
    letters = [f"{letter}{suffix}" for suffix in ("", *range(1, 100)) for letter in "ijklpqrstuvwabcdefgh"]
    return tuple(index(letter) for letter in letters if letter not in used)[:count]
