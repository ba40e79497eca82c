"""Half precision in the languages of frameworks: what is computed in float32, what is not, and what autocast does.

Products of matrices and convolutions are computed in the type of the inputs, all else that rounds more than once in
float32, and results are returned in the type of the inputs, as torch's and JAX's own functions do it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from ...expr import Apply, Expr
from ...ir import Equation, Tensor
from ...ops import OPS
from ...ops.primitive import Primitive
from ...records import dataclass, replace
from ..kernels import product_of
from ..program import Item, Recurrence
from .below import below, children, is_array, plain_number, with_parts
from .commands import AddAt, Assign, Guard, Statement, Unpack, flat, tops
from .guards import names_read, targets_of
from .scans import accumulated
from .tree import (
    EXTREMES,
    Array,
    BroadcastTo,
    Concatenate,
    Convolution,
    Copy,
    Diagonal,
    Einsum,
    Elementwise,
    Eye,
    Full,
    MatMul,
    MatrixCall,
    Narrow,
    Pad,
    Permute,
    Range,
    Real,
    Reduce,
    Reshape,
    Roll,
    Scan,
    Stack,
    Take,
    Triangle,
    Var,
    Wide,
    Windows,
)

MOVED = (Take, Permute, Reshape, BroadcastTo, Windows, Diagonal, Pad, Roll, Concatenate, Stack, Triangle, Copy)
UNTYPED, PRODUCT, FLOAT32 = "", "product", "float32"  # what autocast does: nothing, its own type, float32


@dataclass(frozen=True, slots=True)
class Halves:
    """A procedure for inputs of any precision.

    statements  with what changes the precision in them
    widened     what is given, and changed to float32 before them
    narrowed    the results that are still to be changed to the type of the inputs
    half        what stays in half precision
    narrow      whether they speak of the type of the inputs, `dtype`
    """

    statements: tuple[Statement, ...]
    widened: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    half: frozenset[str] = frozenset()
    narrow: bool = False


def autocast(statements: Sequence[Statement], results: Collection[str], equations: Sequence[Equation]) -> str:
    """What torch.autocast does with the inputs: float32 where a result is made of sums, or is a function of torch's
    list, as its equation says; its own type where there are products of matrices; nothing else."""
    kinds: dict[str, str] = {}
    others = {e.target for e in equations if e.reduce != "none" or not _listed(e.body)}
    for _ in range(2):  # what a loop computes may be read in the next turn
        for s in (x for top in statements for x in flat(top)):
            for name in [n for n in (s.names if isinstance(s, Unpack) else (s.name,)) if n is not None]:
                found = _kind(s.value, kinds)
                kinds[name] = max(kinds.get(name, UNTYPED), found, key=_rank)
    ends = {FLOAT32 if r not in others else kinds.get(r, UNTYPED) for r in results}
    return FLOAT32 if FLOAT32 in ends else PRODUCT if PRODUCT in kinds.values() else UNTYPED


def autocast_of(
    equations: Sequence[Equation], results: Collection[str], items: Sequence[Item], tensors: Mapping[str, Tensor]
) -> str:
    """The same, told by the equations alone, and by the recurrences among the items of forward."""
    kinds: dict[str, str] = {}
    loops = (item for item in items if isinstance(item, Recurrence))
    found_scans = ((item.targets[0], accumulated(item, tensors[item.targets[0]])) for item in loops)
    scans = {name for name, scan in found_scans if scan is not None and scan.op is not None and _adds_up(scan.op)}
    for _ in range(2):  # what a loop computes may be read in the next turn
        for e in equations:
            found = max((kinds.get(r.name, UNTYPED) for r in e.reads), key=_rank, default=UNTYPED)
            if product_of(e) is not None:
                found = PRODUCT
            elif e.reduced and e.reduce not in EXTREMES or e.target in scans:
                found = FLOAT32
            kinds[e.target] = max(kinds.get(e.target, UNTYPED), found, key=_rank)
    listed = {e.target for e in equations if e.reduce == "none" and _listed(e.body)}
    ends = {FLOAT32 if r in listed else kinds.get(r, UNTYPED) for r in results}
    return FLOAT32 if FLOAT32 in ends else PRODUCT if PRODUCT in kinds.values() else UNTYPED


def rounds(statements: Sequence[Statement]) -> bool:
    """Whether half precision would lose more than the rounding of inputs, of products, and of one sum."""
    return any(_rounds(a) for s in statements for top in tops(s) for a in below(top))


def halves(
    statements: Sequence[Statement], given: Sequence[str], like: str | None, results: Collection[str] = ()
) -> Halves:
    """The statements with all but products in float32.

    given    the tensors of real numbers that are given, each in half precision or in float32
    like     the one whose type new arrays have
    results  the names that are returned in the type of the inputs
    """
    lines = [x for s in statements for x in flat(s)]
    read = {n for s in statements for n in names_read(s)}
    everywhere = {n for s in lines for top in tops(s) for n in _read_wide(top)}
    products = {s.name for s in lines if isinstance(s, Assign) and is_product(_unmoved(s.value))}
    written = [n for s in lines for n in (s.names if isinstance(s, Unpack) else (s.name,))]
    if not all(isinstance(s, (Assign, Unpack)) for s in lines):
        everywhere |= read
    added = any(isinstance(s, AddAt) and plain_number(s.value) for s in lines)
    if like is not None and (added or any(map(_is_new, (a for top in lines for t in tops(top) for a in below(t))))):
        everywhere.add(like)
        read.update([like] if added else [])
    once = {n for n in products if written.count(n) == 1}
    half = ({*given} | once) - everywhere
    change = _Change(half)
    found = tuple(map(change, statements))
    ends = [n for n in results if n in written and n not in half]
    always = certain(statements)
    guarded = [n for n in ends if n not in always]
    for name in guarded:
        found = _narrowed_inside(found, name)
    narrowed = tuple(n for n in ends if n not in guarded)
    spoken = any(isinstance(a, Narrow) for s in found for top in tops(s) for a in below(top))
    widened = tuple(n for n in given if n in read and n in everywhere)
    return Halves(found, widened, narrowed, frozenset(half), spoken or bool(narrowed))


def is_product(array: Array) -> TypeGuard[MatMul | Einsum | Convolution]:
    """Whether it is a product of matrices or a convolution, and not merely a sum of products."""
    if not isinstance(array, Einsum):
        return isinstance(array, (MatMul, Convolution))
    several, target = array.subscripts.split("->")
    operands = [{*o} for o in several.replace("...", "").split(",")]
    return any(i in mine and not all(i in o for o in operands) for mine in operands for i in target if i != ".")


def _listed(body: Expr) -> bool:
    return isinstance(body, Apply) and body.op in OPS and OPS[body.op].single


def _rank(kind: str) -> int:
    return (UNTYPED, PRODUCT, FLOAT32).index(kind)


def _kind(array: Array, kinds: Mapping[str, str]) -> str:
    """Of what the numbers of an array are made: of sums, of products of matrices, or of neither."""
    if is_product(array):
        return PRODUCT
    if isinstance(array, Var):
        return kinds.get(array.name, UNTYPED)
    if _adds(array):
        return FLOAT32
    return max((_kind(a, kinds) for a in children(array)), key=_rank, default=UNTYPED)


def _adds(array: Array) -> bool:
    match array:
        case Reduce(kind):
            return kind not in EXTREMES
        case Scan(op):
            return _adds_up(op)
        case _:
            return isinstance(array, (MatrixCall, Einsum))


def _adds_up(op: str) -> bool:
    """Whether what a scan combines by it has more digits than its terms."""
    return not OPS[op].integral or op == "add"


def _rounds(array: Array) -> bool:
    match array:
        case Elementwise(op, args):
            if isinstance(op, Primitive):
                return True
            if op in ("mul", "div"):
                return not any(map(plain_number, args))
            return not OPS[op].exact and not plain_number(array)
        case Reduce(kind):
            return kind == "prod"
        case Scan():
            return _adds(array)
        case _:
            return isinstance(array, MatrixCall)


def _is_new(array: Array) -> bool:
    """Whether it has the type of an input because it is said to."""
    if isinstance(array, Elementwise):
        called = isinstance(array.op, Primitive) or OPS[array.op].kind in ("function", "choice")
        return called and any(map(plain_number, array.args)) and not plain_number(array)
    return isinstance(array, (Full, Eye, Real)) or isinstance(array, Range) and array.real


def _read_wide(array: Array, in_product: bool = False) -> Iterator[str]:
    """The names of what is read elsewhere than as an operand of a product."""
    stack = [(array, in_product)]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, Var) and not inside:
            yield node.name
        base = isinstance(node, MOVED) and inside
        stack += [(a, base or is_product(node)) for a in children(node)]


def _unmoved(array: Array) -> Array:
    while isinstance(array, MOVED) and not isinstance(array, (Concatenate, Stack)):
        array = array.base
    return array


class _Change:
    """What changes the precision inside of statements; `half` are those in half precision."""

    def __init__(self, half: Collection[str]) -> None:
        self.half = half

    def __call__(self, part: Any) -> Any:
        if isinstance(part, Assign) and part.name in self.half:
            return replace(part, value=self._kept(part.value))
        if is_array(part) and is_product(part):
            return Wide(self._kept(part))
        return with_parts(part, self)

    def _kept(self, array: Array) -> Array:
        """A product as it comes, behind what only moves it."""
        if is_product(array):
            return with_parts(array, lambda p: self._operand(p) if is_array(p) else p)  # type: ignore[no-any-return]
        return with_parts(array, lambda p: self._kept(p) if is_array(p) else p)  # type: ignore[no-any-return]

    def _operand(self, array: Array) -> Array:
        found = _unmoved(array)
        if isinstance(found, Var) and found.name in self.half or plain_number(array):
            return array
        if is_product(found):
            return self._kept(array)
        changed: Array = self(array)
        return Narrow(changed)


def certain(statements: Sequence[Statement]) -> set[str]:
    """What is computed whichever optional inputs are given."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, Guard):
            body = certain(s.body)
            found |= body & certain(s.otherwise) if s.when or s.condition is not None else body
        else:
            found.update(targets_of(s))
    return found


def _narrowed_inside(statements: tuple[Statement, ...], name: str) -> tuple[Statement, ...]:
    """The statements with what is computed under a condition alone in the type of the inputs there."""
    places = [k for k, s in enumerate(statements) if name in targets_of(s)]
    if not places:
        return statements
    match statements[places[-1]]:
        case Guard() as guard:
            body, otherwise = (_narrowed_inside(branch, name) for branch in (guard.body, guard.otherwise))
            last: tuple[Statement, ...] = (replace(guard, body=body, otherwise=otherwise),)
        case Assign(_, value) if len(places) == 1:
            last = (Assign(name, Narrow(value)),)
        case other:
            last = (other, Assign(name, Narrow(Var(name))))
    return (*statements[: places[-1]], *last, *statements[places[-1] + 1 :])
