"""What is derived of a declaration: J^T v, J v, and the functions of the same inputs that give gradients, Jacobians and
Hessians. Each is derived and simplified here, the same for all languages."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from .backends.options import unperturbed, with_respect_to
from .declare import Declared, function, to_sympy
from .differentiate import (
    Ordered,
    Perturbations,
    at_rest,
    by_components,
    chosen,
    curved_of,
    differentiate,
    entries,
    gauss_newton_of,
    gradient_of,
    hessian_of,
    in_values,
    jacobian_equations,
    jacobian_of,
    jumps,
    perturbations,
    perturbed,
    pushed_of,
    resting,
    slopes_of,
    sparse_of,
    tangent,
)
from .errors import TargetError, UnsupportedError
from .expr import ref
from .formulas import parse
from .ir import Derivation, Derivative, Function, Rewrite, as_declared, names_of, recording, single, with_names
from .kinds import DERIVED, SPARSE, is_sparse, kind_of
from .later import sympy
from .records import dataclass, replace
from .simplify import SEARCHED, both_stable, shorter, simplify, stable

Declaration = Function | Declared
Declarable = Declaration | str | Callable[..., Any]  # of which a declaration can be made


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's garbage collector, which takes a third of the time of a long formula: what is made here is read
    until the end, and what is dropped before has no circles. At the end it is old, and not looked at one by one."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not _others_are_frozen():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _others_are_frozen() -> bool:
    """Whether the caller has frozen objects, and is to keep them so. Python counts them one by one: once is enough."""
    global _frozen
    _frozen = _frozen or bool(gc.get_freeze_count())
    return _frozen


_frozen = False


@uncollected()
def derive(declaration: Declarable) -> Derivative:
    """The simplified vector-Jacobian product of a declaration."""
    function = as_function(declaration)
    return _derived(function, tuple(repr(o.default) for o in function.options))


@lru_cache(maxsize=256)
def _derived(function: Function, defaults: tuple[str, ...]) -> Derivative:
    """Derived once for all languages.

    defaults  as they are printed: 1 and 1.0 are equal
    """
    found, other = both_stable(function)
    if other is None or all(SEARCHED not in e.rewrites for e in found.statements):
        return simplify(differentiate(found))
    with recording(False):
        if not jumps(other) <= jumps(found):  # a quotient that is 0/0 at its equality: it has other slopes there
            return simplify(differentiate(found))
        beside = simplify(differentiate(other), aside=True)
    return simplify(differentiate(found), beside=beside)


def derivation(declaration: Declaration) -> tuple[Derivative, Sequence[Rewrite]]:
    """What `derive` gives, and the rewrites that led to it, in order."""
    with recording() as rewrites:
        found = _derived.__wrapped__(as_function(declaration), ())
    return found, rewrites


def as_declaration(given: Declarable) -> Declaration:
    """A declaration: of a text what `sg.parse` makes of it, of a Python function what `@sg.function` does."""
    if isinstance(given, Declaration):
        return given
    if isinstance(given, str):
        return parse(given)
    if inspect.isfunction(given):
        return function(given)
    shown, kind = repr(given), type(given).__name__
    raise TargetError(
        f"{shown if len(shown) < 80 else kind} is no declaration: that is a formula as text, 'f(x) = x**2', a Python "
        f"function (def), or what sg.from_sympy declares."
    )


def as_function(given: Declarable) -> Function:
    """The Function of a declaration, whichever front end it came through."""
    declaration = as_declaration(given)
    return as_declared(declaration.function if isinstance(declaration, Declared) else declaration)


def vjp(declaration: Declarable) -> Derivative:
    """J^T v, simplified: prints as mathematics, has `.latex()`, and `.function` can be differentiated again."""
    return derive(declaration)


def jvp(declaration: Declarable) -> Derivative:
    """J v: the tangents of the outputs for tangents of the inputs."""
    return simplify(tangent(stable(as_function(declaration))))


def jacobian(declaration: Declarable) -> Any:
    """J of a function of scalars as a SymPy matrix, one row per output; of tensors, a `Jacobian` of index equations.

    Its symbols are those that the function is declared with in SymPy. Otherwise they are real, and named as the inputs;
    the components of a vector `p` are `p[0], p[1], ...`.
    """
    function = as_function(declaration)
    derivative = derive(function)
    rows = entries(derivative, expand=True)
    if rows is None:
        return jacobian_equations(derivative, shorter(jacobian_of(derivative, lambda: ()), derivative.primal.writers))
    symbols = dict(function.symbols)
    try:
        return sympy.Matrix([[to_sympy(cell, symbols) for cell in row] for row in rows])
    except RecursionError:
        name = derivative.primal.name
        raise UnsupportedError(
            f"{name}: SymPy holds no formula nested as deeply as this Jacobian. vjp({name}) shows it as equations."
        ) from None


def hessian(declaration: Declarable) -> Any:
    """The second derivatives of one scalar output, as `jacobian` shows first ones: it is that of the gradient."""
    return jacobian(gradient(declaration))


def gradient(declaration: Declarable, *inputs: str) -> Function:
    """The gradient of a function with one scalar output, as a function of the same inputs.

    inputs  with respect to which; all of them, if none is named
    Of a formula of numbers, which arrays of points are given to, it is the gradient at each point. It is printed,
    checked and differentiated as any other; its J^T v is the product of the Hessian with v.
    """
    return derived(declaration, "gradient", inputs)


def derived(declaration: Declarable, what: str, wrt: str | Sequence[str] = ()) -> Function:
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


def asked_for(function: Function, what: str, wrt: Sequence[str], loops: bool = False) -> Function:
    """The function of a name in a file: what is derived of the declaration, or the declaration; as a language of
    `loops` computes it best."""
    if what == "forward":
        return function
    return _derived_as(function, what, wrt, loops) if loops else derived(function, what, wrt)


def _derived_as(declaration: Declarable, what: str, wrt: str | Sequence[str], loops: bool = False) -> Function:
    """The same, maybe for a language of loops."""
    if what not in (*DERIVED, *SPARSE):
        known = ", ".join((*DERIVED, *SPARSE))
        raise TargetError(f"{what!r} is nothing that is derived of a function; choose from {known}.")
    function, asked = as_function(declaration), with_respect_to(wrt)
    if is_sparse(what):
        return entries_of(function, what, asked)[0]
    kind, inputs, moves = kind_of(what), unperturbed(asked), perturbations(function, asked)
    if moves and kind.second:
        raise _no_perturbation(function, what)
    derivative = derive(by_components(function) if kind.cells else function)
    by = _By(chosen(derivative, inputs), moves, loops)
    found = resting(DERIVATIONS[what](derivative, by), moves)
    return replace(found, derived=Derivation(what, function, asked))


@dataclass(frozen=True)
class _By:
    """With respect to which inputs something is derived, how these are perturbed, and whether in loops."""

    inputs: tuple[str, ...]
    moves: Perturbations
    loops: bool


def _gradient(derivative: Derivative, by: _By) -> Function:
    return gradient_of(_moved(derivative, by), by.inputs)


def _value_and_gradient(derivative: Derivative, by: _By) -> Function:
    return gradient_of(_moved(derivative, by), by.inputs, value=True)


def _jacobian(derivative: Derivative, by: _By) -> Function:
    of = _moved(derivative, by)
    return shorter(jacobian_of(of, _others(of, by.inputs, by.moves), by.inputs), of.primal.writers)


def _gauss_newton(derivative: Derivative, by: _By) -> Function:
    of = _moved(derivative, by)
    return shorter(gauss_newton_of(of, _others(of, by.inputs, by.moves), by.inputs, by.loops), of.primal.writers)


def _hessian(derivative: Derivative, by: _By) -> Function:
    of = derive(gradient_of(derivative, by.inputs, value=True))
    return shorter(hessian_of(derivative.primal, of, _others(of, by.inputs), by.inputs), of.primal.writers)


def _jvp(derivative: Derivative, by: _By) -> Function:
    found = _swept(derivative.primal, by.moves, lambda f: tangent(f, by.inputs))
    return pushed_of(replace(found, seeds=_in_order(found.seeds, by.inputs)))


def _hvp(derivative: Derivative, by: _By) -> Function:
    return curved_of(_curved(gradient_of(derivative, by.inputs), by.inputs), derivative.primal)


# how each row of `symgrad.kinds` is made of the derivative of the function
DERIVATIONS: Mapping[str, Callable[[Derivative, _By], Function]] = {
    "gradient": _gradient,
    "value_and_gradient": _value_and_gradient,
    "jacobian": _jacobian,
    "hessian": _hessian,
    "gauss_newton": _gauss_newton,
    "jvp": _jvp,
    "hvp": _hvp,
}


def _moved(derivative: Derivative, by: _By) -> Derivative:
    """The derivative by the perturbations, where there are such."""
    return _swept(derivative.primal, by.moves, differentiate) if by.moves else derivative


def _swept(function: Function, moves: Perturbations, sweep: Callable[[Function], Derivative]) -> Derivative:
    """The simplified derivative of a function, by the perturbations of some inputs."""
    return simplify(at_rest(sweep(perturbed(function, moves)), moves))


def entries_of(function: Function, what: str, wrt: Sequence[str], rows: bool = False) -> tuple[Function, Ordered]:
    """The values, and the entries of a sparse matrix of one point; by `rows`, as `sparse_of` says."""
    if perturbations(function, wrt):
        raise _no_perturbation(function, what)
    of = derivative = derive(single(function))
    inputs, count = chosen(derivative, unperturbed(wrt)), 0
    if kind_of(what).second:
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
