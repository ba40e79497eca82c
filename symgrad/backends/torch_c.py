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
from types import MappingProxyType

from ..errors import UnsupportedError
from ..expr import Expr, product, ref, refs, substitute, total
from ..expr.sizes import count
from ..ir import Dtype, Tensor
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
from .python_checks import inputs_helper, promoted, refusal
from .python_module import PythonModule
from .python_names import PythonLanguage
from .python_sizes import name as size_name
from .python_sizes import pack_name, shape, size
from .python_statements import (
    flag_of,
    is_given,
    named,
    refused,
    sized,
    tuple_of,
    unpacked,
    where_size_is,
)
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
NEEDS = Word("needs_input_grad")
ROOM = 74  # columns of one string of a schema
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


class _File(PythonModule):
    def __init__(self, program: Program, functions: Sequence[Printed]) -> None:
        super().__init__(program)
        primal = self.primal
        self.forward, self.backward = (of_arrays(functions, which) for which in PAIR)
        self.gradient_names = dict(program.derivative.gradients)
        self.results = [*primal.outputs, *self.hidden]
        self.kept_options = self._options_of(self.backward)
        self.kept_sizes = self._sizes_kept()
        asked = {p.tensor for p in self.backward.parameters if p.role == "presence"}
        self.presence = [n for n in program.saved_presence if n in asked]
        self.kept: list[Name | Word] = [Name(n) for n in (*program.saved, *self.seeds)]
        self.kept += [size_name(n) for n in (*self.kept_sizes, *self.kept_options)]
        self.kept += map(flag_of, self.presence)

    def module(self, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        own = handwritten("torch_c")
        checks = [inputs_helper(self.program, None, promoted(self.primal)), *type_helpers(self.primal)]
        helpers = [*checks, *(h for w, h in handwritten("torch").items() if w in py.words_in(checks))]
        about = (self.results_doc(), *self.arguments_doc())
        public = Def(Name(self.primal.name), tuple(self.parameters()), self._call(), about, public=True)
        whole = [self._forward(), self._results(), self._backward(), self._gradients()]
        between: list[py.Statement] = [py.Space(), py.Space()]
        registered: list[py.Statement] = [
            Do(call("_forward.register_autograd", Word("_differentiate"), setup_context=Word("_keep"))),
            Do(call("_backward.register_autograd", Word("_refuse"))),
        ]
        nowhere: list[py.Statement] = []
        if self.primal.optional:
            said = py.Comment("a tensor without elements is there, and not NULL")
            nowhere = [py.Space(), said, Assign(Word("_NOWHERE"), call("ctypes.c_double"))]
        name = py.Attribute(Word("__name__"), "replace")
        operator = py.Text(("symgrad::", call(name, Word("'.'"), Word("'_'"))))
        body: list[py.Definition | py.Statement] = [py.Space(), Assign(Word("_NAME"), py.text(self.primal.name))]
        body += [Assign(Word("_OPERATOR"), operator), public, own["_library"], own["_compiled"]]
        body += [*between, Assign(Word("_C"), call("_library")), *self._types()]
        body += [*whole, self._keep(), self._differentiate(), own["_refuse"], *between, *registered, *nowhere]
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
            Assign(bare(inputs), call("_inputs", *inputs)),
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

    def _operator(self, name: str, operator: Expression, given: Sequence[Name | Word], results: int) -> py.Call:
        """The decorator that makes a function an operator of torch."""
        schema = self._schema(given, results)
        return call(
            "torch.library.custom_op", operator, mutates_args=py.Several(()), device_types=py.text("cpu"), schema=schema
        )

    def _schema(self, given: Sequence[Name | Word], results: int) -> Expression:
        """What an operator takes and returns, in the words of torch."""
        arguments = [f"{self._kind(n)} {n.name}" for n in given]
        some = ["Tensor"] if results == 1 else ["(Tensor", *["Tensor"] * (results - 2), "Tensor)"]
        last = f"{arguments[-1]}) -> "
        words = [*(f"{a}, " for a in arguments[:-1]), last, *(f"{t}, " for t in some[:-1]), some[-1]]
        lines = ["("]
        for word in words:
            if len(lines[-1]) + len(word) > ROOM:
                lines.append("")
            lines[-1] += word
        return py.text(lines[0]) if len(lines) == 1 else Operation("beside", tuple(map(py.text, lines)))

    def _kind(self, own: Name | Word) -> str:
        name = own.name
        options = {o.name: o.dtype for o in self.primal.options}
        if own == NEEDS:
            return "bool[]"
        if name in options:
            return "float" if options[name] == Dtype.REAL else "SymInt"
        packs = {pack_name(p) for p in self.primal.packs}
        if name in map(pack_name, self.kept_sizes):
            return "SymInt[]" if name in packs else "SymInt"
        if isinstance(own, Word):
            return "bool"  # has_bias
        return "Tensor?" if self.program.table[name].optional else "Tensor"

    # forward

    def _given(self) -> tuple[Given, ...]:
        return tuple(self.given([*self.primal.inputs, *self.options]))

    def _forward(self) -> Def:
        results = named(self.results)
        body = [
            Assign(bare(results), call("_results", *self.arguments())),
            *sized(self._sizes_of(self.forward), self.sure),
            self._called(self.forward),
            Return(bare(results)),
        ]
        given = self._given()
        operator = self._operator("_forward", Word("_OPERATOR"), [g.name for g in given], len(self.results))
        return Def(Word("_forward"), given, body, ("Return the results, and what backward needs.",), (operator,))

    def _results(self) -> Def:
        primal, table = self.primal, self.program.table
        dims = {r.name for n in self.results for e in table[n].shape for r in refs(e)}
        dims |= {r.name for c in primal.constraints for r in refs(c)}
        body = sized([d.name for d in primal.dims if d.name in dims], self.sure)
        body += refused(primal, primal.constraints)
        like = Name(self.like or primal.inputs[0])
        body.append(Return(bare([self._empty(table[n], like) for n in self.results])))
        about = ("Return what _forward returns, before anything is computed.",)
        return Def(Word("_results"), self._given(), body, about, (Word("_forward.register_fake"),))

    def _empty(self, tensor: Tensor, like: Name, *needed: Expression) -> Expression:
        """A tensor of the right shape whose elements are not known yet."""
        extents = shape(tensor.shape)
        for flag in needed:
            extents = Operation("select", (flag, extents, py.integer(0)))
        kind = {} if tensor.dtype == Dtype.REAL else {"dtype": Word(f"torch.{STORED[tensor.dtype]}")}
        return method(like, "new_empty", extents, **kind)

    def _keep(self) -> Def:
        """What is kept for backward."""
        program = self.program
        sizes = [where_size_is(d, self.sure) for d in self.kept_sizes]
        numbers = [*sizes, *named(self.kept_options), *map(is_given, self.presence)]
        read = {*program.saved, *py.names_in(numbers)}
        arguments = [*self.primal.inputs, *self.options]
        body: list[py.Statement] = []
        if read & {*arguments}:
            body.append(unpacked([Name(n) if n in read else Word("_") for n in arguments], Word("inputs")))
        saved: list[Expression] = named(program.saved)
        if len(self.results) == 1:
            saved = [Word("output") if n in self.results else Name(n) for n in program.saved]
        elif read & {*self.results}:
            body.append(unpacked([Name(n) if n in read else Word("_") for n in self.results], Word("output")))
        if self.unasked():
            body.append(Do(call("ctx.set_materialize_grads", Word("False"))))
        body += [Do(call("ctx.save_for_backward", *saved))] if saved else []
        body += [Assign(Word("ctx.numbers"), tuple_of(numbers))] if numbers else []
        given = tuple(Given(Word(w), fixed=True) for w in ("ctx", "inputs", "output"))
        return Def(Word("_keep"), given, body or [Do(Word("pass"))])

    # backward

    def _differentiate(self) -> Def:
        primal, flags = self.primal, Word("ctx.needs_input_grad")
        body: list[py.Statement] = []
        if self.unasked():
            nothing = Operation("mul", (py.Several((py.NONE,)), py.integer(len(self.arguments()))))
            body.append(py.If(is_given(self.seeds[0], False), [Return(nothing)]))
        passed: list[Expression] = [Splat(Word("ctx.saved_tensors"))] if self.program.saved else []
        passed += named(self.seeds)
        passed += [Splat(Word("ctx.numbers"))] if len(self.kept) > len(self.program.saved) + len(self.seeds) else []
        body.append(Assign(bare(named([*self.gradient_names.values()])), call("_backward", *passed, flags)))
        found = [
            Operation("select", (py.Element(flags, (py.integer(k),)), Name(self.gradient_names[n]), py.NONE))
            if n in self.gradient_names else py.NONE
            for k, n in enumerate(primal.inputs)
        ]  # fmt: skip
        body.append(Return(bare([*found, *[py.NONE] * len(self.options)])))
        given = [Given(Word("ctx")), *(Given(Name(s), role="cotangent") for s in self.seeds)]
        given += [Given(Word("_"), role="rest")] if self.hidden else []
        return Def(Word("_differentiate"), tuple(given), body)

    def _backward(self) -> Def:
        found = named([*self.gradient_names.values()])
        needed = [d for d in self._sizes_of(self.backward) if d not in self.kept_sizes]
        body = [
            Assign(bare(found), call("_gradients", *self.kept, NEEDS)),
            *sized(needed, self._telling()),
            self._called(self.backward),
            Return(bare(found)),
        ]
        given = [*self.kept, NEEDS]
        operator = self._operator("_backward", py.Text((Word("_OPERATOR"), "_backward")), given, len(found))
        about = ("Return J.T @ grad_output: one gradient per input, empty if it is not needed.",)
        return Def(Word("_backward"), tuple(map(Given, given)), body, about, (operator,))

    def _gradients(self) -> Def:
        table = self.program.table
        dims = {r.name for g in self.gradient_names.values() for e in table[g].shape for r in refs(e)}
        names = [d.name for d in self.primal.dims if d.name in dims and d.name not in self.kept_sizes]
        body = sized(names, self._telling())
        for name, gradient in self.gradient_names.items():
            flag = py.Element(NEEDS, (py.integer(self.primal.inputs.index(name)),))
            body.append(Assign(Name(gradient), self._empty(table[gradient], Name(self.seeds[0]), flag)))
        body.append(Return(bare(named([*self.gradient_names.values()]))))
        about = ("Return what _backward returns, before anything is computed.",)
        return Def(
            Word("_gradients"), tuple(map(Given, (*self.kept, NEEDS))), body, about, (Word("_backward.register_fake"),)
        )

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

    def _telling(self) -> list[Tensor]:
        """The tensors that backward always has."""
        table = self.program.table
        return [table[n] for n in (*self.program.saved, *self.seeds) if not table[n].optional]

    def _sizes_kept(self) -> list[str]:
        """The sizes that backward works with, and that no tensor that it has tells."""
        table = self.program.table
        dims = {r.name for g in self.gradient_names.values() for e in table[g].shape for r in refs(e)}
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
            flag = py.Element(NEEDS, (py.integer(self.primal.inputs.index(p.tensor)),))
            return Operation("select", (flag, Name(self.gradient_names[p.tensor]), py.NONE))
        own = Name(dict(self.program.derivative.seeds)[p.tensor] if p.role == "cotangent" else p.tensor)
        return own if p.type.pointer or p.role == "option" else method(own, "item")


def _ctype(p: Parameter) -> str:
    return "ctypes.c_void_p" if p.type.pointer else NUMBERS[p.type.of]
