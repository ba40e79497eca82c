"""What a shell is told that begins a TARGET, or a list of names; nothing is imported or run for it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..backends import BACKENDS
from ..backends.options import PAIR
from ..kinds import DERIVED, SPARSE

SHELLS = ("bash", "fish", "zsh")
VARIABLE = "_SYMGRAD_COMPLETE"
_DECLARED = re.compile(
    r"^@[\w.]*function\b.*\n(?:@.*\n)*def (\w+)|^(\w+(?:, \w+)*) = [\w.]*(?:parse|from_sympy|functions)\(", re.MULTILINE
)
_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Python files, and behind a colon the functions that a file or module declares.

    Bash takes a colon for a word of its own: then it is among the words before, or the incomplete one itself.
    """
    before = [*(ctx.params.get("targets") or ())]
    if incomplete == ":" and before:
        return _items(_names(before[-1]))
    if before[-1:] == [":"] and len(before) > 1:
        return _items(name for name in _names(before[-2]) if name.startswith(incomplete))
    home, colon, name = incomplete.rpartition(":")
    if colon:
        return _items(f"{home}:{found}" for found in _names(home) if found.startswith(name))
    folder, slash, begun = incomplete.rpartition("/")
    found = []
    with suppress(OSError):
        for path in sorted(Path(folder + slash).iterdir()):
            if path.name.startswith(begun) and path.name[0] not in "._" and (path.suffix == ".py" or path.is_dir()):
                found.append(path.as_posix() + "/" * path.is_dir())
    return _items([*found, *(["symgrad.library"] if "symgrad.library".startswith(incomplete) else [])])


def listed(names: Iterable[str]) -> _Completer:
    """Of names that stand between commas, the last."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        said = before.split(",")
        return _items(f"{before}{comma}{n}" for n in names if n.startswith(last) and n not in said)

    return complete


languages = listed(BACKENDS)
functions = listed((*PAIR, *DERIVED, *SPARSE))


def _items(values: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(value) for value in values]


def _names(home: str) -> list[str]:
    """The functions of a file or module, read from its text; of a package, those of its files."""
    path = Path(home)
    if not path.is_file():
        with suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(home)
            path = Path(spec.origin) if spec is not None and spec.origin else path
    paths = sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else [path]
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in paths if p.is_file()]
    found = (name for text in texts for some in _DECLARED.finditer(text) for name in (some[1] or some[2]).split(", "))
    return sorted({*found})
