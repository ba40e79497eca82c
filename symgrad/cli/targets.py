"""TARGET: what a user names on the command line, as Functions.

package.module:name, file.py:name     one function
package.module, file.py               every function declared there, in order; of a package, those in its `__all__`
"f(x) = x**2"                         the formula itself

A function has one `source` whichever way it was named, so what is printed of it is the same.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from .. import library
from ..declare import Declared
from ..declare.text import ALONE, is_formula_alone
from ..derivatives import Declarable, Declaration, as_function
from ..errors import SymgradError, TargetError
from ..formulas import parse
from ..ir import Function
from ..records import dataclass

_FILE = re.compile(r"(?P<file>[^()=]+\.py)(?::(?P<name>\w+))?", re.ASCII)
_MODULE = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?::(?P<name>\w+))?", re.ASCII)
LONGEST = 200  # characters of a path that a message repeats
_OURS = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Targets:
    """What was named: the functions, and the modules or files of which every function was asked for.

    unnamed  the names of those that are called so because a formula alone has no name
    """

    functions: tuple[Function, ...]
    whole: tuple[str, ...]
    unnamed: frozenset[str]


def resolve(texts: Sequence[str], name: str = "") -> Targets:
    """Return the functions of some TARGETs, each once; the one that is a formula alone is called `name`. Raises
    TargetError for what cannot be found."""
    found: dict[tuple[str, str], Function] = {}
    whole: list[str] = []
    unnamed = False
    for text in texts:
        named, module = _functions(text.strip(), name)
        found |= {(f.name, f.source): f for f in named}
        if module:
            whole.append(module)
        unnamed |= not (name or module) and _is_formula(text.strip()) and is_formula_alone(text)
    _refuse_one_folder_for_two(found.values())
    return Targets(tuple(found.values()), tuple(whole), frozenset({ALONE} if unnamed else ()))


def _is_formula(text: str) -> bool:
    """Whether a TARGET is the formula itself."""
    return not (_FILE.fullmatch(text) or _MODULE.fullmatch(text) or _is_there(Path(text)))


def _functions(text: str, alone: str) -> tuple[list[Function], str]:
    """The functions of one TARGET, a formula alone by the name `alone`; and the name of the module, if all of it was
    asked for."""
    if not text:
        raise TargetError("a TARGET is empty. It is a formula in quotes, file.py:name, or package.module:name.")
    if _is_formula(text):
        return [parse(text, name=alone)], ""
    if alone:
        raise TargetError(f"--name is the name of a formula alone, and {text} is called what it is called there.")
    file = _FILE.fullmatch(text)
    module = _MODULE.fullmatch(text)
    if file:
        return _of_file(Path(file["file"]), file["name"])
    if module is None:
        raise TargetError(f"{text} is no Python file; a TARGET is file.py, package.module, or a formula in quotes.")
    if "." not in module["module"] and Path(f"{module['module']}.py").is_file():
        return _of_file(Path(f"{module['module']}.py"), module["name"])  # the same file, and the same text
    return _of_module(module["module"], module["name"], Path())


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # longer than a name can be, or with a NUL in it
        return False


def _of_file(path: Path, name: str | None) -> tuple[list[Function], str]:
    if not (_is_there(path) and path.is_file()):
        there = [str(p) for p in sorted(path.parent.glob("*.py"))] if _is_there(path.parent) else []
        shown = str(path) if len(str(path)) <= LONGEST else f"{str(path)[:LONGEST]}..."
        raise TargetError(f"there is no file {shown}.{did_you_mean(str(path), there)}")
    parents = [path.resolve().stem] if path.stem != "__init__" else []
    folder = path.resolve().parent
    while (folder / "__init__.py").is_file():
        parents.insert(0, folder.name)
        folder = folder.parent
    if folder != path.resolve().parent:
        return _of_module(".".join(parents), name, folder, path)  # part of a package: it may import its neighbours
    label = path.name
    with _importable(folder), _users_code(path):
        return _chosen(_executed(path), label, name, path)


def _of_module(dotted: str, name: str | None, root: Path, file: Path | None = None) -> tuple[list[Function], str]:
    """The functions of a module, found in `root` too. Raises TargetError if that module is not the `file` asked for."""
    with _importable(root):
        try:
            with _users_code(None):
                module = importlib.import_module(dotted)
        except ModuleNotFoundError as error:
            raise TargetError(_no_module(dotted, error)) from error
        path = Path(module.__file__) if module.__file__ else None
        if file is not None and (path is None or path.resolve() != file.resolve()):
            raise TargetError(f"{file} is the module {dotted} of its package, and Python finds {path} under that name.")
        with _users_code(path):
            return _chosen(module, dotted, name, path)


def _executed(path: Path) -> ModuleType:
    """The module of a file that belongs to no package. It is found under no name afterwards."""
    name = f"<{path.name}>"  # no module is called like that, so none is hidden
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None and spec.loader is not None, f"{path} ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it runs
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def _chosen(module: ModuleType, label: str, name: str | None, path: Path | None) -> tuple[list[Function], str]:
    if name is not None:
        value = getattr(module, name, None)
        if not (isinstance(value, Declared | Function) or inspect.isfunction(value)):
            raise TargetError(_no_function(module, label, name))
        return [_sourced(value, label, name)], ""
    declared = _declared(module, path)
    if not declared:
        raise TargetError(f"{label} declares no function. A declaration starts with @symgrad.function.")
    return [_sourced(value, label, attribute) for attribute, value in declared], label


def _declared(module: ModuleType, path: Path | None) -> list[tuple[str, Declaration]]:
    """What a module declares, by name: of a package with `__all__` what it lists, else what it does not import."""
    values = vars(module)
    if hasattr(module, "__path__") and "__all__" in values:
        names, imported, starred = list(values["__all__"]), set[str](), False
    else:
        names = [name for name in values if not name.startswith("_")]
        imported, starred = _imports(path)
    found: dict[int, tuple[str, Declaration]] = {}
    for name in names:
        value = values.get(name)
        if not isinstance(value, Declared | Function) or name in imported:
            continue
        if starred and isinstance(value, Declared) and value.__wrapped__.__module__ != module.__name__:
            continue
        found.setdefault(id(value), (name, value))
    return list(found.values())


def _imports(path: Path | None) -> tuple[set[str], bool]:
    """The names that a file imports, and whether it imports all there are from somewhere."""
    if path is None:
        return set(), False
    names = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return names, "*" in names


def _sourced(value: Declarable, label: str, attribute: str) -> Function:
    """The Function, with a source that leads back to it."""
    function = as_function(value)
    if isinstance(value, Declared):
        same = value.static == value.signature.static and attribute == value.name
        return function if same else function.with_source(f"{label}:{attribute}")
    return function if function.source else function.with_source(f"{label}:{attribute}")


def _refuse_one_folder_for_two(functions: Iterable[Function]) -> None:
    taken: dict[str, Function] = {}
    for f in functions:
        other = taken.setdefault(f.name.casefold(), f)
        if other is not f:
            raise TargetError(
                f"two functions would be written to the folder {f.name}: {other.source} and {f.source}. "
                f"Rename one, or give them different --out folders."
            )


# what a user's own code does


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """While this lasts, modules are found in `folder` too. Their bytecode is not kept: Python would take it for that of
    a file that has changed within the same second, and has as many letters."""
    entry, wrote = str(folder.resolve()), sys.dont_write_bytecode
    sys.path.insert(0, entry)
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = wrote
        sys.path.remove(entry)


@contextmanager
def _users_code(path: Path | None) -> Iterator[None]:
    """Turn what goes wrong in a user's file into one message with its file and line."""
    try:
        yield
    except (SymgradError, ModuleNotFoundError) as error:
        if isinstance(error, SymgradError) or path is None:
            raise
        raise TargetError(_located(error, path)) from error
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, AssertionError) and _OURS in Path(frames[-1].filename).parents:
            raise  # a fault of symgrad's own
        raise TargetError(_located(error, path)) from error


