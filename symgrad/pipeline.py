"""declare -> differentiate -> simplify -> plan -> print -> verify: the calls, in order. Read this first.

    Function     what the user declared: tensors, index equations, outputs       symgrad/ir, symgrad/declare
    Function     in stable form, each value computed once                        symgrad/simplify/forward.py
    Derivative   the same, and the equations of J^T v                            symgrad/differentiate
    Derivative   in the form an expert would write                               symgrad/simplify
    Program      what forward and backward compute, save and return              symgrad/plan
    text         the files of one language                                       symgrad/backends, templates
    Report       whether the text, and what it compiles to, computes J^T v       symgrad/verify
"""

from __future__ import annotations

import gc
import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .backends import BACKENDS, DERIVED, OPTIONS, PAIR, SPARSE, asked, takers
from .backends.base import Artefact, Backend
from .backends.header import CHECKSUM, header
from .backends.options import unperturbed, with_respect_to
from .declare import Declared, to_sympy
from .differentiate import (
    Ordered,
    Perturbations,
    arranged,
    at_rest,
    by_components,
    chosen,
    curved_of,
    differentiate,
    entries,
    flat_size,
    gauss_newton_of,
    gradient_of,
    hessian_of,
    in_values,
    is_sparse,
    jacobian_equations,
    jacobian_of,
    literal,
    perturbations,
    perturbed,
    pushed_of,
    resting,
    slopes_of,
    sparse_of,
    tangent,
)
from .errors import CheckError, TargetError, UnsupportedError
from .expr import ref
from .ir import (
    Derivative,
    Dtype,
    Function,
    as_declared,
    is_scalar,
    moved_by,
    names_of,
    single,
    with_names,
    with_outputs,
)
from .later import Later, sympy
from .ops.primitive import assumed_in
from .plan import Beside, Program, Sparse, plan
from .records import dataclass, replace
from .simplify import shorter, simplify, stable

if TYPE_CHECKING:
    from .verify import Loss, Report

oracle: Any = Later("symgrad.verify")  # what is printed and not checked does without it
Declaration = Function | Declared

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
        """Import or compile the printed text."""
        return self.backend.load(self.program, self.files)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's garbage collector, which takes a third of the time of a long formula: what is made here is read
    until the end, and what is dropped before has no circles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_uncollected()
def derive(declaration: Declaration) -> Derivative:
    """The simplified vector-Jacobian product of a declaration."""
    function = as_function(declaration)
    return _derived(function, tuple(repr(o.default) for o in function.options))


@lru_cache(maxsize=256)
def _derived(function: Function, defaults: tuple[str, ...]) -> Derivative:
    """Derived once for all languages.

    defaults  as they are printed: 1 and 1.0 are equal
    """
    return simplify(differentiate(stable(function)))


def printed(declaration: Declaration, to: str, options: Mapping[str, Any] = MappingProxyType({})) -> Printed:
    """Declaration -> text in the language `to`; `options` are those of `symgrad.backends.Options`
    that the language has."""
    (found,) = printed_together([declaration], to, options)
    return found


@_uncollected()
def printed_together(
    declarations: Sequence[Declaration], to: str, options: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Printed, ...]:
    """The same for several declarations, all in the files that the option `file` names."""
    backend, chosen = _backend(to, options)
    functions = [as_function(declaration) for declaration in declarations]
    _refuse_together(functions, to, backend.options.file)
    base = backend.over or backend
    programs = [_planned(_named(f, backend), backend, chosen) for f in functions]
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


def _planned(function: Function, backend: Backend, chosen: Sequence[str]) -> Program:
    """What is printed in a language; `chosen` are the inputs that a solver moves, where they are named."""
    base, operation = backend.over or backend, backend.options.operation
    every = backend.options.checkpoint
    program = plan(derive(function), base.dialect, backend.style, base.calls, operation, every)
    if backend.products:
        program = _solved(program, function, backend, chosen)
    options = backend.options
    named = [*options.functions]
    if backend.forward_mode and options.pair and not options.wrt and "jvp" in named:  # else a function as any other
        named.remove("jvp")
        second = plan(pushed(function), backend.dialect, backend.style, backend.calls, operation)
        program = replace(program, product=second)
    named = [name for name in named if name not in PAIR or not options.pair]
    return replace(program, pair=options.pair, beside=tuple(_beside(function, name, backend) for name in named))


