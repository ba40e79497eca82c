"""C's own subset, translated to Python that runs on Numbers and on watched memory.

Integers are C's: a quotient truncates, a size_t that becomes negative is a fault, `1/3` is 0. What is outside of the
subset (goto, switch, structs, variadic calls) raises Fault, so nothing is executed that is not understood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast, c_parser

from .text import Fault

DOUBLE, SIZE, INT, VOID = "double", "size", "int", "void"
_TYPES = {
    "double": DOUBLE,
    "float": DOUBLE,
    "size_t": SIZE,
    "uint64_t": SIZE,
    "unsigned": SIZE,
    "ptrdiff_t": INT,
    "int64_t": INT,
    "int32_t": INT,
    "int": INT,
    "long": INT,
    "bool": INT,
    "void": VOID,
}
_COMPARE = frozenset({"<", "<=", ">", ">=", "==", "!="})
_NAMED = {"NAN": "_nan", "INFINITY": "_inf", "HUGE_VAL": "_inf", "M_PI": "_pi()", "DBL_MAX": "_huge"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C function; `pointer` if it is one, `const` if it may only be read."""

    name: str
    kind: str
    pointer: bool
    const: bool


@dataclass(slots=True)
class Unit:
    """A translated file: Python source, its constants, and the parameters of each function."""

    lines: list[str] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    functions: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    globals: dict[str, tuple[str, bool]] = field(default_factory=dict)  # (type, array)


def translate(source: str) -> Unit:
    """Translate a prepared C file."""
    try:
        tree = c_parser.CParser().parse(source)
    except Exception as error:  # pycparser's ParseError, or a RecursionError
        raise Fault(f"pycparser cannot read the file: {error}") from error
    unit = Unit()
    bodies = []
    for item in tree.ext:
        if isinstance(item, c_ast.Typedef):
            continue
        if isinstance(item, c_ast.FuncDef):
            _signature(unit, item.decl)
            bodies.append(item)
        elif isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            _signature(unit, item)
        elif isinstance(item, c_ast.Decl):
            _global(unit, item)
        else:
            raise _unknown(item)
    for item in bodies:
        _Body(unit, item).translate()
    return unit


def _unknown(node: Any) -> Fault:
    return Fault(f"line {getattr(node.coord, 'line', '?')}: the check does not know {type(node).__name__} here")


def _signature(unit: Unit, decl: Any) -> None:
    parameters = []
    for p in decl.type.args.params if decl.type.args else ():
        if isinstance(p, c_ast.Typename):
            continue  # (void)
        kind, pointer, const = _type(p.type)
        parameters.append(Parameter(p.name, kind, pointer, const))
    unit.functions[decl.name] = tuple(parameters)
    unit.results[decl.name] = _type(decl.type.type)[0]


def _type(node: Any) -> tuple[str, bool, bool]:
    """The element type, whether it is a pointer or array, and whether the element is const."""
    if isinstance(node, (c_ast.PtrDecl, c_ast.ArrayDecl)):
        kind, pointer, const = _type(node.type)
        if pointer:
            raise Fault("the check knows pointers to numbers only, and arrays of one dimension")
        return kind, True, const
    if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType):
        names = node.type.names
        kind = SIZE if "unsigned" in names else _TYPES.get(names[0])
        if kind is None:
            raise Fault(f"the check does not know the type {' '.join(names)}")
        return kind, False, "const" in node.quals
    raise _unknown(node)


def _global(unit: Unit, item: Any) -> None:
    kind, array, const = _type(item.type)
    if not const:
        raise Fault(f"line {item.coord.line}: {item.name} is a global variable")
    body = _Body(unit, None)
    unit.globals[item.name] = kind, array
    if array:
        values = ", ".join(body.converted(e, kind) for e in item.init.exprs)
        unit.lines.append(f"g_{item.name} = _Pointer([{values}], {item.name!r}, True)")
    elif item.name == "PI":
        pass  # exactly pi, at the precision of the moment
    else:
        unit.lines.append(f"g_{item.name} = {body.converted(item.init, kind)}")


class _Chain(str):
    """A sum or product in parentheses; a longer one drops those of its left part, so that none nest deeply."""

    __slots__ = ("op",)
    op: str

    @classmethod
    def of(cls, a: str, op: str, b: str) -> _Chain:
        same = isinstance(a, _Chain) and (a.op in "+-") == (op in "+-")
        chain = cls(f"({a[1:-1] if same else a} {op} {b})")
        chain.op = op
        return chain


