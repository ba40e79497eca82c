"""Triton: fused kernels for forward and backward, launched by two custom operators of torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from ..errors import UnsupportedError
from ..expr import Expr, apply, product, ref, refs, substitute
from ..expr.names import Names
from ..ir import Dtype, Tensor, covers
from ..plan import Program
from ..plan.arrays.half import autocast_of
from ..plan.kernels import Kernel, Scan, Streams, Tiles, Turn, in_turns
from ..plan.loops import flatten, size_names
from ..plan.program import Procedure
from ..records import replace
from ..source import python as py
from ..source.layout import listed
from ..source.python import NONE, Assign, Def, Do, Expression, Name, Operation, Word, call, method
from . import primitives
from .base import Artefact
from .handwritten import handwritten, respelled
from .options import PAIR
from .python_checks import RangeCheck, inputs_helper, printed_checks, promoted
from .python_names import PythonLanguage
from .python_sizes import name as size_name
from .python_sizes import size
from .python_statements import is_given, named, needed
from .torch import in_range, taken, type_helpers
from .torch_again import Again
from .torch_expressions import REDUCED, TorchExpressions
from .torch_operators import AGAIN, FORWARD, NEEDS, OPERATOR, OperatorFile
from .triton_elements import Surroundings
from .triton_helpers import helpers
from .triton_kernel import KernelText, is_placed, parts_of, places_of, texts, total_of
from .triton_load import Interpreted
from .triton_scans import ScanText
from .triton_streams import StreamText
from .triton_strides import Lies, batches, lies
from .triton_tiles import TileText

WARPS, STAGES = Word("warps"), Word("stages")
BLOCK, LANES, KERNEL, REAL, SHORT = Word("_BLOCK"), Word("_LANES"), Word("kernel"), Word("real"), Word("_SHORT")
# what stands at the head of a file, if its functions speak of a word
CONSTANTS = {
    "_BLOCK": "_BLOCK", "_LANES": "_LANES", "_LARGEST": "_block", "_SHORT": "_SHORT", "_CHUNK": "_chunk",
    "_TILE": "_tile", "_TILES": "_tiles", "_STREAMS": "_streams",
}  # fmt: skip
TEXTS: Mapping[type, type[KernelText]] = {Tiles: TileText, Streams: StreamText, Scan: ScanText}
Choice = tuple[list[KernelText], list[KernelText]]  # of short rows, and of long ones if those are others


class Triton(PythonLanguage):
    """The target `triton`."""

    name = dialect = "triton"
    instead = MappingProxyType({"functions": "It registers forward and backward alone."})
    executed = "numpy"
    style = "loops"
    calls = frozenset[str]()
    narrow = True
    again = "torch"

    def module(self, program: Program, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: torch has nothing to differentiate.")
        seeds = {seed for _, seed in program.derivative.seeds}
        if seeds.isdisjoint(r.name for e in program.derivative.equations for r in e.reads):
            raise UnsupportedError(f"{primal.name} depends on no input of real numbers. Print torch.")
        if own := [op.about.name for op in primitives.of(program)]:
            raise UnsupportedError(f"{primal.name} calls {listed(own)}, which triton does not know. Print torch.")
        return _File(program).module(header)

    def load(self, program: Program, files: Mapping[str, str]) -> Artefact:
        """Import the printed text in a process in which triton interprets kernels."""
        return Interpreted(program, files)


class _File(OperatorFile):
    def __init__(self, program: Program) -> None:
        primal = program.derivative.primal
        self.names = size_names(program)
        self.in_two: dict[str, tuple[str, str]] = {}
        self._plan(program)
        if found := batches(self._kernels(), self.flat.table, {self.names[pack]: pack for pack in primal.packs}):
            taken = Names(program.names)
            self.in_two = {pack: (taken.new("outer"), taken.new("inner")) for pack in found}
            self._plan(program)
        flat = self.flat
        self.texts = {
            which: [text for choice in self.chosen[which] for texts in choice for text in texts] for which in PAIR
        }
        both = ([d.name for d in primal.dims if self.names[d.name] in self._used(w, flat)] for w in PAIR)
        backward = self.texts[PAIR[1]]
        read = {n for t in backward for n in (*t.numbers, *self._extents(t, flat))}
        asked = [n for t in backward for n in t.presence]
        assert program.again is not None, "the pipeline plans it"
        super().__init__(program, (next(both), next(both)), read, asked, Again(program.again))

    def _plan(self, program: Program) -> None:
        """The kernels of both, with packs as one axis, or as two."""
        flat = self.flat = flatten(program, self.in_two)
        packs = program.derivative.primal.packs
        self.packs: dict[Expr, Expr] = {ref(self.names[dim]): ref(dim) for dim in packs if dim not in self.in_two}
        self.packs |= {ref(outer): ref(f"*{outer}") for outer, _ in self.in_two.values()}
        self.turns: dict[str, Turn | None] = {}
        self.lies: dict[str, dict[str, Lies]] = {}
        self.inside: set[int] = set()  # the kernels of turns
        self.chosen = {which: self._texts(flat, getattr(flat, which), which) for which in PAIR}

    def _kernels(self) -> list[Kernel]:
        return [t.kernel for which in PAIR for choice in self.chosen[which] for some in choice for t in some]

    def _texts(self, flat: Program, procedure: Procedure, which: str) -> list[Choice]:
        """The kernels of forward or of backward: in order, those for short rows and those for long ones."""
        primal = flat.derivative.primal
        own = {gradient: name for name, gradient in flat.derivative.gradients}
        optional = [n for n in primal.inputs if flat.table[n].optional]
        options = {o.name: o.dtype for o in primal.options}
        gradients = own if which != PAIR[0] else {}
        where = primal.name, flat.table_of(procedure), self._sizes_of_kernels(), options
        before, turn, behind = in_turns(flat, procedure)
        self.turns[which] = turn
        launched = (*before, *(turn.launched if turn else ()), *behind)
        self.lies[which] = lies((k for choice in launched for some in choice for k in some), flat.table_of(procedure))
        around = Surroundings("", *where, optional, procedure.reads, gradients, self.lies[which])
        if turn is None:
            return texts(before, which, around, lambda k, a: TEXTS.get(type(k), KernelText)(k, a))
        self.inside |= {id(k) for choice in turn.launched for some in choice for k in some}
        table, sizes = turn.table, [*around.sizes, turn.rows, turn.first]

        def made(kernel: Kernel, around: Surroundings) -> KernelText:
            around = replace(around, table=table, sizes=sizes) if id(kernel) in self.inside else around
            return TEXTS.get(type(kernel), KernelText)(kernel, around)

        return texts(launched, which, around, made)

    def _sizes_of_kernels(self) -> list[str]:
        """What sizes are called, with two for a pack that is two axes."""
        return [n for dim, name in self.names.items() for n in self.in_two.get(dim, (name,))]

    @staticmethod
    def _extents(text: KernelText, flat: Program) -> set[str]:
        """The sizes and options that a launch speaks of, besides those that are passed."""
        kernel = text.kernel
        shapes = [e for n in (*kernel.results, *kernel.parts) for e in flat.table[n].shape]
        return {r.name for e in (*shapes, *dict(kernel.box).values()) for r in refs(e)}

    def _used(self, which: str, flat: Program) -> set[str]:
        turn = self.turns[which]
        found = {n for t in self.texts[which] for n in (*t.sizes, *self._extents(t, flat))}
        found |= {r.name for n in self._packed(which) for e in flat.table[n].shape for r in refs(e)}
        found |= {self.names[pack] for pack, own in self.in_two.items() if not found.isdisjoint(own)}
        return found if turn is None else found | {r.name for e in turn.spoken for r in refs(e)}

    @cached_property
    def _checks(self) -> Def:
        return inputs_helper(self.program, self._in_range, promoted(self.primal), noun=self.noun)

    def _packed(self, which: str) -> list[str]:
        """What is passed strides of packs, each of them as one axis."""
        shapes = {n: self.flat.table[n].shape for n in self.lies[which]}
        return [n for n, shape in shapes.items() if not self.packs.keys().isdisjoint(refs(*shape))]

    def module(self, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        own = handwritten("triton")
        checks = [*printed_checks(self._checks), *type_helpers(self.primal)]
        about = (self.results_doc(), *self.arguments_doc())
        public = Def(Name(self.primal.name), tuple(self.parameters()), self._call(), about, public=True)
        texts = [text.function for which in PAIR for text in self.texts[which]]
        between: list[py.Statement] = [py.Space(), py.Space()]
        body: list[py.Definition | py.Statement] = [
            py.Space(),
            Assign(Word("_NAME"), py.text(self.primal.name)),
            OPERATOR,
        ]
        whole = [self.forward_operator(), self.results_maker(), self.backward_operator(), self.gradients_maker()]
        called = py.words_in(whole)
        body += [own[constant] for constant, word in CONSTANTS.items() if word in called]
        lacking = helpers(self.primal.name, py.words_in(texts), self.program)
        twin, *beside = self._in_torch({h.name for h in lacking} | {Word(w) for w in own})
        body += [public, *texts, *whole, self.keeper(), self.differentiator(), twin]
        body += [own["_keep_again"], own["_differentiate_again"], *between, FORWARD, AGAIN]
        found = [*checks, *(h for h in beside if h not in checks), *lacking]
        tables = {**handwritten("torch"), **own}
        words = {*py.words_in(found, body)} - {"_NAME", *CONSTANTS}
        done = {part.name.name for part in (*body, *found) if isinstance(part, (Def, py.Verbatim))}
        while more := [w for w in tables if w in words - done]:
            found += [tables[w] for w in more]
            done |= {*more}
            words |= {*py.words_in([tables[w] for w in more])} - {"_NAME", *CONSTANTS}
        modules = [m for m in ("functools", "math") if m in py.words_in(body, found)]
        triton = (py.Import("torch"), py.Import("triton"), py.Import("triton.language", "tl"))
        return py.Module(tuple(header), (tuple(map(py.Import, modules)), triton), (public.name,), (*body, *found))

    def _in_torch(self, taken: Collection[Name | Word]) -> list[py.Definition]:
        """Backward in operations of torch, and what it calls, by other names where kernels call something so."""
        assert self.again is not None
        twin = [self.twin(), *self.again.states()]
        beside, _ = self.again.completed(twin, [], handwritten("torch"))
        names = {h.name.name: f"{h.name.name}_in_torch" for h in beside if h.name in taken}

        def renamed(node: object) -> object:
            return Word(names.get(node.name, node.name)) if isinstance(node, Word) else None

        parts = (respelled(p, names) if isinstance(p, py.Verbatim) else py.mapped(p, renamed) for p in (*twin, *beside))
        return [*parts] if names else [*twin, *beside]

    @property
    def errors(self) -> tuple[str, ...]:
        """What it computes with, and what is raised."""
        products = any(isinstance(k, (Tiles, Streams)) for k in self._kernels())
        wrong = ", whose products of bfloat16 are wrong" if products else ""  # it has the bits as an integer
        where = f"Kernels run on a GPU, or in the interpreter{wrong}."
        said = [*super().errors, f"Half precision is computed in float32. {where}"]
        said += ["On a GPU what is read at a subscript out of range is NaN."] if self.program.indexed else []
        return tuple(said)

    def _in_range(self, primal: object, check: RangeCheck) -> py.Block:
        return in_range(self.primal, check, TorchExpressions(check.name, self.options))

    def _call(self) -> py.Block:
        outputs: list[Expression] = [*named(self.primal.outputs)]
        inputs, items = named(self.primal.inputs), self.program.forward.steps
        kind = autocast_of(self.primal.statements, self.primal.outputs, items, self.program.table)
        found = taken(self.program, self._checks, kind)
        result: Expression = call("_forward", *inputs, *named(self.options))
        if self.hidden:
            count = len(outputs)
            result = py.Element(result, (py.integer(0) if count == 1 else py.Cut(stop=py.integer(count)),))
        if len(inputs) > 1:
            found.append(Do(call("_one_device", **dict(zip(self.primal.inputs, inputs, strict=True)))))
        return [*found, self.reverse_mode_only(), py.Return(result)]

    # memory

    def empty(self, tensor: Tensor, like: Name, *flags: Expression) -> Expression:
        """Memory: of what is computed on the way in the type in which kernels compute."""
        found = self._memory(tensor, like, *flags)
        return self._zeros(found, like) if tensor.name in self._unfilled else found

    def _memory(self, tensor: Tensor, like: Name, *flags: Expression) -> Expression:
        found = super().empty(tensor, like, *flags)
        assert isinstance(found, py.Call)
        if tensor.dtype == Dtype.REAL and tensor.name not in (*self.primal.outputs, *self.gradient_names.values()):
            found = replace(found, arguments=(*found.arguments, py.Keyword("dtype", call("_precision", like))))
        return found

    @staticmethod
    def _zeros(memory: Expression, like: Name) -> Expression:
        """Memory that is 0."""
        assert isinstance(memory, py.Call)
        return replace(memory, function=py.Attribute(like, "new_zeros"))

    @cached_property
    def _unfilled(self) -> set[str]:
        """What kernels do not write every element of, be it in all turns of the loop over chunks."""
        found = set()
        for which in PAIR:
            turn = self.turns[which]
            rows = {} if turn is None else {ref(turn.rows): turn.chunks.extent}
            for text in self.texts[which]:
                if isinstance(text.kernel, Scan):
                    found |= {*text.kernel.results} - text.kernel.filled - text.kernel.there
                    continue
                for step in text.kernel.steps:
                    shape = text.around.table[step.target].shape
                    one = {
                        e.subscripts: replace(e, where=e.where if is_placed(e, shape) else None, when=())
                        for e in reversed(step.equations)
                    }
                    plain = [
                        replace(e, box=tuple((i, substitute(n, rows)) for i, n in e.box))
                        for s, e in one.items()
                        if not any(r.name in self.flat.table for x in s for r in refs(x))
                    ]
                    shape = self.flat.table[step.target].shape
                    if step.target not in text.kernel.scattered and not covers(plain, shape):
                        found.add(step.target)
        return found

    # launches

    def computed(self) -> list[py.Statement]:
        return self._launches(PAIR[0], Name(self.like or self.primal.inputs[0]), self.primal.inputs)

    def differentiated(self) -> list[py.Statement]:
        return self._launches(PAIR[1], Name(self.seeds[0]), (*self.program.saved, *self.seeds))

    def _launches(self, which: str, like: Name, given: Sequence[str]) -> list[py.Statement]:
        texts = self.texts[which]
        read = [n for n in given if any(n in t.read for t in texts)]
        found: list[py.Statement] = []
        for pack, (outer, inner) in self.in_two.items():
            axes = Operation("or", (size_name(pack), py.Several((py.integer(1),))))
            found.append(Assign(py.bare([py.Splat(Name(outer)), Name(inner)]), axes))
        found.append(Do(call("_on_gpu", like)))
        for name in [n for n in read if n in self.lies[which]]:
            how, packed = self.lies[which][name], name in self._packed(which)
            shape = map(self._size, self.flat.table[name].shape if packed else ())
            if how != Lies.strided:
                found.append(Assign(Name(name), call(f"_{how.name}", Name(name), *shape)))
            elif packed:
                found.append(Assign(Name(name), method(Name(name), "reshape", *shape)))
        if stored := named([n for n in read if n not in self.lies[which]]):
            found.append(Assign(py.targets(stored), call("_stored", *stored)))
        launched = self._in_order(which, like)
        if REAL.name in py.words_in(launched):
            found.append(Assign(REAL, call("_precision", like)))
        return [*found, *launched]

    def _in_order(self, which: str, like: Name) -> list[py.Statement]:
        """The launches before the loop over chunks of rows, the loop, and those behind it."""
        turn = self.turns[which]
        parts: list[list[py.Statement]] = [[], [], []]
        place = 0
        for choice in self.chosen[which]:
            inside = any(id(t.kernel) in self.inside for t in choice[0])
            place = 1 if inside else 2 if place else 0
            parts[place] += self._chosen(choice, which, like)
        before, inner, behind = parts
        if turn is None:
            return before
        memory, loop, copies = self._turn(turn, which, like)
        return [*before, *memory, replace(loop, body=[*loop.body, *inner]), *copies, *behind]

    def _turn(
        self, turn: Turn, which: str, like: Name
    ) -> tuple[list[py.Statement], py.For, list[py.Statement]]:
        """Memory of a chunk, and for what is added up; the loop, without kernels; and totals as results."""
        chunks = turn.chunks
        first, stop, rows, chunk = map(Name, (turn.first, turn.stop, turn.rows, turn.chunk))
        extent = self._size(chunks.extent)
        taken = call("_chunk", extent, self._size(chunks.wide), self._size(chunks.narrow))
        memory: list[py.Statement] = [Assign(chunk, taken)]
        zeroed: list[py.Statement] = []
        copies: list[py.Statement] = []
        written = dict.fromkeys(n for t in self.texts[which] if id(t.kernel) in self.inside for n in t.kernel.results)
        for name in written:
            own, tensor = Name(name), self.program.table[name]
            if name in turn.totals and self._is_result(name):
                total = Name(total_of(name))  # of a gradient that is not needed it is empty, too
                memory.append(Assign(total, call("_total", own, REAL)))
                copies.append(Do(method(own, "copy_", total)))
            elif name in turn.totals:
                memory.append(Assign(own, self._zeros(self.empty(tensor, like), like)))
            elif not self._is_result(name) and name in turn.kept:
                memory.append(Assign(own, self.empty(tensor, like)))
            elif not self._is_result(name):
                shape = (ref(turn.chunk), *self.flat.table[name].shape[1:])
                memory.append(Assign(own, self._memory(replace(tensor, shape=shape), like)))
                zeroed += [Do(method(own, "zero_"))] if name in self._unfilled else []  # of the turn before
        last = call("min", Operation("add", (first, chunk)), extent)
        body = [Assign(stop, last), Assign(rows, Operation("sub", (stop, first))), *zeroed]
        return memory, py.For(first, call("range", py.integer(0), extent, chunk), body), copies

    def _is_result(self, name: str) -> bool:
        """Whether there is memory for it, which is returned."""
        return name in {*self.results, *self.gradient_names.values()}

    def _argument(self, name: str, text: KernelText, which: str) -> Expression:
        """What a kernel is given for a tensor: in a turn the rows of a chunk, and what is added up in float32."""
        turn, own = self.turns[which], Name(name)
        if turn is None or id(text.kernel) not in self.inside or name not in self.flat.table:
            return own
        if name in turn.totals:
            return Name(total_of(name)) if self._is_result(name) else own
        there = self._is_result(name) or name in turn.kept or name not in turn.chunks.kinds
        if name not in turn.chunks.sliced or not there:
            return own
        tensor, shape = self.program.table[name], self.flat.table[name].shape
        start, stop = self._size(ref(turn.first)), self._size(ref(turn.stop))
        array: Expression = Name(name)
        if tensor.shape != shape and name not in self.lies[which]:  # rows that are several axes are taken by elements
            array = method(array, "view", py.integer(-1))
            start, stop = (self._size(apply("mul", ref(n), product(shape[1:]))) for n in (turn.first, turn.stop))
        found = py.Element(array, (py.Cut(start, stop),))
        return Operation("select", (is_given(name), found, NONE)) if tensor.optional else found

    def _chosen(self, choice: Choice, which: str, like: Name) -> list[py.Statement]:
        """The launches of short rows, or of long ones; once, if all else is the same."""
        short, long = choice
        if long and len(short) == len(long) == 1:
            first, other = ([*self._launch(text, which, like, KERNEL)] for (text,) in choice)
            if first == other:
                return [py.If(self._fits(short), *([self._named(text)] for (text,) in choice)), *first]
        ways = [[line for text in texts for line in self._launch(text, which, like)] for texts in choice]
        return [py.If(self._fits(short), *ways)] if long else ways[0]

    def _fits(self, texts: Sequence[KernelText]) -> Expression:
        """Whether a program holds all lanes of kernels at once; beside sums of rows, lane by lane, half as many."""
        held = dict.fromkeys((t.lanes.total, t.kernel.keeps) for t in texts if not (t.kernel.walks or t.kernel.apart))
        most: dict[bool, Expression] = {False: SHORT, True: Operation("floordiv", (SHORT, py.integer(2)))}
        return py.joined("and", [Operation("le", (self._size(total), most[keeps])) for total, keeps in held])

    def _named(self, text: KernelText) -> Assign:
        """A kernel, and how large its blocks are, under names."""
        found = [Assign(KERNEL, Word(text.around.name)), *self._blocks(text, NONE)]
        return Assign(py.bare([n.target for n in found]), py.bare([n.value for n in found]))

    def _size(self, extent: Expr) -> Expression:
        return size(substitute(extent, self.packs))

    def _launch(self, text: KernelText, which: str, like: Name, called: Word | None = None) -> list[py.Statement]:
        """The launch of a kernel; or of what is called so, which has its blocks already."""
        kernel = text.kernel
        there = {*self.results, *self.gradient_names.values()}
        there |= kernel.there if isinstance(kernel, Scan) else set()
        between = [name for name in kernel.results if name not in there]  # others may read them for another gradient
        inside = id(kernel) in self.inside
        memory = [] if inside else [Assign(Name(n), self.empty(self.program.table[n], like)) for n in between]
        lines: list[py.Statement] = [*(() if called else self._blocks(text, like))]
        blocks = map(self._size_of, text.blocks if kernel.apart else ())
        columns = [call("triton.cdiv", self._size(text.lanes.total), block) for block in blocks]
        rows = self._size(product(extent for _, extent in kernel.rows))
        grid = rows if kernel.rows else py.integer(1)
        if isinstance(text, TileText):
            first, *columns = self._tiles_of(text)
            grid = Operation("mul", (rows, first)) if kernel.rows else first
        elif kernel.flat:
            grid = call("triton.cdiv", rows, self._elements_of(text))
        elif kernel.strided:
            lines.append(Assign(Word("programs"), call("_programs", rows, like, *columns)))
            grid = Word("programs")
        if kernel.flat and any(self._by_program(kernel, n) for n in kernel.parts):
            lines.append(Assign(Word("programs"), grid))
            grid = Word("programs")
        after: list[py.Statement] = []
        serves = {g for s in kernel.steps if s.target in kernel.results for g in s.serves}
        under = serves if serves < {*self.gradient_names.values()} else set()
        for name in kernel.parts:
            lines.append(Assign(Name(parts_of(name)), self._parts(text, name, like)))
            (how,) = {e.reduce for s in kernel.steps if s.target == name for e in s.equations}
            rest = 1 if self._by_program(kernel, name) else len(kernel.rows) - len(kernel.left(name))
            axes = py.integer(0) if rest == 1 else py.Several(tuple(map(py.integer, range(rest))))
            total = method(Name(parts_of(name)), REDUCED.get(how, how), dim=axes)
            home = self._argument(name, text, which)
            in_full = self.flat.table[name].shape == text.around.table[name].shape  # a slice of rows has no pack
            if in_full and self.program.table[name].shape != self.flat.table[name].shape:  # a pack has its axes again
                total = method(total, "view", py.Attribute(Name(name), "shape"))
            if name in kernel.added and self.program.table[name].dtype != Dtype.REAL and not self._is_result(name):
                total = method(total, "to", py.Attribute(home, "dtype"))
            set_or_add = "add_" if name in kernel.added else "copy_"
            copied: list[py.Statement] = [Do(method(home, set_or_add, total))]
            after += copied if under == {name} else self._asked(name, copied)
        for name in kernel.scattered:
            (box,) = {e.box for s in kernel.steps if s.target == name for e in s.equations}
            shape = py.Several(tuple(self._size(extent) for _, extent in box))
            lines.append(Assign(Name(parts_of(name)), method(like, "new_empty", shape, dtype=REAL)))
            lines.append(Assign(Name(places_of(name)), method(like, "new_empty", shape, dtype=Word("torch.int64"))))
            home = self._argument(name, text, which)
            added = call("_scattered", home, Name(places_of(name)), Name(parts_of(name)))
            asked = {*kernel.step(name).serves}
            if name not in self.gradient_names.values() and asked < serves:  # else no row has written its place
                after.append(py.If(self._any_needed(asked), [Do(added)]))
            else:
                after += [Do(added)] if under == {name} else self._asked(name, [Do(added)])
        lines += [*self._call_of(text, which, called, (grid, *columns), like), *after]
        return [*memory, *([py.If(self._any_needed(under), lines)] if under else lines)]

    def _any_needed(self, gradients: Collection[str]) -> Expression:
        """Whether one of some gradients is needed."""
        places = [self.primal.inputs.index(n) for n, g in self.gradient_names.items() if g in gradients]
        return py.joined("or", needed(places, len(self.primal.inputs), NEEDS))

    def _by_program(self, kernel: Kernel, name: str) -> bool:
        """Whether there is one part of a sum for each program; else there is one for each row."""
        return not isinstance(kernel, Scan) and (kernel.flat or kernel.strided and kernel.sums_all(name))

    def _parts(self, text: KernelText, name: str, like: Name) -> Expression:
        """Memory for the parts of a sum."""
        kernel = text.kernel
        left = kernel.left(name)
        before: list[Expression] = [Word("programs")]
        if not self._by_program(kernel, name):
            before = [self._size(extent) for i, extent in kernel.rows if (i, extent) not in left]
        shape = py.Several((*before, *map(self._size, text.around.table[name].shape)))
        return method(like, "new_zeros" if name in self._unfilled else "new_empty", shape, dtype=REAL)

    def _asked(self, name: str, lines: list[py.Statement]) -> list[py.Statement]:
        """What is done about a gradient only if it is needed."""
        own = {g: n for n, g in self.gradient_names.items()}
        return [py.If(self.need(own[name]), lines)] if name in own else lines

    @staticmethod
    def _elements_of(text: KernelText) -> Word:
        """How many elements by number a program has."""
        return LANES if isinstance(text.kernel, Scan) else BLOCK

    @staticmethod
    def _size_of(block: Word) -> Word:
        """What the size of a block is called at a launch."""
        return Word(block.name.lower())

    def _tiles_of(self, text: TileText) -> list[py.Call]:
        """How many tiles there are along each of their axes."""
        blocks = [(n, self._size_of(text.lanes.of_tile[i])) for i, n in text.kernel.tiles]
        return [call("triton.cdiv", self._size(n), block) for n, block in blocks]

    def _blocks(self, text: KernelText, like: Expression) -> list[Assign]:
        """How large the blocks of lanes are, or tiles."""
        if isinstance(text, TileText):
            words = [*map(self._size_of, text.blocks), WARPS, STAGES]
            sizes = [self._size(n) for n in text.lanes.blocks.values() if n is not None]
            return [Assign(py.bare(words), call(text.sized, *sizes, like))]
        taken = "_tile" if text.kernel.walks or text.kernel.apart else "_block"
        found = [(word, extent) for word, extent in text.blocks.items() if extent is not None]
        return [Assign(self._size_of(word), call(taken, self._size(extent))) for word, extent in found]

    def _strides(self, name: str, text: KernelText) -> list[Expression]:
        """What a kernel is given for how a tensor lies."""
        axes = [axis for axis, _ in text.strides.get(name, ())]
        if 1 < len(axes) == len(text.around.table[name].shape):
            return [py.Splat(method(Name(name), "stride"))]
        return [method(Name(name), "stride", py.integer(axis)) for axis in axes]

    def _call_of(
        self, text: KernelText, which: str, called: Word | None, grid: tuple[Expression, ...], like: Name
    ) -> list[py.Statement]:
        positional: list[Expression] = []
        for n in text.read:
            positional += [self._argument(n, text, which), *self._strides(n, text)]
        positional += [self._argument(n, text, which) for n in text.written if n not in text.read]
        positional += [self._size(ref(n)) for n in text.sizes]
        positional += [Name(n) for n in text.numbers if text.around.options[n] != Dtype.REAL]
        options = {n: Name(n) for n in text.numbers if text.around.options[n] == Dtype.REAL}
        keywords: dict[str, Expression] = {**options, **{f"has_{n}": Word(f"has_{n}") for n in text.presence}}
        own = {g: n for n, g in self.gradient_names.items()}
        keywords |= {text.flag(g).name: self.need(own[g]) for g in text.flags}
        elements: list[Expression] = []
        for word, extent in text.blocks.items():
            value = self._elements_of(text) if extent is None else self._size_of(word)
            keywords[word.name] = value
            elements.append(value)
        keywords |= {text.real.name: call("_kind", REAL)} if text.uses_real else {}
        if isinstance(text, TileText):
            keywords |= {"num_warps": WARPS, "num_stages": STAGES}
        elif isinstance(text.kernel, Scan):
            keywords |= {"num_warps": py.integer(1)}
        elif elements:
            keywords |= {"num_warps": call("_warps", py.joined("mul", elements))}
        launch = Do(call(py.Element(called or Word(text.around.name), (Word("grid"),)), *positional, **keywords))
        on_their_device = py.With(call("torch.cuda.device_of", like), [launch])
        return [Assign(Word("grid"), py.Several(grid)), on_their_device]
