"""NumPy: one file with `forward` and `backward`, which imports NumPy (and SciPy only where a function needs it)."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeGuard

from ..expr import ONE, Expr, Ref, postorder, ref, refs, show
from ..ir import Dtype, Function, Tensor, show_shape
from ..plan import Program
from ..plan.arrays import array_procedures
from ..plan.arrays.layout import Pattern
from ..plan.arrays.tree import AddAt, Array, Assign, Elementwise, For, Guard, Slice, Statement, Unpack, Update
from ..plan.build import SCIPY
from .base import template
from .c_lines import broken
from .numpy_checks import WINDOWS, cotangent_helper, cotangents_helper, inputs_helper, raised, type_helper
from .python_text import ArrayPrinter, assigned, called, if_lines, pack_name, parameters, returned, sizes, unset

INLINE = 130  # a value moves into the line that reads it while the line is not longer; lines break at 88
MANY = 8  # inputs, from which their flags are not written out


class NumPy:
    """The target `numpy`."""

    name = "numpy"
    style = "arrays"

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        function = program.derivative.primal.name
        return {f"{function}_numpy.py": _File(program).text(header)}

    def load(self, program: Program, files: Mapping[str, str]) -> ModuleType:
        """Import the printed text as a module, without writing it anywhere."""
        ((path, text),) = files.items()
        return module_from(path, text)


def module_from(path: str, text: str) -> ModuleType:
    """A module of that text; its lines show up in tracebacks."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".py")
    module = ModuleType(stem)
    module.__file__ = f"<symgrad {path}>"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    exec(compile(text, module.__file__, "exec"), module.__dict__)  # symgrad's own text, of checked names
    return module