class _Body:
    """The translation of one function."""

    def __init__(self, unit: Unit, node: Any) -> None:
        self.unit = unit
        self.node = node
        self.scopes: list[dict[str, tuple[str, str, bool]]] = [{}]  # C name -> (Python name, type, pointer)
        self.count = 0
        self.boxed = _addressed(node.body) if node is not None else set()
        self.next: list[list[str]] = []  # what `continue` must run first

    def translate(self) -> None:
        name = self.node.decl.name
        parameters = self.unit.functions[name]
        arguments = [self._declare(p.name, p.kind, p.pointer) for p in parameters]
        lines = [f"def c_{name}({', '.join(arguments)}):"]
        for p, a in zip(parameters, arguments, strict=True):
            if p.name in self.boxed and not p.pointer:
                lines.append(f"    {a} = _Pointer([{a}], {p.name!r})")
        body = self.block(self.node.body, 1)
        self.unit.lines += [*lines, *(body or ["    pass"])]

    # scopes

    def _declare(self, name: str, kind: str, pointer: bool) -> str:
        visible = any(name in s for s in self.scopes)
        self.count += visible
        python = f"v_{name}_{self.count}" if visible else f"v_{name}"
        self.scopes[-1][name] = python, kind, pointer
        return python

    def _find(self, name: str, node: Any) -> tuple[str, str, bool]:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.unit.globals:
            kind, array = self.unit.globals[name]
            return ("_pi()" if name == "PI" else f"g_{name}"), kind, array
        if name in _NAMED:
            return _NAMED[name], DOUBLE, False
        raise Fault(f"line {node.coord.line}: {name} is not declared")

    # statements

    def block(self, node: Any, depth: int) -> list[str]:
        items = (node.block_items or []) if isinstance(node, c_ast.Compound) else [node]
        self.scopes.append({})
        lines: list[str] = []
        for item in items:
            lines += self.statement(item, depth)
        self.scopes.pop()
        return lines

    def statement(self, node: Any, depth: int) -> list[str]:
        pad = "    " * depth
        if isinstance(node, c_ast.Decl):
            return [pad + line for line in self._declaration(node)]
        if isinstance(node, c_ast.DeclList):
            return [pad + line for d in node.decls for line in self._declaration(d)]
        if isinstance(node, c_ast.Assignment):
            return [pad + line for line in self._assignment(node)]
        if isinstance(node, c_ast.UnaryOp) and node.op in ("++", "p++", "--", "p--"):
            return [pad + line for line in self._step(node)]
        if isinstance(node, (c_ast.FuncCall, c_ast.Cast)):
            return [pad + self.expression(node)[0]]
        if isinstance(node, c_ast.ExprList):
            return [line for e in node.exprs for line in self.statement(e, depth)]
        if isinstance(node, c_ast.Compound):
            return self.block(node, depth) or [pad + "pass"]
        if isinstance(node, c_ast.If):
            lines = [f"{pad}if {self.condition(node.cond)}:", *(self._inner(node.iftrue, depth))]
            return lines + ([f"{pad}else:", *self._inner(node.iffalse, depth)] if node.iffalse else [])
        if isinstance(node, c_ast.For):
            return self._for(node, depth)
        if isinstance(node, c_ast.While):
            return self._while(self.condition(node.cond), node.stmt, [], depth)
        if isinstance(node, c_ast.Return):
            return [f"{pad}return {self.expression(node.expr)[0]}" if node.expr else f"{pad}return"]
        if isinstance(node, c_ast.Break):
            return [pad + "break"]
        if isinstance(node, c_ast.Continue):
            return [*(pad + line for line in self.next[-1]), pad + "continue"]
        if isinstance(node, (c_ast.EmptyStatement, c_ast.Pragma)):
            return [pad + "pass"]
        raise _unknown(node)

    def _inner(self, node: Any, depth: int) -> list[str]:
        return self.block(node, depth + 1) or ["    " * (depth + 1) + "pass"]

    def _declaration(self, node: Any) -> list[str]:
        kind, pointer, const = _type(node.type)
        if "static" in node.storage and not const:
            raise Fault(f"line {node.coord.line}: {node.name} is static: it keeps a value between calls")
        if isinstance(node.type, c_ast.ArrayDecl):
            if node.init is not None:
                values = ", ".join(self.converted(e, kind) for e in node.init.exprs)
                length = self.converted(node.type.dim, SIZE) if node.type.dim is not None else len(node.init.exprs)
                zero = self.converted_text("0", INT, kind)
                name = self._declare(node.name, kind, True)
                return [f"{name} = _Pointer(([{values}] + [{zero}] * {length})[:{length}], {node.name!r})"]
            length = self.converted(node.type.dim, SIZE)
            return [f"{self._declare(node.name, kind, True)} = _block({length}, {node.name!r})"]
        if pointer:
            value = self.converted(node.init, kind + "*") if node.init is not None else "_UNSET"
            return [f"{self._declare(node.name, kind, True)} = {value}"]
        value = self.converted(node.init, kind) if node.init is not None else "_UNSET"
        name = self._declare(node.name, kind, False)
        return [f"{name} = _Pointer([{value}], {node.name!r})" if node.name in self.boxed else f"{name} = {value}"]

    def _assignment(self, node: Any) -> list[str]:
        targets = [node.lvalue]
        right = node.rvalue
        while node.op == "=" and isinstance(right, c_ast.Assignment) and right.op == "=":
            targets.append(right.lvalue)
            right = right.rvalue
        lines = []
        text, kind = self.expression(right)
        if node.op != "=":
            old, own = self.expression(node.lvalue)
            text, kind = self.operator(node.op[:-1], old, own, text, kind)
        elif len(targets) > 1:
            lines.append(f"t_ = {text}")
            text = "t_"
        return lines + [self._store(t, text, kind) for t in reversed(targets)]

    def _store(self, target: Any, text: str, kind: str) -> str:
        if isinstance(target, c_ast.ID):
            name, own, pointer = self._find(target.name, target)
            value = self.converted_text(text, kind, own + "*" if pointer else own)
            boxed = target.name in self.boxed and not pointer
            return f"{name}.set(0, {value})" if boxed else f"{name} = {value}"
        base, position, own = self._place(target)
        return f"{base}.set({position}, {self.converted_text(text, kind, own)})"

    def _place(self, node: Any) -> tuple[str, str, str]:
        """The pointer, position and type of an element that is read or written."""
        if isinstance(node, c_ast.ArrayRef):
            base, kind = self.expression(node.name)
            return base, self.converted(node.subscript, INT), kind.removesuffix("*")
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            base, kind = self.expression(node.expr)
            return base, "0", kind.removesuffix("*")
        raise _unknown(node)

    def _step(self, node: Any) -> list[str]:
        text, kind = self.expression(node.expr)
        if kind.endswith("*"):
            return [self._store(node.expr, f"{text}.moved({1 if '+' in node.op else -1})", kind)]
        one = f"{text} + 1" if "+" in node.op else f"{text} - 1"
        # stepping below 0 wraps, as it does in `for (size_t i = n; i-- > 0;)`
        return [self._store(node.expr, f"({one}) % _WORD" if kind == SIZE else one, kind)]

    def _for(self, node: Any, depth: int) -> list[str]:
        pad = "    " * depth
        self.scopes.append({})
        counted = self._counted(node)
        if counted is not None:
            name, start, bound, step = counted
            index = self._declare(name, _type(node.init.decls[0].type)[0], False)
            self.next.append([])
            body = self._inner(node.stmt, depth)
            self.next.pop()
            lines = [f"{pad}for {index} in range({start}, {bound}, {step}):", *body]
        else:
            lines = self.statement(node.init, depth) if node.init is not None else []
            condition = self.condition(node.cond) if node.cond is not None else "True"
            after = self.statement(node.next, 0) if node.next is not None else []
            lines += self._while(condition, node.stmt, after, depth)
        self.scopes.pop()
        return lines

    def _while(self, condition: str, body: Any, after: list[str], depth: int) -> list[str]:
        pad = "    " * depth
        self.next.append(after)
        inner = self._inner(body, depth)
        self.next.pop()
        return [f"{pad}while _tick() and {condition}:", *inner, *(f"{pad}    {line}" for line in after)]

    def _counted(self, node: Any) -> tuple[str, str, str, str] | None:
        """`for (T i = a; i < b; ++i)` where neither i nor b changes in the body: a range."""
        init, cond, step = node.init, node.cond, node.next
        if not (isinstance(init, c_ast.DeclList) and len(init.decls) == 1 and init.decls[0].init is not None):
            return None
        decl = init.decls[0]
        if not (isinstance(cond, c_ast.BinaryOp) and cond.op == "<" and isinstance(cond.left, c_ast.ID)):
            return None
        by = None
        if isinstance(step, c_ast.UnaryOp) and step.op in ("++", "p++") and isinstance(step.expr, c_ast.ID):
            by, stepped = "1", step.expr.name
        elif isinstance(step, c_ast.Assignment) and step.op == "+=" and isinstance(step.rvalue, c_ast.Constant):
            by, stepped = step.rvalue.value, step.lvalue.name
        if by is None or stepped != decl.name or cond.left.name != decl.name or by == "0":
            return None
        used = _names(cond.right)
        if used is None or decl.name in used or (used | {decl.name}) & (_assigned(node.stmt) | self.boxed):
            return None
        return decl.name, self.converted(decl.init, INT), self.converted(cond.right, INT), by

    # expressions: the Python text, and the C type

    def condition(self, node: Any) -> str:
        text, kind = self.expression(node)
        return f"({text} is not None)" if kind.endswith("*") else f"({text})"

    def converted(self, node: Any, kind: str) -> str:
        text, own = self.expression(node)
        return self.converted_text(text, own, kind)

    def converted_text(self, text: str, own: str, kind: str) -> str:
        if kind.endswith("*") and not own.endswith("*"):
            return "None"  # NULL
        if own == kind or kind.endswith("*"):
            return text
        if kind == DOUBLE:
            return f"_lift({text})"
        if own == DOUBLE:
            return f"_whole({text})"
        return f"_unsigned({text})" if kind == SIZE else text

    def expression(self, node: Any) -> tuple[str, str]:
        method = getattr(self, f"_on_{type(node).__name__}", None)
        if method is None:
            raise _unknown(node)
        found: tuple[str, str] = method(node)
        return found

    def _on_Constant(self, node: Any) -> tuple[str, str]:
        text = node.value.rstrip("uUlLfF") if not node.value.lower().startswith("0x") else node.value
        if "int" in node.type or "long" in node.type:
            return str(int(text, 0)), SIZE if "unsigned" in node.type else INT
        if node.type in ("double", "float"):
            self.unit.constants.append(float(text))
            return f"_literal(_k[{len(self.unit.constants) - 1}])", DOUBLE
        raise _unknown(node)

    def _on_ID(self, node: Any) -> tuple[str, str]:
        name, kind, pointer = self._find(node.name, node)
        if pointer:
            return name, kind + "*"
        if node.name in self.boxed:
            return f"{name}.get(0)", kind
        return name, kind

    def _on_ArrayRef(self, node: Any) -> tuple[str, str]:
        base, position, kind = self._place(node)
        return f"{base}.get({position})", kind

    def _on_Cast(self, node: Any) -> tuple[str, str]:
        text, own = self.expression(node.expr)
        kind, pointer, _ = _type(node.to_type.type)
        if pointer or kind == VOID:
            return text, own if kind == VOID else kind + "*"
        return f"({self.converted_text(text, own, kind)})", kind

    def _on_TernaryOp(self, node: Any) -> tuple[str, str]:
        one, first = self.expression(node.iftrue)
        two, second = self.expression(node.iffalse)
        kind = _joined(first, second)
        one, two = self.converted_text(one, first, kind), self.converted_text(two, second, kind)
        return f"({one} if {self.condition(node.cond)} else {two})", kind

    def _on_UnaryOp(self, node: Any) -> tuple[str, str]:
        if node.op == "&":
            if isinstance(node.expr, c_ast.ID):
                name, kind, _ = self._find(node.expr.name, node)
                return name, kind + "*"
            base, position, kind = self._place(node.expr)
            return f"{base}.moved({position})", kind + "*"
        if node.op == "*":
            base, position, kind = self._place(node)
            return f"{base}.get({position})", kind
        if node.op in ("p--", "p++", "--", "++") and isinstance(node.expr, c_ast.ID):
            name, kind, _ = self._find(node.expr.name, node)
            sign = "-" if "-" in node.op else "+"
            new = f"({name} {sign} 1) % _WORD" if kind == SIZE else f"{name} {sign} 1"
            return (f"_first({name}, {name} := {new})" if "p" in node.op else f"({name} := {new})"), kind
        if node.op == "!":
            return f"int(not {self.condition(node.expr)})", INT
        text, kind = self.expression(node.expr)
        if node.op == "-":
            return (f"_unsigned(-({text}))" if kind == SIZE else f"(-{text})"), kind
        if node.op == "+":
            return text, kind
        raise _unknown(node)

    def _on_BinaryOp(self, node: Any) -> tuple[str, str]:
        # a long sum is a deep tree to the left: walked with a loop
        chain = [node]
        while isinstance(chain[-1].left, c_ast.BinaryOp):
            chain.append(chain[-1].left)
        left, kind = self.expression(chain[-1].left)
        lines = left
        for link in reversed(chain):
            if link.op in ("&&", "||"):
                first = f"({lines} is not None)" if kind.endswith("*") else lines
                word = "and" if link.op == "&&" else "or"
                lines, kind = f"int(bool({first}) {word} bool({self.condition(link.right)}))", INT
                continue
            right, other = self.expression(link.right)
            lines, kind = self.operator(link.op, lines, kind, right, other)
        return lines, kind

    def operator(self, op: str, a: str, first: str, b: str, second: str) -> tuple[str, str]:
        """A binary operator on two texts of known types."""
        if first.endswith("*") or second.endswith("*"):
            if op in ("==", "!="):  # with NULL
                pointer = a if first.endswith("*") else b
                return f"int({pointer} {'is' if op == '==' else 'is not'} None)", INT
            if op in ("+", "-"):
                return f"{a}.moved({'-' if op == '-' else ''}({b}))", first
            raise Fault(f"the check does not know {op} on pointers")
        kind = _joined(first, second)
        if op in _COMPARE:
            if kind == DOUBLE:
                a, b = self.converted_text(a, first, kind), self.converted_text(b, second, kind)
            return f"int({a} {op} {b})", INT
        if kind == DOUBLE:
            if op not in "+-*/":
                raise Fault(f"{op} of doubles")
            a, b = self.converted_text(a, first, kind), self.converted_text(b, second, kind)
            return _Chain.of(a, op, b), DOUBLE
        if op == "/":
            return f"_quotient({a}, {b})", kind
        if op == "%":
            return f"_remainder({a}, {b})", kind
        if op not in ("+", "-", "*"):
            raise Fault(f"the check does not know {op} on integers")
        return (f"_unsigned({a} - {b})" if op == "-" and kind == SIZE else f"({a} {op} {b})"), kind

    def _on_FuncCall(self, node: Any) -> tuple[str, str]:
        name = node.name.name
        given = node.args.exprs if node.args else []
        if name in self.unit.functions:
            parameters = self.unit.functions[name]
            if len(parameters) != len(given):
                raise Fault(f"{name} takes {len(parameters)} arguments, not {len(given)}")
            texts = [
                self.converted(g, p.kind + "*" if p.pointer else p.kind) for p, g in zip(parameters, given, strict=True)
            ]
            return f"c_{name}({', '.join(texts)})", self.unit.results[name]
        texts = [self.converted(g, DOUBLE) for g in given]
        if name in ("isnan", "isfinite", "isinf", "signbit"):
            return f"_test_{name}({texts[0]})", INT
        return f"_f[{name!r}]({', '.join(texts)})", DOUBLE


