"""The command `symgrad`: generate, check, show, explain, playground.

Exit codes: 0; 1 for a finding (code that fails its check, files that are not as printed); 2 for a mistake of the user's
or what this machine lacks, with one message and no traceback; 3 for a check whose time ran out.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from ..backends import BACKENDS, DTYPES, INTEGERS, MATRICES, SAVES, SOLVERS
from ..backends.options import listed
from ..errors import SymgradError, TargetError
from ..kinds import DERIVED, SPARSE
from ..later import Later
from . import completion
from .ways import WORDS, OfOneRun

_run: Any = Later("symgrad.cli.commands")  # --help and completion do without it, and what it imports
MISTAKE = 2
TRACEBACK = "SYMGRAD_TRACEBACK"  # set in the environment, it shows where symgrad itself has failed
LONGEST = 200  # characters of a name that a message repeats


class Mistake(click.ClickException):
    """Something the user can mend."""

    exit_code = MISTAKE

    def show(self, file: Any = None) -> None:
        """Print the message."""
        click.echo(f"symgrad: {self.format_message()}", err=True)


class Commands(click.Group):
    """The commands; a SymgradError, a failing disk, or a mistake of symgrad's own becomes one message."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly when nobody reads on
        except SymgradError as error:
            raise Mistake(str(error)) from error
        except OSError as error:
            name = str(error.filename or "")
            shown = f"{name[:LONGEST]}..." if len(name) > LONGEST else name
            raise Mistake(f"{shown}: {error.strerror}" if name else str(error)) from error
        except MemoryError as error:
            raise Mistake(f"this takes more memory than there is: {error}".rstrip(": ")) from error
        except Exception as error:
            if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort) or TRACEBACK in os.environ:
                raise
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise Mistake(
                f"this is a mistake in symgrad, and not in what was asked: {said[:LONGEST]}\n"
                f"Please report it, with the command and what it shows where {TRACEBACK}=1 stands in the environment."
            ) from error


def _languages(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """`numpy,c`: the names, each once; `scipy:w` says what is the unknown."""
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    for name in names or ("",):
        if name.partition(":")[0] not in BACKENDS:
            near = difflib.get_close_matches(name, BACKENDS, n=1)
            advice = f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(BACKENDS)}."
            raise TargetError(f"{name!r} is no language that symgrad prints. {advice}")
    return names


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """`x,y`: the names, each once."""
    return listed(value or "")