def _solved(program: Program, function: Function, backend: Backend, chosen: Sequence[str]) -> Program:
    """The program with what a solver asks for besides the value and its gradient."""
    whole = [n for n in function.outputs if function.table[n].dtype != Dtype.REAL]
    if whole:
        raise UnsupportedError(f"{function.name}: {whole[0]} is no real number, as SciPy's solvers look for.")
    solver = backend.options.solver
    moved, ahead = moved_by(function, solver, chosen)
    second = solver == "optimize" and is_scalar(function)
    matrix = _matrix(function, backend, moved, second)
    times = None
    if matrix is None or second:
        ways = backend.dialect, backend.style, backend.calls, backend.options.operation
        times = plan(product(function, moved, second), *ways)
    return replace(program, unknowns=moved, ahead=ahead, second=second, matrix=matrix, product=times)


def _matrix(function: Function, backend: Backend, moved: Sequence[str], second: bool) -> Beside | None:
    """The plan of the Jacobian, or the Hessian, by the unknown, as it is asked for; None where it is a product."""
    kind = "hessian" if second else "jacobian"
    point = function if backend.options.solver == "solve_bvp" else single(function)
    if backend.options.matrix == "sparse":
        return _sparse(point, f"{kind}:sparse", backend, moved, alone=True)
    found = slopes(point, moved, kind) if backend.options.matrix == "dense" else None
    return None if found is None else Beside(kind, _alone(found, found.outputs, backend), ())


def _beside(function: Function, what: str, backend: Backend) -> Beside:
    """The plan of the forward alone of what is derived of a function, or of the function; and its results, arranged."""
    if is_sparse(what):
        return _sparse(function, what, backend, backend.options.wrt)
    loops = backend.style == "loops"
    asked = asked_for(function, what, backend.options.wrt, loops)
    own = replace(stable(asked), name=function.name)  # that messages name
    partial = loops and what != "forward" and len(own.outputs) > 1
    count = len(chosen(derive(function), unperturbed(backend.options.wrt))) if what != "forward" else 0
    results = arranged(what, function.outputs, own.outputs, count)
    return Beside(what, _alone(own, own.outputs, backend, partial), results)


def _alone(function: Function, outputs: Sequence[str], backend: Backend, partial: bool = False) -> Program:
    """The plan of the forward alone of a function, for some of its outputs; `partial` as `plan` takes it."""
    own = with_outputs(function, outputs)
    alone = simplify(Derivative(own, own, (), ()))
    return plan(alone, backend.dialect, backend.style, backend.calls, partial=partial)


def _sparse(function: Function, what: str, backend: Backend, wrt: Sequence[str], alone: bool = False) -> Beside:
    """The plan of the values of a sparse matrix, and that of their places, if these are not known as numbers; those of
    the function are left out where the matrix is asked for alone."""
    loops = (backend.over or backend).style == "loops"
    found, ordered = _entries_of(function, what, wrt, loops)
    own = replace(stable(found), name=function.name)
    of = single(function)
    inputs = chosen(derive(of), unperturbed(wrt))
    kind, slopes = what.partition(":")[0], len(inputs) if what.startswith("hessian") else 0
    first = len(function.outputs) + slopes
    values, entries = own.outputs[:first], own.outputs[first:]
    parts = [entries[k : k + 3] for k in range(0, len(entries), 3)]
    high = inputs if slopes else [n for n in of.outputs if of.table[n].dtype == Dtype.REAL]
    shape = flat_size(of, high), flat_size(of, inputs)
    places = [name for rows, columns, _ in parts for name in (rows, columns)]
    at = literal(own, places, shape[0])
    pattern = None if at is not None else _alone(own, places, backend)
    known = {name: some for name, some in zip(high, ordered, strict=False) if some is not None}
    sparse = Sparse(tuple(high), inputs, shape, tuple(v for *_, v in parts), pattern, *(at or ((), ())), known)
    results = () if alone else arranged(what, function.outputs, values, slopes)
    values = () if alone else values
    return Beside(f"{kind}_sparse", _alone(own, (*values, *sparse.parts), backend, loops), results, sparse)


