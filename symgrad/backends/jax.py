"""JAX: `forward` and `backward` on `jax.numpy` arrays, and a function that has them by `jax.custom_vjp`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ..errors import UnsupportedError
from ..ir import Tensor
from ..plan import Program
from ..plan.arrays.commands import Guard
from ..plan.build import SCIPY
from .base import template
from .frameworks import JaxArtefact
from .jax_text import JaxLines, JaxPrinter
from .python_checks import checked_options, inputs_helper, promoted, range_refused, type_helpers
from .python_file import FrameworkFile, TangentFile, module_from
from .python_lines import (
    as_stored,
    constraint_lines,
    count_lines,
    in_docstring,
    present,
    size_lines,
    tuple_of,
    unpacked,
    where_told,
)
from .python_names import PythonLanguage, names_in
from .python_text import assigned, called, pack_name, parameters, returned, unset


class Jax(PythonLanguage):
    """The target `jax`."""

    name = dialect = "jax"
    takes = ("jvp",)
    executed = "numpy"
    style = "arrays"

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: JAX has nothing to differentiate.")
        made = _ForwardMode if self.options.jvp else _File
        return {f"{primal.name}_jax.py": made(program).text(header)}

    def load(self, program: Program, files: Mapping[str, str]) -> JaxArtefact:
        """Import the printed text as a module, without writing it anywhere."""
        ((path, text),) = files.items()
        return JaxArtefact(program.derivative.primal, module_from(path, text))


class _File(FrameworkFile):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.seeds = [s for _, s in program.derivative.seeds]

    def printer(self, like: str) -> JaxPrinter:
        return JaxPrinter(f"{like}.dtype", self.options, self.needs)

    template = "jax.j2"
    rule = "jax.custom_vjp"

    def text(self, header: Sequence[str]) -> str:
        functions = self.functions()
        body = "\n".join(line for lines in functions.values() if not isinstance(lines, str) for line in lines)
        refused = range_refused("_outside({name}, {extent})", self.printer(""))
        checks = inputs_helper(self.program, refused, promoted(self.primal))
        own = [["@jax.ensure_compile_time_eval()", *checks] if self.program.indexed else checks]
        own += [*type_helpers(self.primal, "jnp"), *([list(PROMOTED)] if promoted(self.primal) else [])]
        helpers, used = self.completed(body, own, HELPERS)
        imports = ["import functools"] if self.options else []
        imports += ["import math"] if "math" in used else []
        modules = [m for m in SCIPY if m in used]
        every = [*self.primal.inputs, *self.options]
        count = len(self.primal.inputs)
        places = ", ".join(str(count + k) for k in range(len(self.options)))
        places += "," if len(self.options) == 1 else ""
        decorator = f"functools.partial({self.rule}, nondiff_argnums=({places}))" if places else self.rule
        checked = ", ".join([*self.primal.inputs, *checked_options(self.program)])
        return template(self.template).render(
            header=[in_docstring(line) for line in header],
            imports=[*imports, ""] if imports else [],
            modules=[
                *(["import numpy as np"] if "np" in used else []),
                *([f"from jax.scipy import {', '.join(sorted(modules))}"] if modules else []),
            ],
            name=self.primal.name,
            parameters=parameters(self.primal.name, self.parameters()),
            doc=[self.results_doc(), *self.arguments_doc()],
            call=[*assigned(", ".join(self.primal.inputs), f"_inputs({checked})", 4), *self.call("return ")],
            decorator=decorator,
            all_parameters=parameters(f"_{self.primal.name}", every),
            helpers=helpers,
            **functions,
        )

    def call(self, before: str) -> list[str]:
        """The call of the function that has a derivative of its own."""
        return called(f"{before}_{self.primal.name}({', '.join([*self.primal.inputs, *self.options])})", 4)

    def functions(self) -> dict[str, str | list[str]]:
        """What the template places: the lines of functions, and their parameters."""
        every = [*self.primal.inputs, *self.options]
        result = called(f"return forward({', '.join(every)})", 7)
        result[-1] += "[0]"
        return {
            "result": result,
            "exported": ", ".join(f'"{n}"' for n in sorted(["backward", "forward", self.primal.name])),
            "forward_parameters": parameters("forward", every),
            "forward": self._forward(),
            "backward_parameters": parameters("backward", [*self.options, "saved", "grad_output"]),
            "backward": self._backward(),
        }

    @property
    def errors(self) -> tuple[str, ...]:
        said = ["TypeError and ValueError tell which argument has another type or shape."]
        if self.program.indexed:
            said += [
                "IndexError tells which subscript is out of range, unless it is traced by JAX:",
                "a negative one counts from the end then, others are clamped and add nothing.",
            ]
        if self.options:
            said.append("Options are numbers of Python: static_argnames of jax.jit, where it is given them.")
        return tuple(said)

    def computed(self) -> list[str]:
        """The lines of forward before its return."""
        lines = size_lines(self.forward_sizes(), self.sure)
        lines += constraint_lines(self.primal, self.needs)
        lines += count_lines(self.forward.counts)
        lines += [""] if lines else []
        return [*lines, *self.lines()(self.forward.statements)]

    def lines(self) -> JaxLines:
        """What prints statements on the inputs."""
        printer = self.printer(self.like or self.primal.inputs[0])
        return JaxLines(printer, lambda guard: " and ".join(present(guard, None)))

    def outputs(self) -> str:
        """The result."""
        return tuple_of(self.primal.outputs) if len(self.primal.outputs) > 1 else self.primal.outputs[0]

    def _forward(self) -> list[str]:
        program = self.program
        static = [self._size(d) for d in self.sizes_kept()] + [f"{n} is not None" for n in program.saved_presence]
        saved = [*program.saved, *([f"_Static({tuple_of(static)})"] if static else [])]
        return [*self.computed(), *returned(f"{self.outputs()}, {tuple_of(saved)}", 4)]

    def _size(self, name: str) -> str:
        return pack_name(name) if name in self.forward_sizes() else where_told(name, self.sure)

    def telling(self) -> list[Tensor]:
        """The arrays with which backward always works, in the shapes that they have there."""
        table = self.program.table
        always = [n for n in self.program.saved if not table[n].optional]
        return [as_stored(table[n], self.forward.kept.get(n)) for n in (*always, *self.seeds)]

    @cached_property
    def body(self) -> list[str]:
        """The statements of backward."""

        def asked(guard: Guard) -> str:
            return " and ".join(present(guard, self.program))

        return JaxLines(self.printer(self.seeds[0]), asked)(self.backward.statements)

    def _backward(self) -> list[str]:
        primal, program = self.primal, self.program
        static = [*map(pack_name, self.sizes_kept()), *(f"has_{n}" for n in program.saved_presence)]
        lines: list[str] = []
        if static:
            last = tuple_of(static) if len(static) == 1 else f"({', '.join(static)})"
            lines += unpacked([*program.saved, last], "saved")
        elif program.saved:
            lines += unpacked(program.saved, "saved")
        sized = size_lines([d for d in self.sizes_used() if d not in self.sizes_kept()], self.telling())
        if len(self.seeds) > 1:
            used = names_in("\n".join([*sized, *self.body]))
            lines += assigned(", ".join(s if s in used else "_" for s in self.seeds), "grad_output", 4)
        lines += [*sized, *count_lines(self.backward.counts)]
        lines += unset([g for n in primal.optional if (g := self.gradient_of(n)) is not None], 4)
        result = [self.gradient_of(n) or "None" for n in primal.inputs]
        return [*lines, *self.body, *returned(tuple_of(result) if len(result) < 2 else ", ".join(result), 4)]


class _ForwardMode(_File):
    """Forward mode: a `jax.custom_jvp`, which JAX transposes for its backward."""

    template = "jax_jvp.j2"
    rule = "jax.custom_jvp"

    def functions(self) -> dict[str, str | list[str]]:
        return {
            "exported": f'"{self.primal.name}"',
            "result": [*self.computed(), *returned(self.outputs(), 4)],
            "jvp_parameters": parameters("_jvp", [*self.options, "primals", "tangents"]),
            "jvp": self._jvp(),
        }

    def _jvp(self) -> list[str]:
        assert self.program.product is not None, "the pipeline plans it"
        pushed = _Tangents(self.program.product)
        inner = [*pushed.sized(4), *self.lines()(pushed.statements)]
        results = pushed.results(self.primal.outputs, "np.zeros({}.shape, jax.dtypes.float0)")
        used = names_in("\n".join([*inner, *results]))
        names = [pushed.tangents.get(n, "_") for n in self.primal.inputs]
        lines = unpacked(self.primal.inputs, "primals")
        lines += unpacked([n if n in used else "_" for n in names], "tangents")
        values = tuple_of(results) if len(results) > 1 else results[0]
        call = "".join(self.call(""))
        if values.count(".shape") == 0:
            return [*lines, *inner, *returned(f"{call}, {values}", 4)]
        result = assigned(", ".join(self.primal.outputs), call, 4)
        return [*lines, *inner, *result, *returned(f"{self.outputs()}, {values}", 4)]


class _Tangents(TangentFile):
    def printer(self, like: str) -> JaxPrinter:
        return JaxPrinter(f"{like}.dtype", self.options)


PROMOTED = (
    "def _promoted(*arrays):",
    '    """Return the arrays in the one dtype that they promote to."""',
    "    dtype = jnp.result_type(*(x for x in arrays if x is not None))",
    "    return [None if x is None else x.astype(dtype) for x in arrays]",
)
HELPERS: Mapping[str, tuple[str, ...]] = {
    "_Static": (
        "@jax.tree_util.register_static",
        "class _Static(tuple):",
        '    """Sizes and flags that backward needs: constants to jax.jit, no arrays."""',
    ),
    "_outside": (
        "def _outside(subscripts, extent):",
        '    """Whether a subscript is out of range; of what JAX traces nobody knows."""',
        "    if isinstance(subscripts, jax.core.Tracer) or not subscripts.size:",
        "        return False",
        "    values = np.asarray(subscripts)",
        "    return values.min() < 0 or values.max() >= extent",
    ),
    "_windows": (
        "def _windows(x, axis, size, step=1, dilation=1):",
        '    """Return the windows of x along `axis`, each in a new last axis."""',
        "    axis %= x.ndim",
        "    span = dilation * (size - 1) + 1",
        "    count = max((x.shape[axis] - span) // step + 1, 0)",
        "    places = step * jnp.arange(count)[:, None] + dilation * jnp.arange(size)",
        "    return jnp.moveaxis(x[(slice(None),) * axis + (places,)], axis + 1, -1)",
    ),
}
