"""What to write in place of a Python `if`, `and` or `while` on data, with the names of the line where it stands."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from types import CodeType

WHERE = "np.where"


def instead(code: CodeType, line: int) -> str:
    """The advice for the branch on that line of a function; "" where its text is not to be had."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return ""
    ast.increment_lineno(tree, max(first, 1) - 1)
    for statements in _blocks(tree):
        for here, statement in enumerate(statements):
            if statement.lineno <= line <= _head(statement):
                found = _rewritten(statement, statements[here + 1 :])
                if found:
                    return found
    return ""


def _blocks(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """Every list of statements, inner ones last."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                yield statements


def _head(statement: ast.stmt) -> int:
    """The last line of a statement, without the block below it."""
    body = getattr(statement, "body", None)
    below = body[0].lineno - 1 if isinstance(body, list) else statement.end_lineno or 0
    return max(statement.lineno, below)  # `if x > 0: return x` is one line


def _rewritten(statement: ast.stmt, behind: Sequence[ast.stmt]) -> str:
    if isinstance(statement, ast.If):
        return _if(statement, behind)
    if isinstance(statement, ast.While):
        return _while(statement)
    if isinstance(statement, ast.Assert):
        return "Leave the assertion out: sg.Real['> 0'] and sg.Tensor['n', '> 0'] say what an input is declared for."
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.With, ast.For)) or not _Elementwise.changes(statement):
        return ""
    return f"Write {ast.unparse(_Elementwise().visit(statement))}"


class _Elementwise(ast.NodeTransformer):
    """`and`, `or`, `not`, chained comparisons and `a if c else b` as functions of arrays."""

    @staticmethod
    def changes(node: ast.AST) -> bool:
        """Whether there are such."""
        kinds = (ast.BoolOp, ast.IfExp, ast.Not)
        return any(isinstance(n, kinds) or isinstance(n, ast.Compare) and len(n.ops) > 1 for n in ast.walk(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        op: ast.operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        first: ast.expr
        first, *rest = (self.visit(v) for v in node.values)
        for value in rest:
            first = ast.BinOp(first, op, value)
        return first

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = [node.left, *node.comparators]
        each = [ast.Compare(a, [op], [b]) for a, op, b in zip(operands, node.ops, operands[1:], strict=False)]
        return self.visit_BoolOp(ast.BoolOp(ast.And(), list(each))) if len(each) > 1 else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.UnaryOp(ast.Invert(), node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(ast.Name(WHERE), [node.test, node.body, node.orelse], [])


def _elementwise(node: ast.expr) -> str:
    return ast.unparse(_Elementwise().visit(ast.parse(ast.unparse(node), mode="eval")))


def _if(node: ast.If, behind: Sequence[ast.stmt]) -> str:
    """`Write return np.where(test, a, b)`, or the same for a variable."""
    return f"Write {_chosen(node, behind)}"


def _chosen(node: ast.If, behind: Sequence[ast.stmt]) -> str:
    test = _elementwise(node.test)
    other = node.orelse or behind[:1]
    then, otherwise = _end(node.body), _end(other)
    if then is None:
        return f"{WHERE}({test}, ..., ...), with what each branch computes"
    what, value = then
    if otherwise is not None and otherwise[0] == what:
        return f"{what}{WHERE}({test}, {value}, {otherwise[1]})"
    if what != "return " and not node.orelse:
        return f"{what}{WHERE}({test}, {value}, {what.removesuffix(' = ')})"
    return f"{what}{WHERE}({test}, {value}, ...)"


def _end(body: Sequence[ast.stmt]) -> tuple[str, str] | None:
    """What a branch of one statement returns, or assigns, and to what."""
    if len(body) != 1:
        return None
    (last,) = body
    if isinstance(last, ast.Return) and last.value is not None:
        return "return ", _elementwise(last.value)
    if isinstance(last, ast.Assign) and len(last.targets) == 1:
        return f"{ast.unparse(last.targets[0])} = ", _elementwise(last.value)
    if isinstance(last, ast.AugAssign):
        target = ast.unparse(last.target)
        whole = ast.BinOp(ast.Name(target), last.op, last.value)
        return f"{target} = ", _elementwise(whole)
    if isinstance(last, ast.If) and last.orelse:
        nested = _chosen(last, ())
        what, _, rest = nested.partition(WHERE)
        return (what, WHERE + rest) if rest and "..." not in rest else None
    return None


def _while(node: ast.While) -> str:
    test, end = _elementwise(node.test), _end(node.body)
    if end is None:
        return "Write a fixed number of turns, for _ in range(20):, in which np.where keeps what is done"
    what, value = end
    kept = what.removesuffix(" = ")
    return f"Write a fixed number of turns: for _ in range(20): {what}{WHERE}({test}, {value}, {kept})"
