"""What loaded code says of itself, in a session of Python and in a notebook: what it computes, and its calls."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import ModuleType

from ..ir import Function
from ..plan import Program
from .header import title_lines

LANGUAGES = {
    "numpy": "NumPy",
    "c": "C",
    "torch": "PyTorch",
    "jax": "JAX",
    "scipy": "SciPy",
    "triton": "Triton",
    "pallas": "Pallas",
}


class Loaded:
    """An object that says so; `_said` is its text."""

    _said = ""

    def __repr__(self) -> str:
        return self._said

    def _repr_markdown_(self) -> str:
        return fenced(self._said)


class LoadedModule(Loaded, ModuleType):
    """A printed file of Python."""


def fenced(text: str, language: str = "python") -> str:
    """Text as a block of code of Markdown."""
    return f"````{language}\n{text}\n````"


def of_program(program: Program, language: str) -> str:
    """What an object says that has `forward` and `backward`, where both were printed, and what stands beside them."""
    primal = program.derivative.primal
    gradients = ", ".join(g for _, g in program.derivative.gradients)
    outputs = ", ".join(primal.outputs)
    others = [(b.name, b.program.derivative.primal) for b in program.beside]
    calls = [f"{name}({_given(f)}) -> {', '.join(f.outputs)}" for name, f in others]
    if program.pair:
        outputs = f"({outputs})" if len(primal.outputs) > 1 else outputs
        backward = f"backward(saved, grad_output=None, needs_input_grad=None) -> {gradients}"
        calls = [f"forward({_given(primal)}) -> {outputs}, saved", backward, *calls]
    return _text(primal, language, calls)


def of_module(program: Program, language: str, module: ModuleType) -> str:
    """What a module says, of the functions that it exports."""
    calls = [f"{n}{inspect.signature(f)}" for n, f in vars(module).items() if n in module.__all__ and callable(f)]
    return _text(program.derivative.primal, language, calls)


def _given(primal: Function) -> str:
    options = [*["*"] * bool(primal.options), *(f"{o.name}={o.default}" for o in primal.options)]
    return ", ".join([*(f"{n}=None" if primal.table[n].optional else n for n in primal.inputs), *options])


def _text(primal: Function, language: str, calls: Sequence[str]) -> str:
    title = [f"# {line}".rstrip() for line in title_lines(primal)[:-1]]
    return "\n".join([f"# {primal.name}, printed for {LANGUAGES[language]} and loaded", *title, *calls])
