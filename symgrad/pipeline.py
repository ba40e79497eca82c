"""declare -> differentiate -> simplify -> plan -> print -> verify: the calls, in order. Read this first.

    Function     what the user declared: tensors, index equations, outputs       symgrad/ir, symgrad/declare
    Function     in stable form, each value computed once                        symgrad/simplify/forward.py
    Derivative   the same, and the equations of J^T v                            symgrad/differentiate
    Derivative   in the form an expert would write                               symgrad/simplify; derivatives.py
    Program      what forward and backward compute, save and return              symgrad/plan; programs.py
    text         the files of one language                                       symgrad/backends, templates
    Report       whether the text, and what it compiles to, computes J^T v       symgrad/verify
"""

from __future__ import annotations

import difflib
import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .backends import BACKENDS, OPTIONS, asked, takers
from .backends.base import Artefact, Backend
from .backends.header import CHECKSUM, header
from .backends.loaded import fenced
from .backends.options import unperturbed
from .declare import Declared
from .derivatives import Declarable, Declaration, as_declaration, as_function, asked_for, derive, uncollected
from .differentiate import chosen, entries, perturbations
from .errors import CheckError, MachineError, TargetError, UnsupportedError
from .ir import Function, single
from .kinds import kind_of
from .later import Later
from .ops.primitive import assumed_in
from .plan import Program, Sparse
from .programs import planned
from .records import dataclass, replace
from .source.layout import listed

if TYPE_CHECKING:
    from .verify import Losses, Report

oracle: Any = Later("symgrad.verify")  # what is printed and not checked does without it

_CHECKSUM = re.compile(rf"{CHECKSUM} ([0-9a-f]{{16}})")


@dataclass(frozen=True)
class Printed:
    """One function in one language: the plan it was printed from, and the files, which it may share with others.

    folder  what the files belong to: the function, or the file of several
    """

    program: Program
    files: Mapping[str, str]
    backend: Backend
    folder: str

    def load(self) -> Artefact:
        """Import or compile the printed text. Raises MachineError where what it imports is not installed."""
        try:
            return self.backend.load(self.program, self.files)
        except ImportError as error:
            name, to = self.program.derivative.primal.name, self.backend.name
            raise MachineError(
                f"{name}: the printed {to} code needs {error.name}. To get it: pip install {error.name}"
            ) from error


class Files(dict[str, str]):
    """Texts by their paths; in a session and in a notebook they are shown as they are."""

    def __repr__(self) -> str:
        return "\n".join(f"{path}\n\n{text}" for path, text in self.items())

    def _repr_markdown_(self) -> str:
        shown = ((path, text, "python" if path.endswith(".py") else "c") for path, text in self.items())
        return "\n\n".join(f"**{path}**\n\n{fenced(text.rstrip(), language)}" for path, text, language in shown)


def printed(declaration: Declaration, to: str, options: Mapping[str, Any] = MappingProxyType({})) -> Printed:
    """Declaration -> text in the language `to`; `options` are those of `symgrad.backends.Options`
    that the language has."""
    (found,) = printed_together([declaration], to, options)
    return found


@uncollected()
def printed_together(
    declarations: Sequence[Declaration], to: str, options: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Printed, ...]:
    """The same for several declarations, all in the files that the option `file` names."""
    backend, chosen = _backend(to, options)
    functions = [as_function(declaration) for declaration in declarations]
    _refuse_together(functions, to, backend.options.file)
    refuse_without_domain(functions, backend.options.strict_domain)
    base = backend.over or backend
    programs = [planned(_named(f, backend), backend, chosen) for f in functions]
    real = 4 if backend.options.single else 8
    files: dict[str, str] = {}
    for language in dict.fromkeys((base, backend)):
        again = command(functions, to if language is backend else language.name, language)
        parts = [(program, entries(program.derivative)) for program in programs]
        head = header(parts, again, real, f"{backend.options.prefix}{backend.options.file}")
        files |= language.render_together(programs, head)
    signed = {path: _signed(text) for path, text in files.items()}
    return tuple(
        Printed(program, signed, backend, backend.options.file or f.name)
        for program, f in zip(programs, functions, strict=True)
    )


