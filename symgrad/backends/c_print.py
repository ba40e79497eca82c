"""Source trees as C99: the words for types and operators, parentheses by precedence, and where a line may be cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Union

from ..records import replace
from ..source.layout import COMMA, EQUALS, INDENT, LIMIT, Cut, Piece, aligned, cut_text, filled, laid_out
from ..source.tree import (
    BOOL,
    FLAG,
    INT,
    INTEGER,
    REAL,
    SIZE,
    Array,
    Block,
    Call,
    Cast,
    Comment,
    Constant,
    Element,
    Expression,
    Function,
    If,
    Local,
    Loop,
    Macro,
    Name,
    Number,
    Operation,
    Parameter,
    Return,
    Space,
    Statement,
    Store,
    Type,
    Unused,
    Verbatim,
)
from .c_threads import FROM

ATOM, UNARY = 100, 60
LIBM = frozenset(
    """fabs exp exp2 expm1 log log2 log10 log1p logb pow sqrt cbrt hypot sin cos tan asin acos atan atan2 sinh cosh
    tanh asinh acosh atanh erf erfc tgamma lgamma ceil floor trunc round rint nearbyint fmod remainder copysign fmax
    fmin fdim fma ldexp frexp modf scalbn""".split()
)  # there is one of each for float, with an f behind its name
INSTRUCTIONS = frozenset("fabs sqrt rint floor ceil trunc copysign".split())  # of vectors, on most processors
MATH = LIBM | {"isnan", "isinf", "isfinite", "signbit", "INFINITY"}  # what math.h declares
INFIX = {  # symbol, how tightly it binds, what its operands need
    "or": ("||", 3, 5, 5),  # gcc wants && inside || in parentheses
    "and": ("&&", 4, 5, 5),
    **{op: (s, 20, 21, 21) for op, s in zip("lt le gt ge eq ne".split(), "< <= > >= == !=".split(), strict=True)},
    "add": ("+", 30, 30, 31),
    "sub": ("-", 30, 30, 31),
    "mul": ("*", 40, 40, 41),
    "div": ("/", 40, 40, 41),
    "floordiv": ("/", 40, 40, 41),
    "mod": ("%", 40, 40, 41),
}
PREFIX = {"not": ("!", UNARY, UNARY), "neg": ("-", 35, 40), "at": ("*", UNARY, UNARY), "place": ("&", UNARY, UNARY)}
_STRENGTHS = {1: ("or", "and"), 2: ("lt", "le", "gt", "ge", "eq", "ne"), 3: ("add", "sub"), 4: ()}
STRENGTH = {op: strength for strength, ops in _STRENGTHS.items() for op in ops}
CUT = {op: Cut(STRENGTH.get(op, 4)) for op in INFIX}  # before each
BEFORE_THEN, BEFORE_OTHERWISE = Cut(1), Cut(4)

DOUBLE = Type("double")  # of a number whose digits count wherever real numbers are floats

Part = Union[str, Cut, tuple[Expression, int]]  # text, a cut, or an operand and what it needs


class Printer:
    """Writes the trees of one file; `single` makes float of real numbers, `integer` is the type of those in arrays."""

    def __init__(self, single: bool = False, integer: str = "int64_t") -> None:
        self.real = "float" if single else "double"
        self._suffix = "f" if single else ""
        self.narrow = integer == "int32_t"  # and what is computed has the width of an address
        self._words = {
            REAL: self.real, SIZE: "size_t", INT: "ptrdiff_t", BOOL: "int", INTEGER: integer, FLAG: "unsigned char",
        }  # fmt: skip
        self._in_macro = False

    # expressions

    def text(self, root: Expression, need: int = 0) -> str:
        """An expression on one line."""
        return "".join(" " if isinstance(piece, Cut) else piece for piece in self.pieces(root, need))

    def pieces(self, root: Expression, need: int = 0) -> list[Piece]:
        """An expression, in parentheses where it binds less tightly than `need`."""
        found: list[Piece] = []
        stack: list[Part] = [(root, need)]
        while stack:
            top = stack[-1]
            del stack[-1]
            if isinstance(top, tuple):
                stack += self._parts(*top)[::-1]
            else:
                found += (top,)
        return found

    def _parts(self, node: Expression, need: int) -> Sequence[Part]:
        level, parts = self._written(node)
        return parts if level >= need else ("(", *parts, ")")

    def _written(self, node: Expression) -> tuple[int, Sequence[Part]]:
        """How tightly a node binds, and what it is written of."""
        match node:
            case Name(name):
                return ATOM, (f"({name})" if self._in_macro else name,)
            case Operation(op, operands):
                return self._operation(op, operands)
            case Number(text, real):
                return UNARY if text.startswith("-") else ATOM, (text + self._suffix * real,)
            case Call(function, arguments):
                of_double = any(isinstance(a, Cast) and a.type == DOUBLE for a in arguments)
                name = function + self._suffix * (function in LIBM and not of_double)
                return ATOM, (f"{name}(", *_listed(arguments), ")")
            case Element(array, subscripts):
                return ATOM, ((array, ATOM), "[", *_listed(subscripts), "]")
            case Cast(kind, value):
                return UNARY, (f"({self.word(kind)})", (value, UNARY))

    def _operation(self, op: str, operands: tuple[Expression, ...]) -> tuple[int, Sequence[Part]]:
        if op == "select":
            condition, then, otherwise = operands
            return 1, ((condition, 2), BEFORE_THEN, "? ", (then, 2), BEFORE_OTHERWISE, ": ", (otherwise, 1))
        if op in PREFIX:
            symbol, level, need = PREFIX[op]
            (operand,) = operands
            if op == "neg" and self._is_signed(operand, need):
                return level, ("-(", (operand, 0), ")")
            return level, (symbol, (operand, need))
        symbol, level, left, right = INFIX[op]
        a, b = operands
        if isinstance(a, Operation) and a.op == op and op in ("or", "and"):
            left = level
        return level, ((a, left), CUT[op], f"{symbol} ", (b, right))

    def _is_signed(self, node: Expression, need: int) -> bool:
        """Whether the text of an operand begins with a minus sign."""
        while True:
            first = self._parts(node, need)[0]
            if not isinstance(first, tuple):
                return isinstance(first, str) and first.startswith("-")
            node, need = first

    def word(self, kind: Type) -> str:
        """A type, as it stands alone."""
        return f"{'const ' * kind.constant}{self._words.get(kind.of, kind.of)}{' *' * kind.pointer}"

    # statements

    def lines(self, block: Block, depth: int) -> list[str]:
        """Statements, indented by so many levels."""
        return [line for statement in block for line in self.statement(statement, depth)]

    def located(self, block: Block, depth: int, first: int) -> Iterator[tuple[Statement, int, int, int]]:
        """Each statement of a block that begins in line `first`, and each inside of it: its first line, its last one,
        and the last one of its block."""
        end = first + len(self.lines(block, depth)) - 1
        for node in block:
            last = first + len(self.statement(node, depth)) - 1
            yield node, first, last, end
            match node:
                case Loop(body=body):
                    yield from self.located(body, depth + 1, last - len(self.lines(body, depth + 1)))
                case If(body=body, otherwise=otherwise):
                    head = len(self.lines((replace(node, body=(), otherwise=()),), depth)) - 1
                    inner = first + head + len(self.lines(body, depth + 1))
                    yield from self.located(body, depth + 1, first + head)
                    chained = len(otherwise) == 1 and isinstance(otherwise[0], If)
                    yield from self.located(otherwise, depth + (not chained), inner + (not chained))
            first = last + 1

    def statement(self, node: Statement, depth: int) -> list[str]:
        """The lines of one statement."""
        pad, indent = " " * (INDENT * depth), INDENT * depth
        match node:
            case Local(name, kind, value, changes):
                head = f"{self._declared(kind, name, changes)} ="
                return laid_out([head, EQUALS, *self.pieces(value), ";"], indent)
            case Store(target, value, "max=" | "min=" as how):
                better = Operation("gt" if how == "max=" else "lt", (value, target))
                return self.statement(Store(target, Operation("select", (better, value, target))), depth)
            case Store(target, value, how):
                return laid_out([*self.pieces(target), f" {how}", EQUALS, *self.pieces(value), ";"], indent)
            case Loop():
                turns = laid_out(["for (", *self._turns(node), ") {"], indent)
                pragma = self._team(node, indent) or self._reordered(node, indent)
                return [*pragma, *turns, *self.lines(node.body, depth + 1), f"{pad}}}"]
            case If():
                return self._branches(node, depth)
            case Call(function, arguments):
                lines = aligned(f"{function}(", [self.text(a) for a in arguments], ");", indent)
                return lines if max(map(len, lines)) <= LIMIT else laid_out([*self.pieces(node), ";"], indent)
            case Return(value):
                return laid_out(["return", *([] if value is None else [" ", *self.pieces(value)]), ";"], indent)
            case Comment(lines):
                return [pad + line for line in commented(lines, LIMIT - indent - 6)]
            case Array(name, kind, length, ()) if length is not None:
                return [f"{pad}{self.word(kind)} {name}[{self.text(length)}];"]
            case Array(name, kind, _, values):
                rows = filled([f"{self.text(v)}," for v in values], LIMIT - 2 * INDENT - 8)
                return [
                    f"{pad}static {self.word(kind)} {name}[] = {{",
                    *(f"{pad}    {row}" for row in rows),
                    f"{pad}}};",
                ]
            case Unused(name):
                return [f"{pad}(void){name};"]
            case Space():
                return [""]

    def _declared(self, kind: Type, name: str, changes: bool) -> str:
        const = "" if changes else "const "
        if not kind.pointer:
            return f"{const}{self.word(kind)} {name}"
        return f"{self.word(kind)}{'restrict ' * kind.alone}{const}{name}"

    def _reordered(self, loop: Loop, indent: int) -> list[str]:
        """What lets a compiler add in another order, side by side."""
        clauses = [
            f"reduction({op}:{', '.join(names)})"
            for op in dict.fromkeys(op for op, _ in loop.sums)
            if (names := [name for own, name in loop.sums if own == op])
        ]
        return self._pragma(f"simd {' '.join(clauses)}", indent) if clauses else []

    def _team(self, loop: Loop, indent: int) -> list[str]:
        """What lets threads share the loop."""
        innermost = _is_arithmetic(loop.body)
        if loop.tag == "columns":
            return self._pragma(f"for{' simd' * innermost} schedule(static) nowait", indent)
        if loop.work is None:
            return []
        which = "parallel" if loop.tag == "rows" else "parallel for simd" if innermost else "parallel for"
        only = "parallel: " * which.endswith("simd")  # and not whether they are vectors
        return self._pragma(f"{which} if ({only}{self.text(loop.work, 21)} >= {FROM})", indent)

    def _pragma(self, text: str, indent: int) -> list[str]:
        lines = filled(["#pragma omp", *text.split()], LIMIT - indent - 2)
        return (" \\\n").join(" " * indent + line for line in lines).splitlines()

    def _turns(self, loop: Loop) -> list[Piece]:
        i = loop.index
        if loop.reverse:
            return [f"size_t {i} =", EQUALS, *self.pieces(loop.end, 21), ";", COMMA, f"{i}--", Cut(2), "> ",
                    *self.pieces(loop.first), ";"]  # fmt: skip
        return [f"size_t {i} =", EQUALS, *self.pieces(loop.first), ";", COMMA, i, Cut(2), "< ",
                *self.pieces(loop.end, 21), ";", COMMA, f"++{i}"]  # fmt: skip

    def _branches(self, node: If, depth: int) -> list[str]:
        pad = " " * (INDENT * depth)
        lines = laid_out(["if (", *self.pieces(node.condition), ") {"], INDENT * depth)
        lines += self.lines(node.body, depth + 1)
        match node.otherwise:
            case ():
                return [*lines, f"{pad}}}"]
            case (If() as inner,):
                first, *rest = self._branches(inner, depth)
                return [*lines, f"{pad}}} else {first.strip()}", *rest]
            case _:
                return [*lines, f"{pad}}} else {{", *self.lines(node.otherwise, depth + 1), f"{pad}}}"]

    # functions

    def parameter(self, p: Parameter, definition: bool) -> str:
        """A parameter as it stands in the parentheses."""
        kind = self.word(Type(p.type.of, False, p.type.constant))
        if not p.type.pointer:
            return f"{kind} {p.name}"
        if p.length is not None:
            return f"{kind} {p.name}[{p.length}]"
        return f"{kind} *{'restrict ' * (definition and p.type.alone)}{p.name}"

    def head(self, f: Function, definition: bool = True) -> list[str]:
        """What stands before the body, or in the header."""
        result = "void" if f.result is None else self.word(f.result)
        items = [self.parameter(p, definition) for p in f.parameters] or ["void"]
        words = {"local": "static ", "extern": "extern "}.get(f.role, "") + "inline " * (f.inline and definition)
        return aligned(f"{words}{result} {f.name}(", items, ")" if definition else ");")

    def function(self, f: Function | Verbatim) -> list[str]:
        """The definition; above that of a local function, what it does."""
        if isinstance(f, Verbatim):
            return [*f.lines]
        sentence = [line.strip() for about in f.about for line in cut_text(about, 0, LIMIT - INDENT)]
        about = "\n   ".join(sentence) if f.role == "local" else ""
        return [*([f"/* {about} */"] if about else []), *self.head(f), "{", *self.lines(f.body, 1), "}"]

    def prototype(self, function: str) -> str:
        """A function of math.h of one number, as it is declared."""
        return f"{self.real} {function}{self._suffix}({self.real})"

    def constant(self, c: Constant) -> list[str]:
        """A number with a name."""
        return [f"static const {self.real} {c.name} = {self.text(c.value)};"]

    def macro(self, macro: Macro) -> list[str]:
        """The definition of a macro; its value is one expression whatever its arguments are."""
        head = f"#define {macro.call}"
        self._in_macro = True
        value = ["(", *self.pieces(macro.value), ")"]
        self._in_macro = False
        whole = f"{head} {''.join(' ' if isinstance(v, Cut) else v for v in value)}"
        if len(whole) <= LIMIT:
            return [whole]
        lines = [*cut_text(head, 0, LIMIT - 2), *laid_out(value, INDENT, LIMIT - 2)]
        return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _listed(items: Sequence[Expression]) -> list[Part]:
    parts: list[Part] = []
    for number, item in enumerate(items):
        parts += [",", COMMA] if number else []
        parts.append((item, 0))
    return parts


def _is_arithmetic(block: Block) -> bool:
    """Whether nothing in a block is a loop, or a call for what it does."""
    inside = (part for n in block if isinstance(n, If) for part in (n.body, n.otherwise))
    return not any(isinstance(n, (Loop, Call)) for n in block) and all(map(_is_arithmetic, inside))


def commented(lines: Iterable[str], room: int) -> list[str]:
    """Sentences as a comment; each begins a line."""
    cut = [part for line in lines for part in cut_text(escaped(line), 0, room)]
    return [f"/* {line} */" for line in cut] if len(cut) < 2 else [f"/* {cut[0]}", *(f" * {c}" for c in cut[1:]), " */"]


def escaped(line: str) -> str:
    """`line` as it may stand in a comment: it cannot end it, and holds no trigraph."""
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
