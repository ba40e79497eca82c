"""What the commands do, once their words are read; each returns its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..backends import BACKENDS, Options
from ..backends.header import title_lines
from ..errors import CompilerError, SymgradError, TargetError, UnsupportedError
from ..ir import Function
from ..later import Later
from ..pipeline import Printed, command, refuse_without_domain
from ..verify import Report
from . import text
from .checking import Checks, Outcome, Printings, verified
from .files import File, abandoned, difference, leftovers, placed, refuse, write
from .junit import junit
from .progress import Progress
from .targets import Targets, resolve

FINDING, UNFINISHED = 1, 3
explanation: Any = Later("symgrad.explanation")  # what is printed does without it
page: Any = Later("symgrad.playground")
static_page: Any = Later("symgrad.playground.static")
Ways = Mapping[str, Any]  # the options of C that were given


def generate(
    targets: Sequence[str],
    languages: tuple[str, ...],
    ways: Ways,
    stabilize: bool,
    out: Path,
    compare: bool,
    unchecked: bool,
    force: bool,
    name: str,
) -> int:
    """Print, check and write."""
    if compare and unchecked:
        raise TargetError("--check compares files and verifies nothing; leave --no-check out.")
    found = resolve(targets, stabilize, name)
    refuse_without_domain(found.functions, "strict_domain" in ways)
    if compare:
        return _compare(found, languages, ways, out, targets, name)
    files: list[File] = []
    failed: list[Report | str] = []
    lacking: list[str] = []
    refused: list[str] = []
    for function, code in _each(found.functions, languages, ways, refused):
        if not code:
            continue
        click.echo("\n".join([*title_lines(function), *text.mathematics(code[0])]))
        if not unchecked:
            click.echo("Check")
            for printing in code:
                _report_line(function, printing, languages, failed, lacking)
            click.echo()
        files += [file for file in _files(out, code) if file not in files]
    if failed:
        for report in failed:
            click.echo(str(report), err=True)
        click.echo("symgrad: no file was written, because code failed its check.", err=True)
        return FINDING
    _tell_refused(refused, bool(files))
    again = {f.name: command([f], "").strip() for f in found.functions if f.name in found.unnamed}
    refuse(out, files, force, again)
    states = [file.state for file in files]
    write(files)
    click.echo("Files")
    width = max(len(str(file.path)) for file in files)
    for file, state in zip(files, states, strict=True):
        click.echo(f"    {file.path!s:<{width}}   {state}")
    for path in _stale(found, languages, ways, out, files):
        click.echo(f"    {path!s:<{width}}   stale: nothing prints it any more; delete it")
    _tell_lacking(lacking)
    return 0


def check(
    targets: Sequence[str],
    languages: tuple[str, ...],
    ways: Ways,
    stabilize: bool,
    full: bool,
    seconds: float | None,
    jobs: int,
    seed: int,
    case: int | None,
    as_json: bool,
    junit_file: Path | None,
) -> int:
    """Print each function in each language, and check it."""
    outcomes: list[Outcome] = []
    checks = Checks(tuple(targets), languages, full, seconds, tuple(ways.items()), seed, case, stabilize)
    for outcome in checks.outcomes(jobs):
        outcomes.append(outcome)
        if outcome.report is not None and not as_json:
            click.echo(str(outcome.report))
    reports = [o.report for o in outcomes if o.report is not None]
    failed = [o.failed for o in outcomes if o.failed]
    lacking = [o.lacking for o in outcomes if o.lacking]
    refused = [o.refused for o in outcomes if o.refused]
    if junit_file is not None:
        junit_file.write_bytes(junit(outcomes))
    if as_json:
        click.echo(json.dumps([text.as_json(report) for report in reports], indent=2))
    for message in failed:
        click.echo(message, err=True)
    _tell_refused(refused, bool(reports or failed or lacking))
    if failed or any(report.failures for report in reports):
        return FINDING
    _tell_lacking(lacking)
    if not all(report.ok for report in reports):
        return UNFINISHED
    return 0


def show(
    targets: Sequence[str], languages: tuple[str, ...], ways: Ways, stabilize: bool, latex: bool, accuracy: bool
) -> None:
    """The mathematics, and the code."""
    refused: list[str] = []
    shown = False
    functions = resolve(targets, stabilize).functions
    refuse_without_domain(functions, "strict_domain" in ways)
    if latex:
        for number, function in enumerate(functions):
            lost = ["", *text.lost(function)] if accuracy else []
            click.echo("\n".join([*[""] * bool(number), text.latex(function), *lost]))
        return
    files: list[File] = []
    for number, (function, code) in enumerate(_each(functions, languages, ways, refused)):
        if number:
            click.echo()
        if not code:
            continue
        lines = [*title_lines(function), *text.jacobian_matrix(code[0]), *text.products(function)]
        lines += ["", *text.lost(function)] if accuracy else []
        new = [file for file in _files(Path(), code) if file not in files]
        files += new
        for file in new:
            lines += ["", f"{file.path.as_posix()}", "", file.text.rstrip("\n")]
        click.echo("\n".join(lines))
        shown = True
    _tell_refused(refused, shown)


def explain(
    targets: Sequence[str], at: str | None, only: Sequence[str], to: str, as_markdown: bool, html_file: Path | None
) -> None:
    """The explanation of each function."""
    functions = resolve(targets).functions
    if html_file is not None and (as_markdown or len(functions) > 1):
        raise TargetError("--html FILE is one page of one function: give one TARGET, and leave --markdown out.")
    for number, function in enumerate(functions):
        found = explanation.explain(function, explanation.read_point(at or ""), to, only)
        if html_file is not None:
            html_file.write_text(found.html(), encoding="utf-8")
            click.echo(f"{html_file}   written")
        else:
            text = found.markdown().rstrip("\n") if as_markdown else found.terminal()
            click.echo("\n" * bool(number) + text)


def playground(port: int, seconds: float, browse: bool, static: Path | None) -> None:
    """Serve the page until Ctrl-C; or write it for Pyodide."""
    if static is not None:
        for path in static_page.write(static, seconds):
            click.echo(f"{path}   written")
        return

    def ready(address: str) -> None:
        click.echo(f"symgrad playground at {address}   (Ctrl-C ends it)")
        if browse:
            click.launch(address)

    page.serve(port, seconds, ready)


# what a language cannot express


def _each(
    functions: Sequence[Function], languages: Sequence[str], ways: Ways, refused: list[str]
) -> Iterator[tuple[Function, list[Printed]]]:
    """Each function with its code in each language that has words for all of it; what the others say is kept."""
    printings, progress = Printings(functions, ways), Progress(len(functions))
    for number, function in enumerate(functions):
        found: list[Printed] = []
        progress.next(function.name)
        for to in languages:
            progress.doing(f"{to}   deriving and printing")
            try:
                found.append(printings(number, to))
            except UnsupportedError as error:
                refused.append(str(error))
        progress.done()
        yield function, found


def _tell_refused(refused: Sequence[str], something: bool) -> None:
    """Say what is not there; an error where nothing is."""
    messages = list(dict.fromkeys(refused))
    if messages and not something:
        raise UnsupportedError("\n".join(messages))
    for message in messages:
        click.echo(f"not printed: {message}", err=True)


# checking


def _report_line(
    function: Function, printing: Printed, languages: Sequence[str], failed: list[Report | str], lacking: list[str]
) -> None:
    """Check, say so in one line, and keep what is wrong for later."""
    width = max(map(len, languages))
    progress = Progress(1)
    progress.next(f"{function.name}   {printing.backend.name}")
    outcome = verified(function, printing, progress.doing)
    progress.done()
    if outcome.report is not None:
        click.echo("\n".join(text.checked(outcome.report, width)))
        if not outcome.report.ok:
            failed.append(outcome.report)
        return
    said = "could not be checked here" if outcome.lacking else "the compiler refuses it"
    click.echo(f"    {printing.backend.name:<{width}}   {said}")
    if outcome.lacking:
        lacking.append(outcome.lacking)
    else:
        failed.append(outcome.failed)


def _tell_lacking(lacking: Sequence[str]) -> None:
    if lacking:
        more = f"\n(and {len(lacking) - 1} more like it)" if len(lacking) > 1 else ""
        raise CompilerError(f"not everything could be checked. {lacking[0]}{more}")


# comparing


def _compare(
    found: Targets, languages: Sequence[str], ways: Ways, out: Path, targets: Sequence[str], name: str
) -> int:
    """Print how the files on disk differ from what would be printed; return the exit code."""
    printings = _each(found.functions, languages, ways, [])
    files = list(dict.fromkeys(file for _, code in printings for file in _files(out, code)))
    wrong = [lines for file in files if (lines := difference(file))]
    wrong += [[f"{path}: stale, nothing prints it any more"] for path in _stale(found, languages, ways, out, files)]
    for lines in wrong:
        click.echo("\n".join(lines))
    if not wrong:
        told = f"{len(files)} files in {out} are" if len(files) > 1 else f"{len(files)} file in {out} is"
        click.echo(f"{told} as printed.")
        return 0
    named = " ".join(f'"{t}"' if not t.replace(".", "").replace(":", "").isidentifier() else t for t in targets)
    called = ["--name", name] if name else []
    asked = " ".join([*called, "--to", ",".join(languages), *Options(**ways).cli_flags])
    again = f"symgrad generate {named} {asked} --out {out}"
    click.echo(f"symgrad: {len(wrong)} of {len(files)} files are not as printed. Print them again: {again}", err=True)
    return FINDING


def _stale(found: Targets, languages: Sequence[str], ways: Ways, out: Path, files: Sequence[File]) -> list[Path]:
    """Files on disk that symgrad wrote once for these functions, or for others of these modules, and prints no more."""
    stale: list[Path] = []
    rest = [to for to in BACKENDS if to not in languages]
    own: dict[str, tuple[Function, ...]] = {f.name: (f,) for f in found.functions}
    own |= {file.path.parent.name: found.functions for file in files if file.path.parent.name not in own}
    for name, functions in own.items():
        folder = out / name
        names = {file.path.name for file in files if file.path.parent == folder}
        if leftovers(folder, names):  # they may be of a language that was not asked for
            code = [printing for _, some in _each(functions, rest, ways, []) for printing in some]
            names |= {file.path.name for file in _files(out, code) if file.path.parent == folder}
            stale += leftovers(folder, names)
    others = abandoned(out, own.keys(), found.whole)
    return [*stale, *(path for path, source in others if not _declared(source))]


def _files(out: Path, code: Sequence[Printed]) -> list[File]:
    """The files of one function in several languages, once where two print the same: torch_c stands on c."""
    folders = dict.fromkeys(printing.folder for printing in code)
    files = {name: {p: t for c in code if c.folder == name for p, t in c.files.items()} for name in folders}
    return [file for folder, texts in files.items() for file in placed(out, folder, texts)]


def _declared(source: str) -> bool:
    """Whether a TARGET can still be found: a package may leave a function out of its `__all__`."""
    try:
        return bool(resolve([source]).functions)
    except SymgradError:
        return False
