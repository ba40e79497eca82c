"""Pallas: the function that JAX differentiates, with fused kernels for forward and backward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ..domain import Domain
from ..errors import UnsupportedError
from ..expr import Apply, Expr, Index, Ref, apply, indices, product, ref, refs, substitute
from ..expr.sizes import never_negative
from ..ir import Dtype, Tensor, When
from ..plan import Program
from ..plan.arrays.commands import Guard
from ..plan.kernels import Kernel, kernels
from ..plan.loops import flatten, size_names
from ..plan.program import Procedure, Step
from ..records import replace
from ..source import python as py
from ..source.layout import listed
from ..source.python import Assign, Expression, Name, Word, call, integer, method
from . import primitives
from .frameworks import PallasArtefact
from .handwritten import handwritten
from .jax import Jax, JaxFile
from .options import PAIR
from .pallas_kernel import BlockText, KernelExpressions, KernelWords
from .python_expressions import dtype_of
from .python_sizes import axis, is_pack, shape, size
from .python_statements import is_given, named, present
from .triton_elements import Surroundings
from .triton_expressions import Value
from .triton_kernel import texts

Choice = tuple[list[BlockText], list[BlockText]]  # of rows that a program takes at once, and of others
REAL, DTYPE, KERNEL, WAY = Word("real"), Word("dtype"), Word("kernel"), Word("way")


class Pallas(Jax):
    """The target `pallas`."""

    name = dialect = "pallas"
    takes = ("save",)
    instead = MappingProxyType({"functions": "It has forward and backward alone."})
    forward_mode = False
    style = "loops"
    calls = frozenset[str]()
    narrow = True

    def module(self, program: Program, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: JAX has nothing to differentiate.")
        if own := [op.about.name for op in primitives.of(program)]:
            raise UnsupportedError(f"{primal.name} calls {listed(own)}, which pallas does not know. Print jax.")
        return _File(program).module(header)

    def load(self, program: Program, files: Mapping[str, str]) -> PallasArtefact:
        """Import the printed text as a module."""
        return PallasArtefact(program, self.module_of(program, files))


class _File(JaxFile):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.own = Word("_differentiable")  # no function of the file that stands for an operator is called so
        self.flat = flatten(program)
        self.names = size_names(program)
        self.packs: dict[Expr, Expr] = {
            ref(new): ref(dim) for dim, new in self.names.items() if dim in self.primal.packs
        }
        sizes = tuple(d.name for d in self.primal.dims)
        self.forward = replace(self.forward, statements=(), counts=(), kept={}, sizes=sizes)
        self.backward = replace(self.backward, statements=(), counts=(), kept={}, sizes=sizes)
        self.entered, self.left, self.narrowed, self.restored = [], [], (), ()
        steps = [leaf for w in PAIR for item in getattr(program, w).steps for leaf in item.leaves]
        self.absent = [*self.primal.optional, *(step.target for step in steps if step.when)]  # None, it may be
        self.chosen = {which: self._texts(getattr(self.flat, which), which) for which in PAIR}

    def _texts(self, procedure: Procedure, which: str) -> list[Choice]:
        """The kernels of forward or of backward, in order."""
        primal = self.flat.derivative.primal
        options = {o.name: o.dtype for o in primal.options}
        where = primal.name, self.flat.table_of(procedure), [*self.names.values()], options
        around = _Surroundings("", *where, self.absent, procedure.reads, {}, {})
        return texts(kernels(self.flat, procedure, to="pallas"), which, around, BlockText)

    # the file

    @property
    def handwritten(self) -> Mapping[str, py.Verbatim]:
        own = {word: h for word, h in handwritten("pallas").items() if word != "_NAME"}
        return {**handwritten("jax"), **own}

    def imports(self, used: Collection[str]) -> list[py.Import]:
        pallas = [py.Import("pallas", "pl", source="jax.experimental")] if "pl" in used else []
        triton = [py.Import("triton", source="jax.experimental.pallas")] if "triton" in used else []
        return [*super().imports(used), *pallas, *triton]

    def module(self, header: Sequence[str]) -> py.Module:
        found = super().module(header)
        constants = [d for d in found.body if isinstance(d, py.Verbatim) and d.name.name.isupper()]
        left = [d for d in found.body if d not in constants]
        name = Assign(Word("_NAME"), py.text(self.primal.name))
        return replace(found, body=(py.Space(), name, *constants, *left))

    def functions(self) -> list[py.Def | py.Statement]:
        ruled, forward, backward, *rule = super().functions()
        own = {w: [t.function for pair in self.chosen[w] for some in pair for t in some] for w in PAIR}
        return [ruled, *own[PAIR[0]], forward, *own[PAIR[1]], backward, *rule]

    @property
    def errors(self) -> tuple[str, ...]:
        said = "Half precision is computed in float32. Kernels are compiled for TPUs and GPUs; a CPU interprets them."
        return (*super().errors, said)

    def rules(self) -> Mapping[str, Sequence[py.Definition]]:
        return {}

    def tree(self, like: str) -> KernelWords:
        return KernelWords(dtype_of(like), self.options, self.needs)

    def forward_sizes(self) -> list[str]:
        return [d.name for d in self.primal.dims]

    def lines(self) -> Any:
        return _Lines(self._launches(PAIR[0], Name(self.like or self.primal.inputs[0])))

    @cached_property
    def body(self) -> list[py.Statement]:
        return self._launches(PAIR[1], Name(self.seeds[0]))

    # launches

    def _launches(self, which: str, like: Name) -> list[py.Statement]:
        lines = [line for choice in self.chosen[which] for line in self._chosen(choice, which)]
        used = py.words_in(lines)
        types = [Assign(DTYPE, py.Attribute(like, "dtype"))] if {"dtype", "real"} & used else []
        return [*types, *([Assign(REAL, call("_wide", DTYPE))] if "real" in used else []), *lines]

    def _chosen(self, choice: Choice, which: str) -> list[py.Statement]:
        """The launches of rows that are taken at once, or of others; once, if all else is the same."""
        short, long = choice
        ways = [[line for text in texts for line in self._launch(text, which)] for texts in choice]
        if not long:
            return ways[0]
        held = dict.fromkeys((t.lanes.total, t.kernel.keeps) for t in short if not t.way)
        asked = py.joined("and", [call("_fits", self._size(n), *[Word("True")] * keeps) for n, keeps in held])
        if len(short) == len(long) == 1:
            first, other = (self._launch(text, which, (KERNEL, WAY)) for (text,) in choice)
            if first == other:
                both = (py.bare([Word(t.around.name), py.text(t.way)]) for (t,) in choice)
                return [py.If(asked, *([Assign(py.bare([KERNEL, WAY]), pair)] for pair in both)), *first]
        return [py.If(asked, *ways)]

    def _size(self, extent: Expr) -> Expression:
        own = substitute(extent, self.packs)
        return size(own) if is_pack(own) else axis(own)

    def _given(self, when: When, which: str) -> Expression | None:
        asked = present(Guard((), when, ()), None if which == PAIR[0] else self.program)
        return py.joined("and", asked) if asked else None

    def _launch(self, text: BlockText, which: str, called: tuple[Word, Word] | None = None) -> list[py.Statement]:
        """The launch of a kernel, and its results in the shapes that they have; or of what is called so."""
        kernel, views = text.kernel, _Views(self, text.kernel)
        values: dict[str, Expression] = {n.name: self._size(ref(n.name)) for n in text.keywords if n.name in text.sizes}
        values |= {n: Name(n) for n in self.options if Name(n) in text.keywords}
        for name in text.asked:
            given = self._given(((name, True),), which)
            assert given is not None
            values[f"has_{name}"] = given
        values |= {text.real.name: REAL} if text.uses_real else {}
        own, way = called or (Word(text.around.name), py.text(text.way))
        function = call("functools.partial", own, **values) if values else own
        operands = []
        for node in text.elements.operands:
            view, absent = views.operand(node), is_given(node.name, False)
            operands.append(py.Operation("select", (absent, py.NONE, view)) if node.name in self.absent else view)
        results = [self._result(name, *told, text, views) for name, told in text.stores.items()]
        extents = views.rows if kernel.flat else py.Several((views.rows, views.lanes))
        launched = call(
            "_launch_elements" if kernel.flat else "_launch",
            function, extents, py.Several(tuple(operands), "["), py.Several(tuple(results), "["),
            **({"way": way} if called or text.way else {}),
        )  # fmt: skip
        lines: list[py.Statement] = [Assign(py.targets(named([*text.stores])), launched)]
        steps = [kernel.step(n) for n in kernel.results]
        for step in steps:
            value, when = self._shaped(step, text, views), self._given(step.when, which)
            if when is not None:
                value = py.Operation("select", (when, value, py.NONE))
            lines += [] if value == Name(step.target) else [Assign(Name(step.target), value)]
        return lines

    def _result(self, name: str, along: frozenset[Index], how: str, text: BlockText, views: _Views) -> Expression:
        """The shape and the dtype of a result, and how the parts of programs are added up."""
        target = next((n for n, some in text.placed.items() if name in [own for own, _ in some]), name)
        dtype = REAL if how or target in (*text.kernel.scattered, *text.kernel.parts) else self._dtype(target)
        return py.Several((views.block(along, how), dtype, py.text(how)))

    def _dtype(self, name: str) -> Expression:
        """The type of what is computed: that of the inputs if it is returned."""
        dtype = self.flat.table[name].dtype
        if dtype != Dtype.REAL:
            return call("jnp.result_type", Word("int" if dtype == Dtype.INT else "bool"))
        return DTYPE if name in (*self.primal.outputs, *self.returned()) else REAL

    def _shaped(self, step: Step, text: BlockText, views: _Views) -> Expression:
        """A result in its shape, and its type; what is put together of parts is added to zeros."""
        name, tensor, whole = step.target, self.flat.table[step.target], self.program.table[step.target].shape
        scattered, part = name in text.kernel.scattered, name in text.kernel.parts
        (own, subscripts), *others = text.placed[name]
        value: Expression
        if others or scattered or not views.is_whole(subscripts, tensor):
            extents = py.Several(tuple(map(self._size, tensor.shape)))
            value = call("jnp.zeros", extents, REAL if scattered or part else self._dtype(name))
            for own, subscripts in text.placed[name]:
                box = (i for i, _ in step.equations[0].box) if scattered else indices(*subscripts)
                terms, order = self._piece(own, step, text, views, views.order(*box))
                terms = method(terms, "reshape", *map(views.extent, order))
                axes = views.axes(subscripts, tensor.shape)
                if axes is None:
                    places = tuple(views.place(s, order) for s in subscripts)
                else:
                    places = views.cuts(axes, tensor.shape) or (Word("..."),)
                    terms = views.moved(terms, order, axes)
                    if any(len(some) > 1 for some in axes):
                        terms = reshaped(terms, [*map(views.extents_of, axes)])
                there = axes is not None or views.is_inside(subscripts, tensor.shape)
                own_place = value if there else call("_there", value)
                value = method(py.Element(py.Attribute(own_place, "at"), places), "add", terms)
                if not there:  # an empty one is empty again
                    value = py.Element(value, tuple(py.Cut(None, self._size(n)) for n in tensor.shape))
            seen = [*whole] == [*tensor.shape]
        else:
            value, order = self._piece(own, step, text, views, views.order(*indices(*subscripts)))
            seen = value == Name(own) and views.is_seen(subscripts, whole)
            if [*subscripts] != order:
                axes = views.axes(subscripts, tensor.shape)
                assert axes is not None, "it is a whole tensor"
                value = views.moved(method(value, "reshape", *map(views.extent, order)), order, axes)
        if not seen:
            value = reshaped(value, [shape(whole)])
        narrow = name in (*self.primal.outputs, *self.returned())
        return method(value, "astype", DTYPE) if narrow and (scattered or part) else value

    def _piece(
        self, own: str, step: Step, text: BlockText, views: _Views, order: list[Index]
    ) -> tuple[Expression, list[Index]]:
        """What a launch returns, along these indices; what each row has a part of is added up here."""
        along, _ = text.stores[own]
        rest = [i for i in views.own_rows if i in along and i not in order]
        if not rest:
            return Name(own), order
        every = views.order(*along)
        summed = tuple(integer(every.index(i)) for i in rest)
        value = method(Name(own), "reshape", *map(views.extent, every))
        how = step.equations[0].reduce
        return call(f"jnp.{how}", value, axis=summed[0] if len(summed) == 1 else py.Several(summed)), order


def reshaped(value: Expression, extents: Sequence[Expression]) -> Expression:
    """An array in a shape, whatever its shape was."""
    match value:
        case py.Call(py.Attribute(inner, "reshape"), _):
            value = inner
    return method(value, "reshape", *extents)


class _Lines:
    """The lines of forward, as those of arrays are asked for."""

    def __init__(self, lines: list[py.Statement]) -> None:
        self.found = lines

    def procedure(self, _: object) -> list[py.Statement]:
        return self.found


class _Surroundings(Surroundings):
    """The same, of numbers that JAX does not trace."""

    def is_plain(self, option: str) -> bool:
        return True


class _Views:
    """Tensors as the rows and lanes of a kernel."""

    def __init__(self, file: _File, kernel: Kernel) -> None:
        self.file, self.kernel = file, kernel
        self.own_rows, self.own_lanes = [i for i, _ in kernel.rows], [i for i, _ in kernel.lanes]
        self.extents = {**dict(kernel.rows), **dict(kernel.lanes)}
        self.rows, self.lanes = (file._size(product(e for _, e in some)) for some in (kernel.rows, kernel.lanes))

    def extent(self, i: Index) -> Expression:
        """How far an index runs."""
        return self.file._size(self.extents[i])

    def order(self, *some: Index) -> list[Index]:
        """Indices in the order of rows and lanes."""
        return [i for i in (*self.own_rows, *self.own_lanes) if i in some]

    def block(self, along: frozenset[Index], how: str = "") -> Expression:
        """How many rows and lanes what runs along these indices has."""
        there = [not along.isdisjoint(some) for some in (self.own_rows, self.own_lanes)]
        if self.kernel.flat and there[0] and not how:
            return py.Several((self.rows,))
        sizes = [n if own else integer(1) for n, own in zip((self.rows, self.lanes), there, strict=True)]
        return py.Several(tuple(sizes) if not how else (integer(1), sizes[1]))

    def is_seen(self, subscripts: Sequence[Expr], whole: Sequence[Expr]) -> bool:
        """Whether a tensor of this shape is rows and lanes as it is."""
        mine = [self.own_rows, self.own_lanes][: 1 if self.kernel.flat else 2]
        alone = all(len(some) == 1 for some in mine) and not any(map(is_pack, whole))
        return alone and [*subscripts] == [i for some in mine for i in some]

    def operand(self, node: Ref) -> Expression:
        """An element of each row and lane."""
        there = {*indices(node)}
        groups = [some for some in (self.own_rows, self.own_lanes) if not there.isdisjoint(some)]
        order = [i for some in groups for i in some]
        found = self.gathered(node, order)
        if not {*order} <= there:
            found = call("jnp.broadcast_to", found, py.Several(tuple(map(self.extent, order))))
        elif [*node.subscripts] == order and self.is_whole(node.subscripts, self.file.flat.table[node.name]):
            found = Name(node.name)
        if self.is_seen(node.subscripts, self.file.program.table[node.name].shape):
            return found
        block = self.block(frozenset(there))
        assert isinstance(block, py.Several)
        return reshaped(found, block.items)

    def gathered(self, node: Ref, order: Sequence[Index]) -> Expression:
        """The elements with an axis for each index; of one element where they do not differ."""
        there = [i for i in order if i in indices(node)]
        whole, flat = self.file.program.table[node.name].shape, self.file.flat.table[node.name].shape
        found: Expression = Name(node.name)
        if [*whole] != [*flat]:
            found = method(found, "reshape", *map(self.file._size, flat))
        axes = self.axes(node.subscripts, flat)
        if axes is None:
            found = found if self.is_inside(node.subscripts, flat) else call("_there", found)
            found = py.Element(found, tuple(self.place(s, there) for s in node.subscripts))
        else:
            cuts = self.cuts(axes, flat)
            found = py.Element(found, cuts) if cuts else found
            if any(len(some) > 1 for some in axes):
                found = method(found, "reshape", *(self.extent(i) for some in axes for i in some))
            found = self.moved(found, [i for some in axes for i in some], [[i] for i in there])
        if there != [*order]:
            found = py.Element(found, tuple(py.Cut() if i in there else py.NONE for i in order))
        return found

    def is_inside(self, subscripts: Sequence[Expr], whole: Sequence[Expr]) -> bool:
        """Whether subscripts are inside for each row and lane; those that are data are asked for before."""
        domain = Domain.of((*self.extents.items(),))
        table = self.file.flat.table
        pairs = zip(subscripts, whole, strict=True)
        return all(any(r.name in table for r in refs(s)) or domain.inside(s, n) for s, n in pairs)

    def axes(self, subscripts: Sequence[Expr], whole: Sequence[Expr]) -> list[list[Index]] | None:
        """The indices that are the axes of a tensor, of `i*n + j` both; None where it is another element, or none."""
        found: list[list[Index]] = []
        for s in subscripts:
            match s:
                case Index():
                    found.append([s])
                case Apply(op="add", args=args):
                    own = [a for a in args if isinstance(a, Index)]
                    rest = [a for a in args if a not in own]
                    outer = [i for i in self.extents if own and rest == [apply("mul", i, self.extents[own[0]])]]
                    if len(own) != 1 or not outer:
                        return None
                    found.append([*outer, *own])
                case _:
                    return None
        every = [i for some in found for i in some]
        parts = [product(self.extents[i] for i in some) for some in found]
        fits = all(a is n or never_negative(n - a) for a, n in zip(parts, whole, strict=True))
        return found if fits and len({*every}) == len(every) else None

    def extents_of(self, some: Sequence[Index]) -> Expression:
        """How far an axis runs."""
        return self.file._size(product(self.extents[i] for i in some))

    def cuts(self, axes: Sequence[Sequence[Index]], whole: Sequence[Expr]) -> tuple[Expression, ...]:
        """The part of a tensor that its axes run along; nothing where that is all of it."""
        parts = [product(self.extents[i] for i in some) for some in axes]
        if [*parts] == [*whole]:
            return ()
        pairs = zip(parts, whole, strict=True)
        return tuple(py.Cut() if a is b else py.Cut(None, self.file._size(a)) for a, b in pairs)

    @staticmethod
    def moved(value: Expression, order: Sequence[Index], axes: Sequence[Sequence[Index]]) -> Expression:
        """An array with its axes in another order."""
        every = [i for some in axes for i in some]
        return value if every == [*order] else method(value, "transpose", *(integer(order.index(i)) for i in every))

    def place(self, subscript: Expr, order: Sequence[Index]) -> Expression:
        """A subscript as an array with an axis for each index."""
        table = self.file.flat.table

        def leaf(node: Index | Ref) -> Value:
            if isinstance(node, Index):
                later = len(order) - 1 - order.index(node)
                numbers = call("jnp.arange", self.extent(node))
                return Value(py.Element(numbers, (py.Cut(), *[py.NONE] * later)) if later else numbers, Dtype.INT)
            if node.name in table:
                return Value(self.gathered(node, order), Dtype.INT)
            return Value(self.file._size(node), Dtype.INT, True)

        return KernelExpressions(self.file.primal.name, leaf, REAL).place(subscript)

    def is_whole(self, subscripts: Sequence[Expr], tensor: Tensor) -> bool:
        """Whether these are the indices of a tensor, each along the whole of an axis."""
        axes = self.axes(subscripts, tensor.shape)
        return axes is not None and [*tensor.shape] == [self.extents[i] for some in axes for i in some]
