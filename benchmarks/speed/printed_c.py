"""What symgrad prints in C, with a value for each parameter: for a call from Python, and for a program of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from symgrad import pipeline
from symgrad.ir import Dtype, bind, extent_of, shape_of

from .work import JACOBIAN, POINTS, Job, Row, declared, functions, zeros

Array = np.ndarray[Any, Any]
STORED = {Dtype.REAL: np.float64, Dtype.INT: np.int64, Dtype.BOOL: np.uint8}


@dataclass(frozen=True)
class Content:
    """The number that is in memory when the call is made."""

    memory: Array


@dataclass(frozen=True)
class Call:
    """A function of the printed file, and what it is given: arrays for memory, None for what is absent or not wanted,
    for the rest numbers, or the content of what forward saves."""

    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Calls:
    """alone     forward, which saves nothing
    saving    forward before backward, without the outputs that it can leave out; None where backward needs nothing that
              it computes
    backward  for the gradients of a row
    """

    alone: Call
    saving: Call | None
    backward: Call
    outputs: tuple[Array, ...]
    gradients: tuple[Array, ...]

    @property
    def bytes(self) -> int:
        """Of results, of what is saved, and of the workspace, from arguments to gradients."""
        given = [a for call in (self.saving, self.backward) if call for a in call.arguments]
        written = {id(a): a for a in given if isinstance(a, np.ndarray) and a.flags.writeable}
        return sum(a.nbytes for a in written.values())


def printed(row: Row) -> pipeline.Printed:
    """The C of a row's function."""
    return pipeline.printed(declared(row.formula), "c", functions(row))


def as_one_file(files: Mapping[str, str]) -> str:
    """The printed file with its header written into it."""
    (header,) = (name for name in files if name.endswith(".h"))
    (source,) = (text for name, text in files.items() if name.endswith(".c"))
    return source.replace(f'#include "{header}"', files[header])


def calls(job: Job, code: pipeline.Printed) -> Calls:
    """The calls of a row of arrays, or of a batch."""
    row = job.row
    program, made = code.program, {f.function.role: f for f in code.backend.functions(code.program)}
    primal = program.derivative.primal
    ending = "_batch" if "forward_batch" in made else ""
    seeds = [job.cotangent] if row.kind == "tensor" else [*job.cotangent]
    inputs = dict(zip(primal.inputs, map(_read_only, job.arguments), strict=True))
    sizes: dict[str, Any] = bind(primal, inputs)
    options = {o.name: row.options.get(o.name, o.default) for o in primal.options}
    extents = options | sizes | {"batch" if n == "..." else n.removeprefix("*"): size for n, size in sizes.items()}

    def empty(name: str) -> Array:
        tensor = program.table[name]
        return zeros(shape_of(tensor.shape, sizes, options), STORED[tensor.dtype])

    results = {n: empty(n) for n in dict.fromkeys([*primal.outputs, *program.saved]) if n not in inputs}
    wanted = {primal.inputs[k] for k in row.wrt}
    gradients = {n: empty(g) for n, g in program.derivative.gradients if n in wanted}
    cotangents = dict(zip(primal.outputs, map(_read_only, seeds), strict=True))

    def call(which: str, saves: bool) -> Call:
        function = made[which + ending]
        values: list[Any] = []
        for p in function.parameters:
            match p.role:
                case "size":
                    values.append(prod(sizes[p.tensor]) if isinstance(sizes[p.tensor], tuple) else sizes[p.tensor])
                case "option":
                    values.append(options[p.tensor])
                case "presence":
                    values.append(1)
                case "gradient":
                    values.append(gradients.get(p.tensor))
                case "cotangent":
                    values.append(cotangents[p.tensor])
                case "work":
                    room = sum(prod(extent_of(e, extents) for e in shape) for shape in function.work[p.tensor])
                    values.append(zeros(room, np.int64 if p.type.of == "integer" else np.float64))
                case _:
                    kept = saves if p.role == "saved" else not (saves and p.role == "output" and p.nullable)
                    values.append({**inputs, **results}[p.tensor] if kept else None)
        pairs = zip(function.parameters, values, strict=True)
        return Call(function.name, tuple(v if p.type.pointer or v is None else _by_value(v) for p, v in pairs))

    needs = set(program.saved) - set(inputs)
    return Calls(
        call("forward", False),
        call("forward", True) if needs else None,
        call("backward", True),
        tuple(results[n] for n in primal.outputs),
        tuple(gradients[primal.inputs[k]] for k in row.wrt),
    )


def _read_only(a: Array) -> Array:
    view = np.asarray(a).view()
    view.flags.writeable = False
    return view


def _by_value(value: Any) -> int | float | Content:
    if isinstance(value, np.ndarray):
        return Content(value) if value.flags.writeable else value.item()
    return value


def point_functions(row: Row, code: pipeline.Printed) -> str:
    """C that calls the printed functions of one point with arguments, cotangents and results in arrays."""
    made = {f.function.role: f for f in code.backend.functions(code.program)}
    primal = code.program.derivative.primal
    point = POINTS[row.formula]
    place = {n: f"x[{k}]" for k, n in enumerate(primal.inputs)} | {n: f"y[{k}]" for k, n in enumerate(primal.outputs)}
    if row.asks == JACOBIAN:
        own = {n: "&" * (n in primal.outputs) + at for n, at in place.items()} | {"jacobian": "g"}
        called = f"{made[JACOBIAN].name}({', '.join(own[p.tensor] for p in made[JACOBIAN].parameters)});"
        return f"void run_jacobian(const double *x, double *y, double *g) {{ {called} }}"
    saved = [p for p in made["forward"].parameters if p.role == "saved"]
    place |= {p.tensor: f"saved_{p.tensor}" for p in saved if p.tensor not in place}
    gradient = {n: f"&g[{k}]" for k, n in enumerate(primal.inputs) if k in row.wrt}
    cotangent = {n: f"v[{k}]" for k, n in enumerate(primal.outputs)}

    def call(which: str, saves: bool) -> str:
        given: list[str] = []
        for p in made[which].parameters:
            if p.role == "gradient":
                given.append(gradient.get(p.tensor, "NULL"))
            elif p.role == "cotangent":
                given.append(cotangent[p.tensor])
            elif p.role == "saved" and not saves:
                given.append("NULL")
            else:
                given.append("&" * p.type.pointer + place[p.tensor])
        return f"{made[which].name}({', '.join(given)});"

    numbers = "".join(f"double saved_{p.tensor}; " for p in saved if p.tensor not in primal.outputs)
    first = f"double y[{point.results}]; {numbers}{call('forward', True)} " if code_saves(code) else ""
    return f"""
void run_forward(const double *x, double *y) {{ {call("forward", False)} }}
void run_backward(const double *x, const double *v, double *g) {{ {first}{call("backward", True)} }}
"""


def code_saves(code: pipeline.Printed) -> bool:
    """Whether backward needs what forward computes."""
    return not set(code.program.saved) <= set(code.program.derivative.primal.inputs)
