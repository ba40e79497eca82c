"""NumPy: one file with `forward` and `backward`, which imports NumPy (and SciPy only where a function needs it)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from ..expr import Ref, postorder, ref
from ..ir import Dtype, Tensor, show_shape
from ..plan import Program
from ..plan.arrays.commands import AddAt, Guard
from ..plan.arrays.tree import Array, Slice, Take
from ..plan.build import SCIPY
from ..source.layout import cut_text
from .base import template
from .python_checks import (
    RANGE,
    WINDOWS,
    checked_options,
    cotangent_helper,
    cotangents_helper,
    inputs_helper,
    range_refused,
    type_helpers,
)
from .python_file import PythonFile, module_from
from .python_lines import (
    Lines,
    as_stored,
    conditions,
    constraint_lines,
    count_lines,
    in_docstring,
    size_lines,
    tuple_of,
    unpacked,
    with_return,
)
from .python_names import PythonLanguage, names_in
from .python_text import ArrayPrinter, assigned, called, pack_name, parameters, returned, sizes, unset

MANY = 8  # inputs, from which their flags are not written out


class NumPy(PythonLanguage):
    """The target `numpy`."""

    name = dialect = "numpy"
    executed = "numpy"
    style = "arrays"

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        function = program.derivative.primal.name
        return {f"{function}_numpy.py": NumPyFile(program).text(header)}

    def load(self, program: Program, files: Mapping[str, str]) -> ModuleType:
        """Import the printed text as a module, without writing it anywhere."""
        ((path, text),) = files.items()
        return module_from(path, text)


class NumPyLines(Lines):
    def add_at(self, s: AddAt, indent: int) -> list[str]:
        inner = self.text.items(s.items)
        index = f"({inner})" if len(s.items) > 1 else inner
        index = f"np.s_[{inner}]" if any(isinstance(i, Slice) for i in s.items) else index
        value: Array = s.value
        if s.lacks and len(s.items) == 1:  # NumPy 2.4 reads behind a vector that is added at a matrix of places
            value = Take(value, (None,) * s.lacks)
        return called(f"np.add.at({s.name}, {index}, {self.text(value)})", indent)


class NumPyFile(PythonFile):
    def printer(self, like: str) -> ArrayPrinter:
        return ArrayPrinter(f"{like}.dtype", self.options, self.needs)

    def text(self, header: Sequence[str]) -> str:
        functions = self.functions()
        body = "\n".join(line for f in functions for line in f["lines"])
        helpers, used = self.completed(body, self._helpers(), {"_windows": WINDOWS})
        imports = ["import math", ""] if "math" in used else []
        imports.append("import numpy as np")
        modules = [m for m in SCIPY if m in used]
        if modules:
            imports.append(f"from scipy import {', '.join(sorted(modules))}")
        public = sorted(f["name"] for f in functions if not f["name"].startswith("_"))
        return template("numpy.j2").render(
            header=[in_docstring(line) for line in header],
            imports=[*imports, *self.imports(functions)],
            exported=", ".join(f'"{name}"' for name in public),
            functions=functions,
            helpers=helpers,
        )

    def functions(self) -> list[dict[str, Any]]:
        """The functions that are printed, each its name, parameters, docstring and lines."""
        return [self._forward(), self._backward()]

    def imports(self, functions: Sequence[Mapping[str, Any]]) -> list[str]:
        """What they import besides NumPy."""
        return []

    # forward

    def _forward(self) -> dict[str, Any]:
        lines = with_return(self.computed(), self.primal.outputs, self.program.saved, tuple_of(self.kept()))
        doc = [self.results_doc(", and what backward needs"), *self.arguments_doc()]
        return {"name": "forward", "parameters": parameters("forward", self.parameters()), "doc": doc, "lines": lines}

    def checked(self) -> list[str]:
        """The options that `_inputs` is given."""
        return checked_options(self.program)

    def computed(self) -> list[str]:
        """The lines of forward before its return."""
        primal = self.primal
        lines: list[str] = []
        if primal.inputs:
            names = ", ".join(primal.inputs)
            lines += assigned(names, f"_inputs({', '.join([*primal.inputs, *self.checked()])})", 4)
        sized = size_lines(self.forward_sizes(), self.sure)
        sized += constraint_lines(primal, self.needs)
        sized += count_lines(self.forward.counts)
        lines += [*sized, ""] if sized else []
        return lines + NumPyLines(self._typed(), lambda guard: conditions(guard, {}, None, ""))(self.forward.statements)

    def _typed(self) -> ArrayPrinter:
        return self.printer(self.like) if self.like else ArrayPrinter("np.float64", self.options, self.needs)

    def kept(self) -> list[str]:
        """What forward saves."""
        saved = [*self.program.saved]
        saved += [self.size_text(d, self.sure) for d in self.program.saved_sizes]
        saved += [*self.program.saved_options, *(f"{n} is not None" for n in self.program.saved_presence)]
        return [*saved, self._typed().dtype] if self._saves_dtype() else saved

    def _saves_dtype(self) -> bool:
        """Whether backward would have no array to take the type from."""
        table = self.program.table
        reals = [n for n in self.program.saved if table[n].dtype == Dtype.REAL and not table[n].optional]
        return not reals and bool(self.primal.inputs) and self._needs_dtype()

    def _needs_dtype(self) -> bool:
        return len(self.primal.outputs) > 1 or self._scalar_output() or not self._cotangents_used()

    def _cotangents_used(self) -> bool:
        seeds = {s for _, s in self.program.derivative.seeds}
        return any(r.name in seeds for e in self.program.backward.equations for r in e.reads)

    def _scalar_output(self) -> bool:
        """Whether the one output is a scalar, or may be one: a pack of no axes."""
        shape = self.primal.table[self.primal.outputs[0]].shape
        packs = all(isinstance(e, Ref) and e.name in self.primal.packs for e in shape)
        return len(self.primal.outputs) == 1 and packs

    def _whole_output(self) -> bool:
        """Whether the one output is an integer or a boolean: what is given as its gradient does not count."""
        return len(self.primal.outputs) == 1 and self.primal.table[self.primal.outputs[0]].dtype != Dtype.REAL

    # backward

    def _backward(self) -> dict[str, Any]:
        primal, program = self.primal, self.program
        derivative = program.derivative
        reals = [n for n in program.saved if program.table[n].dtype == Dtype.REAL and not program.table[n].optional]
        dtype = f"{reals[0]}.dtype" if reals else "dtype" if self._saves_dtype() else f"{derivative.seeds[0][1]}.dtype"
        dtype = dtype if primal.inputs else "np.float64"
        printer = ArrayPrinter(dtype, self.options, self.needs)
        names = [*program.saved, *(pack_name(d) for d in program.saved_sizes), *program.saved_options]
        names += [f"has_{n}" for n in program.saved_presence]
        if self._saves_dtype():
            names.append("dtype")
        told = [program.table[n] for n in program.saved if not program.table[n].optional]
        kept = self.forward.kept
        needed = [d for d in self.backward.sizes if d not in program.saved_sizes]
        shapes, more = self._seed_shapes(told)
        needed = [d.name for d in primal.dims if d.name in needed or d.name in more]
        lines = size_lines(needed, [as_stored(t, kept.get(t.name)) for t in told])
        lines += count_lines(self.backward.counts)
        lines += self._cotangent_lines(shapes, dtype)
        gradients = {g: k for k, g in enumerate(self.gradient_of(n) for n in primal.inputs) if g is not None}
        if gradients:
            lines += unset([*gradients], 4)

        def asked(guard: Guard) -> str:
            return conditions(guard, gradients, program, "needs_input_grad")

        lines += NumPyLines(printer, asked)(self.backward.statements)
        used = names_in("\n".join(lines))
        names = [n if n in program.saved or n in used else "_" for n in names]
        lines = [*(unpacked(names) if names else []), *lines]
        result = [self.gradient_of(n) or "None" for n in primal.inputs]
        lines += returned(tuple_of(result) if len(result) < 2 else ", ".join(result), 4)
        count = len(primal.inputs)
        default = f"(True,) * {count}" if count > MANY else tuple_of(["True"] * count)
        return {
            "name": "backward",
            "parameters": parameters("backward", ["saved", "grad_output=None", f"needs_input_grad={default}"]),
            "doc": self._backward_doc(),
            "lines": lines,
        }

    def _backward_doc(self) -> list[str]:
        first = "Return J.T @ grad_output: one gradient per input, None where it is not needed."
        ((output, _), *others) = seeds = self.program.derivative.seeds
        if self._whole_output():
            said = f"{output} is no real number: grad_output does not count."
        elif others:
            said = f"grad_output is {tuple_of([s for _, s in seeds])}; None in it counts as zero."
        else:
            shape = self.primal.table[output].shape
            said = f"grad_output has the shape of {output}, {show_shape(self.primal.table[output])}; "
            said = said if shape else f"grad_output is a scalar, as {output} is; "
            said = f"{said}left out, it is 1." if not shape else f"{said[:-2]}."
        return [first, "", *(f"    {part.strip()}" for part in cut_text(said, 0, 84)), "    "]

    def _seed_shapes(self, told: Sequence[Tensor]) -> tuple[list[str], set[str]]:
        """The text of the shape of each cotangent, and the sizes that this text mentions."""
        texts, mentioned = [], set[str]()
        kept = self.forward.kept
        for output, _ in self.program.derivative.seeds:
            shape = self.primal.table[output].shape
            same = next((t.name for t in told if t.shape == shape and t.name not in kept and shape), None)
            if same is not None:
                texts.append(f"{same}.shape")
            else:
                known = {extent.key: ref(name) for name, extent in self.backward.counts}
                shape = tuple(known.get(e.key, e) for e in shape)
                texts.append(sizes.shape(shape))
                names = {n.name for e in shape for n in postorder(e) if isinstance(n, Ref)}
                mentioned |= names - set(self.program.saved_sizes)
        return texts, mentioned

    def _cotangent_lines(self, shapes: Sequence[str], dtype: str) -> list[str]:
        seeds = [s for _, s in self.program.derivative.seeds]
        if self._whole_output():
            return []
        extra = f", {dtype}" if self._scalar_output() or len(seeds) > 1 else ""
        if len(seeds) == 1:
            return assigned("grad_output", f"_cotangent(grad_output, {shapes[0]}{extra})", 4)
        read = {r.name for e in self.program.backward.equations for r in e.reads}
        seeds = [s if s in read else "_" for s in seeds]
        return [*assigned(", ".join(seeds), f"_cotangents(grad_output, ({', '.join(shapes)}){extra})", 4)]

    # helpers

    def _helpers(self) -> list[list[str]]:
        helpers = []
        if self.primal.inputs:
            helpers.append(inputs_helper(self.program, range_refused(RANGE, ArrayPrinter(""))))
        helpers += type_helpers(self.primal, "np")
        seeds = self.program.derivative.seeds
        if self._whole_output():
            pass
        elif len(seeds) > 1:
            helpers.append(cotangents_helper(self.primal.name, [o for o, _ in seeds]))
        else:
            always = not self.primal.table[seeds[0][0]].shape
            scalar = "always" if always else "sometimes" if self._scalar_output() else ""
            helpers.append(cotangent_helper(self.primal.name, seeds[0][0], scalar))
        return helpers
