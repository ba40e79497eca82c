"""Python trees as text: parentheses by precedence, lines by `source.brackets`, and how formatters space things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Union

from ..source import brackets
from ..source import python as py
from ..source.brackets import CLOSE, COMMA, DOT, INFIX, OPEN, Piece
from ..source.layout import INDENT, LIMIT, filled
from ..source.python import Attribute, Block, Call, Class, Cut, Def, Do, Expression, Name, Number, Operation, Text, Word

ATOM = 100
INFIXES: Mapping[str, tuple[str, int, int, int, int]] = {  # symbol, level, what the operands need, strength of a cut
    "or": ("or", 2, 2, 3, 0),
    "and": ("and", 4, 4, 5, 1),
    "bitor": ("|", 7, 7, 8, 2),
    "bitand": ("&", 9, 9, 10, 3),
    **{
        op: (symbol, 6, 10, 10, 4)
        for op, symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items()
    },
    "add": ("+", 10, 10, 11, 5),
    "sub": ("-", 10, 10, 11, 5),
    "mul": ("*", 20, 20, 21, 6),
    "div": ("/", 20, 20, 21, 6),
    "floordiv": ("//", 18, 18, 21, 6),  # beside a product or a sign, brackets say what is rounded
    "mod": ("%", 18, 18, 21, 6),
    "matmul": ("@", 20, 21, 21, 6),
}
PREFIXES = {"not": ("not ", 5, 5), "neg": ("-", 12, 20), "invert": ("~", 60, 60)}
_SIGNS = {op: Piece(f" {symbol} ", INFIX, strength) for op, (symbol, *_, strength) in INFIXES.items()}
_BRACKETS = {b[0]: (Piece(b[0], OPEN), Piece(b[1], CLOSE)) for b in ("()", "[]")}
_NEXT = Piece(", ", COMMA)
Part = Union[str, Piece, tuple[Expression, int]]  # text, a mark, or an operand and what it needs


def pieces(root: Expression, need: int = 0) -> list[Piece]:
    """An expression, in parentheses where it binds less tightly than `need`."""
    found: list[Piece] = []
    stack: list[Part] = [(root, need)]
    while stack:
        top = stack[-1]
        del stack[-1]
        if isinstance(top, Piece):
            found += (top,)
        elif isinstance(top, str):
            found += (Piece(top),)
        else:
            level, parts = _written(top[0])
            stack += (parts if level >= top[1] else _bracketed("(", parts))[::-1]
    return found


def flat(root: Expression) -> str:
    """An expression on one line."""
    return brackets.flat(pieces(root))


def _bracketed(bracket: str, parts: Sequence[Part]) -> list[Part]:
    opening, closing = _BRACKETS[bracket]
    return [opening, *parts, closing]


def _listed(items: Sequence[Expression]) -> list[Part]:
    parts: list[Part] = []
    for item in items:
        parts += [_NEXT, (item, 0)] if parts else [(item, 0)]
    return parts


def _written(node: Expression) -> tuple[int, Sequence[Part]]:
    """How tightly a node binds, and what it is written of."""
    match node:
        case Name(name) | Word(name):
            return ATOM, (name,)
        case Number(text):
            return ATOM, (text,)
        case Text():
            return ATOM, (quoted(message(node), node),)
        case Attribute(value, name):
            return ATOM, ((value, ATOM), Piece(".", DOT), name)
        case py.Keyword(name, value):
            return ATOM, (f"{name}=", (value, 0))
        case py.Splat(value):
            return 0, ("*", (value, 10))
        case Call(function, arguments):
            return ATOM, ((function, ATOM), *_bracketed("(", _listed(arguments)))
        case py.Element(array, items):
            return ATOM, ((array, ATOM), *_bracketed("[", _listed(items)))
        case py.Several(items, bracket):
            parts = _listed(items)
            if len(items) == 1 and bracket == "(":
                parts.append(Piece(",", COMMA))
            return (ATOM, _bracketed(bracket, parts)) if bracket else (0, parts)
        case Cut():
            return 0, _cut(node)
        case Operation(op, operands):
            return _operation(op, operands)


def _cut(node: Cut) -> list[Part]:
    """`a:b`, and `a + 1 : b`, as formatters write it."""
    bounds = [node.start, node.stop, *([] if node.step is None else [node.step])]
    space = "" if all(b is None or _simple(b) for b in bounds) else " "
    parts: list[Part] = []
    for k, bound in enumerate(bounds):
        if k:
            after = space if bound is not None else ""
            before = space if k == 1 and node.start is not None or k == 2 and node.stop is not None else ""
            parts.append(f"{before}:{after}")
        parts += [] if bound is None else [(bound, 0)]
    return parts


def _simple(node: Expression) -> bool:
    """Whether formatters set operators around it tight in a slice."""
    match node:
        case Operation("neg", (inner,)):
            return _simple(inner)
        case Name() | Word():
            return True
        case Number(text):
            return text.isdecimal()
        case _:
            return False


def _atomic(node: Expression) -> bool:
    """Whether formatters set `**` tight beside it."""
    match node:
        case Attribute(value, _):
            return _atomic(value)
        case Number(text):
            return "e-" not in text
        case _:
            return isinstance(node, (Name, Word))


def _operation(op: str, operands: tuple[Expression, ...]) -> tuple[int, Sequence[Part]]:
    if op == "select":
        condition, then, otherwise = operands
        return 1, ((then, 2), " if ", (condition, 2), " else ", (otherwise, 2))
    if op in PREFIXES:
        symbol, level, need = PREFIXES[op]
        return level, (symbol, (operands[0], need))
    if op == "beside":  # strings
        first, *others = operands
        return ATOM, _bracketed("(", [(first, 0), *(p for o in others for p in (Piece(" ", INFIX), (o, 0)))])
    if op == "each":
        value, variable, values = operands
        return 0, ((value, 1), " for ", (variable, ATOM), " in ", (values, ATOM))
    first, second = operands
    if op in ("is", "is not", "in", "not in"):
        return 6, ((first, 10), f" {op} ", (second, 10))
    if op == "pow":  # as formatters write it: x**2, but (x - y) ** 2
        symbol = "**" if _atomic(first) and _atomic(second) else " ** "
        return 40, ((first, 41), symbol, (second, 41))
    _, level, left, right, _ = INFIXES[op]
    if op == "matmul" and isinstance(first, Operation) and first.op == op:
        left = level
    return level, ((first, left), _SIGNS[op], (second, right))


def message(node: Text) -> str:
    """A string without its quotes; what is computed in braces."""
    if not _computes(node):
        return "".join(map(str, node.parts))
    parts = (p.replace("{", "{{").replace("}", "}}") if isinstance(p, str) else f"{{{flat(p)}}}" for p in node.parts)
    return "".join(parts)


def _computes(node: Text) -> bool:
    return any(not isinstance(part, str) for part in node.parts)


def quoted(text: str, node: Text) -> str:
    """A string, or a part of one, in quotes."""
    return f"f{_string(text)}" if "{" in text and _computes(node) else _string(text)


def _string(text: str) -> str:
    return f'"{text}"'


# statements


def lines(block: Block, indent: int = 4) -> list[str]:
    """Statements that stand `indent` columns in, without these columns."""
    return [line for statement in block for line in _statement(statement, indent)]


def _indented(block: Block, indent: int) -> list[str]:
    return [f"    {line}" if line else line for line in lines(block, indent + 4)]


def _statement(node: py.Statement, indent: int) -> list[str]:
    match node:
        case py.Assign(target, value, how):
            return brackets.assigned(pieces(target), pieces(value), indent, how)
        case py.Unset(names):
            return _unset([flat(n) for n in names], indent)
        case Do(value):
            return brackets.called(pieces(value), indent)
        case py.If(condition, body, otherwise):
            found = [*brackets.headed("if", pieces(condition), indent), *_indented(body, indent)]
            return [*found, "else:", *_indented(otherwise, indent)] if otherwise else found
        case py.For(target, values, body):
            head = f"for {flat(target)} in {flat(values)}:"
            if len(head) + indent > LIMIT and isinstance(values, py.Several):
                rows = filled((f"{flat(v)}," for v in values.items), LIMIT - 4 * INDENT)
                return [f"for {flat(target)} in (", *(f"    {row}" for row in rows), "):", *_indented(body, indent)]
            return [head, *_indented(body, indent)]
        case py.With(context, body):
            return [*brackets.headed("with", pieces(context), indent), *_indented(body, indent)]
        case py.Return(value):
            called = value.array if isinstance(value, py.Element) else value
            return brackets.returned(pieces(value), indent, pieces(called) if isinstance(called, Call) else ())
        case py.Raise():
            return _raised(node, indent)
        case py.Comment(text):
            return [f"# {text}"]
        case py.Space():
            return [""]
        case Def():
            return ["", *definition(node, indent)] if node.about else definition(node, indent)


def _unset(names: Sequence[str], indent: int) -> list[str]:
    found: list[str] = []
    for name in names:
        longer = f"{found[-1].removesuffix('None')}{name} = None" if found else ""
        if found and len(longer) + indent <= LIMIT:
            found[-1] = longer
        else:
            found.append(f"{name} = None")
    return found


def _raised(node: py.Raise, indent: int) -> list[str]:
    """A long message in several strings."""
    text = message(node.message)
    line = f"raise {node.kind}({quoted(text, node.message)})"
    if len(line) + indent <= LIMIT:
        return [line]
    strings = [quoted(part, node.message) for part in _strings(text, LIMIT - indent - 4)]
    return [f"raise {node.kind}(", *(f"    {string}" for string in strings), ")"]


def _strings(sentence: str, room: int) -> list[str]:
    """A message in parts of at most `room` columns with their quotes, cut behind the commas of its sentence, or else
    between words; never in what is computed."""
    parts, depth = [""], 0
    for letter in sentence:
        depth += (letter in "{([") - (letter in "})]")
        if letter == " " and not depth and parts[-1].endswith((",", ";")):
            parts[-1] += letter
            parts.append("")
        else:
            parts[-1] += letter
    found = [""]
    for part in parts:
        if len(found[-1] + part) + 3 <= room or not found[-1]:
            found[-1] += part
        else:
            found.append(part)
    return [piece for line in found for piece in _words(line, room - 3)]


def _words(line: str, room: int) -> list[str]:
    """A line cut between words, outside of what is computed, where it is too long."""
    found, depth, start, place = [], 0, 0, 0
    for k, letter in enumerate(line):
        depth += (letter == "{") - (letter == "}")
        if k - start >= room and place > start:
            found.append(line[start:place])
            start = place
        if letter == " " and not depth:
            place = k + 1
    return [*found, line[start:]]


# files


def definition(node: py.Definition, indent: int = 0) -> list[str]:
    """A function or a class."""
    match node:
        case py.Verbatim(text=text):
            return text.splitlines()
        case Class(name, base, about, first_lines, functions):
            found = [f"class {name.name}({flat(base)}):", *_documented(about), "", *_indented(first_lines, indent)]
            for function in functions:
                found += ["", *(f"    {line}" if line else line for line in definition(function, indent + 4))]
            return found
        case Def():
            head = brackets.defined(f"def {node.name.name}", _parameters(node.parameters), indent)
            decorators = [line for d in node.decorators for line in _decorator(d, indent)]
            return [*decorators, *head, *_documented(node.about), *_indented(node.body, indent)]
    raise AssertionError(node)


def _decorator(node: Expression, indent: int) -> list[str]:
    first, *rest = brackets.called(pieces(node), indent + 1)
    return [f"@{first}", *rest]


def _parameters(given: Sequence[py.Given]) -> list[list[Piece]]:
    found = []
    starred = False
    for p in given:
        if p.role == "option" and p.default is not None and not starred:
            starred = True
            found.append([Piece("*")])
        default = [] if p.default is None else [Piece("="), *pieces(p.default)]
        starred = starred or p.role == "rest"
        kind = f": {p.kind}" if p.kind else ""
        found.append([Piece(f"{'*' * (p.role == 'rest')}{p.name.name}{kind}"), *default])
    return found


def _documented(about: Sequence[str]) -> list[str]:
    """A docstring; what follows the first sentence stands below it."""
    if not about:
        return []
    first, *rest = [line.replace("\\", "\\\\").replace('"""', "'''") for line in about]
    if not rest:
        return [f'    """{first}"""']
    return [f'    """{first}', *(f"    {line}" if line else "" for line in rest), '    """']


def module(node: py.Module) -> str:
    """The text of a file."""
    header = [line.replace("\\", "\\\\").replace('"""', "'''") for line in node.header]
    found = ['"""' + "\n".join(header), '"""', ""]
    for group in node.imports:
        found += [*imported(group), ""] if group else []
    exported = sorted(name.name for name in node.exported)
    found.append(f"__all__ = [{', '.join(map(_string, exported))}]")
    for part in node.body:
        if isinstance(part, (Def, py.Verbatim, Class)):
            found += ["", "", *definition(part)]
        else:
            found += lines([part], 0)
    return "\n".join(found) + "\n"


def imported(group: Iterable[py.Import]) -> list[str]:
    """The lines of imports; members of one module stand together."""
    found: dict[str, list[str]] = {}
    for i in group:
        line = i.module if i.name in ("", i.module) else f"{i.module} as {i.name}"
        found.setdefault(f"from {i.source} import" if i.source else f"import {line}", []).append(line)
    return [f"{head} {', '.join(names)}" if head.startswith("from") else head for head, names in found.items()]
