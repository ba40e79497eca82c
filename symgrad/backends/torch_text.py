"""Array expressions in the vocabulary of torch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..expr import ATOM, ONE, Expr, const, is_exact, value_of
from ..expr.sizes import count
from ..ops import OPS
from ..plan.arrays.below import plain_number
from ..plan.arrays.tree import (
    ALL,
    BACK,
    Array,
    BroadcastTo,
    Concatenate,
    Copy,
    Diagonal,
    Einsum,
    Eye,
    Full,
    Item,
    MatrixCall,
    Num,
    PackPlaces,
    Pad,
    Permute,
    Range,
    Real,
    Reduce,
    Roll,
    Slice,
    Stack,
    Take,
    Var,
)
from .python_text import INFIX, ArrayPrinter, sizes

CALLS: Mapping[str, str] = {
    "slogdet": "torch.linalg.slogdet({})",
    "qr": "torch.linalg.qr({})",
    "eigh": "torch.linalg.eigh({})",
    "svd": "torch.linalg.svd({}, full_matrices=False)",
    "inv": "torch.linalg.inv({})",
    "solve": "torch.linalg.solve({}, {})",
    "solve_lower": "_solve_triangular({}, {}, upper=False)",
    "solve_upper": "_solve_triangular({}, {}, upper=True)",
    "det": "torch.linalg.det({})",
    "slogdet_sign": "torch.linalg.slogdet({})[0]",
    "slogdet_log": "torch.linalg.slogdet({})[1]",
    "cholesky": "torch.linalg.cholesky({})",
    "qr_q": "torch.linalg.qr({})[0]",
    "qr_r": "torch.linalg.qr({})[1]",
    "eigh_values": "torch.linalg.eigvalsh({})",
    "eigh_vectors": "torch.linalg.eigh({})[1]",
    "svd_u": "torch.linalg.svd({}, full_matrices=False)[0]",
    "svd_values": "torch.linalg.svdvals({})",
    "svd_vh": "torch.linalg.svd({}, full_matrices=False)[2]",
    "pinv": "torch.linalg.pinv({})",
    "expm": "torch.linalg.matrix_exp({})",
    "argsort": "torch.argsort({}, dim=-1, stable=True)",
}
SCANS = {
    "add": "torch.cumsum",
    "mul": "torch.cumprod",
    "maximum": "torch.cummax",
    "minimum": "torch.cummin",
    "logaddexp": "torch.logcumsumexp",
}
REDUCED = {"max": "amax", "min": "amin"}
ONE_OR_ZERO = (Num(const(1)), Num(const(0)))


class TorchPrinter(ArrayPrinter):
    """`like` is a tensor whose type and device new tensors have."""

    target = "torch"
    slow_from = 4  # torch knows x**2 and x**3
    module = "torch"

    def __init__(self, like: str, options: Collection[str] = (), needs: Collection[Expr] = ()) -> None:
        super().__init__(f"{like}.dtype", options, needs)
        self.like = like
        self.rows: dict[str, str] = {}  # tensors that are lists of rows at the moment, with the names of the lists

    def _node(self, node: Array, text: Callable[[Array, int], str]) -> tuple[str, int]:
        like = self.like
        match node:
            case Reduce():
                return self._reduced(node, text(node.base, ATOM)), ATOM
            case Take(Var(name), items) if name in self.rows:
                row = f"{self.rows[name]}[{self._item(items[0], text)}]"
                rest = items[1:]
                whole = all(i in (ALL, "...") for i in rest)
                return row if whole else f"{row}[{', '.join(self._item(i, text) for i in rest)}]", ATOM
            case Take(base, items) if BACK in items or any(map(perhaps_whole, items)):
                found, rest = text(base, ATOM), items
                if any(map(perhaps_whole, items)):
                    found, rest = self.cut(found, items)
                if BACK in rest:
                    found = f"{found}.flip({', '.join(map(str, backward_axes(rest)))})"
                    rest = tuple(ALL if i == BACK else i for i in rest)
                if all(i in (ALL, "...") for i in rest):
                    return found, ATOM
                return f"{found}[{', '.join(self._item(i, text) for i in rest)}]", ATOM
            case Permute(base, axes):
                if tuple(axes) == (1, 0):
                    return f"{text(base, ATOM)}.T", ATOM
                if tuple(axes) == (-1, -2) or tuple(axes) == (*range(len(axes) - 2), len(axes) - 1, len(axes) - 2):
                    return f"{text(base, ATOM)}.mT", ATOM
                return f"{text(base, ATOM)}.permute({', '.join(map(str, axes))})", ATOM
            case Eye(extent):
                return f"torch.eye({sizes(extent)}, dtype={like}.dtype, device={like}.device)", ATOM
            case MatrixCall(kind, args):
                return CALLS[kind].format(*(text(a, 0) for a in args)), ATOM
            case Einsum(subscripts, operands):
                return f'_einsum("{subscripts}", {", ".join(text(o, 0) for o in operands)})', ATOM
            case Range(extent, real):
                kind = f"dtype={like}.dtype, " if real else ""
                end = sizes(count(extent))  # torch refuses a negative one, which elsewhere is a range of nothing
                return f"torch.arange({end}, {kind}device={like}.device)", ATOM
            case Stack(items_, axis):
                inner = ", ".join(self._tensor(i, text) for i in items_)
                return f"torch.stack([{inner}]{f', dim={axis}' if axis else ''})", ATOM
            case Concatenate(items_, axis):
                inner = ", ".join(self._tensor(i, text) for i in items_)
                return f"torch.cat([{inner}]{f', dim={axis}' if axis else ''})", ATOM
            case Pad(base, widths, fill):
                pairs = [sizes.axis(w) for pair in reversed(widths) for w in pair]  # torch counts from the last axis
                while len(pairs) > 2 and pairs[-2:] == ["0", "0"]:
                    pairs = pairs[:-2]
                option = "" if text(fill, 0) == "0" else f", value={text(fill, 0)}"
                return f"torch.nn.functional.pad({text(base, 0)}, ({', '.join(pairs)}){option})", ATOM
            case BroadcastTo(base, shape):
                if plain_number(base):
                    return f"{like}.new_full({sizes.shape(shape)}, {text(base, 0)})", ATOM
                return f"{text(base, ATOM)}.expand({sizes.shape(shape)})", ATOM
            case PackPlaces(shape, rest):
                cut = f"[:-{rest}]" if rest else ""
                return f"*_places({sizes.shape(shape)}, {like}.device){cut}", 0
            case Roll(base, shift, axis):
                return f"torch.roll({text(base, 0)}, {sizes(shift)}, dims={axis})", ATOM
            case Diagonal(base, first, second):
                option = "" if (first, second) == (0, 1) else f"dim1={first}, dim2={second}"
                return f"{text(base, ATOM)}.diagonal({option})", ATOM
            case Full(value, shape):
                if text(value, 0) == "0":
                    return f"{like}.new_zeros({sizes.shape(shape)})", ATOM
                return f"{like}.new_full({sizes.shape(shape)}, {text(value, 0)})", ATOM
            case Real(base=base) if plain_number(base):
                return f"float({text(base, 0)})", ATOM
            case Real(base=base):
                return f"{text(base, ATOM)}.to({like}.dtype)", ATOM
            case Copy(base):
                return f"{text(base, ATOM)}.clone()", ATOM
        return super()._node(node, text)

    def cut(self, base: str, items: Sequence[Item]) -> tuple[str, tuple[Item, ...]]:
        """`base` cut along the axes where an index may be all that there is, and the rest of the index."""
        own = [i for i in items if i is not None]
        cuts = [
            f"({k - len(own) if '...' in own[:k] else k}, {slice_of(item) if isinstance(item, Slice) else item})"
            for k, item in enumerate(own)
            if perhaps_whole(item)
        ]
        return f"_cut({', '.join([base, *cuts])})", tuple(ALL if perhaps_whole(i) else i for i in items)

    def _scan(self, op: str, base: str, axis: int | None, reverse: bool) -> str:
        dim = f"dim={axis or 0}"
        whole = f"{base}.flip({axis or 0})" if reverse else base
        word = SCANS[op]
        found = f"{word}({whole}, {dim})" + (".values" if op in ("maximum", "minimum") else "")
        return f"{found}.flip({axis or 0})" if reverse else found

    def _reduced(self, node: Reduce, text: str) -> str:
        word = REDUCED.get(node.kind, node.kind)
        keep = ", keepdim=True" if node.keepdims else ""
        if node.axes is None:
            return f"_amax({text})" if node.kind == "supremum" else f"{text}.{word}()"
        if node.kind == "supremum":
            return f"_amax({text}, dim={node.axes[0] if len(node.axes) == 1 else node.axes}{keep})"
        if node.kind == "prod":  # one axis at a time, the last one first
            for axis in sorted(node.axes, reverse=True):
                text = f"{text}.prod(dim={axis}{keep})"
            return text
        return f"{text}.{word}(dim={node.axes[0] if len(node.axes) == 1 else node.axes}{keep})"

    def _of_tensors(self, op: str) -> bool:
        """Whether the word takes a number only beside or instead of tensors, and not everywhere."""
        row = OPS[op]
        return row.kind == "function" and row.arity > 1 and row.helper is None

    def _elementwise(self, op: str, args: Sequence[Array], text: Callable[[Array, int], str]) -> tuple[str, int]:
        plain = [plain_number(a) for a in args]
        if op in INFIX or op == "pow" or not any(plain) or all(plain):
            return super()._elementwise(op, args, text)
        if op in ("maximum", "minimum"):
            number, array = sorted(args, key=plain_number, reverse=True)
            bound = "min" if op == "maximum" else "max"
            return f"torch.clamp({text(array, 0)}, {bound}={text(number, 0)})", ATOM
        if op == "clip" and plain == [False, True, True]:
            return super()._elementwise(op, args, text)
        if op == "select" and not plain[0] and args[1:] == ONE_OR_ZERO:
            return f"{text(args[0], ATOM)}.to({self.like}.dtype)", ATOM
        if op == "select" and plain[0]:
            condition = f"torch.tensor({text(args[0], 0)}, device={self.like}.device)"
            return f"torch.where({condition}, {text(args[1], 0)}, {text(args[2], 0)})", ATOM
        if self._of_tensors(op) or op == "select" and plain[1:] == [True, True]:
            named = {id(a): self._tensor(a, text) for a in args[1 if op == "select" else 0 :]}
            return super()._elementwise(op, args, lambda a, need: named.get(id(a)) or text(a, need))
        return super()._elementwise(op, args, text)

    def _called(self, word: str, arguments: Sequence[str]) -> str:
        given = [self._number(a) for a in arguments]
        return word.format(*given) if "{" in word else f"{word}({', '.join(given)})"

    def _tensor(self, array: Array, text: Callable[[Array, int], str]) -> str:
        """`array`, also a plain number, as a tensor."""
        return self._number(text(array, 0)) if plain_number(array) else text(array, 0)

    def _number(self, text: str) -> str:
        return f"torch.as_tensor({text}, dtype={self.like}.dtype, device={self.like}.device)"


def perhaps_whole(item: Item) -> bool:
    """Whether an entry of an index may be all that there is along an axis: some vmaps of torch refuse such an index."""
    if isinstance(item, str):
        return item != "..."
    if not isinstance(item, Slice) or item in (ALL, BACK):
        return False
    bounds = (item.start, item.stop, item.step)
    start, stop, step = (None if e is None or not is_exact(e) else value_of(e) for e in bounds)
    return not (start or (stop or 0) < 0 or (step or 1) > 1)


def slice_of(item: Slice) -> str:
    """A slice as a value."""
    bounds = [item.start, item.stop] if item.step is None or item.step is ONE else [item.start, item.stop, item.step]
    if bounds == [None, None]:
        return "slice(None)"
    return f"slice({', '.join('None' if b is None else sizes(b) for b in bounds)})"


def backward_axes(items: Sequence[Item]) -> list[int]:
    """The axes that an index reads from behind."""
    own = [i for i in items if i is not None]
    return [k - len(own) if "..." in own[:k] else k for k, i in enumerate(own) if i == BACK]
