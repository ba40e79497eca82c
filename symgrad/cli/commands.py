"""What the commands do, once their words are read; each returns its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from ..backends import Options
from ..backends.header import title_lines
from ..errors import CompilerError, SymgradError, TargetError, UnsupportedError
from ..later import Later
from ..pipeline import Printed, command
from ..verify import Report
from . import text
from .checking import Outcome, Printings, Work
from .config import Run, has_project, project, run_of, written_table
from .diff import compared
from .files import File, abandoned, difference, leftovers, placed, refuse, refuse_two_texts, write
from .junit import junit
from .kept import Kept
from .sources import dependencies
from .targets import resolve
from .watching import watched, write_depfile
from .ways import Way, given, refuse_unused, way_of

FINDING, UNFINISHED = 1, 3
explanation: Any = Later("symgrad.explanation")  # what is printed does without it
page: Any = Later("symgrad.playground")
static_page: Any = Later("symgrad.playground.static")


def generate(ctx: click.Context) -> int:
    """Print, check and write."""
    if ctx.params["watch"]:
        return watched(ctx)
    run = run_of(ctx)
    with run.inside():
        return _compare(run) if run.asked["compare"] else _generate(run)


def _generate(run: Run) -> int:
    work, asked = run.work, run.asked
    say = _silent if asked["quiet"] else click.echo
    printings, kept = work.printings, Kept(run.root)
    functions, ways = printings.functions, printings.ways
    failed: list[Report | str] = []
    lacking: list[str] = []
    refused: list[str] = []
    outcomes: list[Outcome] = []
    files: list[File] = []

    def same(number: int, to: str) -> bool:
        if asked["everything"] or run.root is None:
            return False
        known = printings.known(number, to)
        return bool(kept.printed(known)) and (ways[number].unchecked or kept.checked(known))

    shown = Show(work, run.root is not None, say)
    for outcome in work.outcomes(run.jobs, same, asked["quiet"]):
        outcomes.append(outcome)
        shown.next(outcome)
        refused += [outcome.refused] if outcome.refused else []
        lacking += [outcome.lacking] if outcome.lacking else []
        failed += [outcome.failed] if outcome.failed else []
        if outcome.report is not None and not outcome.report.ok:
            failed.append(outcome.report)
        files += [file for file in _placed(ways[outcome.number], outcome) if file not in files]
    shown.end()
    if failed:
        for report in failed:
            click.echo(str(report), err=True)
        click.echo("symgrad: no file was written, because code failed its check.", err=True)
        return FINDING
    unchanged = [p for o in outcomes if o.kept for p in kept.printed(printings.known(o.number, o.to))]
    _tell_refused(refused, bool(files or unchanged))
    again = {f.name: command([f], "").strip() for f in functions if f.name in printings.found.unnamed}
    refuse_two_texts(files)
    for out in dict.fromkeys(way.out for way in ways):
        refuse(out, [f for f in files if out in f.path.parents], asked["force"], again)
    states = [file.state for file in files]
    write(files)
    for outcome in outcomes:
        if outcome.files and run.root is not None:
            written = {file.path: file.text for file in _placed(ways[outcome.number], outcome)}
            passed = outcome.report is not None and outcome.report.ok
            kept.keep(printings.known(outcome.number, outcome.to), written, passed)
    kept.save()
    if asked["depfile"] is not None:
        made = [*(file.path for file in files), *unchanged]
        write_depfile(asked["depfile"], made, dependencies(work.targets, functions))
    lines = [(str(file.path), state) for file, state in zip(files, states, strict=True)]
    if run.root is not None:
        lines = [(path, state) for path, state in lines if state != "unchanged"]
    stale = [str(p) for p in _stale(run, {*(file.path for file in files), *unchanged})]
    lines += [(path, "stale: nothing prints it any more; delete it") for path in stale]
    if lines:
        say("Files")
    width = max((len(path) for path, _ in lines if path not in stale), default=0)
    for path, state in lines:
        say(f"    {path:<{width}}   {state}")
    if run.root is not None:
        say(_counted(outcomes, "printed"))
    _tell_lacking(lacking)
    return 0


class Show:
    """What came of each function, beneath its mathematics; of a project's in one line."""

    def __init__(self, work: Work, short: bool, say: Callable[[str], Any]) -> None:
        self.work, self.short, self.say = work, short, say
        self.last: Outcome | None = None

    def next(self, outcome: Outcome) -> None:
        """Show it."""
        if not outcome.files:
            return
        way = self.work.printings.ways[outcome.number]
        width = 0 if self.short else max(map(len, way.languages))
        before = f"{outcome.function}   " if self.short else "    "
        if not self.short and (self.last is None or self.last.number != outcome.number):
            self.end()
            self.say("\n".join([*title_lines(self.work.printings.functions[outcome.number]), *outcome.mathematics]))
            self.say("Check") if not way.unchecked else None
        self.last = outcome
        if way.unchecked:
            self.say(f"{before}{outcome.to}   not checked") if self.short else None
        elif outcome.report is not None:
            self.say("\n".join(text.checked(outcome.report, width, before)))
        else:
            said = "could not be checked here" if outcome.lacking else "the compiler refuses it"
            self.say(f"{before}{outcome.to:<{width}}   {said}")

    def end(self) -> None:
        """End the lines of one function."""
        if self.last is not None and not self.short and not self.work.printings.ways[self.last.number].unchecked:
            self.say("")