def asked_for(function: Function, what: str, wrt: Sequence[str], loops: bool = False) -> Function:
    """The function of a name in a file: what is derived of the declaration, or the declaration; as a language of
    `loops` computes it best."""
    if what == "gauss_newton" and loops:
        return _derived_as(function, what, wrt, lines=True)
    return function if what == "forward" else derived(function, what, wrt)


def generate(
    declaration: Declaration | Sequence[Declaration], to: str = "numpy", **static: Any
) -> dict[str, str]:
    """Return {path: text} of the printed code, unchecked; of several declarations, for C with `file`, that of one file.

    to      a name of `symgrad.backends.BACKENDS`; "scipy:w+b" names the inputs that are its unknown
    static  values of the static options of a declared function; `save`, what forward saves: "minimal" is no more than
            backward needs, "balanced" what is cheaper to keep than to compute again, "all" what backward reads; for C
            also `lapack`, which says whether functions of whole matrices call LAPACKE, `blas`, whether products of
            matrices call CBLAS, `dtype`, the type of real numbers: "double" or "float", `index`, that of integers in
            arrays: "int64" or "int32", `prefix`, what the name of every function, macro and file begins with, `file`,
            the name of the one .c and .h that all are printed in,
            `accumulate`, which says whether backward adds to the gradients' arrays, and `openmp`, whether threads share
            its loops; `functions`, what is printed, "forward, backward" or others that `derived` has the names of, and
            `wrt`, the inputs with respect to which these are; for all of them `stabilize=False` leaves the formula as
            it is, where another form would lose fewer digits
    """
    given: Any = declaration
    several = given if isinstance(given, (list, tuple)) else [given]
    asked = [_asked(one, static) for one in several]
    options = asked[0][1] if asked else {}
    return dict(printed_together([one for one, _ in asked], to, options)[0].files)


def load(declaration: Declaration, to: str = "numpy", check: bool = True, **static: Any) -> Artefact:
    """Return the printed code as an object with `forward` and `backward`, after checking it.

    `.forward(*inputs, **options) -> (out, saved)`; `.backward(saved, grad_output=None, needs_input_grad=None)` gives
    one gradient per input; what else is among the `functions` returns its values first. Raises CheckError if the code
    does not compute what was declared, CompilerError where the machine has no C compiler.
    """
    declaration, options = _asked(declaration, static)
    result = printed(declaration, to, options)
    artefact = result.backend.tuned(result.program, result.files)
    if check:
        report = verified(declaration, result, artefact)
        if not report.ok:
            raise CheckError(str(report))
    return artefact


def check(
    declaration: Declaration,
    to: str = "numpy",
    full: bool = False,
    seconds: float | None = None,
    seed: int = 0,
    case: int | None = None,
    **static: Any,
) -> Report:
    """Print, load and check; return the Report. `full` takes minutes where the default takes about a second.

    After `seconds` the check ends; the report says then how much was checked, and is not `ok`. Another `seed` draws
    other points; `case` asks for one of them alone, as a failure names it.
    """
    declaration, options = _asked(declaration, static)
    result = printed(declaration, to, options)
    return verified(declaration, result, result.load(), full=full, seconds=seconds, seed=seed, case=case)


def verified(declaration: Declaration, result: Printed, artefact: Artefact, **how: Any) -> Report:
    """Check what was printed; for a language whose text the check does not execute, beside that of one it does.

    how  what else `symgrad.verify.check` is told: full, seconds, seed, case, watch
    """
    backend = result.backend
    function = _named(as_function(declaration), backend)
    to, like, options = backend.name, backend.executed, backend.options
    same = {n: getattr(options, n) for n in ("save", "functions", "wrt") if n in BACKENDS[like].takes}
    with assumed_in(like):
        text = result if like == to else printed(declaration, like, same)
    told = {"text": like, "heads": text.backend.heads(text.program), **how}
    reports = [oracle.check(function, text.files, to, artefact, **told)] if result.program.pair else []
    for beside in result.program.beside:
        of = function if beside.sparse is None else single(function)
        own = asked_for(of, beside.kind, options.wrt)  # a sparse matrix is compared with the dense one
        origin = _origin(of, own, beside, options.wrt)
        reports.append(oracle.check(own, text.files, to, artefact, origin=origin, **told))
    report: Report = oracle.joined(function.name, reports)
    words = ["symgrad", "check", function.source or function.formula or function.name, "--to", to, *options.cli_flags]
    words += ["--no-stabilize"] * (not function.stabilize) + ["--full"] * how.get("full", False)
    return replace(report, command=shlex.join(words), remark=getattr(artefact, "remark", ""))