def _joined(first: str, second: str) -> str:
    if first.endswith("*"):
        return first
    if DOUBLE in (first, second):
        return DOUBLE
    return SIZE if SIZE in (first, second) else INT


def _walk(node: Any) -> Any:
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(child for _, child in item.children())


def _addressed(node: Any) -> set[str]:
    """The variables whose address is taken."""
    taken = set()
    for item in _walk(node):
        if isinstance(item, c_ast.UnaryOp) and item.op == "&" and isinstance(item.expr, c_ast.ID):
            taken.add(item.expr.name)
    return taken


def _assigned(node: Any) -> set[str]:
    """The variables that are assigned, stepped or declared below `node`."""
    found = set()
    for item in _walk(node):
        if isinstance(item, c_ast.Assignment) and isinstance(item.lvalue, c_ast.ID):
            found.add(item.lvalue.name)
        if isinstance(item, c_ast.UnaryOp) and item.op in ("++", "p++", "--", "p--"):
            found.update(i.name for i in _walk(item.expr) if isinstance(i, c_ast.ID))
    return found


def _names(node: Any) -> set[str] | None:
    """The variables of a bound; None if it reads memory or calls."""
    found = set()
    for item in _walk(node):
        if isinstance(item, c_ast.ID):
            found.add(item.name)
        elif not isinstance(item, (c_ast.BinaryOp, c_ast.Constant)):
            return None
    return found
