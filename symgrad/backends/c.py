"""C99: one file with `<name>_forward` and `<name>_backward`, and its header.

A function of one point (one pack in front of everything, the other sizes literal) takes its numbers by value and gets
a `_batch` beside it; any other one takes row-major arrays and their sizes.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..expr import Const, Expr, Ref, product, refs, show
from ..ir import Dtype, Tensor
from ..ops import OPS
from ..plan import Procedure, Program
from ..plan.loops import Nest, accumulated, flatten, nests, pointwise, size_names
from . import c_lapack
from .base import template
from .c_body import ELEMENT, Body, comment_text
from .c_lines import LIMIT, broken, filled
from .c_load import Artefact, compile_library
from .c_signature import Parameter, Printed
from .c_text import Text, language
from .helpers import c_helpers
from .options import DEFAULT, Options

HELPERS = {
    "PI": ["static const double PI = 3.14159265358979323846;"],
    "floor_div": [
        "static ptrdiff_t floor_div(ptrdiff_t a, ptrdiff_t b)",
        "{",
        "    return a / b - (a % b != 0 && (a < 0) != (b < 0));",
        "}",
    ],
    "floor_mod": [
        "static ptrdiff_t floor_mod(ptrdiff_t a, ptrdiff_t b)",
        "{",
        "    const ptrdiff_t rest = a % b;",
        "    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;",
        "}",
    ],
    "extent": [
        "static size_t extent(ptrdiff_t n)",
        "{",
        "    return n > 0 ? (size_t)n : 0;",
        "}",
    ],
    "stable_order": [
        "/* order: where the elements of x stand when sorted; a stable order, NaN last */",
        "static void stable_order(size_t n, const double *restrict x, int64_t *restrict order,",
        "                         int64_t *restrict scratch)",
        "{",
        "    for (size_t i = 0; i < n; ++i) {",
        "        order[i] = (int64_t)i;",
        "    }",
        "    for (size_t width = 1; width < n; width *= 2) {",
        "        for (size_t start = 0; start < n; start += 2 * width) {",
        "            const size_t middle = start + width < n ? start + width : n;",
        "            const size_t end = middle + width < n ? middle + width : n;",
        "            size_t left = start;",
        "            size_t right = middle;",
        "            for (size_t k = start; k < end; ++k) {",
        "                int later = left == middle;",
        "                if (left < middle && right < end) {",
        "                    const double a = x[order[left]];",
        "                    const double b = x[order[right]];",
        "                    later = b < a || (a != a && b == b);",
        "                }",
        "                scratch[k] = later ? order[right++] : order[left++];",
        "            }",
        "        }",
        "        for (size_t i = 0; i < n; ++i) {",
        "            order[i] = scratch[i];",
        "        }",
        "    }",
        "}",
    ],
}


_IN_FLOATS = {
    "double": "float", "LAPACKE_d": "LAPACKE_s", "log(": "logf(", "fabs(": "fabsf(",
    "0.0": "0.0f", "1.0": "1.0f", "1e-15": "1e-6f", "3.14159265358979323846": "3.14159265358979323846f",
}  # fmt: skip
_SINGLE = re.compile(r"\bdouble\b|\bLAPACKE_d|\blog\(|\bfabs\(|\b(?:0\.0|1\.0|1e-15|3\.14159265358979323846)\b")


class C:
    """The C99 backend."""

    name = words = "c"
    executed = "c"
    products = False
    style = "loops"
    over = None
    takes = ("lapack", "dtype", "accumulate")

    def __init__(self, options: Options = DEFAULT) -> None:
        self.options = options

    @property
    def calls(self) -> frozenset[str]:
        """The functions of matrices that this C has: those of LAPACK where it is asked to call them."""
        return frozenset(["argsort", *(c_lapack.FUNCTIONS if self.options.lapack else ())])

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return the source and the header; `header` is the text at the top of both."""
        name = program.derivative.primal.name
        functions, used = self.functions(program)
        lapack = [self._own(some) for some in c_lapack.lines({name for f in functions for name in f.calls})]
        source = "\n".join(line for f in functions for line in f.body)
        own, more = c_helpers(source, self.options.single, program)
        used |= more
        texts = "\n".join([source, *itertools.chain(*own)])
        helpers = [self._own(HELPERS[h]) for h in HELPERS if h in used and (h == "PI" or f"{h}(" in texts)]
        types = " ".join(p.element for f in functions for p in f.parameters)
        top = [f" * {comment_text(line)}".rstrip() for line in header]
        values = {
            "name": name,
            "guard": f"SYMGRAD_{name.upper()}_H",
            "top": top,
            "functions": functions,
            "helpers": [*helpers, *lapack, *own],
            "lapack": bool(lapack),
            "math": _calls_math("\n".join([texts, *itertools.chain(*lapack)])) or "PI" in used,
            "integers": "int64_t" in types or "int64_t" in source,
        }
        return {
            f"{name}.c": template("c_source.j2").render(values),
            f"{name}.h": template("c_header.j2").render(values),
        }

    def _own(self, lines: Sequence[str]) -> list[str]:
        """The lines of a function of ours in the type of real numbers that is asked for."""
        if not self.options.single:
            return [*lines]
        return [_SINGLE.sub(lambda found: _IN_FLOATS[found[0]], line) for line in lines]

    def functions(self, program: Program) -> tuple[list[Printed], set[str]]:
        """The functions to print, and the names that they use."""
        point = pointwise(program)
        flat = point or flatten(program)
        if self.options.accumulate:
            flat = accumulated(flat)
        printed: list[Printed] = []
        used: set[str] = set()
        for procedure, nest in zip((flat.forward, flat.backward), nests(flat, language), strict=True):
            kind = "forward" if procedure is flat.forward else "backward"
            function = _Function(flat, procedure, nest, kind, size_names(program), point is not None, self.options)
            one = function.printed()
            printed.append(one)
            used |= set(function.body.text.used)
            if point is not None:
                printed.append(_batch(one, size_names(program)[program.derivative.primal.packs[0]], program))
        return printed, used

    def load(self, program: Program, files: Mapping[str, str]) -> Artefact:
        """Compile what was printed, and return it as Python functions."""
        library = compile_library(program.derivative.primal.name, files)
        functions, _ = self.functions(program)
        return Artefact(program, library, functions, self.options)