def _origin(function: Function, own: Function, beside: Beside, wrt: Sequence[str]) -> Any:
    """What the check compares the derivatives of a function in a file with."""
    what = beside.kind
    inputs = chosen(derive(function), unperturbed(wrt)) if what != "forward" else ()
    moves = tuple(
        (name, oracle.Retraction(p.group.name, p.side == "left", len(p.shape)))
        for name, p in perturbations(function, wrt).items()
    )
    slope = asked_for(function, "value_and_gradient", wrt) if what in ("hessian", "hvp") else None
    sparse = None if beside.sparse is None else (beside.sparse.rows, beside.sparse.columns)
    return oracle.Origin(what, function, inputs, own.outputs, moves, slope, sparse)


def accuracy(declaration: Declaration, seed: int = 0) -> tuple[tuple[Loss, Loss], ...]:
    """The bits of float64 that the printed code loses, at the points of a check, for each output and each gradient.

    In pairs: what the formula as it is written loses, differentiated as it stands; and what is printed for it. NumPy's
    code is measured; the other languages compute the same formulas.
    """
    function = as_function(declaration)
    artefacts = [printed(replace(function, stabilize=s), "numpy").load() for s in (False, True)]
    return tuple(zip(*oracle.losses(function, artefacts, seed), strict=True))


def vjp(declaration: Declaration) -> Derivative:
    """J^T v, simplified: prints as mathematics, has `.latex()`, and `.function` can be differentiated again."""
    return derive(declaration)


def jvp(declaration: Declaration) -> Derivative:
    """J v: the tangents of the outputs for tangents of the inputs."""
    return simplify(tangent(stable(as_function(declaration))))


def product(function: Function, inputs: Sequence[str], second: bool) -> Derivative:
    """What a solver multiplies a vector with: the Hessian of one scalar output (`second`), or the Jacobian.

    inputs  the unknown, with respect to which
    Its primal has no outputs: only what the product needs is computed.
    """
    point = single(function)
    if not second:
        found = simplify(tangent(stable(point), inputs))
    else:
        derivative = derive(point)
        if not {g for name, g in derivative.gradients if name in inputs} <= {e.target for e in derivative.equations}:
            said = f"{function.name} does not depend on all of its unknown, {', '.join(inputs)}"
            raise UnsupportedError(f"{said}. Say what is unknown, as in --to scipy:{inputs[-1]}.")
        found = _curved(gradient(point, *inputs), inputs)
    return replace(found, primal=replace(found.primal, outputs=()))


def slopes(point: Function, inputs: Sequence[str], kind: str) -> Function | None:
    """The `jacobian` of a function as an array for each output and input, or the `hessian` of one scalar, of which no
    half is there twice; None where these have no equations, or hold only a part of it."""
    try:
        found = asked_for(point, kind, inputs)
    except UnsupportedError:
        return None
    found = stable(replace(slopes_of(found, point, inputs, kind), name=point.name))
    # of a pack among other axes there are blocks on the diagonal, of one alone its elements
    moved = (point.table[n].shape for n in (*point.outputs, *inputs))
    return None if any(len(shape) > 1 and ref(pack) in shape for shape in moved for pack in point.packs) else found


def pushed(function: Function) -> Derivative:
    """J v, for all inputs of real numbers; its primal has no outputs, as that of `product`."""
    found = jvp(function)
    return replace(found, primal=replace(found.primal, outputs=()))


def _curved(slope: Function, inputs: Sequence[str]) -> Derivative:
    """The Hessian times a direction, from the gradient `slope`: it is symmetric, and so this is J^T v of that."""
    found = differentiate(stable(slope), inputs)
    found = replace(found, gradients=_in_order(found.gradients, inputs))
    wishes = {seed: f"direction_{n}" for (_, seed), n in zip(found.seeds, inputs, strict=True)}
    wishes |= {g: f"product_{n}" for n, g in found.gradients}
    names = {old: new for old, new in wishes.items() if new not in names_of(found.function)}
    seeds, gradients = (tuple((n, names.get(g, g)) for n, g in some) for some in (found.seeds, found.gradients))
    return simplify(replace(found, function=with_names(found.function, names), seeds=seeds, gradients=gradients))


