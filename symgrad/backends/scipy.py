"""SciPy: what its solvers call. One file, with the NumPy functions as they are printed for `numpy`.

One scalar output: `fun_and_grad` for minimize(..., jac=True), and `hessp`. An array of residuals: `residuals`, and
`jac`, which gives the Jacobian as a LinearOperator. The unknown comes flat; every result is a new array, because a
solver keeps what it was given (BFGS and Newton-CG stop silently where a gradient is written over).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

from ..expr import ONE, ZERO, Const, Expr, Ref, product, ref, show, substitute, total
from ..expr.sizes import tidy
from ..ir import Tensor, names_of, show_shape, single
from ..plan import Program
from .numpy import NumPyFile, NumPyLines
from .python_checks import checked_options, raised
from .python_file import module_from
from .python_lines import as_stored, count_lines, listed, present, size_lines, tuple_of, unpacked, where_told
from .python_names import PythonLanguage, names_in
from .python_text import assigned, if_lines, pack_name, parameters, returned, sizes

Printed = dict[str, Any]

FLAT = (
    "def _flat(*arrays):",
    '    """Return the elements of the arrays in one new vector."""',
    "    return np.concatenate([np.ravel(array) for array in arrays])",
)


class SciPy(PythonLanguage):
    """The target `scipy`."""

    name = "scipy"
    dialect = "numpy"
    executed = "scipy"
    products = True
    style = "arrays"

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        return {f"{program.derivative.primal.name}_scipy.py": _File(program).text(header)}

    def load(self, program: Program, files: Mapping[str, str]) -> ModuleType:
        """Import the printed text as a module, without writing it anywhere; it says what its unknowns are."""
        ((path, text),) = files.items()
        module = module_from(path, text)
        module.__dict__["unknowns"] = program.unknowns
        return module


class _Product(NumPyFile):
    """The product with a vector, cut in two: what is computed once for a point, and what for each vector."""

    def __init__(self, program: Program, options: Sequence[str]) -> None:
        super().__init__(program)
        self._checked = options

    def checked(self) -> list[str]:
        return list(self._checked)

    def _saves_dtype(self) -> bool:
        return False  # the vector has one

    def prepared(self) -> Printed:
        lines = [*self.computed(), *returned(tuple_of(self.kept()), 4)]
        doc = ["Return what _product needs."]
        head = parameters("_prepared", self.parameters())
        return {"name": "_prepared", "parameters": head, "doc": doc, "lines": lines}

    def product(self, said: str) -> Printed:
        program = self.program
        seeds = [s for _, s in program.derivative.seeds]
        gradients = [g for _, g in program.derivative.gradients]
        kept = [*program.saved, *map(pack_name, program.saved_sizes), *program.saved_options]
        kept += [f"has_{n}" for n in program.saved_presence]
        lines = unpacked(kept) if kept else []
        told = [*(n for n in program.saved if not program.table[n].optional), *seeds]
        tensors = [as_stored(program.table[n], self.forward.kept.get(n)) for n in told]
        lines += size_lines([d for d in self.backward.sizes if d not in program.saved_sizes], tensors)
        lines += count_lines(self.backward.counts)
        text = NumPyLines(self.printer(seeds[0]), lambda guard: " and ".join(present(guard, program)))
        lines += [*text(self.backward.statements), *returned(", ".join(gradients), 4)]
        head = parameters("_product", ["saved", *seeds])
        return {"name": "_product", "parameters": head, "doc": [said], "lines": lines}


class _File(NumPyFile):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        assert program.product is not None, "the pipeline plans it"
        self.unknowns = program.unknowns
        self.point = single(self.primal)
        self.product = _Product(program.product, checked_options(program))
        self.output = self.primal.outputs[0]
        self.is_scalar = not self.point.table[self.output].shape
        taken = names_of(program.derivative.function) | names_of(program.product.derivative.function)
        taken |= {t.name for t in (*program.tensors, *program.product.tensors)}

        def new(word: str) -> str:
            return word if word not in taken else new(f"{word}_")

        self.vector = self.unknowns[0] if len(self.unknowns) == 1 else new("unknown")
        self.direction, self.operand = new("direction"), new("v")
        self.out, self.prepared, self.flat = new("value"), new("prepared"), new("flat")
        self.size = new("size")

    def functions(self) -> list[Printed]:
        solver = [self._fun_and_grad(), self._hessp()] if self.is_scalar else [self._residuals(), self._jac()]
        of = "Hessian" if self.is_scalar else "Jacobian"
        own = [self._parts(), self.product.prepared(), self.product.product(f"Return the {of} times a vector.")]
        return [*solver, *super().functions(), *own]

    def imports(self, functions: Sequence[Mapping[str, Any]]) -> list[str]:
        return [] if self.is_scalar else ["from scipy.sparse.linalg import LinearOperator"]

    def _helpers(self) -> list[list[str]]:
        return [list(FLAT), *super()._helpers()]

    # what a solver calls

    def _fun_and_grad(self) -> Printed:
        lines = [*self._unpacked(), *self._called_forward()]
        lines += self._gradients("")
        lines += returned(f"float({self.out}), _flat({', '.join(self._own_gradients())})", 4)
        said = f"Return {self.output} and its gradient, for scipy.optimize.minimize(..., jac=True)."
        return self._function("fun_and_grad", [self.vector], said, lines)

    def _hessp(self) -> Printed:
        lines = self._unpacked()
        star = "" if len(self.unknowns) == 1 else "*"
        lines += assigned(self.prepared, f"_prepared({self._arguments(True)})", 4)
        call = f"_product({self.prepared}, {star}_parts({self._telling_arguments(self.direction)}))"
        lines += returned(f"_flat({star}{call})", 4)
        said = f"Return the Hessian of {self.output} times `{self.direction}`."
        return self._function("hessp", [self.vector, self.direction], said, lines)

    def _residuals(self) -> Printed:
        lines = [*self._unpacked(), *assigned(f"{self.out}, _", f"forward({self._arguments(True)})", 4)]
        said = f"Return {self.output}, flat, for scipy.optimize.least_squares."
        return self._function("residuals", [self.vector], said, [*lines, *returned(f"_flat({self.out})", 4)])

    def _jac(self) -> Printed:
        star, v = "" if len(self.unknowns) == 1 else "*", self.operand
        lines = [*assigned(self.size, f"np.size({self.vector})", 4), *self._unpacked(), *self._called_forward()]
        lines += assigned(self.prepared, f"_prepared({self._arguments(True)})", 4)
        parts = f"_parts({self._telling_arguments(v)})"
        lines += ["", f"def matvec({v}):"]
        lines += [f"    {line}" for line in returned(f"_flat(_product({self.prepared}, {star}{parts}))", 8)]
        lines += ["", f"def rmatvec({v}):"]
        inner = [*assigned(v, f"np.reshape({v}, np.shape({self.out}))", 8), *self._gradients(v, 8)]
        inner += returned(f"_flat({', '.join(self._own_gradients())})", 8)
        lines += [f"    {line}" for line in inner]
        shape = f"(np.size({self.out}), {self.size})"
        lines += ["", *returned(f"LinearOperator({shape}, matvec, rmatvec, dtype={self.out}.dtype)", 4)]
        said = f"Return the Jacobian of {self.output} as an operator: J @ v, and J.T @ v by rmatvec."
        return self._function("jac", [self.vector], said, lines)

    def _function(self, name: str, first: Sequence[str], said: str, lines: list[str]) -> Printed:
        primal = self.primal
        others = [p for p in self.parameters() if p.partition("=")[0] not in self.unknowns]
        shapes = [f"{n} {show_shape(self.point.table[n])}" for n in self.unknowns]
        vector = f"`{self.vector}` holds {listed(shapes)}, one after the other."
        if len(shapes) == 1:
            vector = f"`{shapes[0].replace(' ', '` is ', 1)}, given flat."
        rest = [*map(pack_name, self._asked), *(n for n in primal.inputs if n not in self.unknowns)]
        given = f" Give the others by args=({', '.join(rest)}{',' if len(rest) == 1 else ''})." if rest else ""
        doc = [said, "", f"    {vector}{given}" if len(vector + given) < 84 else f"    {vector}"]
        doc += [f"    {given.strip()}"] if len(vector + given) >= 84 else []
        head = parameters(name, [*first, *map(pack_name, self._asked), *others])
        return {"name": name, "parameters": head, "doc": [*doc, "    "], "lines": lines}

    # calls

    def _arguments(self, options: bool) -> str:
        given = [f"{o}={o}" for o in self.options] if options else []
        return ", ".join([*self.primal.inputs, *given])

    def _unpacked(self) -> list[str]:
        call = f"_parts({self._telling_arguments(self.vector)})"
        return assigned(", ".join(self.unknowns), call, 4)

    def _called_forward(self) -> list[str]:
        return assigned(f"{self.out}, saved", f"forward({self._arguments(True)})", 4)

    def _own_gradients(self) -> list[str]:
        return [str(self.gradient_of(n)) for n in self.unknowns]

    def _gradients(self, seed: str, indent: int = 4) -> list[str]:
        inputs = self.primal.inputs
        needs = [n in self.unknowns for n in inputs]
        given = ["saved", *([seed] if seed else [])]
        if not all(needs):
            given.append(f"needs_input_grad={tuple_of(list(map(str, needs)))}")
        targets = [str(self.gradient_of(n)) if n in self.unknowns else "_" for n in inputs]
        target = f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets)
        return assigned(target, f"backward({', '.join(given)})", indent)

    # the unknown, flat and in its own shapes

    @cached_property
    def _shapes(self) -> list[Tensor]:
        return [self.point.table[n] for n in self.unknowns]

    @cached_property
    def _needed(self) -> list[str]:
        """The sizes in the shapes of the unknown."""
        return list(dict.fromkeys(e.name for t in self._shapes for e in t.shape if isinstance(e, Ref)))

    @cached_property
    def _tellers(self) -> list[Tensor]:
        """The other inputs that are always given and tell these sizes."""
        others = [self.point.table[n] for n in self.primal.inputs if n not in self.unknowns]
        found: list[Tensor] = []
        known: set[str] = set()
        for t in others:
            new = {e.name for e in t.shape if isinstance(e, Ref)} & set(self._needed)
            if new - known and not t.optional:
                found.append(t)
                known |= new
        return found

    @cached_property
    def _missing(self) -> list[str]:
        """The sizes that nothing but the unknown itself tells."""
        told = {e.name for t in self._tellers for e in t.shape if isinstance(e, Ref)}
        return [n for n in self._needed if n not in told]

    @cached_property
    def _counted(self) -> str | None:
        """The one size that the length of the vector tells."""
        once = all(t.shape.count(ref(n)) <= 1 for t in self._shapes for n in self._missing)
        return self._missing[0] if len(self._missing) == 1 and once else None

    @property
    def _asked(self) -> list[str]:
        """The sizes that whoever calls must give."""
        return [] if self._counted else self._missing

    def _telling_arguments(self, vector: str) -> str:
        return ", ".join([vector, *map(pack_name, self._asked), *(t.name for t in self._tellers)])

    def _parts(self) -> Printed:
        flat, names = self.flat, {ref(n): ref(pack_name(n)) for n in self._missing}  # a pack is one axis then
        shapes = [tuple(substitute(e, names) for e in t.shape) for t in self._shapes]
        lengths = [product(shape) for shape in shapes]
        lines = assigned(flat, f"np.array({self.vector}).reshape(-1)", 4)
        lines += [f"if np.issubdtype({flat}.dtype, np.integer):", f"    {flat} = {flat}.astype(np.float64)"]
        for name in self._needed:
            if name not in self._missing:
                told = where_told(name, self._tellers).partition(".")
                lines += assigned(pack_name(name), f"np.shape({told[0]}){told[2].removeprefix('shape')}", 4)
        rest: list[str] = []
        expected = tidy(total(lengths))
        if expected != ref(pack_name(self._counted or "")):
            count = f"{{{sizes(expected)}}}" if expected.args or isinstance(expected, Ref) else sizes(expected)
            formula = f"{show(expected)} = " if count[0] == "{" else ""
            owner = self.vector if len(self.unknowns) == 1 else "the unknown"
            message = f"{self.primal.name}: {{{flat}.size}} elements were given, {owner} has {formula}{count}"
            rest += if_lines(f"{flat}.size != {sizes(expected)}", 4)
            rest += raised("ValueError", message)
        rest += self._split(flat, shapes, lengths)
        if self._counted and pack_name(self._counted) in names_in("\n".join(rest)):
            lines += self._count(pack_name(self._counted), shapes)
        lines += rest
        shown = listed([f"{n} {show_shape(t)}" for n, t in zip(self.unknowns, self._shapes, strict=True)])
        parameter = parameters("_parts", [self._telling_arguments(self.vector)])
        doc = [f"Return {shown} of a flat vector, in a new array."]
        return {"name": "_parts", "parameters": parameter, "doc": doc, "lines": lines}

    def _count(self, name: str, shapes: Sequence[tuple[Expr, ...]]) -> list[str]:
        """The size `name`, in a vector of the shapes: what is left is divided among those that have it."""
        size = ref(name)
        rest = tidy(total(product(s) for s in shapes if size not in s))
        each = tidy(total(product(e for e in s if e != size) for s in shapes if size in s))
        left = f"{self.flat}.size" if rest == ZERO else f"({self.flat}.size - {sizes(rest)})"
        if each == ONE:
            return assigned(name, left.removeprefix("(").removesuffix(")"), 4)
        return assigned(name, f"{left} // {sizes(each) if isinstance(each, Const) else f'max({sizes(each)}, 1)'}", 4)

    def _split(self, flat: str, shapes: Sequence[tuple[Expr, ...]], lengths: Sequence[Expr]) -> list[str]:
        if not any(shapes):
            return [f"return {flat}[0]" if len(shapes) == 1 else f"return tuple({flat})"]
        if len(shapes) == 1:
            return returned(flat if self._is_flat(shapes[0]) else f"{flat}.reshape({sizes.shape(shapes[0])})", 4)
        parts, start = [], ZERO
        for number, (shape, length) in enumerate(zip(shapes, lengths, strict=True), 1):
            end = tidy(total([start, length]))
            piece = f"{flat}[{sizes(start)}]"
            if shape:
                first, last = "" if start == ZERO else sizes(start), "" if number == len(shapes) else sizes(end)
                spaced = any(not part.isalnum() for part in (first, last) if part)  # as formatters have it
                piece = f"{flat}[{first} : {last}]" if spaced else f"{flat}[{first}:{last}]"
                piece = piece.replace("[ :", "[:").replace(" : ]", " :]")
                piece += "" if self._is_flat(shape) else f".reshape({sizes.shape(shape)})"
            parts.append(piece)
            start = end
        return returned(", ".join(parts), 4)

    def _is_flat(self, shape: tuple[Expr, ...]) -> bool:
        return len(shape) == 1 and sizes.axis(shape[0])[0] != "*"
