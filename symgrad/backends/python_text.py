"""Python source from array expressions: parentheses by precedence, long lines broken at their weakest operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from ..expr import ATOM, ONE, ZERO, Apply, Const, Expr, Form, Printer, Ref
from ..expr.sizes import never_negative
from ..expr.text import FORMULA
from ..ops import OPS, Op
from ..plan.arrays.below import ARRAYS, below, children, plain_number
from ..plan.arrays.divisors import not_zero
from ..plan.arrays.tree import (
    ALL,
    BACK,
    Array,
    BroadcastTo,
    Concatenate,
    Copy,
    Diagonal,
    Einsum,
    Elementwise,
    Eye,
    Full,
    Infinity,
    Item,
    MatMul,
    MatrixCall,
    Num,
    PackPlaces,
    Pad,
    Permute,
    Places,
    Range,
    Real,
    Reduce,
    Reshape,
    Roll,
    Scan,
    SizeOf,
    Slice,
    Stack,
    Take,
    Triangle,
    Var,
    Windows,
)
from .python_matrices import CALLS

WIDTH = 88
PRODUCTS = 4  # the largest power that is written as products
HUGGED = 40  # what may stand before the bracket in which a long line is broken

INFIX: Mapping[str, Form] = {
    "or": Form("{} | {}", 7, (7, 8)),
    "and": Form("{} & {}", 9, (9, 10)),
    "not": Form("~{}", 60, (60,)),
    **{
        op: Form(f"{{}} {symbol} {{}}", 6, (10, 10))
        for op, symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items()
    },
    "add": Form("{} + {}", 10, (10, 11)),
    "sub": Form("{} - {}", 10, (10, 11)),
    "neg": Form("-{}", 12, (20,)),
    "mul": Form("{} * {}", 20, (20, 21)),
    "div": Form("{} / {}", 20, (20, 21)),
    "floordiv": Form("{} // {}", 20, (20, 21)),
    "mod": Form("{} % {}", 20, (20, 21)),
}


def pack_name(name: str) -> str:
    """What a pack is called in code: `...` is `batch`."""
    return "batch" if name == "..." else name.lstrip("*")


class SizePrinter(Printer):
    """Sizes in Python; a pack is splatted where a shape is written."""

    forms: ClassVar[Mapping[str, Form]] = {
        **FORMULA,
        "or": Form("{} or {}", 2, (2, 3)),
        "and": Form("{} and {}", 4, (4, 5)),
        "not": Form("not {}", 5, (5,)),
        "maximum": Form("max({}, {})", ATOM, (0, 0)),
        "minimum": Form("min({}, {})", ATOM, (0, 0)),
    }

    def leaf(self, node: Expr, args: list[str]) -> tuple[str, int]:
        if isinstance(node, Ref) and not node.name.isidentifier():
            return f"math.prod({pack_name(node.name)})", ATOM
        return super().leaf(node, args)

    def axis(self, node: Expr) -> str:
        """One entry of a shape."""
        if isinstance(node, Ref) and not node.name.isidentifier():
            return f"*{pack_name(node.name)}"
        if _may_be_negative(node):
            return f"max({self(node)}, 0)"  # n - 1 of an empty axis
        return self(node)

    def shape(self, extents: Sequence[Expr]) -> str:
        """A shape as a tuple; a lone pack is a tuple already."""
        if len(extents) == 1 and isinstance(extents[0], Ref) and not extents[0].name.isidentifier():
            return pack_name(extents[0].name)
        inner = ", ".join(self.axis(e) for e in extents)
        return f"({inner},)" if len(extents) == 1 else f"({inner})"


def _may_be_negative(node: Expr) -> bool:
    if isinstance(node, Apply) and node.op == "maximum" and ZERO in node.args:
        return False
    return isinstance(node, Apply) and (node.op in ("sub", "neg") or any(map(_may_be_negative, node.args)))


sizes = SizePrinter()


class ArrayPrinter:
    """Array expressions in the vocabulary of NumPy.

    dtype    the text of the inputs' type
    options  the names of numbers that whoever calls the code gives, and that may be negative
    needs    what the code has checked before
    """

    target = "numpy"
    module = "np"
    slow_from = 3  # the least power that is slower than products: 30 times, of 100,000 numbers
    of_nothing: ClassVar[str] = "initial=-np.inf"  # how a maximum is told to be -inf of nothing
    refuses_nothing: ClassVar[bool] = True  # the maximum over a whole axis of no elements

    def __init__(self, dtype: str, options: Collection[str] = (), needs: Collection[Expr] = ()) -> None:
        self.dtype = dtype
        self.options = options
        self.needs = needs

    def __call__(self, array: Array, level: int = 0) -> str:
        """The text of `array`, in parentheses where it binds less tightly than `level`."""
        done: dict[int, tuple[str, int]] = {}
        stack: list[tuple[Array, bool]] = [(array, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in done:
                continue
            if ready:
                done[id(node)] = self._node(node, lambda a, need: _wrap(*done[id(a)], need))
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in children(node))
        return _wrap(*done[id(array)], level)

    def _node(self, node: Array, text: Callable[[Array, int], str]) -> tuple[str, int]:
        np = self.module
        match node:
            case Var(name):
                return name, ATOM
            case Num(value):
                return number(value)
            case SizeOf(value):
                return sizes.leveled(value)
            case Infinity():
                return f"{np}.inf", ATOM
            case Elementwise(op, args):
                return self._elementwise(op, args, text)
            case Take(base, items):
                inner = ", ".join(self._item(i, text) for i in items)
                return f"{text(base, ATOM)}[{inner}]", ATOM
            case Permute(base, axes):
                return f"{text(base, ATOM)}{_permutation(axes)}", ATOM
            case Reduce(kind, base, axes_, keepdims):
                options = [] if axes_ is None else [f"axis={_axes(axes_)}"]
                options += ["keepdims=True"] if keepdims else []
                if kind == "supremum":
                    told = not self.refuses_nothing or any(map(_is_part, below(base)))
                    kind, options = "max", [*options, *[self.of_nothing] * told]
                return f"{text(base, ATOM)}.{kind}({', '.join(options)})", ATOM
            case Scan(op, base, axis, reverse):
                return self._scan(op, text(base, ATOM if reverse else 0), axis, reverse), ATOM
            case Eye(extent):
                return f"{np}.eye({sizes(extent)}, dtype={self.dtype})", ATOM
            case MatrixCall(kind, args):
                word = CALLS[kind]
                return word.format(*(text(a, 0) for a in args), np=np), ATOM
            case MatMul(left, right):
                return f"{text(left, 20 if isinstance(left, MatMul) else 21)} @ {text(right, 21)}", 20
            case Einsum(subscripts, operands):
                inner = ", ".join(text(o, 0) for o in operands)
                return f'{np}.einsum("{subscripts}", {inner}, optimize=True)', ATOM
            case Reshape(base, _, _, rows) as reshaped:
                entries = ("-1" if e is None else sizes(e) if e is rows else sizes.axis(e) for e in reshaped.told)
                inner = ", ".join(entries)
                return f"{text(base, ATOM)}.reshape({inner})", ATOM
            case Range(extent, real):
                return f"{np}.arange({sizes(extent)}{f', dtype={self.dtype}' if real else ''})", ATOM
            case Stack(items_, axis):
                return f"{np}.stack([{', '.join(text(i, 0) for i in items_)}], axis={axis})", ATOM
            case Concatenate(items_, axis):
                option = f", axis={axis}" if axis else ""
                return f"{np}.concatenate([{', '.join(text(i, 0) for i in items_)}]{option})", ATOM
            case Windows(base, axis, size, step, dilation):
                rest = [] if step is ONE else [f"step={sizes(step)}"]
                rest += [] if dilation is ONE else [f"dilation={sizes(dilation)}"]
                inner = ", ".join([text(base, 0), str(axis), sizes(size), *rest])
                return f"_windows({inner})", ATOM
            case Pad(base, widths, fill, pack):
                option = "" if text(fill, 0) == "0" else f", constant_values={text(fill, 0)}"
                several = f"({text(base, ATOM)}.ndim - {len(widths) - 1})" if pack else ""
                return f"{np}.pad({text(base, 0)}, {_widths(widths, several)}{option})", ATOM
            case Places(item):
                parts = [sizes(e) if e is not None else "None" for e in (item.start, item.stop, item.step)]
                return f"slice({', '.join(parts)})", ATOM
            case PackPlaces(shape_, rest):
                cut = f"[:-{rest}]" if rest else ""
                return f"*{np}.indices({sizes.shape(shape_)}, sparse=True){cut}", 0
            case Roll(base, shift, axis):
                return f"{np}.roll({text(base, 0)}, {sizes(shift)}, axis={axis})", ATOM
            case Triangle(base, lower, offset):
                option = f", {offset}" if offset else ""
                return f"{np}.{'tril' if lower else 'triu'}({text(base, 0)}{option})", ATOM
            case Diagonal(base, first, second):
                option = "" if (first, second) == (0, 1) else f"axis1={first}, axis2={second}"
                return f"{text(base, ATOM)}.diagonal({option})", ATOM
            case BroadcastTo(base, shape_):
                return f"{np}.broadcast_to({text(base, 0)}, {sizes.shape(shape_)})", ATOM
            case Full(value, shape_):
                filled = {"0": "zeros", "1": "ones"}.get(text(value, 0))
                if filled is not None:
                    return f"{np}.{filled}({sizes.shape(shape_)}, dtype={self.dtype})", ATOM
                return f"{np}.full({sizes.shape(shape_)}, {text(value, 0)}, dtype={self.dtype})", ATOM
            case Real(base=base) if plain_number(base):
                return f"float({text(base, 0)})", ATOM
            case Real(base=base):
                return f"{text(base, ATOM)}.astype({self.dtype})", ATOM
            case Copy(base):
                return f"{text(base, ATOM)}.copy()", ATOM

    def _scan(self, op: str, base: str, axis: int | None, reverse: bool) -> str:
        word = {"add": "cumsum", "mul": "cumprod"}.get(op, f"{op}.accumulate")
        option = "" if axis is None else f", axis={axis}"
        if not reverse:
            return f"{self.module}.{word}({base}{option})"
        place = axis or 0
        items = [":"] * place + ["::-1"] if place >= 0 else ["...", "::-1", *[":"] * (-1 - place)]
        back = f"[{', '.join(items)}]"
        return f"{self.module}.{word}({base}{back}{option}){back}"

    def _elementwise(self, op: str, args: Sequence[Array], text: Callable[[Array, int], str]) -> tuple[str, int]:
        form = INFIX.get(op)
        if op == "add" and isinstance(args[1], Elementwise) and args[1].op == "neg":
            op, args, form = "sub", (args[0], args[1].args[0]), INFIX["sub"]
        if op in ("div", "pow") and all(map(plain_number, args)) and not self._finite(op, args):
            word = "divide" if op == "div" else "float_power"  # Python's own raise where there is no finite number
            return self._called(f"{self.module}.{word}", [text(a, 0) for a in args]), ATOM
        if op == "pow":  # as formatters write it: x**2, but (x - y) ** 2
            base, exponent = (text(a, 41) for a in args)
            if base.isidentifier() and exponent.isdigit() and self.slow_from <= int(exponent) <= PRODUCTS:
                return _product(base, int(exponent))
            simple = all(t.replace(".", "").replace("_", "").isalnum() for t in (base, exponent))
            return f"{base}**{exponent}" if simple else f"{base} ** {exponent}", 40
        if op == "not" and plain_number(args[0]):  # of a condition on numbers: ~True is -2
            match args[0]:
                case Elementwise("eq", compared):
                    return self._elementwise("ne", compared, text)
                case _:
                    return f"not {text(args[0], 5)}", 5
        if form is not None:
            return form.template.format(*(text(a, n) for a, n in zip(args, form.operands, strict=True))), form.level
        if all(map(plain_number, args)):
            # of plain numbers: Python's own results, unlike NumPy's, do not widen float32
            return self._plain(op, args, text)
        if op == "select":
            return f"{self.module}.where({', '.join(text(a, 0) for a in args)})", ATOM
        word = OPS[op].word(self.target) or f"{self.module}.{op}"
        inner = [text(a, 0) for a in args]
        inner = [self.typed(word, k, t) if plain_number(args[k]) else t for k, t in enumerate(inner)]
        if "{" in word:
            return word.format(*inner), ATOM
        return f"{word}({', '.join(inner)})" if args else word, ATOM

    def _plain(self, op: str, args: Sequence[Array], text: Callable[[Array, int], str]) -> tuple[str, int]:
        inner = [text(a, 0) for a in args]
        if any(map(self.traced, inner)):
            other = "where" if op == "select" else op
            return self._called(OPS[op].word(self.target) or f"{self.module}.{other}", inner), ATOM
        if op == "select":
            condition, then, otherwise = (text(a, 3) for a in args)
            return f"{then} if {condition} else {otherwise}", 2
        word = {"abs": "abs", "maximum": "max", "minimum": "min"}.get(op)
        if word is None and hasattr(math, op) and OPS[op].smooth and (_anywhere(OPS[op]) or self._finite(op, args)):
            word = f"math.{op}"
        if word is None:
            return self._called(OPS[op].word(self.target) or f"{self.module}.{op}", inner), ATOM
        return f"{word}({', '.join(inner)})" if args else word, ATOM

    def typed(self, word: str, place: int, number: str) -> str:
        """A plain number as an argument of a function that would widen float32 by it."""
        widens = word.startswith("special.") or word == "np.clip" and place == 0
        return f"np.asarray({number}, dtype={self.dtype})" if widens and self.target == "numpy" else number

    def traced(self, number: str) -> bool:
        """Whether the text of a plain number is one that Python's own functions refuse."""
        return False

    def _called(self, word: str, arguments: Sequence[str]) -> str:
        """A function of the language, called with plain numbers where Python's own would raise."""
        inner = ", ".join(arguments)
        return f"float({word.format(*arguments) if '{' in word else f'{word}({inner})'})"

    def items(self, items: Sequence[Item]) -> str:
        """What stands in the brackets of an index."""
        return ", ".join(self._item(i, self) for i in items)

    def _finite(self, op: str, args: Sequence[Array]) -> bool:
        return _finite(Elementwise(op, tuple(args)), self.options, self.needs)

    def _item(self, item: Item, text: Callable[[Array, int], str]) -> str:
        if isinstance(item, Slice):
            parts = [sizes(e) if e is not None else "" for e in (item.start, item.stop)]
            parts += [sizes(item.step)] if item.step is not None else []
            if all(p.lstrip("-").isidentifier() or p.lstrip("-").isdecimal() or not p for p in parts):
                return ":".join(parts)
            return " : ".join(parts).replace(" :  : ", " :: ").strip()  # as formatters write it
        if item is None or isinstance(item, str):
            return str(item)
        if isinstance(item, Expr):
            return sizes(item)
        assert isinstance(item, ARRAYS)
        return text(item, 0)


