"""Pallas: the function that JAX differentiates, with fused kernels for forward and backward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ..errors import UnsupportedError
from ..expr import Expr, Index, Ref, indices, product, ref, substitute
from ..ir import Dtype, Equation, Tensor, When
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
from .jax import Jax
from .jax import _File as JaxFile
from .options import PAIR
from .pallas_kernel import BlockText, KernelExpressions
from .python_sizes import is_pack, shape, size
from .python_statements import is_given, named, present
from .triton_elements import Surroundings
from .triton_expressions import Value
from .triton_kernel import parts_of, texts

Choice = tuple[list[BlockText], list[BlockText]]  # of rows that a program takes at once, and of others
REAL, DTYPE = Word("real"), Word("dtype")


class Pallas(Jax):
    """The target `pallas`."""

    name = dialect = "pallas"
    takes = ("save",)
    instead = MappingProxyType({"functions": "It has forward and backward alone."})
    forward_mode = False
    style = "loops"
    calls = frozenset[str]()

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
        self.flat = flatten(program)
        self.names = size_names(program)
        self.packs: dict[Expr, Expr] = {
            ref(new): ref(dim) for dim, new in self.names.items() if dim in self.primal.packs
        }
        sizes = tuple(d.name for d in self.primal.dims)
        self.forward = replace(self.forward, statements=(), counts=(), kept={}, sizes=sizes)
        self.backward = replace(self.backward, statements=(), counts=(), kept={}, sizes=sizes)
        self.entered, self.left, self.narrowed, self.restored = [], [], (), ()
        self.chosen = {which: self._texts(getattr(self.flat, which), which) for which in PAIR}

    def _texts(self, procedure: Procedure, which: str) -> list[Choice]:
        """The kernels of forward or of backward, in order."""
        primal = self.flat.derivative.primal
        options = {o.name: o.dtype for o in primal.options}
        optional = [n for n in primal.inputs if self.flat.table[n].optional]
        where = primal.name, self.flat.table_of(procedure), [*self.names.values()], options
        around = _Surroundings("", *where, optional, procedure.reads, {})
        return texts(kernels(self.flat, procedure, "pallas"), which, around, BlockText)

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
        ways = [[line for text in texts for line in self._launch(text, which)] for texts in choice]
        if not choice[1]:
            return ways[0]
        held = dict.fromkeys((t.lanes.total, t.kernel.keeps) for t in choice[0] if not t.kernel.apart | bool(t.kernel.walks))
        asked = [call("_fits", self._size(n), *([Word("True")] if keeps else [])) for n, keeps in held]
        return [py.If(py.joined("and", asked), *ways)]

    def _size(self, extent: Expr) -> Expression:
        return size(substitute(extent, self.packs))

    def _given(self, when: When, which: str) -> Expression | None:
        asked = present(Guard((), when, ()), None if which == PAIR[0] else self.program)
        return py.joined("and", asked) if asked else None

    def _launch(self, text: BlockText, which: str) -> list[py.Statement]:
        """The launch of a kernel, and its results in the shapes that they have."""
        kernel, views = text.kernel, _Views(self, text.kernel)
        values: dict[str, Expression] = {n.name: self._size(ref(n.name)) for n in text.keywords if n.name in text.sizes}
        values |= {n: Name(n) for n in self.options if Name(n) in text.keywords}
        for name in text.asked:
            given = self._given(((name, True),), which)
            assert given is not None
            values[f"has_{name}"] = given
        values |= {text.real.name: REAL} if text.uses_real else {}
        own = Word(text.around.name)
        function = call("functools.partial", own, **values) if values else own
        operands = []
        for node in text.elements.operands:
            given = is_given(node.name, False) if self.flat.table[node.name].optional else None
            view = views.operand(node)
            operands.append(view if given is None else py.Operation("select", (given, py.NONE, view)))
        results = [self._result(name, *told, text, views) for name, told in text.stores.items()]
        way = "walk" if kernel.walks else "apart" if kernel.apart else ""
        extents = views.rows if kernel.flat else py.Several((views.rows, views.lanes))
        launched = call(
            "_launch_elements" if kernel.flat else "_launch",
            function, extents, py.Several(tuple(operands), "["), py.Several(tuple(results), "["),
            **({"way": py.text(way)} if way else {}),
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
        tensor = self.flat.table.get(name)
        kept = tensor is not None and not how and name not in text.kernel.parts
        typed = kept and name in (*self.primal.outputs, *self.returned())
        dtype: Expression = DTYPE if typed else REAL
        if tensor is not None and tensor.dtype != Dtype.REAL:
            dtype = call("jnp.result_type", Word("int" if tensor.dtype == Dtype.INT else "bool"))
        return py.Several((views.block(along, how), dtype, py.text(how)))

    def _shaped(self, step: Step, text: BlockText, views: _Views) -> Expression:
        """A result in its shape, and its type."""
        name, kernel, first = step.target, text.kernel, step.equations[0]
        tensor, whole = self.flat.table[name], self.program.table[name].shape
        value: Expression
        if name in kernel.scattered:
            order = views.order(*(i for i, _ in first.box))
            terms = method(Name(parts_of(name)), "reshape", *map(views.extent, order))
            zeros = call("jnp.zeros", shape(tuple(substitute(e, self.packs) for e in tensor.shape)), REAL)
            places = tuple(views.place(s, order) for s in first.subscripts)
            value = method(py.Element(py.Attribute(zeros, "at"), places), "add", terms)
        else:
            views.refuse(first, tensor)
            value, order = Name(name), views.order(*indices(*first.subscripts))
            rest = [i for i in views.own_rows if i not in order] if name in kernel.parts else []
            if rest and order and not {*order}.isdisjoint(views.own_rows):
                every = views.order(*views.own_rows, *order)
                value = method(value, "reshape", *map(views.extent, every))
                axes = py.Several(tuple(integer(every.index(i)) for i in rest))
                value = call(f"jnp.{first.reduce}", value, axis=axes)
            moved = [*first.subscripts] != order
            if moved:
                value = method(value, "reshape", *map(views.extent, order))
                value = method(value, "transpose", *(integer(order.index(s)) for s in first.subscripts))  # type: ignore[arg-type]
        if name in kernel.scattered or not views.is_seen(first.subscripts, self.program.table[name].shape):
            value = method(value, "reshape", shape(whole))
        narrow = name in (*kernel.parts, *kernel.scattered) and name in (*self.primal.outputs, *self.returned())
        return method(value, "astype", DTYPE) if narrow else value


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
        if any(substitute(e, self.file.packs) is not e or not isinstance(e, Ref) or is_pack(e) for e in whole):
            return False
        mine = [[*self.own_rows], []] if self.kernel.flat else [self.own_rows, self.own_lanes]
        return [*subscripts] == [i for some in mine for i in some] and all(len(s) == 1 for s in mine if s or not self.kernel.flat)

    def operand(self, node: Ref) -> Expression:
        """An element of each row and lane."""
        there = {*indices(node)}
        groups = [some for some in (self.own_rows, self.own_lanes) if not there.isdisjoint(some)]
        order = [i for some in groups for i in some]
        found = self.gathered(node, order)
        if not {*order} <= there:
            found = call("jnp.broadcast_to", found, py.Several(tuple(map(self.extent, order))))
        elif self.is_seen(node.subscripts, self.file.program.table[node.name].shape):
            return found
        block = self.block(frozenset(there))
        assert isinstance(block, py.Several)
        return method(found, "reshape", *block.items)

    def gathered(self, node: Ref, order: Sequence[Index]) -> Expression:
        """The elements with an axis for each index; of one element where they do not differ."""
        there = [i for i in order if i in indices(node)]
        whole, flat = self.file.program.table[node.name].shape, self.file.flat.table[node.name].shape
        found: Expression = Name(node.name)
        plain = len({*node.subscripts}) == len(node.subscripts) and all(isinstance(s, Index) for s in node.subscripts)
        if plain and [*node.subscripts] == there == [*order]:
            return found
        if [*whole] != [*flat]:
            found = method(found, "reshape", *map(self.file._size, flat))
        if plain and [*node.subscripts] != there:
            found = method(found, "transpose", *(integer(node.subscripts.index(i)) for i in there))
        elif not plain:
            found = py.Element(found, tuple(self.place(s, there) for s in node.subscripts))
        if there != [*order]:
            found = py.Element(found, tuple(py.Cut() if i in there else py.NONE for i in order))
        return found

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

    def refuse(self, e: Equation, tensor: Tensor) -> None:
        """What is not written as a whole."""
        own = [s for s in e.subscripts if isinstance(s, Index)]
        if len({*own}) < len(e.subscripts) or [*tensor.shape] != [dict(e.box)[s] for s in own]:
            raise UnsupportedError(
                f"{self.file.primal.name}: {e.target} is put together of parts, and pallas has no such kernel. "
                f"Print jax: --to jax."
            )
