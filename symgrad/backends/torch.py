"""PyTorch: a `torch.autograd.Function`, and a function that checks its arguments and calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ..errors import UnsupportedError
from ..ir import Dtype, Function, Tensor
from ..plan import Program
from ..plan.arrays.commands import Guard
from .base import template
from .frameworks import TorchArtefact
from .python_checks import RangeCheck, checked_options, inputs_helper, promoted, raised
from .python_file import FrameworkFile, TangentFile, module_from
from .python_lines import (
    conditions,
    constraint_lines,
    count_lines,
    in_docstring,
    indented,
    listed,
    needed,
    present,
    size_lines,
    tuple_of,
    unpacked,
    where_told,
)
from .python_names import PythonLanguage, names_in
from .python_text import assigned, called, if_lines, pack_name, parameters, returned, unset
from .torch_lines import HELPERS, TorchLines
from .torch_text import TorchPrinter

MANY = 8  # gradients, from which what stands for none of them is not written out
NEEDS = "ctx.needs_input_grad"
MATRICES = (" @ ", "_einsum(", "torch.linalg", "_solve_triangular(")  # what autocast would compute in half precision


class Torch(PythonLanguage):
    """The target `torch`."""

    name = dialect = "torch"
    takes = ("jvp",)
    executed = "numpy"
    style = "arrays"

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: torch has nothing to differentiate.")
        return {f"{primal.name}_torch.py": _File(program, self.options.jvp).text(header)}

    def load(self, program: Program, files: Mapping[str, str]) -> TorchArtefact:
        """Import the printed text as a module, without writing it anywhere."""
        ((path, text),) = files.items()
        return TorchArtefact(program.derivative.primal, module_from(path, text))


class _File(FrameworkFile):
    def __init__(self, program: Program, forward_mode: bool = False) -> None:
        super().__init__(program)
        primal = self.primal
        self.forward_mode = forward_mode
        self.class_name = class_name(primal.name)
        self.hidden = [n for n in program.saved if n not in (*primal.inputs, *primal.outputs)]
        saved = [n for n in program.saved if n in primal.inputs]
        if self.hidden:  # they are computed again from the inputs when backward is differentiated itself
            saved = list(primal.inputs)
        self.saved = [*saved, *(n for n in program.saved if n not in primal.inputs)]

    def printer(self, like: str) -> TorchPrinter:
        return TorchPrinter(like, self.options, self.needs)

    def text(self, header: Sequence[str]) -> str:
        forward, setup, backward = self._forward(), self._setup(), self._backward()
        jvp = self._jvp() if self.forward_mode else []
        body = "\n".join([*self._call(), *forward, *backward, *jvp])
        own = [inputs_helper(self.program, self._in_range, promoted(self.primal)), *type_helpers(self.primal)]
        helpers, used = self.completed(body, own, HELPERS)
        imports = [f"import {m}" for m in ("functools", "math") if m in used]
        return template("torch.j2").render(
            header=[in_docstring(line) for line in header],
            imports=[*imports, ""] if imports else [],
            name=self.primal.name,
            class_name=self.class_name,
            parameters=parameters(self.primal.name, self.parameters()),
            doc=[self.results_doc(), *self.arguments_doc()],
            call=self._call(),
            forward_parameters=parameters("forward", [*self.primal.inputs, *self.options], 4),
            forward=forward,
            setup=setup,
            backward_parameters=parameters("backward", ["ctx", *self._cotangents()], 4),
            backward=backward,
            jvp_parameters=parameters("jvp", ["ctx", *self._tangents()], 4) if jvp else "",
            jvp=jvp,
            helpers=helpers,
        )

    # the function

    def _call(self) -> list[str]:
        names = ", ".join(self.primal.inputs)
        sure = self.like or self.primal.inputs[0]
        arguments = ", ".join([*self.primal.inputs, *self.options])
        count = len(self.primal.outputs)
        shown = "" if not self.hidden else "[0]" if count == 1 else f"[:{count}]"
        result = called(f"return {self.class_name}.apply({arguments})", 8 + len(shown))
        result[-1] += shown
        return [
            *assigned(names, f"_inputs({', '.join([*self.primal.inputs, *checked_options(self.program)])})", 4),
            f"with _no_autocast({sure}):",
            *(f"    {line}" for line in result),
        ]

    @property
    def errors(self) -> tuple[str, ...]:
        if not self.program.indexed:
            return super().errors
        return (
            *super().errors,
            "On a device, compiled, exported or under torch.vmap it is torch that refuses them.",
        )

    def _in_range(self, primal: Function, check: RangeCheck) -> list[str]:
        """Subscripts are refused at once, or made such that torch refuses them."""
        said = f'"{primal.name}: {check.name}", "{check.said}"'
        asked = [] if check.asked is None else [self.printer(check.name)(check.asked)]
        call = f"_in_range({', '.join([check.name, check.extent, said, *asked])})"
        if not check.given:
            return assigned(check.name, call, 4)
        return [f"if {check.given}:", *indented(assigned(check.name, call, 8))]

    # the class

    def _forward(self) -> list[str]:
        lines = size_lines(self.forward_sizes(), self.sure)
        lines += constraint_lines(self.primal, self.needs, 8)
        lines += count_lines(self.forward.counts, 8)
        lines += [""] if lines else []
        text = self.printer(self.like or self.primal.inputs[0])
        reads = self._ordered(self.primal.inputs)
        results = [*self.primal.outputs, *self.hidden]
        printed = TorchLines(text, self._asked_forward, self.forward.statements, reads, self.primal.optional, results)
        lines += printed.whole(self.forward.statements, 8)
        return [*lines, *returned(", ".join(results), 8)]

    def _asked_forward(self, guard: Guard) -> str:
        return conditions(guard, {}, None, "")

    def _ordered(self, names: Sequence[str]) -> list[str]:
        """The tensors of real numbers first."""
        return sorted(names, key=lambda n: self.program.table[n].dtype != Dtype.REAL)

    def _setup(self) -> list[str]:
        """What is kept for backward."""
        primal = self.primal
        results = [*primal.outputs, *self.hidden]
        flags = [f"{n} is not None" for n in self._flags()]
        sizes = [where_told(d, self.sure) for d in self.sizes_kept()]
        extra = self._options_kept()
        kept = [self._kept(n) for n in self.saved]
        pushed = [*primal.inputs] if self.forward_mode else []
        text = ", ".join([*kept, *flags, *sizes, *extra, *pushed])
        used = names_in(text)
        read = [n for n in (*primal.inputs, *self.options) if n in used]
        lines: list[str] = []
        if read:
            names = [n if n in read else "_" for n in (*primal.inputs, *self.options)]
            lines += assigned(tuple_of(names) if len(names) == 1 else ", ".join(names), "inputs", 8)
        own = [n for n in results if n in names_in(", ".join(kept))]
        if own and len(results) > 1:
            lines += assigned(", ".join(n if n in own else "_" for n in results), "output", 8)
        elif own:
            kept = ["output" + k.removeprefix(own[0]) if k.split()[0] == own[0] else k for k in kept]
        if self._unasked():
            lines.append("ctx.set_materialize_grads(False)")
        if self.forward_mode and self.hidden:  # jvp says nothing of them
            lines += called(f"ctx.mark_non_differentiable({', '.join(self.hidden)})", 8)
        if kept:
            lines += called(f"ctx.save_for_backward({', '.join(kept)})", 8)
        if pushed:
            lines += called(f"ctx.save_for_forward({', '.join(pushed)})", 8)
        for word, values in (("sizes", sizes), ("options", extra), ("given", flags)):
            if values:
                lines += assigned(f"ctx.{word}", tuple_of(values), 8)
        return lines or ["pass"]

    def _kept(self, name: str) -> str:
        """A tensor as it is saved: only if a gradient that is needed reads it."""
        asked = self._readers(name)
        if asked is None:
            return name
        return f"{name} if {' or '.join(needed(asked, len(self.primal.inputs), NEEDS))} else None"

    def _readers(self, name: str) -> list[int] | None:
        """The inputs for whose gradients alone a tensor is read; None if it is always saved."""
        if self.hidden and name in self.primal.inputs:
            return None
        gradients = [g for _, g in self.program.derivative.gradients]
        served = set[str]()
        for step in self.program.backward.steps:
            if any(r.name == name for e in step.equations for r in e.reads):
                served |= set(step.serves)
        if not served or served >= set(gradients):
            return None
        return [k for k, n in enumerate(self.primal.inputs) if self.gradient_of(n) in served]

    def telling(self) -> list[Tensor]:
        """The tensors with which backward can always work, but those with kept axes."""
        table = self.program.table
        always = [n for n in self.saved if not table[n].optional and self._readers(n) is None]
        seeds = [s for _, s in self.program.derivative.seeds]
        return [table[n] for n in (*always, *seeds) if n not in self.forward.kept]

    def _flags(self) -> list[str]:
        """The optional inputs of which backward asks whether they are given, but for their own gradients."""
        asked = {
            name
            for s in self.backward.statements
            if isinstance(s, Guard)
            for name, given in s.when
            if not given or s.serves != (self.gradient_of(name),)
        }
        return [n for n in self.program.saved_presence if n in asked]

    def _options_kept(self) -> list[str]:
        if self.hidden or self.forward_mode:
            return self.options
        return [o for o in self.program.saved_options if self.used(o)]

    def _cotangents(self) -> list[str]:
        """The parameters of backward: the gradient of each result."""
        seeds = [s for _, s in self.program.derivative.seeds]
        return [*seeds, *(["*_"] if self.hidden else [])]

    def _unasked(self) -> bool:
        """Whether gradients that are zero come as None, lest zeros are made for what is hidden."""
        return bool(self.hidden) and len(self.program.derivative.seeds) == 1

    @cached_property
    def body(self) -> list[str]:
        """The statements of backward; products of matrices in the type that they have, whatever autocast says."""
        seed = self.program.derivative.seeds[0][1]
        inside = self._body_at(8)
        if not any(word in line for line in inside for word in MATRICES):
            return inside
        return [f"with _no_autocast({seed}):", *indented(self._body_at(12))]

    def _body_at(self, indent: int) -> list[str]:
        seeds = [s for _, s in self.program.derivative.seeds]
        places = {g: k for k, g in enumerate(map(self.gradient_of, self.primal.inputs)) if g is not None}

        def asked(guard: Guard) -> str:
            # an input whose gradient is needed is given
            own = {(n, True) for n in self.primal.optional if guard.serves == (self.gradient_of(n),)}
            when = tuple(w for w in guard.when if w not in own)
            return conditions(replace(guard, when=when), places, self.program, NEEDS)

        reads = [*seeds, *self._ordered(self.saved)]
        printer = self.printer(seeds[0])
        text = TorchLines(printer, asked, self.backward.statements, reads, self.primal.optional, [*places])
        return text.whole(self.backward.statements, indent)

    def _backward(self) -> list[str]:
        primal, program = self.primal, self.program
        seeds = [s for _, s in program.derivative.seeds]
        lines: list[str] = []
        count = len(primal.inputs) + len(self.options)
        if self._unasked():
            nothing = ", ".join(["None"] * count) if count <= MANY else f"(None,) * {count}"
            lines += [f"if {seeds[0]} is None:", *indented(returned(nothing, 12))]
        if self.saved:
            lines += unpacked(self.saved, "ctx.saved_tensors", 8)
        for word, names in (
            ("sizes", [pack_name(d) for d in self.sizes_kept()]),
            ("options", self._options_kept()),
            ("given", [f"has_{n}" for n in self._flags()]),
        ):
            if names:
                lines += unpacked(names, f"ctx.{word}", 8)
        if self.hidden:
            lines += self._again()
        lines += size_lines([d for d in self.sizes_used() if d not in self.sizes_kept()], self.telling())
        lines += count_lines(self.backward.counts, 8)
        lines += unset([g for _, g in program.derivative.gradients], 8)
        result = [self.gradient_of(n) or "None" for n in primal.inputs] + ["None"] * len(self.options)
        return [*lines, *self.body, *returned(", ".join(result), 8)]

    # forward mode

    def _tangents(self) -> list[str]:
        """The parameters of jvp: the tangent of each argument."""
        assert self.program.product is not None, "the pipeline plans it"
        seeds = dict(self.program.product.derivative.seeds)
        found = [seeds.get(n, f"_{n}") for n in self.primal.inputs]
        return [*found, *(["*_"] if self.options else [])]

    def _jvp(self) -> list[str]:
        """J times the tangents, from the inputs; what is None does not move."""
        assert self.program.product is not None, "the pipeline plans it"
        pushed = _Tangents(self.program.product)
        seeds = pushed.tangents
        lines = unpacked(self.primal.inputs, "ctx.saved_tensors", 8)
        lines += unpacked(self.options, "ctx.options", 8) if self.options else []
        lines += [line for n, seed in seeds.items() for line in assigned(seed, f"_tangent({seed}, {n})", 8)]
        reads = [*self._ordered([*self.primal.inputs]), *seeds.values()]
        optional = [*self.primal.optional, *(seeds[n] for n in self.primal.optional if n in seeds)]
        results = pushed.results(self.primal.outputs, "None")
        printer = pushed.printer(self.like or self.primal.inputs[0])

        def asked(guard: Guard) -> str:
            return " and ".join(present(guard, None))

        text = TorchLines(printer, asked, pushed.statements, reads, optional, results)
        lines += [*pushed.sized(8), *text.whole(pushed.statements, 8)]
        return [*lines, *returned(", ".join([*results, *["None"] * len(self.hidden)]), 8)]

    def _again(self) -> list[str]:
        """The hidden results as functions of the inputs, where backward is differentiated itself."""
        results = ["_" if n in self.primal.outputs else n for n in (*self.primal.outputs, *self.hidden)]
        call = f"{self.class_name}.forward({', '.join([*self.primal.inputs, *self.options])})"
        said = f"# to differentiate this again: {listed(self.hidden)}"
        said = f"{said} as {'a function' if len(self.hidden) == 1 else 'functions'} of the inputs"
        short = said if len(said) <= 70 else "# to differentiate this again: what was saved, as functions of the inputs"
        asked = "torch.is_grad_enabled()"
        if self.forward_mode:
            reals = [n for n in self.primal.inputs if self.primal.table[n].dtype == Dtype.REAL]
            asked += f" or _forward_mode({', '.join(reals)})"
        return [
            *if_lines(asked, 8),
            f"    {short}",
            *(f"    {line}" for line in assigned(", ".join(results), call, 12)),
        ]


class _Tangents(TangentFile):
    def printer(self, like: str) -> TorchPrinter:
        return TorchPrinter(like, self.options)


def class_name(name: str) -> str:
    """`layer_norm` -> `LayerNorm`."""
    found = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return found if found != name else f"{found}Function"


def type_helpers(primal: Function) -> list[list[str]]:
    """What refuses arguments of another type, and gives those of real numbers one dtype."""
    kinds = {primal.table[n].dtype for n in primal.inputs}
    integer = "value.dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)"
    rows = (
        (Dtype.REAL, "_real", "a floating-point tensor", "value.is_floating_point()"),
        (Dtype.INT, "_integer", "a tensor of integers", integer),
        (Dtype.BOOL, "_boolean", "a tensor of booleans", "value.dtype == torch.bool"),
    )
    found = [_type_helper(primal.name, word, kind, test) for dtype, word, kind, test in rows if dtype in kinds]
    return [*found, *([list(PROMOTED)] if promoted(primal) else [])]


def _type_helper(function: str, word: str, kind: str, test: str) -> list[str]:
    message = f"{function}: {{name}} has dtype {{dtype}}, expected {kind}"
    return [
        f"def {word}(name, value):",
        f'    """Return `value`, which must be {kind}."""',
        *(f"    {line}" for line in if_lines(f"not (torch.is_tensor(value) and {test})", 4)),
        "        dtype = getattr(value, \"dtype\", type(value).__name__)",
        *(f"    {line}" for line in raised("TypeError", message, 8)),
        f"    return value{'.long()' if word == '_integer' else ''}",  # torch takes uint8 for a mask
    ]


PROMOTED = (
    "def _promoted(*tensors):",
    '    """Return the tensors in the one dtype that they promote to."""',
    "    dtypes = [t.dtype for t in tensors if t is not None]",
    "    dtype = functools.reduce(torch.promote_types, dtypes)",
    "    return [None if t is None else t.to(dtype) for t in tensors]",
)