def refuse_without_domain(functions: Sequence[Function], strict: bool) -> None:
    """Raise TargetError where numbers outside of the domain shall be refused, and no function has one."""
    if strict and functions and not any(f.domain for f in functions):
        raise TargetError(
            f"{functions[0].name}: strict_domain refuses numbers outside of a domain, and none is declared. Say it "
            f"behind the formula, as in f(x, a) = x**a for a > 0, 0 <= x <= 1, or leave strict_domain out."
        )


def _refuse_together(functions: Sequence[Function], to: str, file: str) -> None:
    """Raise TargetError where functions cannot stand in one file."""
    if not functions:
        raise TargetError("there is no function to print.")
    if len(functions) > 1 and not file:
        named = ", ".join(f.name for f in functions)
        one = "Name the file that has all of them: file." if to in takers("file") else "Print each by itself."
        raise TargetError(f"{named}: {to} prints a file for each function. {one}")
    taken: dict[str, Function] = {}
    for f in functions:
        if (other := taken.setdefault(f.name.casefold(), f)) is not f:
            raise TargetError(
                f"two functions of the file {file} would have the same names in C: {other.source or other.name} and "
                f"{f.source or f.name}. Rename one, or print them into two files."
            )


def generate(
    declaration: Declarable | Sequence[Declarable], to: str = "numpy", check: bool = True, **static: Any
) -> dict[str, str]:
    """Return {path: text} of the printed code, after checking it; of several declarations, for C with `file`, that of
    one file.

    Raises CheckError if the code does not compute what was declared, MachineError where this machine cannot run it;
    `check=False` prints it unchecked.

    to      a name of `symgrad.backends.BACKENDS`; "scipy:w+b" names the inputs that are its unknown
    static  values of the static options of a declared function; `save`, what forward saves: "minimal" is no more than
            backward needs, "balanced" what is cheaper to keep than to compute again, "all" what backward reads; for C
            also `lapack`, which says whether functions of whole matrices call LAPACKE, `blas`, whether products of
            matrices call CBLAS, `dtype`, the type of real numbers: "double" or "float", `index`, that of integers in
            arrays: "int64" or "int32", `prefix`, what the name of every function, macro and file begins with, `file`,
            the name of the one .c and .h that all are printed in,
            `accumulate`, which says whether backward adds to the gradients' arrays, and `openmp`, whether threads share
            its loops; `functions`, what is printed, "forward, backward" or others that `derived` has the names of, and
            `wrt`, the inputs with respect to which these are; `strict_domain`, whether numbers outside of the domain
            are refused; for all of them `stabilize=False` leaves the formula as it is, where another form would lose
            fewer digits
    """
    given: Any = declaration
    several = given if isinstance(given, (list, tuple)) else [given]
    asked = [_asked(one, static) for one in several]
    options = asked[0][1] if asked else {}
    results = printed_together([one for one, _ in asked], to, options)
    if check:
        for (one, _), result in zip(asked, results, strict=True):
            try:
                _require_agreement(one, result, result.load())
            except MachineError as error:
                raise MachineError(f"{error} Or print it unchecked: check=False.") from error
    return Files(results[0].files)


def load(declaration: Declarable, to: str = "numpy", check: bool = True, **static: Any) -> Artefact:
    """Return the printed code as an object with `forward` and `backward`, after checking it.

    `.forward(*inputs, **options) -> (out, saved)`; `.backward(saved, grad_output, needs_input_grad)` gives one
    gradient per input, of all where the last is left out; what else is among the `functions` returns its values first.
    All take and return NumPy arrays; for torch and JAX, `.module` is the printed file, whose functions these trace.
    Raises CheckError if the code does not compute what was declared, MachineError where the machine has no C compiler
    that works.
    """
    own, options = _asked(declaration, static)
    result = printed(own, to, options)
    artefact = result.backend.tuned(result.program, result.files)
    if check:
        _require_agreement(own, result, artefact)
    return artefact


def _require_agreement(declaration: Declaration, result: Printed, artefact: Artefact) -> None:
    report = verified(declaration, result, artefact)
    if not report.ok:
        raise CheckError(str(report))