def check(ctx: click.Context) -> int:
    """Print each function in each language, and check it."""
    run = run_of(ctx)
    with run.inside():
        return _check(run)


def _check(run: Run) -> int:
    asked, as_json, junit_file = run.asked, run.asked["as_json"], run.asked["junit_file"]
    kept, known = Kept(run.root), run.work.printings.known
    outcomes: list[Outcome] = []
    everything = asked["everything"] or as_json or junit_file is not None or run.root is None

    def same(number: int, to: str) -> bool:
        return not everything and kept.checked(known(number, to))

    for outcome in run.work.outcomes(run.jobs, same, asked["quiet"]):
        outcomes.append(outcome)
        report = outcome.report
        if report is not None and not as_json and not (asked["quiet"] and report.ok):
            click.echo(str(report))
        if report is not None and report.ok and run.root is not None:
            kept.keep(known(outcome.number, outcome.to), None, True)
    kept.save()
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
    _tell_refused(refused, len(refused) < len(outcomes))
    if run.root is not None and not as_json and not asked["quiet"]:
        click.echo(_counted(outcomes, "checked"))
    if failed or any(report.failures for report in reports):
        return FINDING
    _tell_lacking(lacking)
    if not all(report.ok for report in reports):
        return UNFINISHED
    return 0


def show(asked: Mapping[str, Any]) -> None:
    """The mathematics, and the code."""
    refused: list[str] = []
    shown = False
    way, latex, accuracy = way_of(asked), asked["latex"], asked["accuracy"]
    refuse_unused(given(asked), way.languages)
    printings = Work(asked["targets"], (("", way),)).printings
    if latex:
        for number, function in enumerate(printings.functions):
            lost = ["", *text.lost(function)] if accuracy else []
            click.echo("\n".join([*[""] * bool(number), text.latex(function), *lost]))
        return
    files: list[File] = []
    for number, function in enumerate(printings.functions):
        code = _printed(printings, number, way.languages, refused)
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


def diff(ctx: click.Context) -> int:
    """What differs between printed files."""
    asked, main = ctx.params, ctx.find_root().command
    old, new = asked["old"].resolve(), asked["new"] and asked["new"].resolve()
    run = project(main, "generate") if new is None and has_project() else None
    found, same, disagree = 0, 0, 0
    with run.inside() if run is not None else nullcontext():
        for one in compared(main, old, new, run.work if run else None, asked["run"], asked["jobs"] or 1):
            found += 1
            same += one.kind == "same"
            disagree += one.agree is False
            if one.kind != "same":
                click.echo("\n".join([str(one), *(f"    {line}" for line in one.lines if asked["lines"])]))
    click.echo(f"{found - same} of {found} differ" + (f", and {disagree} in what they compute" if disagree else ""))
    return FINDING if same < found else 0


def init(targets: Sequence[str], languages: Sequence[str], out: Path) -> None:
    """Write the table of a project."""
    click.echo(written_table(targets, languages, out))


# what a language cannot express


def _printed(printings: Printings, number: int, languages: Sequence[str], refused: list[str]) -> list[Printed]:
    """A function in each language that has words for all of it; what the others say is kept."""
    found: list[Printed] = []
    for to in languages:
        try:
            found.append(printings(number, to))
        except UnsupportedError as error:
            refused.append(str(error))
    return found


def _tell_refused(refused: Sequence[str], something: bool) -> None:
    """Say what is not there; an error where nothing is."""
    messages = list(dict.fromkeys(refused))
    if messages and not something:
        raise UnsupportedError("\n".join(messages))
    for message in messages:
        click.echo(f"not printed: {message}", err=True)


# checking


