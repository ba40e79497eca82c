"""C99: one file with `<name>_forward` and `<name>_backward`, and its header.

A function of one point (one pack in front of everything, the other sizes literal) takes its numbers by value and gets
a `_batch` beside it; any other one takes row-major arrays and their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ..errors import UnsupportedError
from ..expr import Apply, Expr, comparisons, refs, values
from ..ir import Equation
from ..later import Later
from ..ops.primitive import Primitive
from ..plan import Beside, Program
from ..plan.loops import Nest, accumulated, flatten, nests, pointwise, size_names
from ..plan.loops.turns import memory_per_turn
from ..records import dataclass, replace
from ..source.tree import (
    INTEGER,
    REAL,
    Array,
    Cast,
    Function,
    Local,
    Loop,
    Module,
    Parameter,
    Type,
    Verbatim,
    contents,
    names_in,
    names_of,
)
from . import c_contract, c_lapack, c_sparse, c_threads, primitives
from .base import Backend
from .c_batch import batch, loop_of_vectors
from .c_cost import cost
from .c_expressions import language
from .c_function import Builder
from .c_helpers import local_functions
from .c_names import File, refuse_header, refuse_words, reserved
from .c_print import LIBM, MATH, Printer, commented, escaped
from .c_signature import Printed
from .options import DEFAULT, PAIR, Options

if TYPE_CHECKING:
    from . import c_compile, c_load, c_point, c_primitives
else:  # what is printed and not loaded does without them
    c_compile = Later("symgrad.backends.c_compile")
    c_load = Later("symgrad.backends.c_load")
    c_point = Later("symgrad.backends.c_point")
    c_primitives = Later("symgrad.backends.c_primitives")

GNU = "#if defined(__GNUC__)"
# GCC's tuning for Intel asks for half of what there is, which takes loops up to 1.4 times as long. Not before functions
# without loops: vectors of neighbouring numbers, which it makes there, are slower the wider they are. Clang has no such
# pragma, and says that it is GCC 4.
VECTORS = """\
#if defined(__AVX512F__) && defined(__GNUC__) && __GNUC__ >= 8
#pragma GCC target("prefer-vector-width=512") /* Intel: GCC takes 256 */
#endif""".splitlines()

# A maximum is found again among what it was taken of by comparing: an FMA in one of the two places would round it
# otherwise, and no element would be the largest. GCC does not know the pragma of C99.
ROUNDED = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off") /* a maximum is found again */
#else
#pragma STDC FP_CONTRACT OFF
#endif""".splitlines()