class _File:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.primal = program.derivative.primal
        self.options = {o.name for o in self.primal.options}
        self.forward, self.backward = array_procedures(program, self._fits)

    def _fits(self, statement: Statement) -> bool:
        text = ArrayPrinter("numpy", "np", "x.dtype", self.options)
        return max(len(line) for line in self._flat(statement, text)) <= INLINE

    def _flat(self, s: Statement, text: ArrayPrinter) -> list[str]:
        if isinstance(s, Guard):
            return [line for inner in (*s.body, *s.otherwise) for line in self._flat(inner, text)]
        if isinstance(s, For):
            return [line for inner in s.body for line in self._flat(inner, text)]
        return [f"{s.name} = {text(s.value)}"]

    def text(self, header: Sequence[str]) -> str:
        forward, backward = self._forward(), self._backward()
        helpers = self._helpers("\n".join([*forward["lines"], *backward["lines"]]))
        body = [*forward["lines"], *backward["lines"], *(line for helper in helpers for line in helper)]
        imports = ["import math", ""] if any("math." in line for line in body) else []
        imports.append("import numpy as np")
        modules = [m for m in SCIPY if any(re.search(rf"(?<!\.)\b{m}\.", line) for line in body)]
        if modules:
            imports.append(f"from scipy import {', '.join(sorted(modules))}")
        return template("numpy.j2").render(
            header=[_in_docstring(line) for line in header],
            imports=imports,
            forward=forward,
            backward=backward,
            helpers=helpers,
        )

    # forward

    def _forward(self) -> dict[str, Any]:
        primal = self.primal
        reals = [n for n in primal.inputs if primal.table[n].dtype == Dtype.REAL]
        sure = [n for n in reals if not primal.table[n].optional] or reals
        printer = ArrayPrinter("numpy", "np", f"{sure[0]}.dtype" if sure else "np.float64", self.options)
        lines: list[str] = []
        if primal.inputs:
            names = ", ".join(primal.inputs)
            lines += assigned(names, f"_inputs({names})", 4)
        tensors = [primal.table[n] for n in primal.inputs if not primal.table[n].optional]
        saved_sizes = self.program.saved_sizes
        sized = _size_lines(self._forward_sizes(), tensors)
        needs = [*dict.fromkeys((*primal.constraints, *self.forward.needs, *self.backward.needs))]
        sized += _constraint_lines(primal, needs)
        sized += _count_lines(self.forward.counts)
        lines += [*sized, ""] if sized else []
        lines += _statement_lines(self.forward.statements, printer, [], 4)
        saved = [*self.program.saved]
        saved += [self._size_text(d, tensors) for d in saved_sizes]
        saved += [*self.program.saved_options, *(f"{n} is not None" for n in self.program.saved_presence)]
        if self._saves_dtype():
            saved.append(printer.dtype)
        lines = _with_return(lines, primal.outputs, self.program.saved, _tuple(saved))
        return {"parameters": parameters("forward", self._parameters()), "doc": self._forward_doc(), "lines": lines}

    def _forward_doc(self) -> list[str]:
        """What it returns; the arguments and their shapes; what it raises."""
        primal = self.primal
        shown = ", ".join(f"{o} {show_shape(primal.table[o])}" for o in primal.outputs)
        first = f"Return {shown}, and what backward needs."
        if len(first) > 78:
            first = f"Return {_listed(primal.outputs)}, and what backward needs."
        if not primal.inputs:
            return [first]
        arguments = [
            f"{n} {show_shape(primal.table[n])}{' or None' if primal.table[n].optional else ''}" for n in primal.inputs
        ]
        shapes = {primal.table[n].shape for n in primal.inputs}
        if len(arguments) > 1 and len(shapes) == 1 and not primal.optional:
            arguments = [f"{_listed(primal.inputs)}, all {show_shape(primal.table[primal.inputs[0]])}"]
        kinds = {primal.table[n].dtype for n in primal.inputs}
        errors = "TypeError and ValueError tell which argument has another type or shape"
        if self.program.indexed:
            errors += ", IndexError which subscript is out of range"
        said = f"The arguments are {'floating point' if kinds == {Dtype.REAL} else 'arrays'}: {_listed(arguments)}."
        lines = [part.strip() for line in (said, f"{errors}.") for part in broken(line, 0, 84)]
        return [first, "", *(f"    {line}" for line in lines), "    "]

    def _forward_sizes(self) -> list[str]:
        """The sizes that forward's lines mention, its conditions included."""
        needs = (*self.primal.constraints, *self.forward.needs, *self.backward.needs)
        mentioned = {r.name for c in needs for r in refs(c)} | set(self.forward.sizes)
        return [d.name for d in self.primal.dims if d.name in mentioned]

    def _size_text(self, name: str, tensors: Sequence[Tensor]) -> str:
        """A size that is saved: its local if forward has one, else where it is read from."""
        if name in self._forward_sizes():
            return pack_name(name)
        return _where_told(name, tensors)

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

    def _parameters(self) -> list[str]:
        primal = self.primal
        parts = []
        optional = False
        for name in primal.inputs:
            optional = optional or primal.table[name].optional
            parts.append(f"{name}=None" if optional else name)
        if primal.options:
            parts.append("*")
            parts += [f"{o.name}={_number(o.default)}" for o in primal.options]
        return parts

    # backward

    def _backward(self) -> dict[str, Any]:
        primal, program = self.primal, self.program
        derivative = program.derivative
        reals = [n for n in program.saved if program.table[n].dtype == Dtype.REAL and not program.table[n].optional]
        dtype = f"{reals[0]}.dtype" if reals else "dtype" if self._saves_dtype() else f"{derivative.seeds[0][1]}.dtype"
        dtype = dtype if primal.inputs else "np.float64"
        printer = ArrayPrinter("numpy", "np", dtype, self.options)
        names = [*program.saved, *(pack_name(d) for d in program.saved_sizes), *program.saved_options]
        names += [f"has_{n}" for n in program.saved_presence]
        if self._saves_dtype():
            names.append("dtype")
        told = [program.table[n] for n in program.saved if not program.table[n].optional]
        kept = self.forward.kept
        lines = _unpacked(names) if names else []
        needed = [d for d in self.backward.sizes if d not in program.saved_sizes]
        shapes, more = self._seed_shapes(told)
        needed = [d.name for d in primal.dims if d.name in needed or d.name in more]
        lines += _size_lines(needed, [_as_stored(t, kept.get(t.name)) for t in told])
        lines += _count_lines(self.backward.counts)
        lines += self._cotangent_lines(shapes, dtype)
        gradients = {g: k for k, g in enumerate(self._gradient_of(n) for n in primal.inputs) if g is not None}
        if gradients:
            lines += unset([*gradients], 4)
        guard = [*gradients.items()]
        body = _statement_lines(self.backward.statements, printer, guard, 4, program)
        lines += body
        result = [self._gradient_of(n) or "None" for n in primal.inputs]
        lines += returned(_tuple(result) if len(result) < 2 else ", ".join(result), 4)
        count = len(primal.inputs)
        default = f"(True,) * {count}" if count > MANY else _tuple(["True"] * count)
        return {
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
            said = f"grad_output is {_tuple([s for _, s in seeds])}; None in it counts as zero."
        else:
            shape = self.primal.table[output].shape
            said = f"grad_output has the shape of {output}, {show_shape(self.primal.table[output])}; "
            said = said if shape else f"grad_output is a scalar, as {output} is; "
            said = f"{said}left out, it is 1." if not shape else f"{said[:-2]}."
        return [first, "", *(f"    {part.strip()}" for part in broken(said, 0, 84)), "    "]

    def _gradient_of(self, name: str) -> str | None:
        return dict(self.program.derivative.gradients).get(name)

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
        return [*assigned(", ".join(seeds), f"_cotangents(grad_output, ({', '.join(shapes)}){extra})", 4)]

    # helpers

    def _helpers(self, body: str) -> list[list[str]]:
        helpers = []
        if self.primal.inputs:
            helpers.append(inputs_helper(self.program))
        text = "\n".join(line for h in helpers for line in h)
        for word, kind, check in (
            ("_real", "floating point", "np.floating"),
            ("_integer", "integer", "np.integer"),
            ("_boolean", "boolean", "np.bool_"),
        ):
            if f"{word}(" in text:
                helpers.append(type_helper(self.primal.name, word, kind, check))
        seeds = self.program.derivative.seeds
        if self._whole_output():
            pass
        elif len(seeds) > 1:
            helpers.append(cotangents_helper(self.primal.name, [o for o, _ in seeds]))
        else:
            always = not self.primal.table[seeds[0][0]].shape
            scalar = "always" if always else "sometimes" if self._scalar_output() else ""
            helpers.append(cotangent_helper(self.primal.name, seeds[0][0], scalar))
        if "_windows(" in body:
            helpers.append(list(WINDOWS))
        return helpers


# lines of Python


def _statement_lines(
    statements: Sequence[Statement],
    text: ArrayPrinter,
    gradients: Sequence[tuple[str, int]],
    indent: int,
    program: Program | None = None,
) -> list[str]:
    lines: list[str] = []
    for s in statements:
        match s:
            case Assign(name, value):
                lines += assigned(name, text(value), indent)
            case Unpack(_, value):
                lines += assigned(s.name, text(value), indent)
            case Update(name, items, value, first):
                inner = ", ".join(text._item(i, text) for i in items)
                sign = "=" if first else "+="
                if _is_negative(value) and not first:
                    sign, value = "-=", value.args[0]
                lines += assigned(f"{name}[{inner}]", text(value), indent, sign)
            case AddAt(name, items, value):
                inner = ", ".join(text._item(i, text) for i in items)
                index = f"({inner})" if len(items) > 1 else inner
                index = f"np.s_[{inner}]" if any(isinstance(i, Slice) for i in items) else index
                lines += called(f"np.add.at({name}, {index}, {text(value)})", indent)
            case For(name, extent, loop, reverse):
                turns = f"range({sizes(extent)})"
                lines.append(f"for {name} in {f'reversed({turns})' if reverse else turns}:")
                lines += [f"    {x}" for x in _statement_lines(loop, text, gradients, indent + 4, program)]
            case Guard(serves, when, body, otherwise, condition):
                asked = sizes(condition) if condition is not None else _condition(serves, when, gradients, program)
                lines += if_lines(asked, indent)
                lines += [f"    {x}" for x in _statement_lines(body, text, gradients, indent + 4, program)]
                if otherwise:
                    lines.append("else:")
                    lines += [f"    {x}" for x in _statement_lines(otherwise, text, gradients, indent + 4, program)]
    return lines


def _is_negative(value: Array) -> TypeGuard[Elementwise]:
    return isinstance(value, Elementwise) and value.op == "neg"


def _condition(
    serves: Sequence[str],
    when: Sequence[tuple[str, bool]],
    gradients: Sequence[tuple[str, int]],
    program: Program | None,
) -> str:
    place = dict(gradients)
    needs = _needed([place[g] for g in serves], len(program.derivative.primal.inputs) if program else 0)
    parts = [" or ".join(needs)] if needs else []
    if len(needs) > 1 and when:
        parts = [f"({parts[0]})"]
    for name, present in when:
        if program is not None and name in program.saved_presence:
            parts.append(f"has_{name}" if present else f"not has_{name}")
        else:
            parts.append(f"{name} is not None" if present else f"{name} is None")
    return " and ".join(parts)


def _needed(places: Sequence[int], inputs: int) -> list[str]:
    """What asks for one of the gradients at these places: of many, neighbours together, `any(needs_input_grad[2:])`."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if len(places) > 2 and runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [
        f"needs_input_grad[{first}]"
        if first == last
        else "any(needs_input_grad)"
        if last - first == inputs - 1
        else f"any(needs_input_grad[{first or ''}:{last + 1 if last + 1 < inputs else ''}])"
        for first, *_, last in (run * 2 for run in runs)
    ]


def _count_lines(counts: Sequence[tuple[str, Expr]]) -> list[str]:
    """`count_i = max(h - p + 1, 0)`: how far an index runs, where nothing may fit."""
    return [f"{name} = max({sizes(extent)}, 0)" for name, extent in counts]


def _constraint_lines(primal: Function, conditions: Sequence[Expr]) -> list[str]:
    """What must hold of the sizes and options, checked before anything is computed."""
    lines: list[str] = []
    for condition in conditions:
        names = dict.fromkeys(r.name for r in refs(condition))
        values = ", ".join(f"{n} = {{{pack_name(n)}}}" for n in names)
        text = f"{primal.name}: needs {show(condition)}, here {values}"
        lines += [*if_lines(f"not {sizes(condition)}", 4), *raised("ValueError", text)]
    return lines


def _with_return(lines: list[str], outputs: Sequence[str], saved: Sequence[str], kept: str) -> list[str]:
    """The lines and the return; outputs that are only returned stand in the return itself while that is short."""
    last: dict[str, str] = {}
    for line in reversed(lines):
        name, _, value = line.partition(" = ")
        if name not in outputs or name in saved or value.endswith("("):
            break
        last[name] = value
    apart = not any(_mentions(value, name) for value in last.values() for name in outputs)
    if len(outputs) > 1 and len(last) == len(outputs) and apart:
        inlined = f"return ({', '.join(last[o] for o in outputs)}), {kept}"
        if len(inlined) <= 84:
            return [*lines[: len(lines) - len(last)], inlined]
    return [*lines, *returned(f"{_tuple(outputs) if len(outputs) > 1 else outputs[0]}, {kept}", 4)]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _as_stored(tensor: Tensor, pattern: Pattern | None) -> Tensor:
    """A tensor with the shape that it is saved in: 1 where a reduced axis is kept."""
    if pattern is None:
        return tensor
    extents = iter(tensor.shape)
    return replace(tensor, shape=tuple(next(extents) if present else ONE for present in pattern))


def _size_lines(names: Sequence[str], tensors: Sequence[Tensor]) -> list[str]:
    """`n, k = x.shape` for the sizes that are needed."""
    lines: list[str] = []
    left = list(names)
    for tensor in tensors:
        own = [e.name if isinstance(e, Ref) else None for e in tensor.shape]
        if len(own) > 1 and all(n in left for n in own) and len(set(own)) == len(own):
            if own[0] is not None and own[0].isidentifier():
                lines.append(f"{', '.join(str(n) for n in own)} = {tensor.name}.shape")
                left = [n for n in left if n not in own]
    for name in left:
        lines.append(f"{pack_name(name)} = {_where_told(name, tensors)}")
    return lines


def _where_told(name: str, tensors: Sequence[Tensor]) -> str:
    """`x.shape[1]`: where the size `name` is read from."""
    for tensor in tensors:
        for place, extent in enumerate(tensor.shape):
            if isinstance(extent, Ref) and extent.name == name:
                head = tensor.shape[0]
                packed = isinstance(head, Ref) and not head.name.isidentifier()
                if packed and place == 0:
                    rest = len(tensor.shape) - 1
                    return f"{tensor.name}.shape[:-{rest}]" if rest else f"{tensor.name}.shape"
                return f"{tensor.name}.shape[{place - len(tensor.shape) if packed else place}]"
    raise AssertionError(f"no tensor tells the size {name}")


def _unpacked(names: Sequence[str]) -> list[str]:
    return assigned(f"({names[0]},)" if len(names) == 1 else ", ".join(names), "saved", 4)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), words[-1]])


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _number(value: object) -> str:
    return repr(value)


def _in_docstring(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"""', "'''")