def _tell_lacking(lacking: Sequence[str]) -> None:
    if lacking:
        more = f"\n(and {len(lacking) - 1} more like it)" if len(lacking) > 1 else ""
        raise CompilerError(f"not everything could be checked. {lacking[0]}{more}")


def _counted(outcomes: Sequence[Outcome], done: str) -> str:
    """A line of what a project has had to do."""
    kept, refused = sum(o.kept for o in outcomes), sum(bool(o.refused) for o in outcomes)
    parts = [f"{len(outcomes) - kept - refused} {done}"]
    parts += [f"{kept} unchanged"] if kept else []
    parts += [f"{refused} not in the words of the language"] if refused else []
    return ", ".join(parts)


# comparing


def _compare(run: Run) -> int:
    """Print how the files on disk differ from what would be printed; return the exit code."""
    work, asked, kept = run.work, run.asked, Kept(run.root)
    if run.root is None and asked["unchecked"]:
        raise TargetError("--check compares files and verifies nothing; leave --no-check out.")
    printings = work.printings

    def same(number: int, to: str) -> bool:
        return not asked["everything"] and run.root is not None and bool(kept.printed(printings.known(number, to)))

    files: list[File] = []
    unchanged: list[Path] = []
    for outcome in work.outcomes(run.jobs, same, asked["quiet"]):
        files += [f for f in _placed(printings.ways[outcome.number], outcome) if f not in files]
        unchanged += kept.printed(printings.known(outcome.number, outcome.to)) if outcome.kept else ()
    refuse_two_texts(files)
    wrong = [lines for file in files if (lines := difference(file))]
    there = {*(file.path for file in files), *unchanged}
    wrong += [[f"{path}: stale, nothing prints it any more"] for path in _stale(run, there)]
    for lines in wrong:
        click.echo("\n".join(lines))
    if not wrong:
        out = " and ".join(dict.fromkeys(str(way.out) for way in printings.ways))
        told = f"{len(there)} files in {out} are" if len(there) > 1 else f"{len(there)} file in {out} is"
        if not asked["quiet"]:
            click.echo(f"{told} as printed.")
        return 0
    again = run.command if run.root is not None else _again(work)
    click.echo(f"symgrad: {len(wrong)} of {len(there)} files are not as printed. Print them again: {again}", err=True)
    return FINDING


def _again(work: Work) -> str:
    """The command that prints some TARGETs."""
    ((_, way),) = work.ways
    named = " ".join(f'"{t}"' if not t.replace(".", "").replace(":", "").isidentifier() else t for t in work.targets)
    called = ["--name", work.name] if work.name else []
    asked = " ".join([*called, "--to", ",".join(way.languages), *Options(**dict(way.options)).cli_flags])
    return f"symgrad generate {named} {asked} --out {way.out}"


def _stale(run: Run, there: set[Path]) -> list[Path]:
    """Files on disk that symgrad wrote once for these functions, or for others of these modules, and prints no more; in
    the folder of a project, all that it does not print."""
    printings, whole = run.work.printings, run.root is not None
    flat = {way.out for way in printings.ways if way.flat}  # of what else lies there nothing is known
    own: dict[Path, set[str]] = {}
    for function, way in zip(printings.functions, printings.ways, strict=True):
        if not way.flat:
            own.setdefault(way.out / function.name, set()).update(way.languages)
    for path in there:
        if path.parent not in flat:
            own.setdefault(path.parent, {to for way in printings.ways for to in way.languages})
    stale = [p for folder, languages in own.items() for p in leftovers(folder, there, None if whole else languages)]
    names, modules = {folder.name for folder in own}, None if whole else printings.found.whole
    others = [found for out in dict.fromkeys(f.parent for f in own) for found in abandoned(out, names, modules)]
    return [*stale, *(path for path, source in others if whole or not _declared(source))]


def _files(out: Path, code: Sequence[Printed]) -> list[File]:
    """The files of one function in several languages, once where two print the same: torch_c stands on c."""
    folders = dict.fromkeys(printing.folder for printing in code)
    files = {name: {p: t for c in code if c.folder == name for p, t in c.files.items()} for name in folders}
    return [file for folder, texts in files.items() for file in placed(out / folder, texts)]


def _placed(way: Way, outcome: Outcome) -> list[File]:
    return placed(way.folder(outcome.folder), dict(outcome.files))


def _silent(line: str) -> None:
    """Say nothing."""


def _declared(source: str) -> bool:
    """Whether a TARGET can still be found: a package may leave a function out of its `__all__`."""
    try:
        return bool(resolve([source]).functions)
    except SymgradError:
        return False