class C(Backend):
    """The C99 backend."""

    name = dialect = executed = "c"
    style = "loops"
    takes = (
        *("save", "checkpoint", "lapack", "blas", "dtype", "index", "prefix", "file", "accumulate", "openmp"),
        *("functions", "wrt", "strict_domain"),
    )

    def __init__(self, options: Options = DEFAULT) -> None:
        super().__init__(options)
        # functions of matrices: those of LAPACK where it is asked to call them
        self.calls = frozenset(["argsort", *(c_lapack.FUNCTIONS if options.lapack else ())])
        self._programs: tuple[Program, ...] = ()  # of the file that was printed last
        # printed, loaded and checked one after the other
        self._last: tuple[tuple[Program, ...], list[list[Printed]], File] | None = None

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return the source and the header; `header` is the text at the top of both."""
        return self.render_together((program,), header)

    def render_together(self, programs: Sequence[Program], header: Sequence[str]) -> dict[str, str]:
        """The same for several programs in one file."""
        self._programs = tuple(programs)
        name = self.file_name(programs[0])
        module = self.module(programs[0])
        write = Printer(self.options.single, self.options.integer)
        top, costly = (
            ["/*", *(f" * {escaped(line)}".rstrip() for line in lines), " */"]
            for lines in (header, [*header, *cost(module, self.options)])
        )
        local = [f for f in module.functions if f not in module.interface]
        looped = [f for f in module.interface if _has_loop(f)]
        straight = [f for f in module.interface if not _has_loop(f)]
        every = [q for p in programs for q in (p, *(b.program for b in p.beside))]
        compares = any(_compares_maximum(p.derivative.function.statements) for p in every)
        source = [
            [*costly, *(f"#include <{file}>" for file in module.includes), f'#include "{name}.h"'],
            [line for f in module.externs for line in write.head(f, definition=False)],
            *self._directives(module, write),
            *map(write.constant, module.constants),
            *([VECTORS] if looped and not straight else []),
            *map(write.function, local),
            *([ROUNDED] if compares else []),
            *map(write.function, straight),
            *([VECTORS] if looped and straight else []),
            *map(write.function, looped),
        ]
        integers = any(t.of == INTEGER for t in _types(module.interface))
        calls = any(name in LIBM for f in module.interface for macro in f.macros for name in names_in(macro.value))
        once = [f"#ifndef {guard(name)}", f"#define {guard(name)}"]
        interface = [
            [*top, *once],
            [*["#include <math.h>"] * calls, "#include <stddef.h>", *["#include <stdint.h>"] * integers],
            ["#ifdef __cplusplus", 'extern "C" {', "#endif"],
            *(
                [
                    *commented(f.about, 85),
                    *(line for macro in f.macros for line in write.macro(macro)),
                    *write.head(f, definition=False),
                ]
                for f in module.interface
            ),
            ["#ifdef __cplusplus", "}", "#endif"],
            ["#endif"],
        ]
        return {f"{name}.c": _file(source), f"{name}.h": _file(interface)}

    def _directives(self, module: Module, write: Printer) -> list[list[str]]:
        """What compilers are told before the functions."""
        found = []
        if any(map(_has_root_in_loop, module.interface)):
            loops = f"__attribute__((const)) {write.prototype('sqrt')}; /* no errno: loops become vectors */"
            found.append([GNU, loops, "#endif"])
        if any(map(_has_pragma, module.functions)):
            asks = "omp asks for -fopenmp" if self.options.openmp else "omp simd asks for -fopenmp-simd"
            found.append([GNU, f'#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* {asks} */', "#endif"])
        return found + [[c_threads.MACRO]] * any(map(_is_shared, module.functions))

    def file_name(self, program: Program) -> str:
        """What the files are called, without an ending."""
        options = self.options
        return f"{options.prefix}{options.file}" if options.file else program.derivative.primal.name

    def module(self, program: Program) -> Module:
        """The file as a tree."""
        programs, functions, file = self._built(program)
        interface = tuple(f.function for own in functions for f in own)
        used = names_of(n for f in interface for n in contents(f))
        constants, local = local_functions(used, file, programs, self.options)
        if self.options.openmp:
            products = {f.stands_for: f.name for f in local if f.stands_for in c_contract.TEXTS}
            interface = tuple(c_threads.Shared(f, products).function for f in interface)
        everywhere = used | names_of(n for f in local for n in contents(f))
        math = ["math.h"] if constants or any(name in MATH for name in everywhere) else []
        includes = {name for f in local if isinstance(f, Verbatim) for name in f.includes}
        externs = tuple(_extern(op, name) for op, name in self._externs(programs).items() if name in everywhere)
        return Module(tuple(sorted(includes.union(math))), constants, (*local, *interface), externs)

    def heads(self, program: Program) -> tuple[Function, ...]:
        """What each function of the program, and each local one of its file, is called, stands for and takes."""
        own = {f.name for f in self.functions(program)}
        return tuple(f for f in self.module(program).heads if f.role == "local" or f.name in own)

    def functions(self, program: Program) -> list[Printed]:
        """The functions of the interface that are the program's."""
        programs, functions, _ = self._built(program)
        return next(own for other, own in zip(programs, functions, strict=True) if other is program)

    def _built(self, program: Program) -> tuple[tuple[Program, ...], list[list[Printed]], File]:
        """The programs of the file, the functions of each, and its names."""
        if self._last is None or all(other is not program for other in self._last[0]):
            programs = self._programs if any(other is program for other in self._programs) else (program,)
            self._last = (programs, *self._build(programs))
        return self._last

    def _build(self, programs: Sequence[Program]) -> tuple[list[list[Printed]], File]:
        each = [self._parts_of(program) for program in programs]
        refuse_header(self.file_name(programs[0]))
        symbols = [
            f"{program.derivative.primal.name}_{word}{end}"
            for program, parts in zip(programs, each, strict=True)
            for word in (*(part.word for part in parts), *_about_matrices(program))
            for end in ("", "_batch")
        ]
        nests = [nest for parts in each for part in parts for nest in part.nests]
        externs = {str(op): called for op, called in self._externs(programs, symbols).items()}
        file = File(nests, symbols, guard(self.file_name(programs[0])), externs)
        return [[function for part in parts for function in self._functions(part, file)] for parts in each], file

    def _parts_of(self, program: Program) -> list[_Part]:
        """Every function of the interface of a program, without its `_batch`."""
        refuse_words(program.derivative.primal)
        parts = self._parts(program)[:2] if program.pair else []
        for other in program.beside:
            refuse_words(other.program.derivative.primal)
            parts += self._matrix(other) if other.sparse else [replace(self._parts(other.program)[0], word=other.name)]
        return parts

    def _matrix(self, beside: Beside) -> list[_Part]:
        """The parts of a sparse matrix: its pattern, if that is not of numbers, and its values."""
        matrix = beside.sparse
        assert matrix is not None
        if matrix.pattern is None:
            called = dict.fromkeys(matrix.parts, c_sparse.DATA[1:])
            return [replace(self._parts(beside.program)[0], word=beside.values, called=called, numbers=beside)]
        pattern = replace(matrix.pattern, indexed=beside.program.indexed)  # asked of before one is read
        found = []
        for word, program in ((beside.pattern, pattern), (beside.values, beside.program)):
            own = c_sparse.Matrix(matrix, beside.program.table, word == beside.values)
            found.append(replace(self._parts(program, own)[0], word=word))
        return found

    def _externs(self, programs: Sequence[Program], symbols: Sequence[str] = ()) -> dict[Primitive, str]:
        """The functions of the user's that the file may call, and what they are called there."""
        found = {op: self._extern(op, symbols) for op in primitives.of(*programs)}
        for op, name in found.items():
            if [*found.values()].count(name) > 1:
                raise UnsupportedError(f"{op.about.name}: two primitives are called {name} in C. Give one another c=.")
        return found

    def _extern(self, op: Primitive, symbols: Sequence[str]) -> str:
        """What a function of the user's is called: with an f behind its name, where real numbers are float."""
        name = op.about.places["c"] + "f" * self.options.single
        if reserved(name) or name in MATH or name in symbols:
            raise UnsupportedError(
                f"{op.about.name}: C cannot call it {name}, which is another function or word there. Say what it is "
                f"called in C: sg.primitive({op.about.name!r}, ..., c=...)."
            )
        return name

    def _parts(self, program: Program, matrix: c_sparse.Matrix | None = None) -> list[_Part]:
        """Forward and backward of a program, as loops."""
        point = pointwise(program) if matrix is None else None
        whole = flatten(program, equations=point is None)
        flat = point or whole
        if matrix is not None:
            flat = whole = matrix.program(whole)
        if self.options.accumulate:
            flat, whole = accumulated(flat), accumulated(whole)
        wide = not (self.options.openmp or self.options.blas)  # threads share the loop; CBLAS has no such product
        both: Sequence[Nest] = nests(flat, language, self.options.openmp, wide)
        if self.options.openmp and point is None:
            both = [memory_per_turn(nest) for nest in both]
        found = []
        for which, nest in zip(PAIR, both, strict=True):
            own = nest
            if point and program.partial:  # the loop over points computes everything
                own = nests(replace(flat, partial=False), language)[PAIR.index(which)]
            lifted = loop_of_vectors(own, whole, self.options) if point else None
            found.append(_Part(which, which, program, flat, whole, point is not None, nest, lifted, matrix))
        return found

    def _functions(self, part: _Part, file: File) -> list[Printed]:
        """The functions of the interface that a part is printed as."""
        sizes, options, word = size_names(part.program), self.options, part.word
        own, own_batch = (getattr(program, part.which) for program in (part.flat, part.whole))
        made = Builder(
            part.flat, own, part.nest, sizes, part.literal, options, file, word, matrix=part.matrix, called=part.called
        )
        one = made.printed()
        if part.numbers is not None:
            return [c_sparse.of_numbers(part.program.derivative.primal.name, part.numbers), one]
        if not part.literal:
            return [*made.room(), one]
        if part.lifted is not None:
            lifted, far = part.lifted
            many = Builder(part.whole, own_batch, lifted, sizes, False, options, file, word, batch=True)
            return [one, many.printed(one.function, far)]
        # an exported function that is not inline may be replaced when it is linked, and so is called
        inlined = replace(one, function=replace(one.function, inline=True))
        return [inlined, batch(one, part.program.derivative.primal.packs[0], part.program, file)]

    def load(self, program: Program, files: Mapping[str, str]) -> c_load.Values:
        """Compile what was printed, and return it as Python functions."""
        flags = (*c_compile.CHECKED, "-fopenmp", f"-D{c_threads.FROM}=0") if self.options.openmp else c_compile.CHECKED
        library = self._library(program, files, flags)
        made = c_load.Artefact if program.pair else c_load.Values
        artefact = made(program, c_load.Linked(library, self.functions(program), self.options))
        artefact.remark = c_primitives.remark(c_primitives.called_back(self._externs(self._built(program)[0])))
        return artefact

    def _library(self, program: Program, files: Mapping[str, str], flags: Sequence[str]) -> c_compile.Library:
        """The compiled files, with the functions of the user's."""
        externs = self._externs(self._built(program)[0])
        back, real = c_primitives.called_back(externs), "float" if self.options.single else "double"
        whole = {**files, **c_primitives.stand_ins(back, real)}
        name = program.derivative.primal.name
        library = c_compile.compile_library(name, whole, flags, c_primitives.linked(externs))
        c_primitives.connect(library, back, self.options.single)
        return library

    def tuned(self, program: Program, files: Mapping[str, str]) -> c_load.Values:
        """The same, by a compiler that takes its time."""
        functions, calls = self.functions(program), c_compile.python_calls()
        if c_primitives.called_back(self._externs(self._built(program)[0])):
            calls = None  # which holds Python while it waits for C: what C's threads call back would wait for it
        header = f"{self.file_name(program)}.h"
        point = c_point.beside(program, functions, self.options, header) if calls else {}
        flags = (*c_compile.TUNED, "-fopenmp") if self.options.openmp else c_compile.TUNED
        library = self._library(program, {**files, **point}, flags)
        linked = c_load.Linked(library, functions, self.options, calls)
        if not program.pair:
            return c_load.Values(program, linked)
        return c_load.Artefact(program, linked, c_point.Point(program, library) if point else None)