def _finite(a: Array, options: Collection[str], needs: Collection[Expr]) -> bool:
    """Whether a number of Python's is certain to be one, whatever the sizes are: no 1/n, which raises where n is 0."""
    if not any(isinstance(b, (SizeOf, Var)) for b in below(a)):  # refused before, but 1/0 where it is not selected
        return not any(isinstance(b, Elementwise) and b.op == "div" and _zero(b.args[1]) for b in below(a))
    match a:
        case Elementwise("div", (above, divisor)):
            constant = not any(isinstance(b, (SizeOf, Var)) for b in below(divisor))
            checked = isinstance(divisor, SizeOf) and not_zero(divisor.value) in needs
            return _finite(above, options, needs) and (constant or checked)
        case Elementwise("pow", (base, Num(exponent))):
            return _finite(base, options, needs) and exponent.value.denominator == 1 and exponent.value > 0
        case Elementwise("sqrt", (base,)):
            return _finite(base, options, needs) and _never_negative(base, options)
        case Elementwise(op, args):
            return OPS[op].total and all(_finite(x, options, needs) for x in args)
        case _:
            return isinstance(a, SizeOf)


def _zero(a: Array) -> bool:
    return isinstance(a, Num) and a.value.value == 0


def _anywhere(row: Op) -> bool:
    """Whether Python's `math` has a value of it for infinities too: it has a limit there."""
    return row.total and (bool(row.monotone) or not row.arity)


