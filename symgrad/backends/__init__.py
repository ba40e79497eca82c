"""The languages that symgrad prints, by name; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .options import DTYPES, INTEGERS, MATRICES, OPTIONS, PAIR, SAVES, SOLVERS, Options

if TYPE_CHECKING:
    from .base import Backend


class _Languages(Mapping[str, "Backend"]):
    """The classes, of modules that are called like the languages."""

    def __init__(self, **classes: str) -> None:
        self.classes = classes
        self.language = cache(self._imported)

    def _imported(self, name: str) -> Backend:
        module = import_module(f".{name}", __package__)
        found: Backend = getattr(module, self.classes[name])()
        return found

    def __getitem__(self, name: str) -> Backend:
        if name not in self.classes:
            raise KeyError(name)
        return self.language(name)

    def __contains__(self, name: object) -> bool:
        return name in self.classes

    def __iter__(self) -> Iterator[str]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)


BACKENDS: Mapping[str, Backend] = _Languages(
    numpy="NumPy",
    c="C",
    torch="Torch",
    jax="Jax",
    scipy="SciPy",
    torch_c="TorchC",
    triton="Triton",
    pallas="Pallas",
)


def takers(option: str) -> list[str]:
    """The languages that have an option."""
    return [name for name, backend in BACKENDS.items() if option in backend.takes]


def asked(name: str, options: Mapping[str, Any]) -> Backend:
    """The language of that name, asked for what it has of the options."""
    own = {option: value for option, value in options.items() if option in BACKENDS[name].takes}
    make: Any = type(BACKENDS[name])
    return make(Options(**own)) if own else BACKENDS[name]
