"""What was printed in C, compiled and loaded."""

from __future__ import annotations

import _ctypes
import ctypes
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import CompilerError, MachineError
from .base import source

SHARED = ("-fopenmp-simd", "-fPIC", "-shared")
CHECKED = ("-std=c99", "-O2", *SHARED)  # soon compiled, run a few times
# for who calls it often: -std=c99 alone is without FMA; -fno-trapping-math lets GCC compute sides of a condition early;
# in long straight lines it packs numbers into vectors at more cost than gain, which the last one is against
TUNED = ("-std=c99", "-ffp-contract=fast", "-O3", "-fno-trapping-math", "-fno-tree-slp-vectorize", *SHARED)
NATIVE = ("-march=native",)  # it runs on the machine that compiles it; not every compiler knows the flag
NO_COMPILER = """there is no C compiler here ({command}). To get one:
    Debian, Ubuntu   apt install gcc
    macOS            xcode-select --install
    Windows          MSYS2 or clang
or set the environment variable CC to its command."""

TRIED = 20.0  # seconds that a compiler may take for a program of one line, which takes it 0.03
_SHOWN = 500  # characters of what it says
WAITED = 900.0  # and for a function: the longest of the library take some 60

LIBRARIES = {"LAPACKE": "-llapacke", "CBLAS": "-lopenblas"}  # by the variable that holds other flags
NO_LIBRARY = {
    library: f"""there is no {library} here. To get one:
    Debian, Ubuntu   apt install {debian}
    macOS            brew install {macos}
or set the environment variable {library} to the compiler's flags for it."""
    for library, debian, macos in (
        ("LAPACKE", "liblapacke-dev", "lapack"),
        ("CBLAS", "libopenblas-dev", "openblas"),
    )
}


def compile_library(
    name: str, files: Mapping[str, str], flags: Sequence[str] = CHECKED, others: Sequence[str] = ()
) -> Library:
    """Compile the printed files with the machine's C compiler ($CC, else cc) and load the result.

    others  files of the user's that they are linked with
    Raises CompilerError if the compiler refuses the text, MachineError if there is none that works.
    """
    command = find_compiler(name)
    folder = Path(tempfile.mkdtemp(prefix="symgrad-"))
    for file, text in files.items():
        folder.joinpath(file).write_text(text, encoding="utf-8")
    sources = [file for file in files if file.endswith(".c")]
    for own in (NATIVE, ()):
        line = [*command, *flags, *own, "-o", f"{name}.so", *sources, *others, *libraries(files), "-lm"]
        try:
            done = _ran(line, folder, WAITED)
        except subprocess.TimeoutExpired as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise MachineError(f"{name}: {' '.join(line)} has not ended after {WAITED:.0f} seconds.") from error
        if not done.returncode:
            break
    else:
        shutil.rmtree(folder, ignore_errors=True)
        for library in _called(files):
            signs = (f"{library.lower()}.h", LIBRARIES[library], f"{library}_", f"{library.lower()}_")
            if any(sign in done.stderr for sign in signs):
                raise MachineError(f"{name}: {NO_LIBRARY[library]}")
        raise CompilerError(f"{name}: {' '.join(line)} failed:\n{done.stderr}")
    try:
        functions = ctypes.CDLL(str(folder / f"{name}.so"))
    except OSError as error:  # a function that is in none of the files
        shutil.rmtree(folder, ignore_errors=True)
        given = ", ".join(others)
        raise CompilerError(f"{name} cannot be loaded{f' with {given}' if given else ''}: {error}") from error
    return Library(folder, functions, "-fopenmp" not in flags)


def find_compiler(name: str) -> list[str]:
    """The command of the machine's C compiler; MachineError, for the function `name`, if none is there that works."""
    command = _words("CC", "cc", name)
    if shutil.which(command[0]) is None:
        raise MachineError(f"{name}: {NO_COMPILER.format(command=command[0])}")
    if said := _why_not(*command):
        raise MachineError(
            f"{name}: the C compiler does not work: {said}\nThe environment variable CC has the command of another one."
        )
    return command


def _words(variable: str, default: str, name: str) -> list[str]:
    """The words of an environment variable that holds a command or flags."""
    given = os.environ.get(variable, "").strip() or default
    try:
        return shlex.split(given)
    except ValueError as error:
        raise MachineError(
            f"{name}: the environment variable {variable} cannot be read as a command: {given} ({error})."
        ) from error


@cache
def _why_not(*command: str) -> str:
    """What a compiler says to a program of one line, if it does not compile it."""
    line = [*command, *CHECKED, "-o", "tried.so", "tried.c"]
    with tempfile.TemporaryDirectory(prefix="symgrad-", ignore_cleanup_errors=True) as folder:
        Path(folder, "tried.c").write_text("int tried(void) { return 0; }\n", encoding="utf-8")
        try:
            done = _ran(line, Path(folder), TRIED)
        except subprocess.TimeoutExpired:
            return f"{' '.join(line)} has not ended after {TRIED:.0f} seconds."
        except OSError as error:
            return f"{' '.join(line)}: {error.strerror}"
        if not done.returncode and Path(folder, "tried.so").is_file():
            return ""
    return f"{' '.join(line)} fails: {done.stderr.strip()[:_SHOWN]}".rstrip(": ")


def _ran(line: Sequence[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds, stdin=subprocess.DEVNULL
    )


def libraries(files: Mapping[str, str]) -> list[str]:
    """What the compiler must be told for the libraries that the printed files call: what $LAPACKE and $CBLAS say, or
    the library's name."""
    return [word for n in _called(files) for word in _words(n, LIBRARIES[n], n)]


def _called(files: Mapping[str, str]) -> list[str]:
    return [n for n in LIBRARIES if any(f"#include <{n.lower()}.h>" in text for text in files.values())]


class Library:
    """A loaded library: it is closed, and its folder goes, when nobody holds it any more.

    kept    what is called back from it
    closes  whether it may be closed: threads of OpenMP's wait for more to do in a library that would go with it
    """

    def __init__(self, folder: Path, functions: ctypes.CDLL, closes: bool = True) -> None:
        self.functions = functions
        self.kept: list[Any] = []
        weakref.finalize(self, _close, functions._handle if closes else None, folder)


def _close(handle: int | None, folder: Path) -> None:
    close: Any = getattr(_ctypes, "dlclose", None) or getattr(_ctypes, "FreeLibrary")  # noqa: B009, of one system each
    if handle is not None:
        close(handle)
    shutil.rmtree(folder, ignore_errors=True)


@cache
def python_calls() -> Any:
    """A module of C that calls what was compiled without ctypes, which takes half a microsecond and more for the
    numbers in a call; None where Python.h, or a compiler, is missing."""
    name = "symgrad_calls"
    with tempfile.TemporaryDirectory(prefix="symgrad-", ignore_cleanup_errors=True) as folder:
        place = Path(folder, f"{name}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}")
        Path(folder, f"{name}.c").write_text(source("python_calls.c"), encoding="utf-8")
        later = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []  # Python is there already
        flags = ["-O2", "-fPIC", "-shared", *later, f"-I{sysconfig.get_path('include')}"]
        try:
            done = _ran([*find_compiler(name), *flags, f"{name}.c", "-o", place.name], Path(folder), TRIED)
        except (MachineError, subprocess.TimeoutExpired):
            return None
        if done.returncode:
            return None
        spec = importlib.util.spec_from_file_location(name, place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