def _never_negative(a: Array, options: Collection[str]) -> bool:
    match a:
        case Num(value):
            return value.value >= 0
        case SizeOf(value):
            return never_negative(value, options)
        case Elementwise("add" | "mul" | "div" | "sqrt", args):
            return all(_never_negative(x, options) for x in args)
        case Elementwise(op, _):
            return op == "pi"
        case _:
            return False


def number(node: Const) -> tuple[str, int]:
    """A number in Python."""
    return Printer().number(node) if node.text or node.value.denominator & (node.value.denominator - 1) == 0 else (
        f"{node.value.numerator} / {node.value.denominator}",
        20 if node.value > 0 else 12,
    )


def _is_part(node: Array) -> bool:
    """Whether it takes a part of an axis, which may have no elements where the axis has some."""
    return isinstance(node, Take) and any(isinstance(i, Slice) and i not in (ALL, BACK) for i in node.items)


def _wrap(text: str, level: int, need: int) -> str:
    return text if level >= need else f"({text})"


def _axes(axes: Sequence[int]) -> str:
    return str(axes[0]) if len(axes) == 1 else str(tuple(axes))


def _widths(widths: Sequence[tuple[Expr, Expr]], of_pack: str) -> str:
    pairs = [f"({sizes.axis(first)}, {sizes.axis(last)})" for first, last in widths]
    if of_pack:  # how many axes it stands for
        pairs[0] = f"*[(0, 0)] * {of_pack}"
    return pairs[0] if len(pairs) == 1 else f"({', '.join(pairs)})"


