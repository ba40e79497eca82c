"""A Function under construction: the one thing the three front ends write to.

A front end declares inputs and options, gives equations in which the extents of most indices are still unknown, and
calls `finish`. The draft hoists inner reductions, splits what depends on an optional input, infers every extent in
rounds, orders the equations, and refuses what makes no sense.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence

from ..errors import DeclarationError, ShapeError, UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Number,
    Ref,
    apply,
    conjunction,
    index,
    indices,
    is_exact,
    preorder,
    product,
    ref,
    refs,
    show,
    substitute,
    terms_of,
    value_of,
    without_sign,
)
from ..expr.names import Names, fresh_letters, is_pack
from ..expr.sizes import Quotient, coefficient, largest, multiples, never_negative, tidy
from ..ir import (
    Cycle,
    Dim,
    Dtype,
    Equation,
    Function,
    Interval,
    Option,
    Role,
    Tensor,
    When,
    on_demand,
    ordered,
    show_element,
    where_read,
)
from ..ops import OPS
from ..ops.matrices import MATRICES
from ..records import replace
from .bounds import Preconditions, bounds
from .dtypes import check_numbers, with_dtypes
from .infinity import NO_INFINITY, has_value, without_neutral
from .names import check_name
from .optional import name_alone, variants
from .ranges import EXTENT, Pending, Ranges
from .reductions import axes_as_read, reduction_names, repeated

MOST_LITERAL = 10_000  # elements along an axis that are told by a number: a check of them takes 10 s


class Draft:
    """The declaration of one function, written by a front end."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name, "function")
        self.dims: dict[str, Dim] = {}
        self.tensors: dict[str, Tensor] = {}
        self.options: list[Option] = []
        self._pending: list[Pending] = []
        self._shapes: dict[str, list[Expr | None]] = {}
        self._hoisted: dict[tuple[object, ...], str] = {}
        self.unfinished: set[str] = set()  # inputs that stand for results which other equations write
        self.reserved: set[str] = set()  # names that the front end will still define
        self._named: set[str] = set()
        self._sometimes: set[str] = set()  # what is said to count only with or without an optional input, and is else 0
        self.on_demand: set[str] = set()  # what may be computed only where branches that read it are taken
        self.quotients: list[Quotient] = []  # a//S that must have no rest
        self.lengths: list[tuple[Expr, Expr]] = []  # a size, and the product that it must be
        self.conditions: list[Expr] = []  # that a declaration requires of sizes and options
        self.scratch = False  # only how far indices run is asked: an index may be called as a tensor is

    # declaring

    def dim(self, name: str) -> Expr:
        """Return the size of that name, declared if it is new. A pack is named `...` or `*batch`."""
        if name not in self.dims:
            if name != "...":
                self._fresh(name.removeprefix("*"), "size")
            self.dims[name] = Dim(name, is_pack(name))
        return ref(name)

    def input(self, name: str, shape: Sequence[Expr], dtype: Dtype = Dtype.REAL, optional: bool = False) -> None:
        """Declare an input tensor; its shape is made of `dim`s and constants, a pack only in front."""
        self._fresh(name, "input")
        packs = [e for e in shape[1:] if is_pack(e)]
        if packs:
            raise DeclarationError(f"{self.name}: {name} has {show(packs[0])} behind another axis; a pack comes first.")
        self.tensors[name] = Tensor(name, tuple(shape), dtype, Role.INPUT, optional, named=True)

    def restrict(self, name: str, interval: Interval) -> None:
        """Declare the numbers of an input to lie in an interval, and in those that it was declared for before."""
        tensor = self.tensors[name]
        found = tensor.interval.meet(interval)
        if tensor.dtype == Dtype.BOOL and found.bounded:
            raise DeclarationError(f"{self.name}: {name} is true or false; an interval is of numbers.")
        if found.empty(tensor.dtype == Dtype.INT):
            what = "whole number" if tensor.dtype == Dtype.INT else "number"
            said = f"no {what} {name} has {found.show(name)}. Turn a comparison round, or move a bound."
            raise DeclarationError(f"{self.name}: {said}")
        self.tensors[name] = replace(tensor, interval=found)

    def option(self, name: str, default: Number) -> Expr:
        """Declare a number that is given by keyword at run time; an int default makes it an integer."""
        self._fresh(name, "option")
        dtype = Dtype.INT if isinstance(default, int) else Dtype.REAL
        self.options.append(Option(name, default, dtype))
        return ref(name)

    def _fresh(self, name: str, what: str) -> None:
        check_name(name, what)
        options = {o.name for o in self.options}
        taken: dict[str, Container[str]] = {"input": self.tensors, "size": self.dims, "option": options}
        for kind, names in taken.items():
            if name in names or f"*{name}" in names:
                owner = f"{'a' if kind == 'size' else 'an'} {kind}"
                raise DeclarationError(f"{self.name}: {name!r} is taken by {owner}; {what}s need their own.")

    def require(
        self,
        quotients: Iterable[Quotient] = (),
        lengths: Iterable[tuple[Expr, Expr]] = (),
        conditions: Iterable[Expr] = (),
    ) -> None:
        """Require that divisions have no rest, that sizes are products, and conditions: the printed code checks it."""
        self.conditions += conditions
        self.quotients += [q for q in quotients if q not in self.quotients]
        self.lengths += [pair for pair in lengths if pair not in self.lengths]

    def settled(self, extent: Expr) -> Expr:
        """`extent` as the size that it is required to be."""
        extent, _ = multiples(extent, self.quotients)
        return next((size for size, product in self.lengths if tidy(extent - product) is ZERO), extent)

    def _told(self, extents: Mapping[Index, Expr]) -> dict[Index, Expr]:
        """The extents, those that are as long as a size is required to be by its name."""
        return {i: self.settled(e) for i, e in extents.items()}

    def _follows(self, condition: Expr) -> bool:
        """Whether `groups * d <= c` says nothing, because c is groups * d."""
        if not isinstance(condition, Apply) or condition.op != "le":
            return False
        less, more = condition.args
        return tidy(self.settled(less) - more) is ZERO

    def _required(self) -> Iterable[Expr]:
        for above, step in self.quotients:
            yield from (apply("ge", r, ONE) for r in refs(step))
            yield apply("eq", apply("mod", above, step), ZERO)
        for size, factors in self.lengths:
            yield apply("eq", size, factors)
        yield from self.conditions

    # equations

    def extent(self, i: Index) -> Expr:
        """The extent of the index `i` in the equation where this stands."""
        return ref(EXTENT, i)

    def box_and_condition(self, i: Index, extent: Expr) -> tuple[Expr, Expr | None]:
        """How far `i` runs at most, and the condition under which it does: `j:i+1` is j up to its largest extent, where
        j < i+1.

        Raises ShapeError where the largest extent is not at one end of the indices that it follows.
        """
        followed = indices(extent)
        if not followed:
            return extent, None
        signed = {o.name for o in self.options}
        steps = [coefficient(extent, j) for j in followed]
        known = all(
            s is not None and (is_exact(s) or never_negative(s, signed) and not any(r.subscripts for r in refs(s)))
            for s in steps
        )
        last = largest(extent, {j: self.extent(j) for j in followed}) if known and i not in followed else None
        if last is None:
            names = ", ".join(j.name for j in followed)
            raise ShapeError(
                f"{self.name}: {i.name} runs to {show(extent)}, and nothing tells how large that is over all {names}. "
                f"Give {i.name} an extent of sizes, and say by where({i.name} < {show(extent)}, ..., 0) what counts."
            )
        return last, apply("lt", i, extent)

    @property
    def targets(self) -> Mapping[str, tuple[Expr, ...]]:
        """The results that are defined so far, each with the subscripts of its first equation."""
        found: dict[str, tuple[Expr, ...]] = {}
        for p in self._pending:
            found.setdefault(p.target, p.subscripts)
        return found

    def shape_of(self, name: str) -> tuple[Expr, ...]:
        """The shape of an input, or of a result that is defined so far."""
        if name in self.tensors:
            return self.tensors[name].shape
        _, shapes = Ranges(self.name, self.tensors, self._shapes, self._pending, self.unfinished).solve()
        return tuple(shapes[name])

    @property
    def names(self) -> set[str]:
        """All that is declared, defined or reserved."""
        numbers = {*self.dims, *(o.name for o in self.options)}
        return {*self.tensors, *self._shapes, *numbers, *(p.target for p in self._pending), *self.reserved}

    @property
    def letters(self) -> set[str]:
        """The names of the indices of what is defined so far."""
        return {i.name for p in self._pending for i in indices(*p.subscripts, p.body, p.where, *p.extents)}

    def name_for(self, *wishes: str) -> str:
        """The first of the wishes that is no name yet; the first and a number if all are."""
        return Names(self.names | self.letters).new(*wishes)

    def reduce(
        self,
        kind: str,
        over: Sequence[Index],
        body: Expr,
        extents: Mapping[Index, Expr] | None = None,
        where: Expr = ONE,
        reader: str | None = None,
    ) -> Ref:
        """Hoist `kind[over](body)` to an equation of its own and return the reference to it.

        kind    sum, mean, max, min, prod, logsumexp, argmax
        reader  whose name the new tensor has too, where other words say nothing
        Its indices are those of the body that are not reduced. The same reduction twice is one equation.
        """
        given = self._told(extents or {})
        word = kind
        body, finite = without_neutral(kind, self._with_arguments(body, where, kind, given))
        where = conjunction((where, finite))
        if kind == "mean":
            kind, body = "sum", body / product(given.get(i, self.extent(i)) for i in over)
        mentioned = indices(body, where)
        free = tuple(i for i in mentioned if i not in over)
        inner = {i: given[i] for i in over if i in given}
        for i in over:
            if i not in mentioned and i not in inner:
                raise DeclarationError(f"{self.name}: {kind}[{i.name}] of {show(body)}, which has no index {i.name}.")
        same = (kind, tuple(over), body, tuple(inner.items()), where)
        if same in self._hoisted:
            return ref(self._hoisted[same], *free)
        words, more = reduction_names(word, body)
        words = f"{words}_{reader}" if reader is not None and words == reduction_names(word, ONE)[0] else words
        target = self.name_for(words, more)
        self._hoisted[same] = target
        self.on_demand.add(target)
        # an index that is reduced but not mentioned still counts: it is in the box by its given extent. How far one of
        # the reader's indices runs that follows another one of the reader's is the reader's own affair
        box = {i: given[i] for i in (*free, *over) if i in given and {*indices(given[i])} <= {*free, *over}}
        pending = Pending(target, free, kind, body, box, where, ())
        self._pending.append(self._without_idle(pending, pending.order))
        return ref(target, *free)

    def define(
        self,
        target: str,
        subscripts: Sequence[Expr],
        body: Expr,
        extents: Mapping[Index, Expr] | None = None,
        where: Expr = ONE,
        shape: Sequence[Expr] | None = None,
        named: bool = True,
        reduce: str = "sum",
        when: When = (),
    ) -> None:
        """Say what `target[subscripts]` is. Twice for one target: the contributions add up.

        An index of the body (or of `extents`) that the target does not show is reduced by `reduce`; a target of several
        equations is a sum. `shape` gives the target's shape where the subscripts do not tell it. `named` says that the
        user chose the name; `when`, which optional inputs are given or absent where it counts.
        """
        if target in self.tensors:
            raise DeclarationError(f"{self.name}: {target} is an input; give the result a name of its own.")
        if named:
            self._named.add(check_name(target, "result"))
        extents = self._told(extents or {})
        subs = tuple(subscripts)
        if shape is not None:
            axes = zip(subs, shape, strict=True)
            self.shape(target, [self.settled(e) if isinstance(s, Index) else e for s, e in axes])
        if when:
            self._sometimes.add(target)
        shown = set(indices(*subs))
        mentioned = (*indices(body, where), *extents)
        kind = reduce if any(i not in shown for i in mentioned) else "none"
        body = self._with_arguments(body, where, kind, extents)
        self._pending += self._variants(Pending(target, subs, kind, body, extents, where, when))

    def _with_arguments(self, body: Expr, where: Expr, kind: str, extents: Mapping[Index, Expr]) -> Expr:
        """`body` with a name for what depends on an optional input and is more than a term of it: a sum that is the
        argument of a function, a factor, or what a `kind` that is no sum is taken of, and each argument of an
        exponential. What is computed of it is one thing then, with that input and without: a sum of exponentials is one
        sum, and shifted by the largest."""
        optional = {t.name for t in self.tensors.values() if t.optional}
        if optional.isdisjoint(r.name for r in refs(body)):
            return body
        names: dict[Expr, Expr] = {}

        def name(argument: Expr, wish: str) -> None:
            value = substitute(argument, names)
            free = indices(value)
            if optional.isdisjoint(r.name for r in refs(value)) or not set(indices(where)) <= set(free):
                return
            if all(name_alone(t) in optional for t, _ in terms_of(value)):
                return  # nothing is left where they are absent
            box = {i: extents[i] for i in free if i in extents and {*indices(extents[i])} <= {*free}}
            places: dict[Expr, Expr] = {i: index(f"#{k}") for k, i in enumerate(free)}
            same = ("argument", *(substitute(x, places) for x in (value, where, *box.values())))
            if same not in self._hoisted:
                self._hoisted[same] = target = self.name_for(wish)
                self.on_demand.add(target)
                value = value if where is ONE else apply("select", where, value, ZERO)
                self._pending.append(Pending(target, free, "none", value, box, ONE, ()))
            names[argument] = ref(self._hoisted[same], *free)

        for node in reversed([*preorder([body], evaluated_with)]):
            if not isinstance(node, Apply) or node.op not in OPS or is_sum(node):
                continue
            for argument in evaluated_with(node):
                if OPS[node.op].grows and len(node.args) == 1 and not isinstance(without_sign(argument)[0], Ref):
                    name(argument, "exponent")
                elif is_sum(argument):
                    name(argument, "total")
        if kind not in ("none", "sum", "mean") and is_sum(body):
            name(body, "total")
        return substitute(body, names)

    def shape(self, target: str, shape: Sequence[Expr]) -> None:
        """Say how long the axes of a result are."""
        self._shapes[target] = list(shape)

    def _split_hoisted(self) -> None:
        """Split what is hoisted by the optional inputs, too: in a branch of given(...) it is asked for there alone."""
        done: list[Pending] = []
        hoisted = set(self._hoisted.values())
        asked: dict[str, list[When]] = {}  # for each tensor, when it is read
        for p in reversed(self._pending):  # a reader stands behind what it reads
            split = [p]
            if p.target in hoisted:
                first, *others = (dict.fromkeys(when) for when in asked.get(p.target, [()]))
                mentioned = {r.name for r in refs(p.body, p.where)}
                for name, present in (w for w in first if w[0] in mentioned and all(w in other for other in others)):
                    branches = (p.body, ZERO) if present else (ZERO, p.body)
                    p = replace(p, body=apply("given", ref(name), *branches))
                split = self._variants(p)
            for q in split:
                for r in refs(q.body, *q.subscripts, q.where):
                    asked.setdefault(r.name, []).append(q.when)
            done += reversed(split)
        self._pending = done[::-1]

    def _variants(self, pending: Pending) -> list[Pending]:
        """The equations that `pending` is, for what optional inputs are given."""
        split: list[Pending] = []
        settled = dict(pending.when)
        optional = [t.name for t in self.tensors.values() if t.optional and not settled.get(t.name)]
        outside = refs(*pending.subscripts, pending.where)
        around = {r.name for r in outside if r.name in optional}
        for body, when in variants(pending.body, optional, pending.reduce in ("none", "sum"), self.name):
            absent = {name for name, present in when if not present}
            if absent and body is ZERO and (pending.reduce != "none" or absent & around):
                continue  # it stands in a given(...) that is settled the other way, and is not read
            loose = sorted(around - {name for name, present in when if present})
            if loose:
                raise DeclarationError(
                    f"{self.name}: {loose[0]} is optional, and tells which elements of {pending.target} are written. "
                    f"Say what counts without it: given({loose[0]}, then, otherwise)."
                )
            body, finite = without_neutral(pending.reduce, body)
            where = conjunction((pending.where, finite))
            check_numbers(self.name, body)
            found = replace(pending, body=body, where=where, when=(*pending.when, *when))
            split.append(self._without_idle(found, pending.order))
        return split

    def _without_idle(self, p: Pending, order: Sequence[Index]) -> Pending:
        """`p` without the reduced indices of `order` that it does not mention: they only repeat the body."""
        if p.reduce in MATRICES:
            return p
        mentioned = indices(*p.subscripts, p.body, p.where)
        idle = [i for i in order if i not in mentioned]
        body = p.body
        for i in idle:
            if p.reduce == "argmax":
                raise DeclarationError(f"{self.name}: every {i.name} is as good in argmax[{i.name}] of {show(body)}.")
            if i not in p.extents:
                raise DeclarationError(
                    f"{self.name}: nothing tells how far {i.name} runs in {show(body)}, where an optional input is "
                    f"absent. Say it: {p.reduce}[{i.name}:n](...)."
                )
            body = substitute(body, {self.extent(i): p.extents[i]})
            body = repeated(p.reduce, body, p.extents[i], {o.name for o in self.options})
        kept = {i: e for i, e in p.extents.items() if i not in idle}
        reduced = {*mentioned, *kept} - set(indices(*p.subscripts))
        return replace(p, reduce=p.reduce if reduced else "none", body=body, extents=kept)

    # finishing

    def finish(self, outputs: Sequence[str], formula: str = "", source: str = "") -> Function:
        """Return the Function; `outputs` are names of tensors that equations define.

        Raises ShapeError for an index or size with two extents, or with none; DeclarationError for an unknown name;
        UnsupportedError for a recurrence.
        """
        self._split_hoisted()
        self._check_references(outputs)
        if not self.scratch:
            self._check_infinities()
        self._pending = axes_as_read(self._pending, set(self._hoisted.values()))
        self._check_optional(outputs)
        extents, shapes = Ranges(self.name, self.tensors, self._shapes, self._pending, self.unfinished).solve()
        equations = []
        for number, p in enumerate(self._pending):
            box = tuple((i, extents[number, i]) for i in p.order)
            known = {ref(EXTENT, i): e for i, e in box}
            where = None if p.where is ONE else substitute(p.where, known)
            body = substitute(p.body, known)
            subscripts = tuple(substitute(s, known) for s in p.subscripts)
            equations.append(Equation(p.target, subscripts, p.reduce, body, box, where, p.when))
        equations, dtypes = with_dtypes(where_read(self._ordered(equations), outputs), self.tensors, self.options)
        tensors = dict(self.tensors)
        for target in dict.fromkeys(p.target for p in self._pending if p.target in dtypes):
            role = Role.OUTPUT if target in outputs else Role.LOCAL
            named = target in self._named
            tensors[target] = Tensor(target, shapes[target], dtypes[target], role, named=named)
        self._check_packs(equations)
        required = tuple(dict.fromkeys((*self._required(), *_tall(equations))))
        function = Function(
            name=self.name,
            dims=tuple(self.dims.values()),
            tensors=tuple(tensors.values()),
            statements=tuple(equations),
            inputs=tuple(self.tensors),
            outputs=tuple(outputs),
            options=tuple(self.options),
            formula=formula,
            source=source,
        )
        inside = Preconditions(function, required).inside
        function = on_demand(function, chosen=lambda e: e.target in self.on_demand and not inside(e))
        more = (c for c in bounds(function, required) if not self._follows(c))
        return replace(function, constraints=tuple(dict.fromkeys((*required, *more))))

    def _check_infinities(self) -> None:
        for p in self._pending:
            if not (has_value(p.body) and has_value(p.where)):
                place = show_element(p.target, p.subscripts)
                raise DeclarationError(f"{self.name}: in {place}, {NO_INFINITY}")

    def _check_references(self, outputs: Sequence[str]) -> None:
        if not outputs:
            raise DeclarationError(f"{self.name} returns nothing; a function has at least one output.")
        ranks: dict[str, int] = {n: len(t.shape) for n, t in self.tensors.items()}
        ranks |= {p.target: len(p.subscripts) for p in self._pending}
        numbers = {*self.dims, *(o.name for o in self.options), EXTENT}
        for t in self.tensors.values():
            self._check_literals(t.name, t.shape)
        for p in self._pending:
            self._check_literals(p.target, p.subscripts, p.extents.values())
            for r in refs(*p.subscripts, p.body, p.where, *p.extents.values()):
                self._check_literals(r.name, r.subscripts)
                if r.name in numbers:
                    continue
                if r.name not in ranks:
                    raise DeclarationError(
                        f"{self.name}: {show_element(p.target, p.subscripts)} mentions {r.name}, "
                        f"which is not declared. "
                        f"Known: {', '.join([*ranks, *sorted(n for n in numbers if n[0] != '#')])}."
                    )
                if len(r.subscripts) != ranks[r.name]:
                    raise ShapeError(
                        f"{self.name}: {show_element(r.name, r.subscripts)} has {len(r.subscripts)} subscripts; "
                        f"{r.name} has {ranks[r.name]} axes."
                    )
            for i in () if self.scratch else p.order:
                if i.name in ranks or i.name in self.dims and not is_pack(i):
                    raise DeclarationError(f"{self.name}: {i.name} is both an index and the name of a tensor or size.")
        for name in outputs:
            if name not in ranks or name in self.tensors:
                raise DeclarationError(f"{self.name}: the output {name} is not defined by any equation.")

    def _check_literals(self, name: str, places: Sequence[Expr], extents: Iterable[Expr] = ()) -> None:
        """Refuse a literal place or size that makes arrays so long that no check would come to its end."""
        if any(is_exact(s) and value_of(s) > MOST_LITERAL for s in (*places, *extents)):
            what = show_element(name, tuple(places))
            raise DeclarationError(
                f"{self.name}: an axis of {what} is longer than {MOST_LITERAL}, which takes too long to check. "
                f"Make the size a name, x[n], and the place an input, t[]: int, or an option."
            )

    def _check_optional(self, outputs: Sequence[str]) -> None:
        """Refuse a size that nothing tells, and a result that nothing defines, where an optional input is absent."""
        told = {n.name for t in self.tensors.values() if not t.optional for e in t.shape for n in refs(e)}
        for tensor in self.tensors.values():
            for size in (n.name for e in tensor.shape for n in refs(e)):
                if size not in told:
                    raise DeclarationError(
                        f"{self.name}: only {tensor.name} tells the size {size}, and {tensor.name} is optional. "
                        f"Give an input that is always there an axis of {size}, or a number in the place of {size}."
                    )
        asked: dict[str, list[When]] = {}
        for p in self._pending:
            asked.setdefault(p.target, []).append(p.when)
        for target, whens in ((t, w) for t, w in asked.items() if t in outputs or t in self._named - self._sometimes):
            names = list(dict.fromkeys(name for when in whens for name, _ in when))
            for given in itertools.product((True, False), repeat=len(names)):
                here = dict(zip(names, given, strict=True))
                if not any(all(here[name] == present for name, present in when) for when in whens):
                    absent = next(name for name in names if not here[name])
                    raise DeclarationError(
                        f"{self.name}: {target} is nothing without {absent}, which is optional. "
                        f"Say what counts then: given({absent}, then, otherwise)."
                    )

    def _ordered(self, equations: Sequence[Equation]) -> tuple[Equation, ...]:
        try:
            return ordered(equations)
        except Cycle as cycle:
            raise UnsupportedError(
                f"{self.name}: {cycle} is computed from itself, and no loop does that: {cycle.why}. In a recurrence "
                f"such as h[t+1] = f(h[t]), each element is computed from those a fixed number of steps before it."
            ) from None

    def _check_packs(self, equations: Sequence[Equation]) -> None:
        for e in equations:
            packs = [i.name for i, _ in e.box if is_pack(i)]
            if len(packs) > 1:
                raise UnsupportedError(
                    f"{self.name}: {show_element(e.target, e.subscripts)} runs over two packs, {' and '.join(packs)}, "
                    f"and shapes of unknown rank cannot be combined. Give all but one of them named axes."
                )


def _tall(equations: Sequence[Equation]) -> Iterable[Expr]:
    """What must hold of the sizes for a QR decomposition: at least as many rows as columns."""
    for e in equations:
        if e.reduce.startswith("qr"):
            (_, m), (_, n) = e.reduced
            if not never_negative(tidy(m - n)):
                yield apply("le", n, m)


def fresh_indices(count: int, taken: Iterable[str]) -> tuple[Index, ...]:
    """`count` one-letter indices that are not in `taken`."""
    return tuple(map(index, itertools.islice(fresh_letters({*taken}), count)))


def is_sum(node: Expr) -> bool:
    """Whether terms, or one with a minus, are what it is made of."""
    return isinstance(node, Apply) and node.op in ("add", "sub", "neg")


def evaluated_with(node: Expr) -> Sequence[Expr]:
    """What is evaluated wherever `node` is."""
    lazy = isinstance(node, Apply) and node.op in OPS and OPS[node.op].lazy
    return node.args[:1] if lazy else node.args