def _located(error: BaseException, path: Path | None) -> str:
    """`layers.py:14: NameError: name 'k' is not defined`, and the line."""
    said = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}:{error.lineno}: {said}" + _line(error.text)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if path is not None and Path(f.filename).resolve() == path.resolve()]
    theirs = theirs or [f for f in frames if not f.filename.startswith("<") and _OURS not in Path(f.filename).parents]
    if not theirs and path is not None:
        return f"{_short(str(path))}: {said}"
    frame = (theirs or frames)[-1]
    return f"{_short(frame.filename)}:{frame.lineno}: {said}" + _line(frame.line)


def _line(text: str | None) -> str:
    return f"\n    {text.strip()}" if text and text.strip() else ""


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if Path.cwd() in path.parents else filename


# what cannot be found


def _no_module(dotted: str, error: ModuleNotFoundError) -> str:
    if error.name is None or not (dotted == error.name or dotted.startswith(f"{error.name}.")):
        return _located(error, None)  # found, and it imports what is not there
    parent, _, last = dotted.rpartition(".")
    if parent and isinstance(getattr(sys.modules.get(parent), last, None), Declared | Function):
        return f"{dotted} is a function, not a module. Did you mean {parent}:{last}?"
    if dotted in library.__all__:
        return f"there is no module {dotted} here. Did you mean symgrad.library:{dotted}?"
    files = [p.stem for p in sorted(Path().glob("*.py"))]
    return (
        f"there is no module {dotted} here.{did_you_mean(dotted, files)} "
        f"A TARGET is package.module:name, package.module, file.py:name, file.py, or a formula in quotes."
    )


def _no_function(module: ModuleType, label: str, name: str) -> str:
    known = [k for k, v in vars(module).items() if isinstance(v, Declared | Function) and not k.startswith("_")]
    if hasattr(module, name):
        return f"{label}:{name} is a Python {type(getattr(module, name)).__name__}, and no function."
    listing = f" It declares {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}." if known else ""
    near = did_you_mean(name, known)
    return f"{label} declares no function {name}.{near or listing}"


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A sentence that names what is meant, where something is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""