class _Function:
    """Builds one function of a program without packs."""

    def __init__(
        self,
        program: Program,
        procedure: Procedure,
        nest: Nest,
        kind: str,
        sizes: Mapping[str, str],
        literal: bool,
        options: Options,
    ) -> None:
        self._options = options
        self._element = {Dtype.REAL: options.dtype, **ELEMENT}
        self._program = program
        self._procedure = procedure
        self._kind = kind
        self._sizes = sizes
        self._literal = literal
        self._primal = program.derivative.primal
        self._nest = nest
        self._table = program.table
        kinds = {t.name: t.dtype for t in nest.table.values()} | {o.name: o.dtype for o in self._primal.options}
        given = frozenset(p.name for p in self._tensors() if p.pointer and not self._table[p.name].shape)
        negative = frozenset(o.name for o in self._primal.options if o.default < 0)
        pointers = frozenset(p.name for p in self._tensors())
        self.body = Body(nest, kinds, given, pointers, negative, not literal, options)

    def printed(self) -> Printed:
        """The function, with the parameters that its body uses."""
        checks = [s for s in self._program.indexed if s.element.name in self._procedure.reads]
        conditions = self._conditions()
        lines = self.body.lines(checks, conditions)
        used = {*self.body.text.used, *self.body.asked}
        tensors = self._tensors()
        always = ("output", "seed", "gradient")
        arguments = [p for p in tensors if p.name in used or p.role in always or p.role == "saved" and not p.constant]
        dropped = [p for p in arguments if p.role in ("seed", "gradient") and p.name not in used]
        lines = [*(f"    (void){p.name};" for p in dropped), *lines]
        checked = bool(self._program.indexed or conditions)
        fails = checked or bool(self.body.calls)
        if fails:
            lines = [*lines, "    return 0;"]
        macros = [self._macro(name) for name in self.body.workspaces]
        used |= set(self.body.text.used)
        parameters = [
            *(Parameter(n, "size", "size_t") for n in self._sizes.values() if n in used),
            *(Parameter(o.name, "option", self._option_type(o.dtype)) for o in self._primal.options if o.name in used),
            *(Parameter(f"has_{n}", "presence", "int") for n in self._primal.optional if f"has_{n}" in used),
            *arguments,
        ]
        for name in self.body.workspaces:
            kind = self._options.dtype if name == "work" else "int64_t"
            parameters.append(Parameter(name, "work", kind, pointer=True))
        return Printed(
            f"{self._primal.name}_{self._kind}",
            "int" if fails else "void",
            tuple(parameters),
            tuple(lines),
            self._about(parameters, macros),
            self.body.workspaces,
            tuple(macros),
            tuple(self.body.calls),
        )

    def _conditions(self) -> list[str]:
        """What must hold of the sizes, before anything is read or written."""
        lines: list[str] = []
        for condition in self._primal.constraints:
            lines += [f"    if (!({self.body.text.as_kind(condition, 'bool')})) {{", "        return 2;", "    }"]
        return lines

    def _tensors(self) -> list[Parameter]:
        """Every tensor parameter that there can be, in order."""
        p, forward = self._program, self._kind == "forward"
        found: list[Parameter] = []
        reads = {*self._procedure.reads, *(n for s in self._procedure.steps for n, _ in s.when)}
        inputs = self._primal.inputs
        for name in inputs:
            if name in self._procedure.reads or (forward and name in reads):
                found.append(self._reads(name, "input"))
        for name in p.saved:
            if name in inputs or forward and name in self._procedure.returns:
                continue
            found.append(self._writes(name, "saved", nullable=True) if forward else self._reads(name, "saved"))
        if forward:
            return found + [self._writes(name, "output") for name in self._procedure.returns]
        for _, seed in p.derivative.seeds:
            found.append(self._reads(seed, "seed"))
        return found + [self._writes(name, "gradient", nullable=True) for name in self._procedure.returns]

    def _reads(self, name: str, role: str) -> Parameter:
        tensor = self._table[name]
        element = self._element[tensor.dtype]
        if tensor.shape or tensor.optional:
            return Parameter(name, role, element, True, True, self._length(tensor), name, nullable=tensor.optional)
        return Parameter(name, role, element, tensor=name)

    def _writes(self, name: str, role: str, nullable: bool = False) -> Parameter:
        tensor = self._table[name]
        return Parameter(name, role, self._element[tensor.dtype], True, False, self._length(tensor), name, nullable)

    def _length(self, tensor: Tensor) -> int | None:
        count = product(tensor.shape)
        return int(count.value) if self._literal and tensor.shape and isinstance(count, Const) else None

    def _macro(self, name: str) -> str:
        """The macro that tells how many elements a workspace must have."""
        shapes = self.body.workspaces[name]
        mentioned = {r.name for shape in shapes for r in refs(*shape)}
        text = _InMacro({o.name: o.dtype for o in self._primal.options}, {})
        sizes = Counter(" * ".join(_tight(self.body.extent(e, text)) for e in shape) for shape in shapes)
        terms = [f"{number} * {size}" if number > 1 else size for size, number in sizes.items()]
        arguments = ", ".join(n for n in self._arguments() if n in mentioned)
        head = f"#define {self._primal.name.upper()}_{self._kind.upper()}_{name.upper()}({arguments})"
        value = f"({' + '.join(terms)})"
        if len(head) + 1 + len(value) <= LIMIT:
            return f"{head} {value}"
        return " \\\n".join([*broken(head, 0, LIMIT - 2), *broken(value, 4, LIMIT - 2)])

    def _option_type(self, dtype: Dtype) -> str:
        return self._options.dtype if dtype is Dtype.REAL else "ptrdiff_t"

    def _arguments(self) -> list[str]:
        return [*self._sizes.values(), *(o.name for o in self._primal.options)]

    def _about(self, parameters: Sequence[Parameter], macros: Sequence[str]) -> tuple[str, ...]:
        """What stands above the prototype."""
        lines = []
        outputs = [p.name for p in parameters if p.role == "output"]
        if outputs:
            lines.append(f"Compute {_and(outputs)}.")
        saved = [p.name for p in parameters if p.role == "saved" and p.nullable]
        if saved and self._kind == "forward":
            lines.append(f"For backward: {_and(saved)}; pass NULL for what is not needed.")
        if any(p.role == "gradient" for p in parameters):
            verb = "Add to" if self._options.accumulate else "Overwrite"
            lines.append(f"{verb} each gradient; pass NULL for one that is not needed.")
        absent = [p.name for p in parameters if p.role == "input" and p.nullable]
        if absent:
            lines.append(f"{_and(absent)} may be absent: NULL.")
        for name, macro in zip(self.body.workspaces, macros, strict=True):
            call = " ".join(macro.removeprefix("#define ").split(")")[0].replace("\\", "").split())
            kind = f"{self._options.dtype}s" if name == "work" else "elements of int64_t"
            lines.append(f"{name} has room for {call}) {kind}.")
        if self._program.indexed:
            lines.append("Return 1, with nothing written, if an index is out of range.")
        if self._primal.constraints:
            needed = _and([show(c) for c in self._primal.constraints])
            lines.append(f"Return 2, with nothing written, unless {needed}.")
        if self.body.calls:
            lines.append("Return what LAPACK says if a matrix is not one that it can work with.")
        if self._program.indexed or self._primal.constraints or self.body.calls:
            lines.append("Return 0 otherwise.")
        return _comment([part for line in lines for part in broken(line, 0, LIMIT - 3)])


