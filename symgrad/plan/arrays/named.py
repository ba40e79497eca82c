"""Names for parts of expressions: borders, windows, blocks, masks. One line says what they are, and others read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...ir import Tensor
from .affine import Sizes
from .below import below
from .commands import Assign, For, Guard, Statement, named_in, renamed, tops
from .guards import Line, arrays_in, targets_of
from .tree import Array, Concatenate, Copy, Elementwise, Pad, Permute, Reshape, Scan, Take, Var, Windows
from .values import COMPARISONS

WORDS = {  # followed by the name of the first operand
    Windows: "windows",
    Pad: "padded",
    Reshape: "blocks",
    Concatenate: "terms",
    Elementwise: "mask",
}


def named(
    lines: Sequence[Line], sizes: Sizes, tensors: dict[str, Tensor], changes: Callable[[Array], bool]
) -> list[Line]:
    """The lines with names for borders, windows, blocks and masks; `changes` tells what is another in each turn."""
    names: dict[Array, str] = {}
    result: list[Line] = []
    masks = _masks(lines)
    known: dict[str, tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]] = {}

    def put(line: Line) -> None:
        s = line.statement
        if isinstance(s, Guard) and s.when:  # what it reads may be there in one branch alone
            (name, present), *_ = s.when
            branches: list[tuple[Statement, ...]] = []
            for body, when in ((s.body, s.when), (s.otherwise, ((name, not present),))):
                start = len(result)
                for inner in body:
                    put(Line(inner, line.serves, (*line.when, *when)))
                branches.append(tuple(x.statement for x in result[start:]))
                del result[start:]
            result.append(replace(line, statement=replace(s, body=branches[0], otherwise=branches[1])))
            return
        own = {*targets_of(s)} if isinstance(s, For) else set()
        parts = arrays_in(s)
        wanted = [
            a
            for a in (*_nameable(s), *(m for m in masks.get(_guard(line), ()) if m in parts))
            if not changes(a) and not any(isinstance(b, Var) and b.name in own for b in below(a))
        ]
        for a in wanted:
            if a not in names:
                word = next(word for kind, word in WORDS.items() if isinstance(a, kind))
                first = next(b.name for b in below(a) if isinstance(b, Var))
                names[a] = sizes.name(f"{word}_{first}")
                tensors[names[a]] = tensors[first]
            if known.get(names[a]) != (line.serves, line.when):
                value: Array = a
                for other in reversed(wanted):
                    if other != a:
                        value = named_in(value, other, names.get(other, ""))
                for part in _one_by_one(value, names[a]):
                    result.append(Line(Assign(names[a], part), line.serves, line.when))
                known[names[a]] = (line.serves, line.when)
        for block in reversed(wanted):
            s = renamed(s, block, names[block])
        result.append(replace(line, statement=s))

    for line in lines:
        put(line)
    return result


def _guard(line: Line) -> tuple[object, object]:
    return line.serves, line.when


def _masks(lines: Sequence[Line]) -> dict[tuple[object, object], dict[Array, None]]:
    """By guard, the comparisons of windows or blocks that stand in several places, of what does not change."""
    written = [name for line in lines for name in targets_of(line.statement)]
    found: dict[tuple[object, object], list[Array]] = {}
    for line in lines:
        for a in arrays_in(line.statement):
            parts = below(a) if isinstance(a, Elementwise) and a.op in COMPARISONS else []
            fixed = all(written.count(b.name) < 2 for b in parts if isinstance(b, Var))
            if fixed and any(isinstance(b, (Reshape, Windows)) for b in parts):
                found.setdefault(_guard(line), []).append(a)
    return {guard: dict.fromkeys(a for a in some if some.count(a) > 1) for guard, some in found.items()}


def _nameable(s: Statement) -> list[Array]:
    """Borders, windows in several axes or of what has a border, axes split in blocks, and what is put together to be
    combined from its end; the inner ones first."""
    found: dict[Array, None] = {}
    for top in tops(s):
        every = below(top)
        outer = [a for a in every if isinstance(a, Windows)]
        inside = [a.base for a in outer]
        backwards = [a.base for a in every if isinstance(a, Scan) and a.reverse and isinstance(a.base, Concatenate)]
        for a in reversed(every):
            several = isinstance(a, Windows) and a not in inside and isinstance(a.base, (Windows, Pad))
            blocks = isinstance(a, Reshape) and a.split and isinstance(a.base, Take)
            alone = a is top or (isinstance(top, (Permute, Copy)) and a is top.base)
            if isinstance(a, Pad) or several or (blocks and not alone) or a in backwards:
                found[a] = None
    return list(found)


def _one_by_one(value: Array, name: str) -> list[Array]:
    """Windows in one axis after the other, the later ones windows of what has the name already."""
    if isinstance(value, Windows) and isinstance(value.base, Windows):
        return [*_one_by_one(value.base, name), replace(value, base=Var(name))]
    return [value]