def _steps(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """A number of steps; what is said of anything else is that of the option."""
    return int(value) if value is not None and value.isdecimal() else value


def _number(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number.", ctx, param)
    return value


class InProject(click.Command):
    """A command that does without TARGETs where there is a project: the words that were said go behind its table's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read them, and keep them."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)


target_argument = click.argument("targets", metavar="TARGET...", nargs=-1, required=True,
                                 shell_complete=completion.targets)  # fmt: skip
project_argument = click.argument("targets", metavar="[TARGET...]", nargs=-1, shell_complete=completion.targets)
jobs_option = click.option("--jobs", type=click.IntRange(min=1), metavar="N",
                           help="Work in N processes at once.  [default: 1; in a project, all processors]")  # fmt: skip
everything_option = click.option("--all", "everything", is_flag=True, cls=OfOneRun,
                                 help="In a project: also what did not change since it was last done.")  # fmt: skip
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Say only what is wrong.")
to_option = click.option(
    "--to", "languages", callback=_languages, default="numpy", metavar="NAMES", show_default=True,
    shell_complete=completion.languages,
    help=f"Languages, separated by commas: {', '.join(BACKENDS)}.",
)  # fmt: skip


def _ways(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of languages."""
    save = click.option("--save", type=click.Choice(list(SAVES)),
                        help="What forward saves: no more than backward needs, what is cheaper to keep, or all that "
                             "backward reads.  [default: balanced]")  # fmt: skip
    checkpoint = click.option("--checkpoint", callback=_steps, metavar="N|sqrt",
                              help="C, NumPy: forward saves the state of a recurrence every N steps, or as many as "
                                   "the root of all, and backward computes the others again.")  # fmt: skip
    lapack = click.option("--lapack", is_flag=True, help="C: call LAPACKE for functions of whole matrices.")
    blas = click.option("--blas", is_flag=True, help="C: call CBLAS for products of matrices.")
    dtype = click.option("--dtype", type=click.Choice(DTYPES), help="C: the type of real numbers.  [default: double]")
    index = click.option("--index", type=click.Choice(INTEGERS), help="C: that of integers there.  [default: int64]")
    prefix = click.option("--prefix", metavar="PREFIX", help="C: what names of functions and files begin with.")
    file = click.option("--file", metavar="NAME", help="C: one NAME.c and NAME.h for all TARGETs.")
    accumulate = click.option("--accumulate", is_flag=True, help="C: backward adds to gradients, and overwrites none.")
    openmp = click.option("--openmp", is_flag=True, help="C: threads share the loops whose turns are independent.")
    functions = click.option("--functions", callback=_names, metavar="NAMES", shell_complete=completion.functions,
                             help=f"What is printed: forward, backward, {', '.join((*DERIVED, *SPARSE))}, separated "
                                  "by commas. Of PyTorch and JAX, jvp is forward mode.  "
                                  "[default: forward,backward]")  # fmt: skip
    wrt = click.option("--wrt", callback=_names, metavar="INPUTS",
                       help="The inputs with respect to which these are: x,y. One that is perturbed as a rotation or "
                            'pose: "pose: SE3".  [default: all]')  # fmt: skip
    matrix = click.option("--matrix", type=click.Choice(MATRICES),
                          help="SciPy: the Jacobian is an array, a csr_array, or an operator.  [default: dense]")
    solver = click.option("--solver", type=click.Choice([*SOLVERS]),
                          help="SciPy: who calls it: minimize, least_squares and root of scipy.optimize, or a solver "
                               "that gives the time, or data, first.  [default: optimize]")  # fmt: skip
    strict = click.option("--strict-domain", is_flag=True,
                          help="Refuse numbers outside of the domain that a function is declared for.")  # fmt: skip
    plainly = click.option("--no-stabilize", "stabilize", is_flag=True, flag_value=False, default=True,
                           help="Leave the formula as it is, where another form would lose fewer digits.")  # fmt: skip
    for option in (save, checkpoint, lapack, blas, accumulate, file, prefix, index, dtype, openmp, functions, wrt,
                   matrix, solver, strict):
        command = option(command)
    return plainly(command)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="symgrad", message="symgrad %(version)s")
def main() -> None:
    """Write a function as a formula; get its forward and backward as code you can read.

    \b
    A TARGET is
      "f(x, y) = x**2, x*y"    the formula itself, in quotes
      file.py:name             a function declared in a file
      file.py                  every function declared there
      package.module:name      a function of a module that can be imported, also from this folder
      package.module           every function declared there; of a package, those in its __all__

    Exit codes: 0; 1 if code fails its check or files are not as printed; 2 for a mistake in what was asked, or where
    this machine cannot check (no C compiler); 3 if a check did not finish in the --seconds that it was given.
    """


@main.command(cls=InProject)
@project_argument
@to_option
@_ways
@click.option("--out", type=click.Path(path_type=Path), default=Path(), metavar="DIR",
              help="Write to DIR/<function>/.  [default: the current folder]")  # fmt: skip
@click.option("--flat", is_flag=True, help="Write to DIR itself.")
@click.option("--check", "compare", is_flag=True, cls=OfOneRun,
              help="Write nothing; print a diff where DIR is not what would be printed, and exit 1.")  # fmt: skip
@click.option("--no-check", "unchecked", is_flag=True, help="Write the code without verifying it.")
@click.option("--force", is_flag=True, cls=OfOneRun, help="Write over printed files that were changed by hand.")
@click.option("--name", default="", metavar="NAME", cls=OfOneRun,
              help="What a formula without a name is called.  [default: f]")  # fmt: skip
@jobs_option
@everything_option
@quiet_option
@click.option("--watch", is_flag=True, cls=OfOneRun, help="Print again whenever a declaration changes.")
@click.option("--depfile", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", cls=OfOneRun,
              help="Write to FILE, for make and ninja, the files that were read.")  # fmt: skip
def generate(**asked: Any) -> None:
    """Print forward and backward of each TARGET into files.

    Without a TARGET: of the functions that [tool.symgrad] of pyproject.toml names, in the way it says, in parallel, and
    of those that changed since alone.

    Shows the Jacobian (or the equations of the gradients), verifies the code against the formula, and writes it to
    DIR/<function>/. All files are written, or none: nothing is where any code fails its check, and nothing is
    written over a file that symgrad did not print, or that was changed since. Without a C compiler C is written and
    not verified, which the exit code 2 tells. A function that one language cannot express (a matrix factorisation
    in C) is printed in the others, and said so; the exit code is 2 where nothing could be printed.
    """
    ctx = click.get_current_context()
    ctx.exit(_run.generate(ctx))


@main.command(cls=InProject)
@project_argument
@to_option
@_ways
@click.option("--full", is_flag=True, help="The long matrix of points, sizes, dtypes and layouts: seconds to minutes.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", callback=_number,
              help="End the check of each function in each language after S seconds, finished or not.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Draw other points.")
@click.option("--case", type=click.IntRange(min=0), metavar="N", cls=OfOneRun,
              help="Check one case alone, as a failure names it.")  # fmt: skip
@jobs_option
@everything_option
@quiet_option
@click.option("--json", "as_json", is_flag=True, cls=OfOneRun, help="Print the reports as JSON.")
@click.option("--junit", "junit_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the outcomes to FILE as JUnit XML too.")  # fmt: skip
def check(**asked: Any) -> None:
    """Verify the printed code of each TARGET against its formula.

    Without a TARGET: of the functions that [tool.symgrad] of pyproject.toml names, in parallel, and of those alone that
    were not checked since they changed, if neither --json nor --junit asks for all.

    Prints one report for each function and language, in the order of the TARGETs: how many points, the worst error in
    units in the last place, and what failed where. Writes no files. C needs a C compiler; without one the exit code is
    2. It is 3 where nothing disagrees and the time of some check ran out; its report says how much was checked.

    Of a large function only the most telling points are looked at, for some seconds; the report says which were not.
    --full and --seconds look at all of them.

    --full adds to random points, ties, edges and sizes 0 and 1: the kinks of every operator in the formula and the
    floats beside them, each input at 800 and -800 where the function has a value there, float32 at all of these, each
    size 1 by itself, strided, reversed, transposed and broadcast arrays, a huge grad_output, and every subset of
    needs_input_grad. The points are the same in every run; a failure says the command that asks for its case alone.
    """
    ctx = click.get_current_context()
    ctx.exit(_run.check(ctx))


@main.command()
@project_argument
@to_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("generated"), metavar="DIR", show_default=True,
              help="Where the files go.")  # fmt: skip
