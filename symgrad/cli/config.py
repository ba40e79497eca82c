"""The table [tool.symgrad] of pyproject.toml: what a project prints and how, in the words of the command's options.

A key is an option of `symgrad generate` or `symgrad check` without its dashes: there is no other list of them. Two
have another name: `functions` are the TARGETs, and what `--functions` says is `print`. What stands in the table is put
before the words of the command line, whose own say the last.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import SymgradError, TargetError
from ..records import dataclass
from .checking import Work
from .sources import declaring
from .targets import did_you_mean
from .ways import OWN, WORDS, OfOneRun, given, refuse_unused, way_of

FILE = "pyproject.toml"
TABLE = "[tool.symgrad]"
OVERRIDES = "[[tool.symgrad.overrides]]"
COMMANDS = ("generate", "check")
_RENAMED = {"functions": "print"}  # `functions` are the TARGETs


@dataclass(frozen=True, slots=True)
class Run:
    """What a command is to do: with its TARGETs, or with those of a project.

    asked    the parameters of the command
    root     the folder of the project; None without one
    command  what prints the project again
    """

    work: Work
    asked: Mapping[str, Any]
    root: Path | None = None
    command: str = "symgrad generate"

    @property
    def jobs(self) -> int:
        """In how many processes; a project takes all processors."""
        return self.asked["jobs"] or (1 if self.root is None else _processors())

    @contextmanager
    def inside(self) -> Iterator[None]:
        """In the folder of the project, which its paths start from."""
        with contextlib.chdir(self.root or Path()):
            yield


def run_of(ctx: click.Context) -> Run:
    """What the command line asks for. Raises TargetError where it names no TARGET, and there is no project."""
    asked = ctx.params
    if not asked["targets"]:
        if asked.get("name"):
            raise TargetError("--name is the name of a formula alone, and none is given as a TARGET. Leave it out.")
        return project(ctx.find_root().command, str(ctx.info_name), ctx.meta[WORDS])
    refuse_unused(given(asked), asked["languages"])
    way = way_of(asked)
    return Run(Work(asked["targets"], (("", way),), asked.get("name", ""), not asked.get("compare")), asked)


def project(main: Any, name: str, words: Sequence[str] = (), start: Path = Path()) -> Run:
    """What a command is to do with the project of a folder, read from its table.

    main  the group of commands, whose options are the keys
    """
    path, table = _found(start)
    keys = {_key(p): p for c in COMMANDS for p in main.commands[c].params if isinstance(p, click.Option)}
    where = f"{path.name}: {TABLE}"
    own = {key: value for key, value in table.items() if key not in ("functions", "overrides")}
    _refuse_keys(own, keys, where)
    read = _Reader(main.commands[name], keys, words)
    top = read.parameters(own, where)
    ways = {"": way_of(top.asked)}
    languages = {*top.alone["languages"]}
    exceptions: dict[str, dict[str, Any]] = {}
    for number, override in enumerate(_listed(table, "overrides", where), 1):
        place = f"{path.name}: {OVERRIDES} {number}"
        if not isinstance(override, dict):
            raise TargetError(f"{where}: overrides are tables; write {OVERRIDES}.")
        rest = {key: value for key, value in override.items() if key != "functions"}
        _refuse_keys(rest, {key: p for key, p in keys.items() if p.name in OWN}, place, keys)
        for function in _names(override, place, "the names of the functions that it is about"):
            merged = exceptions.setdefault(function, dict(own)) | rest
            exceptions[function] = merged
            found = read.parameters(merged, place)
            said, own_languages = {keys[key].name for key in rest}, found.alone["languages"]
            refuse_unused({n: v for n, v in given(found.alone).items() if n in said}, own_languages, place + ": ")
            languages |= {*own_languages}
            ways[function] = way_of(found.asked)
    refuse_unused(given(top.alone), tuple(languages), where + ": ")
    targets = _names(table, where, 'TARGETs, as in functions = ["layers.py", "f(x) = x**2"]')
    work = Work(targets, tuple(ways.items()), "", not top.asked.get("compare"), f"{path.name}: {OVERRIDES}: ")
    return Run(work, top.asked, path.resolve().parent)


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Of a command: as it is `asked`, and as the table `alone` says."""

    asked: Mapping[str, Any]
    alone: Mapping[str, Any]


