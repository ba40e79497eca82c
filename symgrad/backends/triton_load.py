"""What was printed for triton, called with NumPy arrays: in a process of its own, in which triton interprets kernels.

Triton asks once, when it is imported, whether kernels are interpreted; so the process that loads a file does not
import it. What the two say to each other is pickled, over pipes.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from ..errors import MachineError
from ..ir import Dtype
from ..later import np
from ..plan import Program
from .loaded import Loaded, of_program

WORKER = "symgrad.backends.triton_worker"


class Interpreted(Loaded):
    """Printed triton: `forward` and `backward` on NumPy arrays."""

    flushes = True  # tl.sigmoid(-728) is 0
    operations = 1500  # in a call at real sizes: of an interpreted kernel each takes some 0.1 ms
    threads = True  # a copy of this process would speak with the same other one

    def __init__(self, program: Program, files: Mapping[str, str]) -> None:
        primal = program.derivative.primal
        self._name, self._said = primal.name, of_program(program, "triton")
        self._count = len(primal.outputs)
        reals = [primal.table[n].dtype == Dtype.REAL for n in primal.inputs]
        real_outputs = [primal.table[n].dtype == Dtype.REAL for n in primal.outputs]
        ((path, text),) = files.items()
        self._own = _worker(True)("load", path, text, primal.name, reals, real_outputs)
        self._file = path, text
        weakref.finalize(self, _drop, self._own)
        self.module = SimpleNamespace(**{primal.name: lambda *given, **options: self.forward(*given, **options)[0]})

    def tensor(self, value: Any) -> Any:
        """An array as `module` takes it."""
        return value

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, Any]:
        """The outputs, and what stands for what backward needs."""
        found, number = _worker(True)("forward", self._own, [*map(_encoded, inputs)], options)
        saved = _Saved(number)
        weakref.finalize(saved, _drop, number)
        return found, saved

    def backward(self, saved: Any, grad_output: Any = None, needs_input_grad: Any = None) -> tuple[Any, ...]:
        """One gradient per input."""
        seeds = grad_output if isinstance(grad_output, (tuple, list)) else (grad_output,)
        given = [*map(_encoded, seeds)]
        found: tuple[Any, ...] = _worker(True)("backward", saved.number, given, self._count, needs_input_grad)
        return found

    def asked(self, module: str, function: str, *given: Any) -> Any:
        """What a function gives, of what was loaded in the other process and of `given`."""
        return _worker(True)("call", self._own, module, function, given)

    def compiled(self, targets: Sequence[str]) -> list[tuple[str, str]]:
        """The kernels that do not compile for GPUs of these architectures, and why."""
        launched = _worker(True)("launched", self._own)
        found: list[tuple[str, str]] = _worker(False)("compile", *self._file, launched, [*targets])
        return found


class _Saved:
    def __init__(self, number: int) -> None:
        self.number = number


Encoded = tuple[Any, tuple[int, ...], tuple[int, ...]]


def _encoded(value: Any) -> Encoded | None:
    """An array with its strides, which pickling would forget."""
    if value is None:
        return None
    array = np.asarray(value)
    return np.ascontiguousarray(array), array.shape, array.strides


def _drop(number: int) -> None:
    """Tell the other process what nobody needs any more, when it is spoken to next."""
    _dropped.append(number)


_dropped: list[int] = []


@cache
def _worker(interprets: bool) -> Callable[..., Any]:
    """A process that answers; in which triton interprets kernels, or compiles them."""
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        raise MachineError(f"what is printed for triton is checked by {missing[0]}: pip install 'symgrad[triton]'.")
    environment = {**os.environ, "TRITON_INTERPRET": "1" if interprets else "0"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-m", WORKER], env=environment, **pipes)
    atexit.register(partial(_end, process))

    def ask(what: str, *given: Any) -> Any:
        dropped = []
        while interprets and _dropped:
            dropped.append(_dropped.pop())
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((dropped, what, given), process.stdin)
            process.stdin.flush()
            fine, found = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError):
            _worker.cache_clear()
            said = "the process that interprets kernels of triton has ended: its memory may be overwritten."
            raise MachineError(said) from None
        if not fine:
            raise found
        return found

    return ask


def _end(process: Any) -> None:
    process.stdin.close()
    process.wait()
    process.stdout.close()