def _in_order(pairs: Sequence[tuple[str, str]], inputs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, dict(pairs)[name]) for name in inputs)


def gradient(declaration: Declaration, *inputs: str) -> Function:
    """The gradient of a function with one scalar output, as a function of the same inputs.

    inputs  with respect to which; all of them, if none is named
    Of a formula of numbers, which arrays of points are given to, it is the gradient at each point. It is printed,
    checked and differentiated as any other; its J^T v is the product of the Hessian with v.
    """
    return derived(declaration, "gradient", inputs)


def derived(declaration: Declaration, what: str, wrt: str | Sequence[str] = ()) -> Function:
    """What is derived of a function, as a function of the same inputs again, as `gradient` is.

    what  "gradient", of one scalar output; "value_and_gradient"; "jacobian": the outputs, and their derivatives as one
          array `jacobian` (..., m, n), rows outputs and columns inputs, or `<output>_by_<input>` of arrays, of shape
          output x input, a pack that both have in front; "hessian": the value, the gradient and its derivatives;
          "gauss_newton": the residuals, `jacobian`, `jtj` = J^T J and `jtr` = J^T r; "jvp": the outputs and their
          tangents, of the inputs and a `tangent_<input>` for each; "hvp", of one scalar output: the Hessian times a
          `direction_<input>` for each; "jacobian:sparse" and "hessian:sparse": the values, and the entries of the
          one matrix of all outputs and inputs at one point, in threes of arrays: rows, columns, values
    wrt   the inputs with respect to which: a name, several, or "x, y"; all of them, if none is named. "pose: SE3" is
          by a perturbation of 6 numbers, the rotation's first, in place of the components: pose exp(perturbation), or
          exp(perturbation) pose for "pose: SE3 left"; so are "SO3" and "SO3xR3" (see `sg.SE3.retract`)

    Those of "gauss_newton" are numbers, arrays of literal size, or one array by another: UnsupportedError tells
    otherwise.
    """
    return _derived_as(declaration, what, wrt)


def _derived_as(declaration: Declaration, what: str, wrt: str | Sequence[str], lines: bool = False) -> Function:
    """The same; `lines` as `gauss_newton_of` takes it."""
    if what not in (*DERIVED, *SPARSE):
        known = ", ".join((*DERIVED, *SPARSE))
        raise TargetError(f"{what!r} is nothing that is derived of a function; choose from {known}.")
    function, asked, second = as_function(declaration), with_respect_to(wrt), what == "hessian"
    if is_sparse(what):
        return _entries_of(function, what, asked)[0]
    inputs, moves = unperturbed(asked), perturbations(function, asked)
    if moves and (second or what == "hvp"):
        raise _no_perturbation(function, what)
    if second or what in ("jacobian", "gauss_newton"):
        function = by_components(function)
    derivative = derive(function)
    inputs = chosen(derivative, inputs)
    if what == "jvp":
        found = _swept(derivative.primal, moves, lambda f: tangent(f, inputs))
        return resting(pushed_of(replace(found, seeds=_in_order(found.seeds, inputs))), moves)
    if what == "hvp":
        return curved_of(_curved(gradient_of(derivative, inputs), inputs), derivative.primal)
    if moves:
        derivative = _swept(derivative.primal, moves, differentiate)
    if what in ("gradient", "value_and_gradient"):
        return resting(gradient_of(derivative, inputs, value=what == "value_and_gradient"), moves)
    of = derive(gradient_of(derivative, inputs, value=True)) if second else derivative
    others = _others(of, inputs, moves)
    if what == "hessian":
        function = hessian_of(derivative.primal, of, others, inputs)
    elif what == "jacobian":
        function = jacobian_of(of, others, inputs)
    else:
        function = gauss_newton_of(of, others, inputs, lines)
    return resting(shorter(function, of.primal.writers), moves)


def _entries_of(function: Function, what: str, wrt: Sequence[str], rows: bool = False) -> tuple[Function, Ordered]:
    """The values, and the entries of a sparse matrix of one point; by `rows`, as `sparse_of` says."""
    if perturbations(function, wrt):
        raise _no_perturbation(function, what)
    of = derivative = derive(single(function))
    inputs, count = chosen(derivative, unperturbed(wrt)), 0
    if what.startswith("hessian"):
        of, count = derive(gradient_of(derivative, inputs, value=True)), len(derivative.primal.outputs)
    found, ordered = sparse_of(of, _others(of, inputs), inputs, of.primal.outputs[count:], rows)
    return shorter(found, of.primal.writers), ordered