def init(**asked: Any) -> None:
    """Begin the table [tool.symgrad] in pyproject.toml.

    It names the TARGETs; without any, the files of this folder that declare functions with symgrad.
    """
    _run.init(**asked)


@main.command("completion")
@click.argument("shell", type=click.Choice(completion.SHELLS))
def completion_script(shell: str) -> None:
    """Print what makes a shell complete words of this command.

    \b
    eval "$(symgrad completion bash)"    in ~/.bashrc; zsh, with zsh, in ~/.zshrc
    symgrad completion fish > ~/.config/fish/completions/symgrad.fish
    """
    found = get_completion_class(shell)
    assert found is not None, "click knows them"
    click.echo(found(main, {}, "symgrad", completion.VARIABLE).source())


@main.command("cmake-dir")
def cmake_dir() -> None:
    """Say where the package for find_package of CMake is.

    It has symgrad_add_library(NAME TARGETS ...): C that is printed when a project is built.
    """
    click.echo(_folder("cmake"))


@main.command("meson-dir")
def meson_dir() -> None:
    """Say where the subproject for Meson is, to be copied to subprojects/symgrad.

    It has symgrad_c, a generator: C that is printed when a project is built.
    """
    click.echo(_folder("meson"))


def _folder(name: str) -> str:
    return (Path(__file__).resolve().parent.parent / name).as_posix()