class _Reader:
    """Reads keys and values as the words of one command."""

    def __init__(self, command: click.Command, keys: Mapping[str, click.Option], words: Sequence[str]) -> None:
        self.command, self.keys, self.words = command, keys, words

    def parameters(self, table: Mapping[str, Any], where: str) -> _Parameters:
        """The parameters of the command; each value is first read by itself, so that it is named where it is wrong."""
        has = {p.name for p in self.command.params}
        said: list[str] = []
        for key, value in table.items():
            words = _words(self.keys[key], value, f"{where} {key}")
            if self.keys[key].name in has:
                self._read(words, f"{where} {key}: ")
                said += words
        return _Parameters(self._read([*said, *self.words], ""), self._read(said, where + ": "))

    def _read(self, words: Sequence[str], where: str) -> Mapping[str, Any]:
        try:
            return self.command.make_context(self.command.name, [*words]).params
        except click.UsageError as error:
            if not where:
                raise
            said = error.message if isinstance(error, click.BadParameter) else error.format_message()
            raise TargetError(f"{where}{said}") from error
        except SymgradError as error:
            raise TargetError(f"{where}{error}") from error


def has_project(start: Path = Path()) -> bool:
    """Whether a folder is of a project."""
    return _table(start) is not None


def _found(start: Path) -> tuple[Path, dict[str, Any]]:
    """The table, and its file. Raises TargetError where there is none."""
    found = _table(start)
    if found is None:
        raise TargetError(
            f"there is no TARGET, and no {FILE} with a table {TABLE} in this folder or above. Name a TARGET, or begin "
            f"such a table: symgrad init"
        )
    return found


def _table(start: Path) -> tuple[Path, dict[str, Any]] | None:
    """The nearest pyproject.toml with the table, in this folder or above."""
    for folder in (start.resolve(), *start.resolve().parents):
        path = folder / FILE
        if path.is_file():
            try:
                table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("symgrad")
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise TargetError(f"{path} cannot be read as TOML: {error}.") from error
            if isinstance(table, dict):
                return path, table
    return None


def _key(option: click.Option) -> str:
    """What an option is called in the table."""
    name = max(option.opts, key=len).lstrip("-")
    return _RENAMED.get(name, name)


def _refuse_keys(
    table: Mapping[str, Any], keys: Mapping[str, click.Option], where: str, elsewhere: Mapping[str, Any] | None = None
) -> None:
    settled = [key for key, option in keys.items() if not isinstance(option, OfOneRun)]
    for key in table:
        if key in settled:
            continue
        if key in keys:
            raise TargetError(f"{where}: {key} is about one run. Say it there, --{key}, and take it out of the table.")
        if elsewhere is not None and key in elsewhere:
            raise TargetError(f"{where}: {key} is about the whole project. Move it to {TABLE}.")
        takes = ["functions", *settled, *(["overrides"] if elsewhere is None else [])]
        near = did_you_mean(key.replace("_", "-"), takes)
        raise TargetError(f"{where}: there is no key {key}.{near or ' It takes ' + ', '.join(takes) + '.'}")


def _words(option: click.Option, value: Any, where: str) -> list[str]:
    """A value as the command line has it."""
    flag = max(option.opts, key=len)
    if option.is_flag:
        if not isinstance(value, bool):
            raise TargetError(f"{where} = {value!r}: it is true or false.")
        return [flag] if value else []
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ",".join(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TargetError(f"{where} = {value!r}: it is what {flag} takes, a text, a number, or a list of texts.")
    return [f"{flag}={value}"]


def _listed(table: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        raise TargetError(f"{where}: {key} = {value!r}: it is a list.")
    return value


def _names(table: Mapping[str, Any], where: str, what: str) -> tuple[str, ...]:
    names = _listed(table, "functions", where)
    if not names or not all(isinstance(name, str) for name in names):
        raise TargetError(f"{where}: functions is missing, or empty, or no list of texts. It has {what}.")
    return tuple(names)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# writing it


def written_table(targets: Sequence[str], languages: Sequence[str], out: Path) -> str:
    """Write the table into the pyproject.toml of this folder, of what is declared here; say what was written."""
    path = Path(FILE)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        known = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TargetError(f"{FILE} cannot be read as TOML: {error}.") from error
    if "symgrad" in known.get("tool", {}):
        raise TargetError(f"{FILE} has a table {TABLE} already. Change it there; symgrad generate reads it.")
    functions = [*targets] or declaring(Path())
    if not functions:
        raise TargetError(
            "no file of this folder declares a function with symgrad. Declare one, or name it: "
            'symgrad init "squares(x, y) = x**2, x*y, y**2"'
        )
    values: dict[str, str | Sequence[str]] = {"functions": functions, "to": [*languages], "out": out.as_posix()}
    table = [TABLE, *(f"{key} = {_toml(value)}" for key, value in values.items())]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    path.write_text(f"{text}{gap}" + "\n".join([*table, ""]), encoding="utf-8")
    return "\n".join([f"{FILE}   {'a table more' if text else 'new'}", *(f"    {line}" for line in table),
                      "Print what it names: symgrad generate"])  # fmt: skip


def _toml(value: str | Sequence[str]) -> str:
    if not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value)
    return f'"{escaped}"'
