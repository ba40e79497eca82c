"""symgrad's columns of C and NumPy."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from symgrad import load, parse, pipeline
from symgrad.backends.python_names import module_from

from .build import NATIVE, call, compiled, operations, point_case
from .measure import Case
from .printed_c import Calls, as_one_file, calls, point_functions
from .work import BACKWARD, FORWARD, JACOBIAN, JACOBIANS, ROWS, Job, Row, declared, functions

ROOT = Path(__file__).resolve().parents[2]
ALONE = {"save": "minimal"}  # nothing was saved before: what backward would read of forward, it computes itself
OPTIONS: dict[str, dict[str, Any]] = {"c": ALONE, "numpy": ALONE}  # frameworks call forward in any case


def c(job: Job, flags: Sequence[str] = NATIVE) -> Case:
    """The printed C, called without Python's wrapper."""
    row = job.row
    code, facts = printed(row, "c")
    text = as_one_file(code.files)
    if row.kind == "point":
        text += point_functions(row, code)
        if row.asks == JACOBIAN:
            facts["operations"] = operations(job, text)
        library, facts["compiled"] = compiled(text, flags)
        return point_case(job, library, facts)
    library, facts["compiled"] = compiled(text, flags)
    found = calls(job, code)
    facts["bytes"] = found.bytes
    alone = call(library, found.alone.name, found.alone.arguments, found.outputs)
    if found.saving is None:
        return Case({FORWARD: alone, BACKWARD: _backward(library, found)}, facts)
    before = call(library, found.saving.name, found.saving.arguments, None)
    before()  # numbers that it saves are arguments of backward
    after = _backward(library, found)

    def both() -> Any:
        before()
        return after()

    return Case({FORWARD: alone, BACKWARD: both}, facts)


def _backward(library: Any, found: Calls) -> Any:
    return call(library, found.backward.name, found.backward.arguments, found.gradients)


def c_o2(job: Job) -> Case:
    """The same at -O2, for any processor of the family."""
    return c(job, ("-O2",))


def loaded(job: Job, to: str = "c") -> Case:
    """As `sg.load` gives it."""
    row, arguments = job.row, job.arguments
    code, facts = printed(row, to)
    start = time.perf_counter()
    artefact = load(declared(row.formula), to=to, check=False, **OPTIONS.get(to, {}))
    facts["compiled"] = time.perf_counter() - start
    needs = tuple(k in row.wrt for k in range(len(arguments)))
    seed = job.cotangent if row.kind == "tensor" else tuple(job.cotangent)

    def before() -> Any:
        return artefact.forward(*arguments, **row.options)[1]

    of_inputs = before() if {*code.program.saved} <= {*code.program.derivative.primal.inputs} else None

    def backward() -> Any:
        gradients = artefact.backward(before() if of_inputs is None else of_inputs, seed, needs)
        return [gradients[k] for k in row.wrt]

    return Case({FORWARD: lambda: artefact.forward(*arguments, **row.options)[0], BACKWARD: backward}, facts)


def numpy(job: Job) -> Case:
    """The printed NumPy."""
    return loaded(job, "numpy")


def printed(row: Row, to: str) -> tuple[pipeline.Printed, dict[str, float]]:
    """The code in a language, the seconds that it takes to derive and print it, and its lines."""
    code = pipeline.printed(declared(row.formula), to, functions(row) or OPTIONS.get(to, {}))
    lines = sum(text.count("\n") for text in code.files.values())
    return code, {"generated": _seconds_to_print(row.name, to), "lines": lines}


@cache
def _seconds_to_print(row: str, to: str) -> float:
    """In a process of its own: here something has been derived before."""
    command = [sys.executable, "-m", "benchmarks.speed.ours", row, to]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def module(row: Row, to: str) -> tuple[Any, dict[str, float]]:
    """The printed function of a framework, and its facts."""
    code, facts = printed(row, to)
    (path, text), *_ = ((p, t) for p, t in code.files.items() if p.endswith(".py"))
    made = module_from(path, text)
    sys.modules[made.__name__] = made  # torch.compile looks for it there
    function = getattr(made, code.program.derivative.primal.name)
    return (lambda *a: function(*a, **row.options)), facts


def main(row: str, to: str) -> None:
    """Print the seconds; what is imported late is imported before."""
    pipeline.printed(parse("first(x) = sin(x)/(1 + x**2)"), to)
    asked = {**ROWS, **JACOBIANS}[row]
    declared(asked.formula)
    start = time.process_time()
    pipeline.printed(declared(asked.formula), to, functions(asked) or OPTIONS.get(to, {}))
    print(time.process_time() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