def check(
    declaration: Declarable,
    to: str = "numpy",
    full: bool = False,
    seconds: float | None = None,
    seed: int = 0,
    case: int | None = None,
    **static: Any,
) -> Report:
    """Print, load and check; return the Report. `full` takes minutes where the default takes about a second.

    Of a large function the default looks at the most telling points alone, for some seconds, and the report says which
    it has left out. With `seconds` it looks at all; the check ends then, says how much was checked, and is not `ok`.
    Another `seed` draws other points; `case` asks for one of them alone, as a failure names it.
    """
    own, options = _asked(declaration, static)
    result = printed(own, to, options)
    return verified(own, result, result.load(), full=full, seconds=seconds, seed=seed, case=case)


def verified(declaration: Declaration, result: Printed, artefact: Artefact, **how: Any) -> Report:
    """Check what was printed; for a language whose text the check does not execute, beside that of one it does.

    how  what else `symgrad.verify.check` is told: full, seconds, seed, case, enough, watch
    """
    backend = result.backend
    function = _named(as_function(declaration), backend)
    to, like, options = backend.name, backend.executed, backend.options
    same = {n: getattr(options, n) for n in ("save", "functions", "wrt", "strict_domain") if n in BACKENDS[like].takes}
    with assumed_in(like):
        text = result if like == to else printed(declaration, like, same)
    others = partial(_elsewhere, declaration, like, same)
    told = {"text": like, "heads": text.backend.heads(text.program), "others": others, "printed": True}
    told |= {"strict": options.strict_domain, **how}
    told |= {} if like == to else {"built": result.files}
    reports: list[Any] = []
    if result.program.pair:
        made = function.derived
        origin = None if made is None else _origin(made.function, function, made.what, made.wrt, beside=False)
        reports.append(oracle.check(function, text.files, to, artefact, origin=origin, **told))
    for beside in result.program.beside:
        of = function if beside.sparse is None else single(function)
        own = asked_for(of, beside.kind, options.wrt)  # a sparse matrix is compared with the dense one
        origin = _origin(of, own, beside.kind, options.wrt, beside.sparse)
        reports.append(oracle.check(own, text.files, to, artefact, origin=origin, **told))
    report: Report = oracle.joined(function.name, reports)
    words = ["symgrad", "check", function.source, "--to", to, *options.cli_flags]
    words += ["--no-stabilize"] * (not function.stabilize) + ["--full"] * how.get("full", False)
    return replace(report, command=shlex.join(words) if function.source else "", remark=getattr(artefact, "remark", ""))


