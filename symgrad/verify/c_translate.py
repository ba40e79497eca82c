"""C's own subset, translated to Python that runs on Numbers and on watched memory.

Integers are C's: a quotient truncates, a size_t that becomes negative is a fault, `1/3` is 0. What is outside of the
subset (goto, switch, structs, variadic calls) raises Fault, so nothing is executed that is not understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycparser import c_ast, c_parser

from . import c_lapack
from .c_expressions import Expressions
from .c_types import INT, SIZE, Parameter, Unit, addressed, assigned, element_type, unknown, variables
from .text import Fault


def translate(source: str, local: Mapping[str, str]) -> Unit:
    """Translate a prepared C file; `local` tells what its own functions and constants stand for."""
    try:
        tree = c_parser.CParser().parse(source)
    except Exception as error:  # pycparser's ParseError, or a RecursionError
        raise Fault(f"pycparser cannot read the file: {error}") from error
    unit = Unit(local=local)
    bodies = []
    for item in tree.ext:
        if isinstance(item, c_ast.Typedef):
            continue
        if isinstance(item, c_ast.FuncDef):
            _signature(unit, item.decl)
            if not c_lapack.known(local.get(item.decl.name, "")):
                bodies.append(item)
        elif isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            _signature(unit, item)
        elif isinstance(item, c_ast.Decl):
            _global(unit, item)
        else:
            raise unknown(item)
    for item in bodies:
        _Body(unit, item).translate()
    return unit


def _signature(unit: Unit, decl: Any) -> None:
    parameters = []
    for p in decl.type.args.params if decl.type.args else ():
        if isinstance(p, c_ast.Typename):
            continue  # (void)
        kind, pointer, const = element_type(p.type)
        parameters.append(Parameter(p.name, kind, pointer, const))
    unit.functions[decl.name] = tuple(parameters)
    unit.results[decl.name] = element_type(decl.type.type)[0]
    if "float" in getattr(getattr(decl.type.type, "type", None), "names", ()):
        unit.floats.add(decl.name)


def _global(unit: Unit, item: Any) -> None:
    kind, array, const = element_type(item.type)
    if not const:
        raise Fault(f"line {item.coord.line}: {item.name} is a global variable")
    body = _Body(unit, None)
    unit.globals[item.name] = kind, array
    if array:
        values = ", ".join(body.converted(e, kind) for e in item.init.exprs)
        unit.lines.append(f"g_{item.name} = _Pointer([{values}], {item.name!r}, True)")
    elif unit.local.get(item.name) == "PI":
        pass  # exactly pi, at the precision of the moment
    else:
        unit.lines.append(f"g_{item.name} = {body.converted(item.init, kind)}")


class _Body(Expressions):
    """The translation of one function."""

    def __init__(self, unit: Unit, node: Any) -> None:
        super().__init__(unit, addressed(node.body) if node is not None else set())
        self.node = node
        self.local = node is not None and node.decl.name in unit.local
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
        raise unknown(node)

    def _inner(self, node: Any, depth: int) -> list[str]:
        return self.block(node, depth + 1) or ["    " * (depth + 1) + "pass"]

    def _declaration(self, node: Any) -> list[str]:
        kind, pointer, const = element_type(node.type)
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
            index = self._declare(name, element_type(node.init.decls[0].type)[0], False)
            self.next.append([])
            body = self._inner(node.stmt, depth)
            self.next.pop()
            lines = [f"{pad}for {index} in range({start}, {bound}, {step}):", f"{pad}    _tick()", *body]
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
        used = variables(cond.right)
        if used is None or decl.name in used or (used | {decl.name}) & (assigned(node.stmt) | self.boxed):
            return None
        return decl.name, self.converted(decl.init, INT), self.converted(cond.right, INT), by