def _permutation(axes: Sequence[int]) -> str:
    rank = len(axes)
    if tuple(axes) == (1, 0):
        return ".T"
    if tuple(axes) == (-1, -2) or tuple(axes) == (*range(rank - 2), rank - 1, rank - 2):
        return ".swapaxes(-1, -2)"
    return f".transpose({', '.join(map(str, axes))})"


# long lines


def assigned(target: str, value: str, indent: int, sign: str = "=") -> list[str]:
    """`target = value` in lines of at most WIDTH columns where that is possible; `sign` may be += or -=."""
    line = f"{target} {sign} {value}"
    if len(line) + indent <= WIDTH:
        return [line]
    if len(target) + len(sign) + 3 + indent > WIDTH and not target.endswith("]"):
        return ["(", *_members(target, indent + 4), *assigned(")", value, indent, sign)]
    if len(target) + len(sign) + 3 + indent > WIDTH:
        start = target.index("[") + 1
        first = [target[:start], *_inside(target[start:-1], indent + 4)]
        return [*first, *assigned("]", value, indent, sign)]
    opening = _last_opening(value)
    room = WIDTH - indent - len(target) - len(sign) - 3
    if opening is not None and opening <= min(HUGGED, room):
        return [f"{target} {sign} {value[: opening + 1]}", *_inside(value[opening + 1 : -1], indent + 4), value[-1]]
    return [f"{target} {sign} (", *_inside(value, indent + 4), ")"]