class _InMacro(Text):
    """Expressions of the parameters of a macro."""

    def _leaf(self, node: Expr, texts: list[tuple[str, int]]) -> tuple[str, int]:
        assert isinstance(node, Ref)
        return (f"((ptrdiff_t)({node.name}))" if node.name in self._kinds else f"({node.name})"), 100


def _batch(one: Printed, pack: str, program: Program) -> Printed:
    """The same for `pack` points, one after the other."""
    batched = {t.name for t in program.tensors if t.shape and isinstance(t.shape[0], Ref) and _is_pack(t, program)}
    b = "b" if all(p.name != "b" for p in one.parameters) else "point"
    parameters = [Parameter(pack, "size", "size_t")]
    arguments = []
    for p in one.parameters:
        if p.tensor not in batched:
            parameters.append(p)
            arguments.append(p.name)
            continue
        constant = p.constant or not p.pointer
        parameters.append(replace(p, pointer=True, constant=constant, length=None))
        place = f"{p.name} + {b}" if p.length is None else f"{p.name} + {p.length} * {b}"
        if not p.pointer:
            place = f"{p.name}[{b}]"
        arguments.append(f"{p.name} ? {place} : NULL" if p.nullable else place)
    call = filled(f"{one.name}(", arguments, ");", 8).split("\n")
    body = [f"    for (size_t {b} = 0; {b} < {pack}; ++{b}) {{", *call, "    }"]
    about = _comment([f"The same at {pack} points, one after the other."])
    return Printed(f"{one.name}_batch", one.result, tuple(parameters), tuple(body), about, one.work)


def _is_pack(tensor: Tensor, program: Program) -> bool:
    first = tensor.shape[0]
    return isinstance(first, Ref) and first.name in program.derivative.primal.packs


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _comment(lines: Sequence[str]) -> tuple[str, ...]:
    if len(lines) < 2:
        return tuple(f"/* {line} */" for line in lines)
    return (f"/* {lines[0]}", *(f" * {line}" for line in lines[1:]), " */")


def _tight(text: str) -> str:
    """`text` as a factor."""
    return text if " " not in text else f"({text})"


def _calls_math(source: str) -> bool:
    """Whether the text speaks of anything in math.h."""
    names = {row.spell.get("c", row.name) for row in OPS.values()} | {"pow"}
    names |= {f"{name}f" for name in names} | {"INFINITY", "isnan"}
    return not names.isdisjoint(re.findall(r"\b[a-z0-9]+(?=\()|\bINFINITY\b", source))