def _extern(op: Primitive, name: str) -> Function:
    """The declaration of a function of the user's."""
    names = (f"{a}_argument" if reserved(a) else a for a in op.about.arguments)
    parameters = tuple(Parameter(a, "", Type(REAL)) for a in names)
    return Function("extern", name, parameters, (), Type(REAL))


def _file(parts: Sequence[Sequence[str]]) -> str:
    """Lines, with an empty one between the parts."""
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


@dataclass(frozen=True)
class _Part:
    """One procedure of a program, as loops.

    word     what it is called in the file
    which    forward or backward
    flat     the program without packs: of one point if it is `literal`, else of arrays
    whole    the program of arrays
    lifted   the loop of a batch, and the scalar that counts the angles which it does not reach, where there is such
    matrix   what stands in the place of arrays of entries
    called   what is called otherwise than it is declared
    numbers  of a matrix whose places are numbers
    """

    word: str
    which: str
    program: Program
    flat: Program
    whole: Program
    literal: bool
    nest: Nest
    lifted: tuple[Nest, str | None] | None
    matrix: c_sparse.Matrix | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    numbers: Beside | None = None

    @property
    def nests(self) -> tuple[Nest, ...]:
        """Its loops."""
        return (self.nest,) if self.lifted is None else (self.nest, self.lifted[0])


