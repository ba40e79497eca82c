"""The declaration as mathematics, for people: what the draft hoisted is written back where it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...expr import ATOM, ONE, Expr, Index, Printer, Ref, indices, refs, show, substitute
from ...ir import Equation, Tensor, domain_of, show_element, show_matrix
from ...ops.matrices import MATRICES
from ...records import dataclass
from ..draft import fresh_indices

_MOST = 8  # reductions that are written within one formula
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Line:
    """`name[subscripts] = kind[over](body)`; `hoisted` if only the draft needed it to be an equation of its own."""

    name: str
    subscripts: tuple[Expr, ...]
    kind: str
    over: tuple[Index, ...]
    body: Expr
    hoisted: bool = False
    adds: bool = False


class _Formula(Printer):
    """Formula text in which a hoisted reduction is written out."""

    def __init__(self, hoisted: Mapping[str, Line], bare: bool) -> None:
        self.hoisted = hoisted
        self.bare = bare

    def leaf(self, node: Expr, args: list[str]) -> tuple[str, int]:
        """A reduction in place of its name; no subscript where all tensors have the one shape `...`."""
        if isinstance(node, Ref) and node.name in self.hoisted:
            line = self.hoisted[node.name]
            renaming: dict[Expr, Expr] = dict(zip(line.subscripts, node.subscripts, strict=True))
            shown = set(indices(*node.subscripts))
            clash = [i for i in line.over if i in shown]
            if clash:
                names = {i.name for i in indices(line.body, *node.subscripts)} | {r.name for r in refs(line.body)}
                renaming |= dict(zip(clash, fresh_indices(len(clash), names), strict=True))
            body = substitute(line.body, {k: v for k, v in renaming.items() if k is not v})
            return self.reduction(line.kind, [renaming.get(i, i) for i in line.over], body), ATOM
        if isinstance(node, Ref) and self.bare and args == ["..."]:
            return node.name, ATOM
        return super().leaf(node, args)

    def reduction(self, kind: str, over: Sequence[Expr], body: Expr) -> str:
        """`sum[i,j](body)`."""
        return f"{kind}[{','.join(show(i) for i in over)}]({self(body)})"


def formula(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[str],
    lines: Sequence[Line],
    bare: bool,
    short: bool = True,
) -> str:
    """The equations, one per line; `f(x, y) = x**2, x*y` where every tensor has the one shape `...`, if `short`. Behind
    them stands the domain."""
    domain = domain_of(inputs)
    hoisted: dict[str, Line] = {}
    counts: dict[str, int] = {}
    for line in lines:
        if line.hoisted:
            count = 1 + sum(counts[r.name] for r in refs(line.body) if r.name in counts)
            if count <= _MOST:
                hoisted[line.name], counts[line.name] = line, count
    text = _Formula(hoisted, bare)
    shown = [line for line in lines if line.name not in hoisted]
    texts = {line.name: _right(text, line) for line in shown}
    if short and bare and len(shown) == len(outputs) == len(texts):
        whole = f"{name}({', '.join(t.name for t in inputs)}) = {', '.join(texts[o] for o in outputs)}"
        whole = f"{whole} for {domain}" if domain else whole
        if len(whole) <= _LONGEST and not any(r.name in outputs for line in shown for r in refs(line.body)):
            return whole
    found = [f"{_left(line, bare)} {'+=' if line.adds else '='} {_right(text, line)}" for line in shown]
    return "\n".join([*found, f"for {domain}"] if domain else found)


def _left(line: Line, bare: bool) -> str:
    text = show_element(line.name, line.subscripts)
    return line.name if bare and text == f"{line.name}[...]" else text


def _right(text: _Formula, line: Line) -> str:
    if line.kind in MATRICES:
        box = tuple((i, ONE) for i in (*indices(*line.subscripts), *line.over))
        return show_matrix(Equation(line.name, line.subscripts, line.kind, line.body, box))
    return text.reduction(line.kind, line.over, line.body) if line.over else text(line.body)