def _no_perturbation(function: Function, what: str) -> UnsupportedError:
    return UnsupportedError(f"{function.name}: a {what} by the perturbation of a pose is not derived.")


def _others(
    of: Derivative, inputs: Sequence[str], moves: Perturbations = MappingProxyType({})
) -> Callable[[], Iterator[Derivative]]:
    """What gives other equations of a derivative, or of J v, than simplification has chosen."""

    def others() -> Iterator[Derivative]:
        values = in_values(resting(of.primal, moves))
        yield _swept(values, moves, lambda f: tangent(f, inputs))
        yield _swept(values, moves, differentiate)
        yield _swept(resting(of.primal, moves), moves, lambda f: tangent(f, inputs))

    return others


def _swept(function: Function, moves: Perturbations, sweep: Callable[[Function], Derivative]) -> Derivative:
    """The simplified derivative of a function, by the perturbations of some inputs."""
    return simplify(at_rest(sweep(perturbed(function, moves)), moves))


def jacobian(declaration: Declaration) -> Any:
    """J of a function of scalars as a SymPy matrix, one row per output; of tensors, a `Jacobian` of index equations.

    Its symbols are those that the function is declared with in SymPy. Otherwise they are real, and named as the inputs;
    the components of a vector `p` are `p[0], p[1], ...`.
    """
    derivative = derive(declaration)
    rows = entries(derivative, expand=True)
    if rows is None:
        return jacobian_equations(derivative)
    symbols = dict(as_function(declaration).symbols)
    try:
        return sympy.Matrix([[to_sympy(cell, symbols) for cell in row] for row in rows])
    except RecursionError:
        name = derivative.primal.name
        raise UnsupportedError(
            f"{name}: SymPy holds no formula nested as deeply as this Jacobian. vjp({name}) shows it as equations."
        ) from None


def hessian(declaration: Declaration) -> Any:
    """The second derivatives of one scalar output, as `jacobian` shows first ones: it is that of the gradient."""
    return jacobian(gradient(declaration))


def as_function(declaration: Declaration) -> Function:
    """The Function of a declaration, whichever front end it came through."""
    if not isinstance(declaration, Declaration):
        shown, kind = repr(declaration), type(declaration).__name__
        advice = {"str": f"a text is declared by sg.parse({shown})", "function": "put @symgrad.function above it"}
        more = advice.get(kind, "sg.parse, @symgrad.function and sg.from_sympy declare one")
        raise TargetError(f"{shown if len(shown) < 80 else kind} is no declared function: {more}.")
    return as_declared(declaration.function if isinstance(declaration, Declared) else declaration)


def _named(function: Function, backend: Backend) -> Function:
    """The function as the language calls it."""
    prefix = backend.options.prefix
    return replace(function, name=prefix + function.name) if prefix else function


def command(functions: Sequence[Function], to: str, backend: Backend | None = None) -> str:
    """The command that prints functions again."""
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
    if not isinstance(declaration, Declared):
        raise TargetError(f"{declaration.name} has no static options; {', '.join(static)} cannot be set.")
    return declaration.with_static(**static)


def _asked(declaration: Declaration, given: Mapping[str, Any]) -> tuple[Declaration, dict[str, Any]]:
    """The declaration with its static options fixed, and the options of the language, both given by name."""
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
            said = f"{option} is an option of {' and '.join(takers(option))}, and {to} has none such."
            raise TargetError(f"{said} {BACKENDS[name].instead.get(option, '')}".strip())
    return asked(name, options), tuple(chosen.split("+")) if chosen else ()


def _signed(text: str) -> str:
    """`text` with its checksum, where the head has a place for it."""
    return text.replace(f"{CHECKSUM}\n", f"{CHECKSUM} {_digest(text)}\n", 1)


def intact(text: str) -> bool:
    """Whether printed text is as it was printed; one without a checksum, of an older version, is taken to be."""
    found = _CHECKSUM.search(text)
    return found is None or found[1] == _digest(text[: found.start(1) - 1] + text[found.end(1) :])


def _digest(text: str) -> str:
    """Of the text without its own place; whichever way its lines end."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:16]
