"""What a project has printed and checked before, so that what did not change is not done again.

A record says of a function in a language: the digest of what it was printed from (the declaration, the options, and
symgrad's own text), the checksum that each of its files carries, and the digest of what it was checked with besides.
It stands in .symgrad_cache beside pyproject.toml, which git does not see, and is worth nothing to anybody else.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ..ir import Function, digest_of
from ..pipeline import checksum
from ..records import dataclass
from .ways import Way, ways_of

FOLDER = ".symgrad_cache"
CHECKS = 4  # that are remembered of one function: generate and check may ask for two
_PACKAGES = ("numpy", "scipy", "torch", "jax", "mpmath", "sympy", "python-flint", "gmpy2")
_VARIABLES = ("CC", "CFLAGS", "LAPACKE", "CBLAS")


@dataclass(frozen=True, slots=True)
class Known:
    """What decides whether a function in a language is as it was.

    name     by which its record is found
    printed  the digest of what it is printed from, and of where to; empty where nobody can tell
    checked  the digest of what it is printed from, and checked with
    """

    name: str
    printed: str
    checked: str


def known_of(function: Function, beside: Sequence[Function], to: str, way: Way) -> Known:
    """Of one function, printed `beside` others in one file, or alone."""
    declared = [digest_of(f) for f in (function, *beside)]
    options = sorted(ways_of(to, dict(way.options)).items())
    name, same = f"{function.name} {to}", _digest(_symgrad(), declared, to, options, way.stabilize)
    if not all(declared):
        return Known(name, "", "")
    return Known(name, _digest(same, way.out.as_posix(), way.flat), _digest(same, way.how, _machine()))


class Kept:
    """The records of a project; of none without a folder."""

    def __init__(self, root: Path | None) -> None:
        self._path = root / FOLDER / "printed.json" if root is not None else None
        self._records: dict[str, dict[str, Any]] = {}
        if self._path is not None:
            with suppress(OSError, ValueError):  # of an older version, or cut off: as good as none
                found = json.loads(self._path.read_text(encoding="utf-8"))
                self._records = found if isinstance(found, dict) else {}

    def printed(self, known: Known) -> tuple[Path, ...]:
        """The files, where each stands on disk as it was printed from the same; none otherwise."""
        record = self._records.get(known.name, {})
        files: Mapping[str, str] = record.get("files", {})
        same = bool(known.printed) and record.get("printed") == known.printed
        return tuple(map(Path, files)) if same and all(_on_disk(Path(p)) == s for p, s in files.items()) else ()

    def checked(self, known: Known) -> bool:
        """Whether the same has passed the same check."""
        return bool(known.checked) and known.checked in self._records.get(known.name, {}).get("checked", ())

    def keep(self, known: Known, files: Mapping[Path, str] | None, passed: bool) -> None:
        """Remember what was written, and whether it has passed its check; `files` is None where nothing was written."""
        record = self._records.setdefault(known.name, {})
        if files is not None:
            record["printed"] = known.printed
            record["files"] = {path.as_posix(): checksum(text) for path, text in files.items()}
        if passed and not self.checked(known):
            record["checked"] = [*record.get("checked", ()), known.checked][-CHECKS:]

    def save(self) -> None:
        """Write them down."""
        if self._path is None:
            return
        self._path.parent.mkdir(exist_ok=True)
        (self._path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        temporary = self._path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(self._records, indent=1), encoding="utf-8")
        temporary.replace(self._path)


def _on_disk(path: Path) -> str:
    """The checksum of a file that is as it was printed."""
    try:
        return checksum(path.read_bytes().decode(errors="replace"))
    except OSError:
        return ""


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def _symgrad() -> str:
    """What prints and checks: the files of this package, so that one that is being worked on is another one."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "templates"
    folders = (package, inside if inside.is_dir() else package.parent / "templates")
    paths = sorted(p for folder in folders for p in folder.rglob("*") if p.suffix in (".py", ".c"))
    return _digest([(p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in paths])


@cache
def _machine() -> str:
    """What a check stands on: Python, packages, the C compiler."""
    versions = []
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append((name, metadata.version(name)))
    compiler = shutil.which((os.environ.get("CC", "").split() or ["cc"])[0])
    stamp = (compiler, Path(compiler).stat().st_mtime_ns) if compiler else None
    return _digest(platform.platform(), platform.python_version(), versions, stamp, [*map(os.environ.get, _VARIABLES)])
