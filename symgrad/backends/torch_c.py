"""PyTorch over the printed C: two custom operators, forward and backward, that call the compiled code."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from ..errors import UnsupportedError
from ..expr import Expr, product, ref, refs, substitute, total
from ..expr.sizes import count
from ..ir import Dtype
from ..plan import Program
from ..plan.loops import size_names
from ..source import python as py
from ..source.layout import listed
from ..source.python import Assign, Def, Do, Expression, Given, Name, Operation, Return, Splat, Word, bare, call, method
from ..source.tree import BOOL, FLAG, INT, INTEGER, REAL, SIZE, Function, Parameter
from . import primitives
from .c import C
from .c_compile import find_compiler
from .c_signature import Printed, of_arrays
from .frameworks import TorchArtefact
from .handwritten import handwritten
from .options import DEFAULT, PAIR, Options
from .python_checks import checked, inputs_helper, printed_checks, promoted, refusal
from .python_names import PythonLanguage
from .python_sizes import size
from .python_statements import (
    flag_of,
    is_given,
    named,
)
from .torch import type_helpers
from .torch_operators import FORWARD, OPERATOR, REFUSED, OperatorFile

NUMBERS = {
    REAL: "ctypes.c_double",
    SIZE: "ctypes.c_size_t",
    INT: "ctypes.c_ssize_t",
    BOOL: "ctypes.c_int",
    INTEGER: "ctypes.c_int64",
    FLAG: "ctypes.c_ubyte",
}
MODULES = "atexit contextlib ctypes hashlib os pathlib shlex shutil subprocess sysconfig tempfile".split()
_number = itertools.count()


class TorchC(PythonLanguage):
    """The target `torch_c`: a Python file beside those of `c`."""

    name = "torch_c"
    instead = MappingProxyType({"functions": "It registers forward and backward alone."})
    dialect = executed = "c"
    style = "loops"
    over: C

    def __init__(self, options: Options = DEFAULT) -> None:
        super().__init__(options)
        self.over = C(options)
        self.calls = self.over.calls

    def module(self, program: Program, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: torch has nothing to differentiate.")
        if own := [op.about.name for op in primitives.of(program)]:
            raise UnsupportedError(
                f"{primal.name} calls {listed(own)}, and a file of torch_c compiles its own C alone. Print torch, or c."
            )
        return _File(program, self.over.functions(program)).module(header)

    def heads(self, program: Program) -> tuple[Function, ...]:
        """Those of the C, which the check executes."""
        return self.over.heads(program)

    def load(self, program: Program, files: Mapping[str, str]) -> TorchArtefact:
        """Import the file from a folder of its own, where it compiles the C."""
        name = program.derivative.primal.name
        find_compiler(name)
        folder = Path(tempfile.mkdtemp(prefix="symgrad-"))
        for file, content in files.items():
            folder.joinpath(file).write_text(content, encoding="utf-8")
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
        return TorchArtefact(program, module)


class _File(OperatorFile):
    device = "cpu"

    def __init__(self, program: Program, functions: Sequence[Printed]) -> None:
        self.functions = forward, backward = of_arrays(functions, PAIR[0]), of_arrays(functions, PAIR[1])
        self.packs = {
            new: ref(name) for name, new in size_names(program).items() if name in program.derivative.primal.packs
        }
        dims = [d.name for d in program.derivative.primal.dims]
        used = ([d for d in dims if d in self._told(f, "size")] for f in self.functions)
        asked = [p.tensor for p in backward.parameters if p.role == "presence"]
        super().__init__(program, (next(used), next(used)), [*self._told(backward, "option")], asked)
        self.forward, self.backward = forward, backward

    def _told(self, function: Printed, role: str) -> set[str]:
        """The sizes, or options, that a call of C speaks of."""
        found = {p.tensor for p in function.parameters if p.role == role}
        return found | {r.name for shape in self._work(function) for r in refs(*shape)}

    @cached_property
    def _checks(self) -> Def:
        return inputs_helper(self.program, None, promoted(self.primal), noun=self.noun)

    def module(self, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        own = handwritten("torch_c")
        checks = [*printed_checks(self._checks), *type_helpers(self.primal)]
        about = (self.results_doc(), *self.arguments_doc())
        public = Def(Name(self.primal.name), tuple(self.parameters()), self._call(), about, public=True)
        helpers = [*checks, *(h for w, h in handwritten("torch").items() if w in py.words_in(checks, public))]
        whole = [self.forward_operator(), self.results_maker(), self.backward_operator(), self.gradients_maker()]
        between: list[py.Statement] = [py.Space(), py.Space()]
        nowhere: list[py.Statement] = []
        if self.primal.optional:
            said = py.Comment("a tensor without elements is there, and not NULL")
            nowhere = [py.Space(), said, Assign(Word("_NOWHERE"), call("ctypes.c_double"))]
        body: list[py.Definition | py.Statement] = [py.Space(), Assign(Word("_NAME"), py.text(self.primal.name))]
        body += [OPERATOR, public, own["_library"], own["_compiled"]]
        body += [*between, Assign(Word("_C"), call("_library")), *self._types()]
        body += [*whole, self.keeper(), self.differentiator(), own["_refuse"], *between, FORWARD, REFUSED, *nowhere]
        body += [self._calls(), own["_stored"], own["_type"], *helpers]
        modules = [*MODULES, *(m for m in ("functools", "math") if m in py.words_in(whole, helpers))]
        imports = (tuple(map(py.Import, sorted(modules))), (py.Import("torch"),))
        return py.Module(tuple(header), imports, (public.name,), tuple(body))

    @property
    def errors(self) -> tuple[str, ...]:
        """What it computes with, and what is raised."""
        return (
            "The C beside this file computes in float64, on the CPU; results have the type that they promote to.",
            *super().errors,
        )

    # the function

    def _call(self) -> py.Block:
        primal = self.primal
        inputs = named(primal.inputs)
        targets = [*named(primal.outputs), *([Splat(Word("_"))] if self.hidden else [])]
        stored = Splat(call("_stored", *inputs))
        dtype = py.Attribute(Name(str(self.like)), "dtype")
        shown = [
            method(Name(o), "to", dtype) if primal.table[o].dtype == Dtype.REAL else Name(o) for o in primal.outputs
        ]
        return [
            Assign(bare(inputs), checked(self._checks, primal.inputs)),
            self.reverse_mode_only(),
            Assign(bare(targets), call("_forward", stored, *named(self.options))),
            Return(bare(shown)),
        ]

    def _types(self) -> list[py.Statement]:
        """The types of what C takes and returns."""
        found: list[py.Statement] = []
        for function in (self.forward, self.backward):
            names = [_ctype(p) for p in function.parameters]
            groups = [(Word(n), len(list(some))) for n, some in itertools.groupby(names)]
            many = [Operation("mul", (py.Several((n,), "["), py.integer(count))) for n, count in groups]
            parts = [n if count == 1 else Splat(m) for m, (n, count) in zip(many, groups, strict=True)]
            whole = many[0] if len(groups) == 1 and groups[0][1] > 1 else py.Several(tuple(parts), "[")
            result = py.NONE if function.function.result is None else Word("ctypes.c_int")
            found.append(Assign(Word(f"_C.{function.name}.argtypes"), whole))
            found.append(Assign(Word(f"_C.{function.name}.restype"), result))
        return found

    def computed(self) -> list[py.Statement]:
        return [self._called(self.forward)]

    def differentiated(self) -> list[py.Statement]:
        return [self._called(self.backward)]

    def _calls(self) -> Def:
        """What calls C, and refuses subscripts that it has refused."""
        function, arguments, places, a = (Word(w) for w in ("function", "arguments", "places", "a"))
        is_tensor = call("torch.is_tensor", a)
        address: Expression = method(a, "data_ptr")
        body: list[py.Statement] = []

        def each(value: Expression) -> Expression:
            return py.Several((Operation("each", (Operation("select", (is_tensor, value, a)), a, arguments)),), "[")

        body.append(Assign(arguments, each(method(a, "contiguous"))))
        if self.primal.optional:
            body.append(Assign(Word("nowhere"), call("ctypes.addressof", Word("_NOWHERE"))))
            address = Operation("or", (address, Word("nowhere")))
        body.append(Assign(places, each(address)))
        result = call(function, Splat(places))
        said = (Word("_NAME"), ": a subscript is out of range")
        body.append(refusal(result, *said, kind="IndexError") if self.program.indexed else Do(result))
        about = ("Call C; tensors are passed as the address of contiguous memory, None as NULL.",)
        return Def(Word("_call"), (Given(function), Given(arguments, role="rest")), body, about)

    # sizes and calls

    def _work(self, function: Printed, name: str | None = None) -> list[list[Expr]]:
        """The shapes in a workspace, or in all; a pack is a pack again."""
        shapes = [s for own, some in function.work.items() if name in (None, own) for s in some]
        of = {r: self.packs[r.name] for shape in shapes for r in refs(*shape) if r.name in self.packs}
        return [[count(substitute(e, of)) for e in shape] for shape in shapes]

    def _called(self, function: Printed) -> Do:
        """The call of C."""
        arguments = (self._argument(p, function) for p in function.parameters)
        return Do(call("_call", Word(f"_C.{function.name}"), *arguments))

    def _argument(self, p: Parameter, function: Printed) -> Expression:
        if p.role == "size":
            return size(ref(p.tensor))
        if p.role == "presence":
            has = flag_of(p.tensor)
            return has if has in self.kept and function is self.backward else is_given(p.tensor)
        if p.role == "work":
            like = Name(str(self.like)) if function is self.forward else Name(self.seeds[0])
            room = size(total(product(shape) for shape in self._work(function, p.tensor)))
            whole = {"dtype": Word("torch.int64")} if p.type.of == INTEGER else {}
            return method(like, "new_empty", room, **whole)
        if p.role == "gradient":
            return Operation("select", (self.need(p.tensor), Name(self.gradient_names[p.tensor]), py.NONE))
        own = Name(dict(self.program.derivative.seeds)[p.tensor] if p.role == "cotangent" else p.tensor)
        return own if p.type.pointer or p.role == "option" else method(own, "item")


def _ctype(p: Parameter) -> str:
    return "ctypes.c_void_p" if p.type.pointer else NUMBERS[p.type.of]