@main.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path), required=False)
@click.option("--text", "lines", is_flag=True, help="Show the lines that differ, too.")
@click.option("--no-run", "run", is_flag=True, flag_value=False, default=True, help="Read the files, and run none.")
@jobs_option
def diff(**asked: Any) -> None:
    """Compare the printed files of a folder with those of another, or with what would be printed now.

    What an upgrade of symgrad changes, or a declaration: of each function in each language, whether it is the text or
    the header alone, what callers rely on (signatures, prototypes, what is saved), and whether the old code still
    computes what is declared now. Without NEW, each file is printed again by the command in its head. Exit code 1
    where anything differs.
    """
    ctx = click.get_current_context()
    ctx.exit(_run.diff(ctx))


@main.command()
@target_argument
@to_option
@_ways
@click.option("--latex", is_flag=True, help="Print the mathematics as LaTeX, and no code.")
@click.option("--accuracy", is_flag=True, help="Measure the bits lost, as written and as printed, and where.")
def show(**asked: Any) -> None:
    """Show the Jacobian, J^T v before and after it is simplified, and the code."""
    _run.show(asked)


@main.command()
@target_argument
@click.option("--at", metavar="POINT",
              help="The numbers that it is worked out with, grad_output among them: x=2,y=3 or "
                   "x=[1,2,3],grad_output=[1,0,0].  [default: chosen]")
@click.option("--steps", "only", flag_value="rewrites", callback=_names,
              help="The rewrites alone, from the chain rule to the printed formula: --only rewrites.")
@click.option("--only", callback=_names, metavar="NAMES",
              help="Some sections: function, local, jacobian, why, numbers, rewrites, saved, code, graph, accuracy, "
                   "check.")
@click.option("--to", type=click.Choice(["numpy", "torch", "jax", "c"]), default="numpy", show_default=True,
              help="The language of the code beside the formulas.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--html", "html_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one page to FILE, which needs no network.  [needs symgrad[html]]")  # fmt: skip
def explain(**asked: Any) -> None:
    """Explain the gradient of each TARGET: why it is multiplied by grad_output, and where each line comes from.

    Shows the function and its local derivatives; the Jacobian J; the loss behind it, and why the chain rule asks for
    J^T v; all of it in numbers at one point, and the same by differences; the rewrites that lead from the chain rule
    to the printed formula, each with its reason; what forward saves; the lines of code of each formula; what floating
    point loses; and what the check says.
    """
    _run.explain(**asked)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8600, metavar="N", show_default=True,
              help="The port of this machine; 0 is any that is free.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=20.0, metavar="S", callback=_number,
              show_default=True, help="How long an answer may take.")  # fmt: skip
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
@click.option("--static", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Serve nothing: write the page to DIR, for the Pyodide in DIR/pyodide.")  # fmt: skip
def playground(**asked: Any) -> None:
    """Serve a page on which a formula is typed, and its gradient and code are read.

    The page is served on this machine alone, until Ctrl-C, and needs no network. It takes formula text, and names of
    the library; J and J^T v, the derivation, the code in each language and its check are those of the other commands.
    [needs symgrad[playground]]
    """
    _run.playground(**asked)
