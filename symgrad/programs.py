"""What is printed of a function in one language: the plans of forward and backward, and of the functions beside."""

from __future__ import annotations

from collections.abc import Sequence

from .backends import PAIR
from .backends.base import Backend
from .backends.options import SAVES, unperturbed
from .derivatives import asked_for, derive, entries_of, product, pushed, slopes
from .differentiate import arranged, chosen, flat_size, literal
from .errors import UnsupportedError
from .expr import Ref, ref
from .expr.names import Names
from .ir import Derivative, Dtype, Equation, Function, Role, is_scalar, moved_by, names_of, single, with_outputs
from .kinds import is_sparse, kind_of
from .plan import Beside, Program, Sparse, plan
from .records import replace
from .simplify import simplify, stable


def planned(function: Function, backend: Backend, chosen: Sequence[str]) -> Program:
    """What is printed in a language; `chosen` are the inputs that a solver moves, where they are named."""
    base, operation = backend.over or backend, backend.options.operation
    every = backend.options.checkpoint
    function = _exact(function) if backend.narrow else function
    program = plan(derive(function), base.dialect, backend.style, base.calls, operation, every)
    if backend.again:
        arrays = plan(derive(function), backend.again, operation=SAVES["minimal"])
        program = replace(program, again=arrays)
    if backend.products:
        program = _solved(program, function, backend, chosen)
    options = backend.options
    named = [*options.functions]
    if backend.forward_mode and options.pair and not options.wrt and "jvp" in named:  # else a function as any other
        named.remove("jvp")
        second = plan(pushed(function), backend.dialect, backend.style, backend.calls, operation)
        program = replace(program, product=second)
    named = [name for name in named if name not in PAIR or not options.pair]
    program = replace(program, pair=options.pair, beside=tuple(_beside(function, name, backend) for name in named))
    return _strict(program) if options.strict_domain else program


def _exact(function: Function) -> Function:
    """The function with each output that is a maximum as a copy of that: backward asks which elements are equal to it,
    and none is to what is rounded to half precision."""
    taken = Names(names_of(function))
    maxima = (e for e in function.statements if e.target in function.outputs and e.reduce in ("max", "min") and e.plain)
    computed = (e for e in maxima if not (isinstance(e.body, Ref) and e.body.name in function.inputs))
    names = {e.target: f"{e.reduce}_{e.target}" for e in computed}
    names = {output: taken.new(name) for output, name in names.items()}
    statements, last = list[Equation](), {e.target: e for e in function.statements}
    for e in function.statements:
        name = names.get(e.target)
        statements.append(e if name is None else replace(e, target=name))
        if name is not None and e is last[e.target]:
            statements.append(Equation(e.target, e.subscripts, "none", ref(name, *e.subscripts), e.shown))
    copies = [replace(function.table[output], name=name, role=Role.LOCAL) for output, name in names.items()]
    return replace(function, tensors=(*function.tensors, *copies), statements=tuple(statements)) if names else function


def _strict(program: Program) -> Program:
    """The program, and what is beside it, that refuses numbers outside of the domain."""
    primal = program.derivative.primal
    within = tuple(name for name in primal.inputs if primal.table[name].interval.bounded)
    beside = []
    for b in program.beside:
        sparse = b.sparse
        if sparse is not None and sparse.pattern is not None:
            sparse = replace(sparse, pattern=replace(sparse.pattern, within=within))
        beside.append(replace(b, program=replace(b.program, within=within), sparse=sparse))
    return replace(program, within=within, beside=tuple(beside))


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
    found, ordered = entries_of(function, what, wrt, loops)
    own = replace(stable(found), name=function.name)
    of = single(function)
    inputs = chosen(derive(of), unperturbed(wrt))
    kind = kind_of(what)
    slopes = len(inputs) if kind.second else 0
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
    return Beside(f"{kind.name}_sparse", _alone(own, (*values, *sparse.parts), backend, loops), results, sparse)
