"""Operators that become functions of the printed file: those that its language lacks, and that it uses several times.

    reset = _sigmoid(x @ weight[0].T + bias[0])
    update = _sigmoid(x @ weight[1].T + bias[1])

One that is used once is written in other operators where it stands (lower.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from ..expr import Apply, Const, Expr, Operator, Ref, apply, operators, postorder, ref, substitute, transform, with_args
from ..ir import Equation, range_of
from ..later import sympy
from ..ops import OPS, ROWS, Helper, in_others, is_call, lacks
from ..ops.row import everywhere
from ..records import replace

ARGUMENTS = ("x", "y", "z")


def with_functions(equations: Sequence[Equation], language: str) -> list[Equation]:
    """The equations with a call of a function for each operator that `language` lacks, that is long in others, and that
    has several operands."""
    operands: dict[str, set[object]] = {}
    for e in equations:
        for node in postorder(e.body) if any(lacks(op, language) for op in operators(e.body)) else ():
            if isinstance(node, Apply) and _is_called(node, language):
                operands.setdefault(node.op, set()).add((range_of(node, dict(e.box)), e.when))
    often = {op for op, some in operands.items() if len(some) > 1}

    def rewrite(node: Expr) -> Expr:
        if not (isinstance(node, Apply) and node.op in often and _is_called(node, language)):
            return node
        function = as_function(node.op, language)
        return node if function is None else apply(function, *node.args)

    return [replace(e, body=transform(e.body, rewrite)) for e in equations] if often else list(equations)


def functions(words: Collection[str], language: str) -> Mapping[str, Operator]:
    """Those of `words` that are such functions, with what each stands for."""
    rows = {everywhere(row.name)[language]: row for row in ROWS if row.expand is not None}
    made = {word: as_function(rows[word].name, language) for word in rows.keys() & words}
    return {word: op for word, op in made.items() if op is not None}


def as_function(op: str, language: str) -> Operator | None:
    """The operator `op` as a function of the file; None where it is short in others: reads nothing twice, or calls no
    function."""
    body = _long_body(op, language)
    return None if body is None else _function(op, body)


@lru_cache(maxsize=1024)
def _long_body(op: str, language: str) -> Expr | None:
    """What the operator is in others, of ARGUMENTS, where that is long."""
    row = OPS[op]
    if isinstance(op, Operator) or row.arity > len(ARGUMENTS):
        return None
    node = apply(op, *map(ref, ARGUMENTS[: row.arity]))
    body = written(node, language)
    reads = [a for n in postorder(body) for a in n.args if not isinstance(a, Const)]
    calls = any(isinstance(n, Apply) and OPS[n.op].kind == "function" and not OPS[n.op].cheap for n in postorder(body))
    return body if body is not node and len(reads) > len(set(reads)) and calls else None


@lru_cache(maxsize=1024)
def _function(op: str, body: Expr) -> Operator:
    row = OPS[op]
    arguments = ARGUMENTS[: row.arity]
    lines, result = named_calls(body)
    twin = row.twin(*(sympy.Symbol(a, real=True) for a in arguments))
    helper = Helper(
        f"{op}({', '.join(arguments)}) = {twin}, in the form that neither overflows nor cancels.",
        (*((name.name, value) for name, value in lines.items()), ("result", result)),
        arguments,
    )
    cost = sum(OPS[n.op].cost for n in postorder(body) if isinstance(n, Apply))
    function = replace(row, spell=everywhere(op), expand=None, helper=helper, cost=cost)
    return Operator(f"{op} as a function", function, op)


def written(root: Expr, language: str) -> Expr:
    """`root` in operators that the language has."""

    def in_words(node: Expr) -> Expr:
        found = in_others(node, language)
        return node if found is None else transform(found, in_words)

    return transform(root, in_words)


def named_calls(body: Expr) -> tuple[dict[Ref, Expr], Expr]:
    """What `body` calls a function of more than once, by name, each after those it is computed from; and the rest."""
    found: dict[Ref, Expr] = {}
    while True:
        places: dict[Expr, int] = {}
        stack = [body, *found.values()]
        while stack:
            node = stack.pop()
            if isinstance(node, Apply):
                places[node] = places.get(node, 0) + 1
                stack.extend(node.args)
        mine = [n for n in postorder(body, *found.values()) if places.get(n, 0) > 1]
        call = next((n for n in reversed(mine) if isinstance(n, Apply) and is_call(n)), None)
        if call is None:
            return found, body
        number = sum(isinstance(v, Apply) and v.op == call.op for v in found.values())
        name = ref(f"{call.word}_x" + (f"_{number + 1}" if number else ""))
        found = {name: call, **{n: substitute(v, {call: name}) for n, v in found.items()}}
        body = substitute(body, {call: name})


def _is_called(node: Apply, language: str) -> bool:
    """Whether a function may stand for `node`; not where its operands have a form of their own, sigmoid(n*log(b))."""
    own = in_others(node, language)
    if own is None or any(isinstance(a, Const) for a in node.args) or _long_body(node.op, language) is None:
        return False
    general = in_others(with_args(node, [ref(a) for a in ARGUMENTS[: len(node.args)]]), language)
    given: dict[Expr, Expr] = {ref(a): value for a, value in zip(ARGUMENTS, node.args, strict=False)}
    return general is not None and substitute(general, given).key is own.key