def _about_matrices(program: Program) -> list[str]:
    """What the functions are called that tell where the entries of sparse matrices stand."""
    return [word for b in program.beside if b.sparse is not None for word in (b.room, b.pattern)]


def _has_pragma(function: Function | Verbatim) -> bool:
    if isinstance(function, Verbatim):
        return any("#pragma" in line for line in function.lines)
    return any(isinstance(n, Loop) and (n.sums or n.work is not None) for n in contents(function))


def _has_loop(function: Function) -> bool:
    return any(isinstance(n, Loop) for n in contents(function))


def _is_shared(function: Function | Verbatim) -> bool:
    """Whether threads share a loop of the function."""
    return any(isinstance(n, Loop) and n.work is not None for n in contents(function))


def _has_root_in_loop(function: Function) -> bool:
    nodes = contents(function)
    return "sqrt" in names_of(nodes) and "sqrt" in names_in(*(n for n in nodes if isinstance(n, Loop)))


def guard(name: str) -> str:
    """The macro that tells that a header has been read."""
    return f"SYMGRAD_{name.upper()}_H"


def _types(functions: Sequence[Function]) -> list[Type]:
    found = [p.type for f in functions for p in f.parameters]
    return found + [n.type for f in functions for n in contents(f) if isinstance(n, (Local, Array, Cast))]


def _compares_maximum(equations: Sequence[Equation]) -> bool:
    """Whether a maximum or a minimum is compared with what is computed by more than a sign or abs."""
    largest = {e.target for e in equations if e.reduce in ("max", "min")}
    if not largest:
        return False
    rounded = set[str]()  # of arithmetic, or of what is

    def rounds(root: Expr) -> bool:
        parts = (n for n in values(root) if isinstance(n, Apply))
        return any(n.op not in ("neg", "abs") for n in parts) or any(r.name in rounded for r in refs(root))

    for e in equations:
        if e.target not in largest and (e.reduce != "none" or rounds(e.body)):
            rounded.add(e.target)
    sides = [n.args for e in equations for root in (e.body, e.where) if root is not None for n in comparisons(root)]
    return any(any(r.name in largest for r in refs(*args)) and any(map(rounds, args)) for args in sides)