def _elsewhere(declaration: Declaration, language: str, same: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The same as it is printed for arrays and for loops: the language, the files, and the functions in them."""
    for other in ("numpy", "c"):
        if other == language:
            continue
        options = {n: value for n, value in same.items() if n in BACKENDS[other].takes}
        with suppress(UnsupportedError), assumed_in(other):
            found = printed(declaration, other, options)
            yield other, found.files, found.backend.heads(found.program)


def _origin(
    function: Function, own: Function, what: str, wrt: Sequence[str], matrix: Sparse | None = None, beside: bool = True
) -> Any:
    """What the check compares the derivatives of a function with, that are `own`."""
    inputs = chosen(derive(function), unperturbed(wrt)) if what != "forward" else ()
    moves = tuple(
        (name, oracle.Retraction(p.group.name, p.side == "left", len(p.shape)))
        for name, p in perturbations(function, wrt).items()
    )
    slope = asked_for(function, "value_and_gradient", wrt) if kind_of(what).second else None
    sparse = None
    if matrix is not None:  # the rows of a Hessian are the elements of the gradients
        rows = matrix.rows if slope is None else slope.outputs[len(function.outputs) :]
        sparse = rows, matrix.columns
    return oracle.Origin(what, function, inputs, own.outputs, moves, slope, sparse, beside)


def accuracy(declaration: Declarable, seed: int = 0) -> Losses:
    """The bits of float64 that the printed code loses, at the points of a check, for each output and each gradient.

    In pairs: what the formula as it is written loses, differentiated as it stands; and what is printed for it. NumPy's
    code is measured; the other languages compute the same formulas.
    """
    function = as_function(declaration)
    artefacts = [printed(replace(function, stabilize=s), "numpy").load() for s in (False, True)]
    found: Losses = oracle.Losses(zip(*oracle.losses(function, artefacts, seed), strict=True))
    return found


def _named(function: Function, backend: Backend) -> Function:
    """The function as the language calls it."""
    prefix = backend.options.prefix
    return replace(function, name=prefix + function.name) if prefix else function


def command(functions: Sequence[Function], to: str, backend: Backend | None = None) -> str:
    """What prints functions again: the command, or a call in Python where no TARGET leads to one of them."""
    if not all(f.source for f in functions):
        names = ", ".join(f.name for f in functions)
        words = [f"[{names}]" if len(functions) > 1 else names, f'to="{to}"']
        words += backend.options.keywords if backend is not None else ()
        words += ["stabilize=False"] * (not all(f.stabilize for f in functions))
        return f"sg.generate({', '.join(words)})"
    options = backend.options.cli_flags if backend is not None else ()
    plainly = [] if all(f.stabilize for f in functions) else ["--no-stabilize"]
    return " ".join([f"symgrad generate {' '.join(map(_quoted, functions))} --to {to}", *plainly, *options])


def _quoted(function: Function) -> str:
    """The TARGET. The name of a file may hold anything: what cannot be seen is not printed, and nothing ends the
    quotes."""
    source = "".join(c if c.isprintable() else "?" for c in function.source or function.name)
    quoted = f'"{source}"' if any(c in source for c in " ()*;&|<>") else source
    return shlex.quote(source) if any(c in source for c in "\"'$`\\") else quoted


def _fixed(declaration: Declaration, static: Mapping[str, Any]) -> Declaration:
    if not static:
        return declaration
    signature = declaration.signature if isinstance(declaration, Declared) else None
    own = {**signature.static, **signature.options, **signature.tensors} if signature else {}
    near = difflib.get_close_matches(next((name for name in static if name not in own), ""), OPTIONS, n=1)
    if near:
        raise TargetError(f"There is no option {', '.join(static)} of {declaration.name}. Did you mean {near[0]}?")
    if not isinstance(declaration, Declared):
        raise TargetError(f"{declaration.name} has no static options; {', '.join(static)} cannot be set.")
    return declaration.with_static(**static)


def _asked(declaration: Declarable, given: Mapping[str, Any]) -> tuple[Declaration, dict[str, Any]]:
    """The declaration with its static options fixed, and the options of the language, both given by name."""
    declaration = as_declaration(declaration)
    if not given.get("stabilize", True):
        function, rest = _asked(declaration, {k: v for k, v in given.items() if k != "stabilize"})
        return replace(as_function(function), stabilize=False), rest
    given = {k: v for k, v in given.items() if k != "stabilize"}
    own = declaration.signature.static if isinstance(declaration, Declared) else {}
    options = {name: value for name, value in given.items() if name in OPTIONS and name not in own}
    return _fixed(declaration, {k: v for k, v in given.items() if k not in options}), options


def _backend(to: str, options: Mapping[str, Any]) -> tuple[Backend, tuple[str, ...]]:
    """The language, and the unknowns that were chosen for it: `scipy:w+b`."""
    name, _, chosen = to.partition(":") if isinstance(to, str) else ("", "", "")
    if name not in BACKENDS or (chosen and not BACKENDS[name].products):
        raise TargetError(f"{to!r} is no language that symgrad prints; choose from {', '.join(BACKENDS)}.")
    for option in options:
        if name not in takers(option):
            said = f"{option} is an option of {listed(takers(option))}, and {to} has none such."
            raise TargetError(f"{said} {BACKENDS[name].instead.get(option, '')}".strip())
    return asked(name, options), tuple(chosen.split("+")) if chosen else ()


def _signed(text: str) -> str:
    """`text` with its checksum, where the head has a place for it."""
    return text.replace(f"{CHECKSUM}\n", f"{CHECKSUM} {_digest(text)}\n", 1)


def intact(text: str) -> bool:
    """Whether printed text is as it was printed; one without a checksum, of an older version, is taken to be."""
    found = _CHECKSUM.search(text)
    return found is None or found[1] == _digest(text[: found.start(1) - 1] + text[found.end(1) :])


def checksum(text: str) -> str:
    """The checksum that printed text carries, byte by byte as it was printed; empty where it does not."""
    found = _CHECKSUM.search(text)
    return found[1] if found is not None and "\r" not in text and intact(text) else ""


def _digest(text: str) -> str:
    """Of the text without its own place; whichever way its lines end."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:16]
