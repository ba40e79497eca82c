"""C's own subset, translated to Python that runs on Numbers and on watched memory.

It is what `symgrad.backends.c_print` can write, and no more: declarations, assignments, `if`, `for`, `return` and
calls. Integers are C's: a quotient truncates, a size_t that becomes negative is a fault, `1/3` is 0. What is outside of
the subset raises Fault, so nothing is executed that is not understood.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping
from typing import Any

from pycparser import c_ast, c_generator, c_parser

from . import c_functions, c_threads
from .c_expressions import Expressions
from .c_threads import walk
from .c_types import DOUBLE, INT, SIZE, Parameter, Unit, element_type, is_narrow, unknown
from .rounding import FUNCTIONS
from .text import Fault

_TRUTHS = ("<", ">", "<=", ">=", "==", "!=", "&&", "||")
_REDUCTION = re.compile(r"reduction\(([+*]|max|min):([\w, ]+)\)")


def translate(source: str, local: Mapping[str, str]) -> Unit:
    """Translate a prepared C file; `local` tells what its own functions and constants stand for."""
    try:
        tree = c_parser.CParser().parse(source)
    except Exception as error:  # pycparser's ParseError, or a RecursionError
        raise Fault(f"pycparser cannot read the file: {error}") from error
    unit = Unit(local=local)
    functions = [item.decl if isinstance(item, c_ast.FuncDef) else item for item in tree.ext]
    if not any(_of_floats(n) for f in functions if isinstance(f.type, c_ast.FuncDecl) for n in walk(f.type)):
        _refuse_floats(tree, {f.name for f in functions})
    bodies = []
    for item in tree.ext:
        if isinstance(item, c_ast.Typedef):
            continue
        if isinstance(item, c_ast.FuncDef):
            _signature(unit, item.decl)
            if not c_functions.known(local.get(item.decl.name, "")):
                bodies.append(item)
            else:
                _refuse_narrow(item)
        elif isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            _signature(unit, item)
        elif isinstance(item, c_ast.Decl):
            _global(unit, item)
        else:
            raise unknown(item)
    for item in bodies:
        _Body(unit, item).translate()
    return unit


def _of_floats(node: Any) -> bool:
    return isinstance(node, c_ast.IdentifierType) and "float" in node.names


def _refuse_floats(tree: Any, own: Container[str]) -> None:
    """In a file whose functions take and give doubles, nothing is rounded to a float."""
    for node in walk(tree):
        literal = isinstance(node, c_ast.Constant) and node.type == "float" and node.value[-1] in "fF"
        called = node.name.name if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else ""
        rounds = called not in own and called not in FUNCTIONS and called.removesuffix("f") in FUNCTIONS
        if literal or rounds or _of_floats(node):
            said = node.value if literal else called or "what is declared"
            raise Fault(f"line {getattr(node.coord, 'line', '?')}: {said} is a float, in a file of doubles")


def _refuse_narrow(function: Any) -> None:
    """In a function that is not executed, an integer that may be too small for a size is a truth."""
    for node in walk(function.body):
        if isinstance(node, c_ast.Decl) and is_narrow(node.type, bits=True) and node.init is not None:
            truth = isinstance(node.init, c_ast.BinaryOp) and node.init.op in _TRUTHS
            read = any(isinstance(n, c_ast.ID) and not n.name.isupper() for n in walk(node.init))
            if read and not truth and not isinstance(node.init, c_ast.FuncCall):  # what LAPACKE returns is no size
                raise Fault(f"line {node.coord.line}: {node.name} is of a type that may be too small for a size")


def _signature(unit: Unit, decl: Any) -> None:
    parameters = []
    for p in decl.type.args.params if decl.type.args else ():
        if isinstance(p, c_ast.Typename):
            continue  # (void)
        parameters.append(Parameter(p.name, *element_type(p.type)))
    unit.functions[decl.name] = tuple(parameters)
    unit.results[decl.name] = element_type(decl.type.type)[0]
    if "float" in getattr(getattr(decl.type.type, "type", None), "names", ()):
        unit.floats.add(decl.name)


def _global(unit: Unit, item: Any) -> None:
    kind, array, const = element_type(item.type)
    if array or not const:
        raise Fault(f"line {item.coord.line}: {item.name} is a global variable")
    if unit.local.get(item.name) == "PI":  # exactly pi, at the precision of the moment
        unit.globals[item.name] = "_pi()", kind
    else:
        unit.lines.append(f"g_{item.name} = {Expressions(unit, set()).converted(item.init, kind)}")
        unit.globals[item.name] = f"g_{item.name}", kind


class _Body(Expressions):
    """The translation of one function."""

    def __init__(self, unit: Unit, node: Any) -> None:
        taken = (n.expr for n in walk(node.body) if isinstance(n, c_ast.UnaryOp) and n.op == "&")
        super().__init__(unit, {n.name for n in taken if isinstance(n, c_ast.ID)})
        self.node = node
        self.local = node.decl.name in unit.local
        self.added: dict[str, str] = {}  # what the turns of the loop add to, and what keeps that

    def translate(self) -> None:
        name = self.node.decl.name
        parameters = self.unit.functions[name]
        arguments = [self._declare(p.name, p.type) for p in parameters]
        boxes = [self._held(p.name, a) for p, a in zip(parameters, arguments, strict=True) if p.name in self.boxed]
        body = [f"    {line}" for line in boxes] + self.block(self.node.body, 1)
        self.unit.lines += [f"def c_{name}({', '.join(arguments)}):", *body]

    # statements

    def block(self, node: Any, depth: int) -> list[str]:
        """The lines of a block, with a scope of its own; one that does nothing is `pass`."""
        items = (node.block_items or []) if isinstance(node, c_ast.Compound) else [node]
        self.scopes.append({})
        lines: list[str] = []
        for before, item, after in zip([None, *items], items, [*items[1:], None], strict=False):
            if isinstance(item, c_ast.Pragma):
                self.added = {} if c_threads.of_threads(item) else _in_any_order(item, after)
            elif isinstance(before, c_ast.Pragma) and c_threads.of_threads(before):
                lines += self._threads(before, item, depth)
            elif isinstance(before, c_ast.Pragma):
                lines += self._reordered(item, depth)
            else:
                lines += self.statement(item, depth)
        self.scopes.pop()
        return lines or ["    " * depth + "pass"]

    def _reordered(self, loop: Any, depth: int) -> list[str]:
        """A loop whose turns may be added up in any order: what they add is kept, and added up after it."""
        pad = "    " * depth
        sums = {name: self._find(c_ast.ID(name, coord=loop.coord)) for name in self.added if name not in self.boxed}
        self.added = {name: f"terms_{python}" for name, (python, kind) in sums.items() if kind == DOUBLE}
        lines = [f"{pad}{terms} = []" for terms in self.added.values()] + self.statement(loop, depth)
        lines += [f"{pad}{sums[n][0]} = _total([{sums[n][0]}, *{terms}])" for n, terms in self.added.items()]
        self.added = {}
        return lines

    def _threads(self, pragma: Any, node: Any, depth: int) -> list[str]:
        """What threads share: each of its turns is told, and what is written in one is not touched in another."""
        kind = c_threads.of_threads(pragma)
        c_threads.refuse(pragma, node, kind)
        pad = "    " * depth
        if kind == "rows":
            return [f"{pad}_begin()", *self.statement(node, depth), f"{pad}_end()"]
        self.scopes.append({})
        lines = self._counted(node, depth)
        self.scopes.pop()
        if not lines:
            raise Fault(f"line {pragma.coord.line}: #pragma {pragma.string} stands before no loop that counts")
        first, *body = lines
        told = f"{pad}    _turn({first.split()[1]})"
        whole = [first, told, *body, f"{pad}_turn()"]
        return whole if kind == "columns" else [f"{pad}_begin()", *whole, f"{pad}_end()"]

    def statement(self, node: Any, depth: int) -> list[str]:
        pad = "    " * depth
        match node:
            case c_ast.Decl():
                return [pad + self._declaration(node)]
            case c_ast.DeclList():
                return [pad + self._declaration(d) for d in node.decls]
            case c_ast.Assignment():
                return [pad + self._assignment(node)]
            case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
                return [pad + self._step(node)]
            case c_ast.FuncCall() | c_ast.Cast():
                return [pad + self.expression(node)[0]]
            case c_ast.Compound():
                return self.block(node, depth)
            case c_ast.If():
                lines = [f"{pad}if {self.condition(node.cond)}:", *self.block(node.iftrue, depth + 1)]
                return lines + ([f"{pad}else:", *self.block(node.iffalse, depth + 1)] if node.iffalse else [])
            case c_ast.For():
                self.scopes.append({})
                lines = self._counted(node, depth) or self._for(node, depth)
                self.scopes.pop()
                return lines
            case c_ast.Return():
                return [f"{pad}return {self.expression(node.expr)[0]}" if node.expr else f"{pad}return"]
        raise unknown(node)

    def _declaration(self, node: Any) -> str:
        kind, pointer, const = element_type(node.type)
        small = node.init is not None and is_narrow(node.type, bits=self.local)
        if small and self.expression(node.init)[1] == SIZE:
            raise Fault(f"line {node.coord.line}: {node.name} is a size in a type that may be too small for it")
        if "static" in node.storage and not const:
            raise Fault(f"line {node.coord.line}: {node.name} is static: it keeps a value between calls")
        name = self.begun = self._declare(node.name, kind + "*" * pointer)
        if isinstance(node.type, c_ast.ArrayDecl) and node.init is None:
            value = f"_block({self.converted(node.type.dim, SIZE)}, {node.name!r})"
        elif isinstance(node.type, c_ast.ArrayDecl):
            values = ", ".join(self.converted(e, kind) for e in node.init.exprs)
            value = f"_Pointer([{values}], {node.name!r}, {const})"
        else:
            value = self.converted(node.init, kind + "*" * pointer) if node.init is not None else "_UNSET"
        self.begun = ""
        return self._held(node.name, name, value) if node.name in self.boxed else f"{name} = {value}"

    def _held(self, name: str, python: str, value: str = "") -> str:
        """A variable whose address is taken."""
        return f"{python} = _Pointer([{value or python}], {name!r})"

    def _assignment(self, node: Any) -> str:
        text, kind = self.expression(node.rvalue)
        if isinstance(node.lvalue, c_ast.ID) and node.lvalue.name in self.added and node.op in ("+=", "-="):
            sign = "-" * (node.op == "-=")
            return f"{self.added[node.lvalue.name]}.append({sign}{self.converted_text(text, kind, DOUBLE)})"
        if node.op != "=":
            text, kind = self.operator(node.op[:-1], *self.expression(node.lvalue), text, kind)
        return self._store(node.lvalue, text, kind)

    def _store(self, target: Any, text: str, kind: str) -> str:
        if isinstance(target, c_ast.ID) and target.name not in self.boxed:
            name, own = self._find(target)
            return f"{name} = {self.converted_text(text, kind, own)}"
        base, position, own = self._place(target)
        return f"{base}.set({position}, {self.converted_text(text, kind, own)})"

    def _step(self, node: Any) -> str:
        text, kind = self.expression(node.expr)
        one = f"{text} {node.op[-1]} 1"
        return self._store(node.expr, f"({one}) % _WORD" if kind == SIZE else one, kind)

    def _for(self, node: Any, depth: int) -> list[str]:
        """A loop whatever it counts."""
        for counter in node.init.decls if isinstance(node.init, c_ast.DeclList) else ():
            self._refuse_narrow(counter)
        pad = "    " * depth
        lines = self.statement(node.init, depth) if node.init is not None else []
        condition = self.condition(node.cond) if node.cond is not None else "True"
        after = self.statement(node.next, depth + 1) if node.next is not None else []
        return [*lines, f"{pad}while _tick() and {condition}:", *self.block(node.stmt, depth + 1), *after]

    def _counted(self, node: Any, depth: int) -> list[str]:
        """`for (T i = a; i < b; ++i)` where neither i nor b changes in the body: a range. Of others, nothing."""
        match node:
            case c_ast.For(
                init=c_ast.DeclList(decls=[c_ast.Decl() as first]),
                cond=c_ast.BinaryOp(op="<", left=c_ast.ID(name=tested), right=bound),
                next=c_ast.UnaryOp(op="++" | "p++", expr=c_ast.ID(name=stepped)),
            ) if first.name == tested == stepped:
                used = {n.name for n in walk(bound) if isinstance(n, c_ast.ID)}
                whole = all(isinstance(n, (c_ast.ID, c_ast.BinaryOp, c_ast.Constant)) for n in walk(bound))
                if not whole or tested in used or (used | {tested}) & (_assigned(node.stmt) | self.boxed):
                    return []
                if not isinstance(bound, c_ast.Constant):
                    self._refuse_narrow(first)
                pad, start, end = "    " * depth, self.converted(first.init, INT), self.converted(bound, INT)
                index = self._declare(tested, element_type(first.type)[0])
                body = self.block(node.stmt, depth + 1)
                return [f"{pad}for {index} in range({start}, {end}):", f"{pad}    _tick()", *body]
        return []

    def _refuse_narrow(self, counter: Any) -> None:
        sized = any(p.type == SIZE or p.type.endswith("*") for p in self.unit.functions[self.node.decl.name])
        if sized and is_narrow(counter.type):  # a function of numbers alone counts terms of a series
            raise Fault(f"line {counter.coord.line}: {counter.name} counts in a type that may be too small for a size")


def _in_any_order(pragma: Any, loop: Any) -> dict[str, str]:
    """The variables that the turns of a loop add to. Refuses `omp simd` before what is no loop, or where the turns do
    more to a variable from outside than to add to it, to multiply it, or to keep the largest, as the pragma says."""
    place = f"line {pragma.coord.line}: #pragma {pragma.string}"
    clauses = _REDUCTION.findall(pragma.string)
    if pragma.string.split() != ["omp", "simd", *" ".join(f"reduction({op}:{names})" for op, names in clauses).split()]:
        raise Fault(f"{place}: the check does not know it")
    if not isinstance(loop, c_ast.For):
        raise Fault(f"{place} stands before no loop")
    told = {name.strip(): op for op, names in clauses for name in names.split(",")}
    inside = [*walk(loop.stmt)]
    own = {n.name for n in inside if isinstance(n, c_ast.Decl)}
    stores = [n for n in inside if isinstance(n, c_ast.Assignment)]
    for n in stores:
        name, way = getattr(n.lvalue, "name", None), _kept(n) or n.op.replace("-", "+")
        if isinstance(n.lvalue, c_ast.ID) and name not in own and f"{told.get(name)}=" != way:
            raise Fault(f"{place}: {name} {n.op} is not what it says")
    reads = Counter(n.name for n in inside if isinstance(n, c_ast.ID))
    for n in stores:
        if isinstance(n.lvalue, c_ast.ID):
            reads[n.lvalue.name] -= 3 if _kept(n) else 1
    for name in told:
        if reads[name] > 0:
            raise Fault(f"{place}: {name} is read in a turn")
    if any(isinstance(n, (c_ast.Return, c_ast.Break, c_ast.Goto)) for n in inside):
        raise Fault(f"{place}: a turn leaves the loop")
    return {name: "" for name, op in told.items() if op == "+"}


def _kept(node: Any) -> str:
    """`max=` of `a = b > a ? b : a`, `min=` of `a = b < a ? b : a`; nothing of other assignments."""
    match node:
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=name),
            rvalue=c_ast.TernaryOp(
                cond=c_ast.BinaryOp(op=">" | "<" as better, left=value, right=c_ast.ID(name=compared)),
                iftrue=taken,
                iffalse=c_ast.ID(name=other),
            ),
        ) if name == compared == other and _text(value) == _text(taken):
            return "max=" if better == ">" else "min="
    return ""


def _text(node: Any) -> str:
    text: str = c_generator.CGenerator().visit(node)
    return text


def _assigned(node: Any) -> set[str]:
    """The variables that are assigned or stepped below `node`."""
    steps = ("++", "p++", "--", "p--")
    stored = [n.lvalue for n in walk(node) if isinstance(n, c_ast.Assignment)]
    stored += [n.expr for n in walk(node) if isinstance(n, c_ast.UnaryOp) and n.op in steps]
    return {n.name for n in stored if isinstance(n, c_ast.ID)}
