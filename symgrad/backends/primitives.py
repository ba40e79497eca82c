"""Functions of the user's in printed files: what they are called there, and where they come from."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ..errors import UnsupportedError
from ..ops.primitive import Primitive, primitives
from ..plan import Program
from ..plan.program import SCIPY, WORDS
from ..source.layout import listed
from ..source.python import Import
from .handwritten import handwritten

_TAKEN = frozenset([*dir(builtins), *WORDS.split(), *SCIPY, "math", "functools"])  # by what files are made of
_OWN = ("_inputs", "_outside", "_jvp", "_cotangent", "_real")  # private functions that they make


def of(*programs: Program) -> tuple[Primitive, ...]:
    """Those that the functions of a file, and their derivatives, speak of, by name."""
    whole = [p for program in programs for p in program.whole]
    found = primitives(*(e.body for p in whole for e in p.derivative.function.statements))
    called = {op.about.name for op in found} & {program.derivative.primal.name for program in programs}
    for name in sorted(called):
        raise UnsupportedError(f"{name} is a function that is printed, and a primitive. Give one another name.")
    return found


@contextmanager
def importable(program: Program) -> Iterator[None]:
    """While this lasts, the modules of a file are found beside the files that declare its primitives, too. Raises
    UnsupportedError for one that is not found, or lacks the function."""
    own = of(program)
    folders = list(dict.fromkeys(op.about.folder for op in own))
    sys.path += folders
    try:
        yield
    except ImportError as error:
        if not own:
            raise
        raise UnsupportedError(
            f"{program.derivative.primal.name}: {error}. The places of {listed([op.about.name for op in own])} say "
            f"'module:function', and Python looks for modules beside the file that declares them, too."
        ) from error
    finally:
        for folder in folders:
            sys.path.remove(folder)


def imported(op: Primitive) -> str:
    """What a Python file imports it as."""
    name = op.about.name
    return f"{name}_function" if name in _TAKEN else name


def word(op: Primitive, language: str) -> str:
    """What a Python file calls it; in torch and JAX, what has its derivative."""
    op.word_in(language)
    if language == "torch" and len(op.about.arguments) == 1:
        return f"{rule(op)}.apply"
    return _private(f"_{op.about.name}") if language in ("torch", "jax") else imported(op)


def rule(op: Primitive) -> str:
    """The class that has its derivative in torch."""
    return _private("_" + "".join(part[:1].upper() + part[1:] for part in op.about.name.split("_")))


def _private(wish: str) -> str:
    """A name in a file of torch or JAX that nothing else of it has."""
    taken = {*_OWN, *(name for language in ("torch", "jax") for name in handwritten(language))}
    return f"{wish}_primitive" if wish in taken else wish


def imports(words: Collection[str], language: str, found: Collection[Primitive]) -> tuple[Import, ...]:
    """Where those come from that these words speak of."""
    used = [op for op in found if imported(op) in words and op.place(language)]
    places = [op.place(language).split(":") for op in used]
    return tuple(Import(place[1], imported(op), place[0]) for op, place in zip(used, places, strict=True))
