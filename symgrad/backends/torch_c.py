"""PyTorch over the printed C: two custom operators, forward and backward, that call the compiled code."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import UnsupportedError
from ..expr import Expr, product, ref, refs, substitute, total
from ..expr.sizes import count
from ..ir import Dtype, Tensor
from ..plan import Program
from ..plan.loops import size_names
from ..source.tree import BOOL, FLAG, INT, INTEGER, REAL, SIZE, Parameter
from .base import template
from .c import C
from .c_load import find_compiler
from .c_signature import Printed, of_arrays
from .frameworks import TorchArtefact
from .python_checks import inputs_helper, promoted
from .python_file import PythonModule
from .python_lines import constraint_lines, in_docstring, size_lines, tuple_of, unpacked, where_told
from .python_names import PythonLanguage, names_in
from .python_text import assigned, called, pack_name, parameters, returned, sizes
from .torch import type_helpers

NUMBERS = {
    REAL: "ctypes.c_double",
    SIZE: "ctypes.c_size_t",
    INT: "ctypes.c_ssize_t",
    BOOL: "ctypes.c_int",
    INTEGER: "ctypes.c_int64",
    FLAG: "ctypes.c_ubyte",
}
STORED = {Dtype.REAL: "float64", Dtype.INT: "int64", Dtype.BOOL: "bool"}
NEEDS = "needs_input_grad"
_number = itertools.count()


class TorchC(PythonLanguage):
    """The target `torch_c`: a Python file beside those of `c`."""

    name = "torch_c"
    dialect = executed = "c"
    products = False
    style = "loops"
    over = C()
    calls = over.calls

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: torch has nothing to differentiate.")
        functions = self.over.functions(program)
        return {f"{primal.name}_torch_c.py": _File(program, functions).text(header)}

    def load(self, program: Program, files: Mapping[str, str]) -> TorchArtefact:
        """Import the file from a folder of its own, where it compiles the C."""
        name = program.derivative.primal.name
        find_compiler(name)
        folder = Path(tempfile.mkdtemp(prefix="symgrad-"))
        for file, text in files.items():
            folder.joinpath(file).write_text(text, encoding="utf-8")
        # torch knows operators by name, and theirs is that of the module: another one for each that is loaded
        module_name = f"{name}_torch_c_{next(_number)}"
        spec = importlib.util.spec_from_file_location(module_name, folder / f"{name}_torch_c.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        weakref.finalize(module, shutil.rmtree, folder, ignore_errors=True)
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = writes
        return TorchArtefact(program.derivative.primal, module)


class _File(PythonModule):
    def __init__(self, program: Program, functions: Sequence[Printed]) -> None:
        super().__init__(program)
        primal = self.primal
        self.forward, self.backward = of_arrays(functions)
        self.gradients = dict(program.derivative.gradients)
        self.seeds = [s for _, s in program.derivative.seeds]
        self.hidden = [n for n in program.saved if n not in (*primal.inputs, *primal.outputs)]
        self.results = [*primal.outputs, *self.hidden]
        self.arguments = [*primal.inputs, *self.options]
        self.kept_options = self._options_of(self.backward)
        self.kept_sizes = self._sizes_kept()
        kept = [*program.saved, *self.seeds, *map(pack_name, self.kept_sizes), *self.kept_options]
        asked = {p.tensor for p in self.backward.parameters if p.role == "presence"}
        self.presence = [n for n in program.saved_presence if n in asked]
        self.kept = [*kept, *(f"has_{n}" for n in self.presence)]

    def text(self, header: Sequence[str]) -> str:
        name = self.primal.name
        helpers = [inputs_helper(self.program, None, promoted(self.primal)), *type_helpers(self.primal)]
        whole = [self._forward(), self._results(), self._backward(), self._gradients()]
        used = "math" in names_in("\n".join(line for lines in whole for line in lines))
        return template("torch_c.j2").render(
            header=[in_docstring(line) for line in header],
            imports=[*(["functools"] if promoted(self.primal) else []), "hashlib", *(["math"] if used else [])],
            name=name,
            parameters=parameters(name, self.parameters()),
            doc=[self.results_doc(), *self.arguments_doc()],
            call=self._call(),
            types=self._types(),
            forward_schema=self._schema(self.arguments, len(self.results)),
            forward_parameters=parameters("_forward", self.arguments),
            forward=whole[0],
            results_parameters=parameters("_results", self.arguments),
            results=whole[1],
            backward_schema=self._schema([*self.kept, NEEDS], len(self.gradients)),
            backward_parameters=parameters("_backward", [*self.kept, NEEDS]),
            backward=whole[2],
            gradients_parameters=parameters("_gradients", [*self.kept, NEEDS]),
            gradients=whole[3],
            keep=self._keep(),
            differentiate_parameters=parameters("_differentiate", ["ctx", *self._cotangents()]),
            differentiate=self._differentiate(),
            helpers=helpers,
            subscripts=bool(self.program.indexed),
            optional=bool(self.primal.optional),
        )

    @property
    def errors(self) -> tuple[str, ...]:
        """What it computes with, and what is raised."""
        return (
            "The C beside this file computes in float64, on the CPU; results have the type that they promote to.",
            *super().errors,
        )

    # the function

    def _call(self) -> list[str]:
        primal = self.primal
        inputs = ", ".join(primal.inputs)
        outputs = list(primal.outputs)
        targets = [*outputs, *(["*_"] if self.hidden else [])]
        target = f"{targets[0]}" if len(targets) == 1 else ", ".join(targets)
        options = "".join(f", {o}" for o in self.options)
        shown = [f"{o}.to({self.like}.dtype)" if primal.table[o].dtype == Dtype.REAL else o for o in outputs]
        return [
            *assigned(inputs, f"_inputs({inputs})", 4),
            *assigned(target, f"_forward(*_stored({inputs}){options})", 4),
            *returned(", ".join(shown), 4),
        ]

    def _types(self) -> list[str]:
        """The types of what C takes and returns."""
        lines = []
        for function in (self.forward, self.backward):
            names = [_ctype(p) for p in function.parameters]
            groups = [(n, len(list(some))) for n, some in itertools.groupby(names)]
            text = ", ".join(n if count == 1 else f"*[{n}] * {count}" for n, count in groups)
            text = text.removeprefix("*") if len(groups) == 1 and groups[0][1] > 1 else f"[{text}]"
            result = "None" if function.function.result is None else "ctypes.c_int"
            lines += assigned(f"_C.{function.name}.argtypes", text, 0)
            lines += assigned(f"_C.{function.name}.restype", result, 0)
        return lines

    def _schema(self, names: Sequence[str], results: int) -> list[str]:
        """What an operator takes and returns, in the words of torch."""
        arguments = [f"{self._kind(n)} {n}" for n in names]
        some = ["Tensor"] if results == 1 else ["(Tensor", *["Tensor"] * (results - 2), "Tensor)"]
        last = f"{arguments[-1]}) -> "
        words = [*(f"{a}, " for a in arguments[:-1]), last, *(f"{t}, " for t in some[:-1]), some[-1]]
        lines = ["("]
        for word in words:
            if len(lines[-1]) + len(word) > 74:
                lines.append("")
            lines[-1] += word
        if len(lines) == 1:
            return [f'schema="{lines[0]}",']
        return ["schema=(", *(f'    "{line}"' for line in lines), "),"]

    def _kind(self, name: str) -> str:
        options = {o.name: o.dtype for o in self.primal.options}
        if name == NEEDS:
            return "bool[]"
        if name in options:
            return "float" if options[name] == Dtype.REAL else "SymInt"
        packs = {pack_name(p) for p in self.primal.packs}
        if name in map(pack_name, self.kept_sizes):
            return "SymInt[]" if name in packs else "SymInt"
        if name not in self.program.table:
            return "bool"  # has_bias
        return "Tensor?" if self.program.table[name].optional else "Tensor"

    # forward

    def _forward(self) -> list[str]:
        results = ", ".join(self.results)
        return [
            *assigned(results, f"_results({', '.join(self.arguments)})", 4),
            *size_lines(self._sizes_of(self.forward), self.sure),
            *self._called(self.forward),
            *returned(results, 4),
        ]

    def _results(self) -> list[str]:
        primal, table = self.primal, self.program.table
        dims = {r.name for n in self.results for e in table[n].shape for r in refs(e)}
        dims |= {r.name for c in primal.constraints for r in refs(c)}
        lines = size_lines([d.name for d in primal.dims if d.name in dims], self.sure)
        lines += constraint_lines(primal, primal.constraints)
        like = self.like or primal.inputs[0]
        return [*lines, *returned(", ".join(self._empty(table[n], like) for n in self.results), 4)]

    def _empty(self, tensor: Tensor, like: str, needed: str = "") -> str:
        """A tensor of the right shape whose elements are not known yet."""
        shape = sizes.shape(tensor.shape)
        shape = f"{shape} if {needed} else 0" if needed else shape
        kind = "" if tensor.dtype == Dtype.REAL else f", dtype=torch.{STORED[tensor.dtype]}"
        return f"{like}.new_empty({shape}{kind})"

    def _keep(self) -> list[str]:
        """What is kept for backward."""
        program = self.program
        given = [where_told(d, self.sure) for d in self.kept_sizes]
        numbers = [*given, *self.kept_options, *(f"{n} is not None" for n in self.presence)]
        sources = {t.name for t in self.sure if any(g.startswith(f"{t.name}.") for g in given)}
        read = {*program.saved, *sources, *self.kept_options, *self.presence}
        lines: list[str] = []
        if read & set(self.arguments):
            lines += unpacked([n if n in read else "_" for n in self.arguments], "inputs", 4)
        saved = list(program.saved)
        if len(self.results) == 1:
            saved = ["output" if n in self.results else n for n in saved]
        elif read & set(self.results):
            names = [n if n in read else "_" for n in self.results]
            lines += unpacked(names, "output", 4)
        if self._unasked():
            lines.append("ctx.set_materialize_grads(False)")
        if saved:
            lines += called(f"ctx.save_for_backward({', '.join(saved)})", 4)
        if numbers:
            lines += assigned("ctx.numbers", tuple_of(numbers), 4)
        return lines or ["pass"]

    def _unasked(self) -> bool:
        """Whether a gradient that is zero comes as None, lest zeros are made for what is hidden."""
        return bool(self.hidden) and len(self.seeds) == 1

    # backward

    def _cotangents(self) -> list[str]:
        return [*self.seeds, *(["*_"] if self.hidden else [])]

    def _differentiate(self) -> list[str]:
        primal = self.primal
        count = len(self.arguments)
        lines = [f"if {self.seeds[0]} is None:", f"    return (None,) * {count}"] if self._unasked() else []
        passed = [*(["*ctx.saved_tensors"] if self.program.saved else []), *self.seeds]
        passed += ["*ctx.numbers"] if len(self.kept) > len(self.program.saved) + len(self.seeds) else []
        lines += assigned(", ".join(self.gradients.values()), f"_backward({', '.join([*passed, f'ctx.{NEEDS}'])})", 4)
        found = [
            f"{self.gradients[n]} if ctx.{NEEDS}[{k}] else None" if n in self.gradients else "None"
            for k, n in enumerate(primal.inputs)
        ]
        return [*lines, *returned(", ".join([*found, *(["None"] * len(self.options))]), 4)]

    def _backward(self) -> list[str]:
        names = ", ".join(self.gradients.values())
        needed = [d for d in self._sizes_of(self.backward) if d not in self.kept_sizes]
        return [
            *assigned(names, f"_gradients({', '.join([*self.kept, NEEDS])})", 4),
            *size_lines(needed, self._telling()),
            *self._called(self.backward),
            *returned(names, 4),
        ]

    def _gradients(self) -> list[str]:
        table = self.program.table
        dims = {r.name for g in self.gradients.values() for e in table[g].shape for r in refs(e)}
        names = [d.name for d in self.primal.dims if d.name in dims and d.name not in self.kept_sizes]
        places = {n: k for k, n in enumerate(self.primal.inputs)}
        lines = size_lines(names, self._telling())
        for name, gradient in self.gradients.items():
            value = self._empty(table[gradient], self.seeds[0], f"{NEEDS}[{places[name]}]")
            lines += assigned(gradient, value, 4)
        return [*lines, *returned(", ".join(self.gradients.values()), 4)]

    # sizes and calls

    def _telling(self) -> list[Tensor]:
        """The tensors that backward always has."""
        table = self.program.table
        return [table[n] for n in (*self.program.saved, *self.seeds) if not table[n].optional]

    def _sizes_kept(self) -> list[str]:
        """The sizes that backward works with, and that no tensor that it has tells."""
        table = self.program.table
        dims = {r.name for g in self.gradients.values() for e in table[g].shape for r in refs(e)}
        dims |= set(self._sizes_of(self.backward))
        told = {e.name for t in self._telling() for e in t.shape if hasattr(e, "name")}
        return [d.name for d in self.primal.dims if d.name in dims - told]

    def _sizes_of(self, function: Printed) -> list[str]:
        """The dims that a call of C speaks of, in the order of the function."""
        dims = {p.tensor for p in function.parameters if p.role == "size"}
        dims |= {r.name for shape in self._work(function) for r in refs(*shape)}
        return [d.name for d in self.primal.dims if d.name in dims]

    def _options_of(self, function: Printed) -> list[str]:
        used = {p.tensor for p in function.parameters if p.role == "option"}
        used |= {r.name for shape in self._work(function) for r in refs(*shape)}
        return [o for o in self.options if o in used]

    def _work(self, function: Printed, name: str | None = None) -> list[list[Expr]]:
        """The shapes in a workspace, or in all; a pack is a pack again."""
        shapes = [s for own, some in function.work.items() if name in (None, own) for s in some]
        packs = {new: ref(name) for name, new in size_names(self.program).items() if name in self.primal.packs}
        of = {r: packs[r.name] for shape in shapes for r in refs(*shape) if r.name in packs}
        return [[count(substitute(e, of)) for e in shape] for shape in shapes]

    def _called(self, function: Printed) -> list[str]:
        """The lines that call C."""
        arguments = [f"_C.{function.name}", *(self._argument(p, function) for p in function.parameters)]
        return called(f"_call({', '.join(arguments)})", 4)

    def _argument(self, p: Parameter, function: Printed) -> str:
        if p.role == "size":
            return f"math.prod({pack_name(p.tensor)})" if p.tensor in self.primal.packs else p.tensor
        if p.role == "presence":
            flag = f"has_{p.tensor}"
            return flag if flag in self.kept and function is self.backward else f"{p.tensor} is not None"
        if p.role == "work":
            like = self.like if function is self.forward else self.seeds[0]
            room = sizes(total(product(shape) for shape in self._work(function, p.tensor)))
            whole = ", dtype=torch.int64" if p.type.of == INTEGER else ""
            return f"{like}.new_empty({room}{whole})"
        if p.role == "gradient":
            place = self.primal.inputs.index(p.tensor)
            return f"{self.gradients[p.tensor]} if {NEEDS}[{place}] else None"
        name = dict(self.program.derivative.seeds)[p.tensor] if p.role == "cotangent" else p.tensor
        return name if p.type.pointer or p.role == "option" else f"{name}.item()"


def _ctype(p: Parameter) -> str:
    return "ctypes.c_void_p" if p.type.pointer else NUMBERS[p.type.of]