def parameters(name: str, parts: Sequence[str], indent: int = 0) -> str:
    """What stands in the brackets of `def name()`: on one line, on the next one, or one on each line."""
    text = ", ".join(parts)
    if len(f"def {name}({text}):") + indent <= WIDTH:
        return text
    start = "\n" + " " * indent
    inside = f"    {text}" if len(text) + 4 + indent <= WIDTH else f"{start}".join(f"    {part}," for part in parts)
    return f"{start}{inside}{start}"


def _product(base: str, exponent: int) -> tuple[str, int]:
    """A power as squares and products, none of which is beyond it: `x**2 * x`, `(x**2) ** 2`."""
    if exponent == 2:
        return f"{base}**2", 40
    inner, _ = _product(base, exponent // 2) if exponent % 2 == 0 else _product(base, exponent - 1)
    return (f"{inner} * {base}", 20) if exponent % 2 else (f"({inner}) ** 2", 40)


def unset(names: Sequence[str], indent: int) -> list[str]:
    """`a = b = None`, in as many statements as it takes."""
    lines: list[str] = []
    for name in names:
        longer = f"{lines[-1].removesuffix('None')}{name} = None" if lines else ""
        if lines and len(longer) + indent <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{name} = None")
    return lines


def returned(value: str, indent: int) -> list[str]:
    """`return value`; a long value is broken in its last brackets, or stands in brackets."""
    line = f"return {value}"
    if len(line) + indent <= WIDTH:
        return [line]
    groups = _groups(value)
    if groups and groups[-1][1] == len(value) - 1 and groups[-1][0] + 8 + indent <= WIDTH:
        opening = groups[-1][0] + 1
        return [f"return {value[:opening]}", *_members(value[opening:-1], indent + 4), ")"]
    return ["return (", *_members(value, indent + 4), ")"]


def if_lines(condition: str, indent: int) -> list[str]:
    """`if condition:`, cut before its `or` and `and`."""
    line = f"if {condition}:"
    if len(line) + indent <= WIDTH:
        return [line]
    return ["if (", *_piece(condition, indent + 4), "):"]


def called(text: str, indent: int) -> list[str]:
    """A call as a statement, in lines of at most WIDTH columns where that is possible."""
    if len(text) + indent <= WIDTH:
        return [text]
    opening = text.index("(") + 1
    return [text[:opening], *_inside(text[opening:-1], indent + 4), text[-1]]


def _members(text: str, indent: int) -> list[str]:
    """The members of a tuple, one a line."""
    return [line for a in _arguments(text) for line in _piece(f"{a},", indent)]


def _inside(text: str, indent: int) -> list[str]:
    """`text`, which stands in brackets, on lines of its own, each four columns in."""
    if len(text) + indent <= WIDTH:
        return [f"    {text}"]
    alone = text.endswith(",")  # of a tuple with one member
    arguments = _arguments(text.removesuffix(","))
    if len(arguments) > 1 or alone:
        return [line for a in arguments for line in _piece(f"{a},", indent)]
    return _piece(text, indent)


def _piece(text: str, indent: int) -> list[str]:
    """One argument or operand: cut before its weakest operators, else broken in its longest brackets."""
    if len(text) + indent <= WIDTH:
        return [f"    {text}"]
    comma = "," if text.endswith(",") else ""
    opening = _last_opening(text.removesuffix(","))
    if opening is not None and opening < WIDTH - indent:
        body = text.removesuffix(",")
        deeper = _inside(body[opening + 1 : -1], indent + 4)
        return [f"    {body[: opening + 1]}", *(f"    {line}" for line in deeper), f"    {body[-1]}{comma}"]
    pieces = _splits(text)
    if pieces:
        return [line for piece in pieces for line in _piece(piece, indent)]
    links = _links(text)
    if len(links) > 2:
        return [line for link in links for line in _piece(link, indent)]
    groups = _groups(text)
    opening, closing = max(groups, key=lambda g: g[1] - g[0], default=(0, 0))
    if closing - opening < 2:
        return [f"    {text}"]
    head, inner, tail = text[: opening + 1], text[opening + 1 : closing], text[closing:]
    return [f"    {head}", *(f"    {line}" for line in _inside(inner, indent + 4)), f"    {tail}"]


def _links(text: str) -> list[str]:
    """A chain of methods, one a piece; what it starts with stays with the first bracket."""
    depths = _depths(text)
    cuts = [k for k in range(1, len(text)) if depths[k] == 0 and text[k] == "." and text[k - 1] in ")]"]
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _depths(text: str) -> list[int]:
    """How many brackets each character stands in; what is quoted stands in one more."""
    depths, depth, quoted = [], 0, False
    for c in text:
        depth -= c in ")]" and not quoted
        quoted ^= c == '"'
        depths.append(depth + quoted)
        depth += c in "([" and not quoted
    return depths


def _last_opening(text: str) -> int | None:
    """Where the brackets open that close at the end, if they hold most of the text and no sum stands before them."""
    groups = _groups(text)
    if not groups or groups[-1][1] != len(text) - 1 or groups[-1] != max(groups, key=lambda g: g[1] - g[0]):
        return None
    cuts = _cuts(text)
    return groups[-1][0] if not cuts or text[cuts[0]: cuts[0] + 3] in WEAKEST[-1] else None


def _groups(text: str) -> list[tuple[int, int]]:
    """Where the outermost brackets open and close."""
    depths = _depths(text)
    found, start = [], None
    for k, c in enumerate(text):
        if depths[k] == 0 and c in "([":
            start = k
        elif depths[k] == 0 and c in ")]" and start is not None:
            found.append((start, k))
            start = None
    return found


WEAKEST = (
    (" or ",),
    (" and ",),
    (" | ",),
    (" & ",),
    (" == ", " != ", " < ", " <= ", " > ", " >= "),
    (" + ", " - "),
    (" * ", " / ", " // ", " % ", " @ "),
)


def _cuts(text: str) -> list[int]:
    """Where the weakest operators outside of brackets stand."""
    depths = _depths(text)
    for symbols in WEAKEST:
        cuts = [k for k in range(len(text)) if depths[k] == 0 and any(text.startswith(s, k) for s in symbols)]
        if cuts:
            return cuts
    return []


def _splits(text: str) -> list[str]:
    """`text` cut before its weakest operators outside of brackets; empty if it has none."""
    cuts = _cuts(text)
    ends = [*cuts, len(text)]
    return [text[: cuts[0]], *(text[a + 1 : b] for a, b in zip(cuts, ends[1:], strict=True))] if cuts else []


def _arguments(text: str) -> list[str]:
    depths = _depths(text)
    cuts = [k for k, c in enumerate(text) if c == "," and depths[k] == 0]
    starts = [0, *(k + 1 for k in cuts)]
    return [text[a:b].strip() for a, b in zip(starts, [*cuts, len(text)], strict=True)]
