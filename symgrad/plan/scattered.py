"""What rows add up at places that are data, apart from all else: a kernel writes one term of each row, and its place.

    grad_a[c] = g*s[c]; grad_a[t[i]] += v[i]        added_a[t[i]] += v[i]; grad_a[c] = g*s[c] + added_a[c]
    grad_e[q[i]] += sum[c](d[i,c]*z[i,c])           terms_e[i] = sum[c](d[i,c]*z[i,c]); grad_e[q[i]] += terms_e[i]
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Index, conjunction, index, indices, ref, refs
from ..expr.names import Names, fresh_letters
from ..ir import Equation, Role, Tensor, by_target
from ..records import replace
from .kernels.stages import picks


def scattered_apart(equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    """The equations, where each that adds at places that are data has a target of its own, and a term for each row; but
    for one that adds to an element of its own row, or of a sum over these rows, which is computed with that."""
    groups = by_target(equations)
    letters = fresh_letters(names)
    result: list[Equation] = []
    for e in equations:
        group = groups[e.target]
        whole = next((x for x in group if x.plain), None)
        if not any(r.name in tensors for s in e.subscripts for r in refs(s)):
            result.append(e)
            continue
        if e.reduced:
            rows = tuple(pair for pair in e.box if pair not in e.reduced)
            own = tuple(i for i, _ in rows)
            name = names.new(f"terms_{e.target.removeprefix('grad_')}")
            tensors[name] = Tensor(name, tuple(n for _, n in rows))
            result.append(replace(e, target=name, subscripts=own, box=(*rows, *e.reduced)))
            summed = {i for i, _ in e.reduced}
            where = [c for c in e.conditions if summed.isdisjoint(indices(c))]
            e = replace(
                e, body=ref(name, *own), reduce="none", box=rows, where=conjunction(where) if where else None
            )
        beside = whole is not None and picks(whole, e, rows=whole.reduce == "sum")
        if beside or any(isinstance(s, Index) for s in e.subscripts):
            result.append(e)
            continue
        if len(group) > 1:
            name = names.new(f"added_{e.target.removeprefix('grad_')}")
            tensors[name] = replace(tensors[e.target], name=name, role=Role.LOCAL, named=False, optional=False)
            result.append(replace(e, target=name))
            shape = tensors[name].shape
            places = [index(next(letters)) for _ in shape] if whole is None else [*indices(*whole.subscripts)]
            box = tuple(zip(places, shape, strict=True))
            e = Equation(e.target, tuple(places), "none", ref(name, *places), box, None, e.when)
        result.append(e)
    return result
