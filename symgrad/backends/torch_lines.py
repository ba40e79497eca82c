"""Statements on tensors of torch.

Autograd differentiates backward again, so nothing is written to that it has read; and `torch.vmap` lets only a batched
tensor take batched values, so what is written to begins as batched as what comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..expr import Expr
from ..plan.arrays.below import ARRAYS, below
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Statement, Update, flat, tops
from ..plan.arrays.guards import names_read
from ..plan.arrays.tree import ALL, BACK, Copy, Full, Item, Num, SizeOf, Slice, Take, Var
from .python_lines import Asked, Lines, is_negative
from .python_text import WIDTH, assigned, called, sizes
from .torch_text import TorchPrinter, perhaps_whole, slice_of


class TorchLines(Lines):
    """The lines of one procedure.

    reads     the tensors it is given, floating point first
    optional  those of them that may be None
    results   what it returns
    """

    text: TorchPrinter

    def __init__(
        self,
        text: TorchPrinter,
        asked: Asked,
        statements: Sequence[Statement],
        reads: Sequence[str],
        optional: Sequence[str],
        results: Sequence[str],
    ) -> None:
        super().__init__(text, asked)
        self.reads = reads
        self.optional = optional
        self.written = {s.name for top in statements for s in flat(top) if isinstance(s, (Update, AddAt))}
        self.sources = _sources(statements, reads)
        self.seen: set[str] = set()  # what has been read
        self.batched: set[str] = set()
        self.steps = [x for s in statements for x in _steps(s)]
        self.results = results

    def whole(self, statements: Sequence[Statement], indent: int) -> list[str]:
        """The lines of the procedure."""
        lines = self(statements, indent)
        if not self.batched:
            return lines
        sure = [] if self.batched - {*self.optional} else [self.text.like]
        given = ", ".join([*sure, *(n for n in self.reads if n in self.batched)])
        return [*assigned("zero", f"_zero({given})", indent), *lines]

    def statement(self, s: Statement, indent: int) -> list[str]:
        if isinstance(s, Assign) and s.name in self.written:
            lines = self._begun(s, indent)
        else:
            lines = super().statement(s, indent)
        if not isinstance(s, (Guard, For)):
            self.seen.update(n for n in names_read(s) if n != getattr(s, "name", None))
        return lines

    def _begun(self, s: Assign, indent: int) -> list[str]:
        """The first value of what will be written to: fresh, and batched where what comes is."""
        value = s.value.base if isinstance(s.value, Copy) else s.value
        own = {r for a in below(value) if isinstance(a, Var) for r in self.sources.get(a.name, ())}
        others = [r for r in self.reads if r in self.sources[s.name] and r not in own]
        if not others:
            return assigned(s.name, self.text(s.value), indent)
        empty = isinstance(value, Full) and self.text(value.value) == "0"
        if isinstance(value, Full) and empty:
            like = others[0] if len(others) == 1 and others[0] not in self.optional else self._batched(others)
            return assigned(s.name, f"{like}.new_zeros({sizes.shape(value.shape)})", indent)
        return assigned(s.name, f"{self.text(value, 10)} + {self._batched(others)}", indent)

    def _batched(self, tensors: Sequence[str]) -> str:
        """The name of a zero that is as batched as these."""
        self.batched.update(tensors)
        return "zero"

    # writing

    def update(self, s: Update, indent: int) -> list[str]:
        if BACK in s.items:  # torch has no steps backwards: the value is turned instead
            last = s.items[s.items.index("...") + 1 :] if "..." in s.items else s.items
            turns = [BACK if i == BACK else ALL for i in last if isinstance(i, Slice)]
            items = tuple(ALL if i == BACK else i for i in s.items)
            return self.update(replace(s, items=items, value=Take(s.value, ("...", *turns))), indent)
        row = self.text.rows.get(s.name)
        if row is not None:
            place = f"{row}[{self.text.items(s.items[:1])}]"
            return self._replaced(place, s.items[1:], s, indent)
        if s.name in self.seen:
            return self._replaced(s.name, s.items, s, indent)
        if any(map(perhaps_whole, s.items)):
            return self._cut(s, indent)
        return super().update(s, indent)

    def _cut(self, s: Update, indent: int) -> list[str]:
        """`name[items] += value` where an index may be all that there is."""
        target, rest = self.text.cut(s.name, s.items)
        value, sign = self.text(s.value), "=" if s.first else "+="
        lines: list[str] = []
        if len(f"{target}[...] {sign} {value}") + indent > WIDTH:
            lines, target = assigned(f"{s.name}_part", target, indent), f"{s.name}_part"
        if not all(i in (ALL, "...") for i in rest):
            return [*lines, *assigned(f"{target}[{self.text.items(rest)}]", value, indent, sign)]
        if s.first:
            return [*lines, *assigned(f"{target}[...]", value, indent)]
        return [*lines, *called(f"{target}.add_({value})", indent)]

    def _replaced(self, name: str, items: Sequence[Item], s: Update, indent: int) -> list[str]:
        """`name[items] += value` as a new value of `name`."""
        value, sign = s.value, "+"
        if is_negative(value) and not s.first:
            sign, value = "-", value.args[0]
        if all(i in (ALL, "...") for i in items):
            text = self.text(value) if s.first else f"{name} {sign} {self.text(value, 11)}"
            return assigned(name, text, indent)
        old = "" if s.first else f"{name}[{self.text.items(items)}] {sign} "
        new = self.text(value) if s.first else self.text(value, 11)
        return assigned(name, f"_with({name}, {self._index(items)}, {old}{new})", indent)

    def add_at(self, s: AddAt, indent: int) -> list[str]:
        value = self.text(s.value)
        name = s.name
        if name in self.text.rows or name in self.seen:
            return assigned(name, f"_added({name}, {self._index(s.items)}, {value})", indent)
        if all(isinstance(i, ARRAYS) and not isinstance(i, (Num, SizeOf)) for i in s.items):
            inner = self.text.items(s.items)
            index = f"({inner},)" if len(s.items) == 1 else f"({inner})"
            return called(f"{name}.index_put_({index}, {value}, accumulate=True)", indent)
        return assigned(name, f"_added({name}, {self._index(s.items)}, {value})", indent)

    def _index(self, items: Sequence[Item]) -> str:
        """An index as a value."""
        parts = []
        for i in items:
            parts.append(slice_of(i) if isinstance(i, Slice) else self.text.items([i]))
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    # loops

    def loop(self, s: For, indent: int) -> list[str]:
        """A loop; what it writes and reads again is a list of rows meanwhile, or new in every turn."""
        read = {a.name for top in tops(s) for a in below(top) if isinstance(a, Var)}
        carried = [n for n in dict.fromkeys(x.name for x in flat(s) if isinstance(x, (Update, AddAt))) if n in read]
        mine = [n for n in carried if n not in self.text.rows and _by_rows(s, n)]
        before, self.seen = self.seen, {*self.seen, *carried}
        self.text.rows.update({n: f"{n}_rows" for n in mine})
        lines = [f"{n}_rows = list({n})" for n in mine]
        lines += super().loop(s, indent)
        for n in mine:
            del self.text.rows[n]
        if any(x is s for x in self.steps):  # and no part of another loop
            read = {*self.results, *(n for x in self.steps if x is not s for n in names_read(x))}
            mine = [n for n in mine if n in read]
        lines += [line for n in mine for line in assigned(n, f"_stacked({n}_rows, {n})", indent)]
        self.seen = before
        return lines


def _steps(s: Statement) -> list[Statement]:
    """What a procedure does, one after the other: assignments and whole loops."""
    return [x for inner in (*s.body, *s.otherwise) for x in _steps(inner)] if isinstance(s, Guard) else [s]


def _by_rows(s: For, name: str) -> bool:
    """Whether a loop touches a tensor in one row at a time."""
    writes = [x for x in flat(s) if isinstance(x, (Update, AddAt)) and x.name == name]
    if any(isinstance(x, AddAt) or not isinstance(x.items[0], Expr) for x in writes):
        return False
    every = [a for top in tops(s) for a in below(top)]
    takes = [a for a in every if isinstance(a, Take) and a.base == Var(name)]
    whole = sum(a == Var(name) for a in every)
    return whole == len(takes) and all(isinstance(a.items[0], Expr) for a in takes)


def _sources(statements: Sequence[Statement], reads: Sequence[str]) -> Mapping[str, set[str]]:
    """What each tensor is computed from, of those that are given."""
    found: dict[str, set[str]] = {name: {name} for name in reads}
    for _ in range(2):  # what a loop computes may be read in the next turn
        for top in statements:
            for s in flat(top):
                mine = {r for n in names_read(s) for r in found.get(n, ())}
                names = s.names if hasattr(s, "names") else (s.name,)
                for name in names:
                    if name is not None:
                        found[name] = found.get(name, set()) | mine
    return found


HELPERS: Mapping[str, tuple[str, ...]] = {
    "_forward_mode": (
        "def _forward_mode(*tensors):",
        '    """Whether one of the tensors is differentiated in forward mode."""',
        "    dual = torch.autograd.forward_ad.unpack_dual",
        "    return any(t is not None and dual(t).tangent is not None for t in tensors)",
    ),
    "_tangent": (
        "def _tangent(tangent, tensor):",
        '    """Return the tangent of a tensor, which is 0 where there is none."""',
        "    if tangent is None and tensor is not None:",
        "        return torch.zeros_like(tensor)",
        "    return tangent",
    ),
    "_no_autocast": (
        "def _no_autocast(tensor):",
        '    """Return a context in which products have the type of their operands."""',
        '    device = "cpu" if tensor.is_meta else tensor.device.type',
        "    return torch.autocast(device, enabled=False)",
    ),
    "_in_range": (
        "def _in_range(places, extent, name, bounds, asked=True):",
        '    """Return subscripts; refuse what is not in range(extent) where it is asked for.',
        "",
        "    Nobody waits for a device, and while torch traces there are no numbers to look at:",
        "    what is negative there becomes `extent`, which torch refuses where it is read.",
        '    """',
        '    if places.device.type == "cpu" and not torch.compiler.is_compiling():',
        "        outside = ((places < 0) | (places >= extent)) & asked",
        "        try:",
        "            refused = bool(outside.any())",
        "        except RuntimeError:  # as under torch.vmap",
        "            pass",
        "        else:",
        "            if refused:",
        '                said = f"{name} must be in {bounds}, here range({extent})"',
        "                raise IndexError(said)",
        "            return places",
        "    return torch.where((places < 0) & asked, extent, places)",
    ),
    "_cut": (
        "def _cut(x, *cuts):",
        '    """Return x cut along axes, by (axis, slice); not every vmap of torch has x[:n]."""',
        "    for axis, cut in cuts:",
        "        x = torch.ops.aten.slice(x, axis, cut.start, cut.stop, cut.step or 1)",
        "    return x",
    ),
    "_zero": (
        "def _zero(*tensors):",
        '    """Return 0; made of it, arrays take values of `tensors` under torch.vmap too."""',
        "    tensors = [t for t in tensors if t is not None]",
        "    return sum(t.new_zeros((), dtype=tensors[0].dtype) for t in tensors)",
    ),
    "_amax": (
        "def _amax(x, dim=(), keepdim=False):",
        '    """Return the maximum along `dim`, which is -inf where there is nothing."""',
        "    if x.numel() == 0:",
        "        return x.sum(dim, keepdim) - math.inf",
        "    return x.amax(dim, keepdim)",
    ),
    "_with": (
        "def _with(array, index, value):",
        '    """Return a copy of `array` in which `value` stands at `index`."""',
        "    array = array.clone()",
        "    array[index] = value",
        "    return array",
    ),
    "_stacked": (
        "def _stacked(rows, array):",
        '    """Return the rows of `array` as one tensor; without rows, `array` itself."""',
        "    return torch.stack(rows) if rows else array",
    ),
    "_added": (
        "def _added(array, index, value):",
        '    """Return `array` with `value` added at `index`, where elements may repeat."""',
        "    places = torch.arange(array.numel(), device=array.device)",
        "    places = places.reshape(array.shape)[index]",
        "    value = value.expand(places.shape).reshape(-1)",
        "    added = array.reshape(-1).index_add(0, places.reshape(-1), value)",
        "    return added.reshape(array.shape)",
    ),
    "_einsum": (
        "def _einsum(subscripts, *operands):",
        '    """Return torch.einsum as products of matrices, which every vmap of torch knows."""',
        '    names, out = subscripts.split("->")',
        '    names = names.split(",")',
        '    pairs = zip(names, operands, strict=True)',
        '    ranks = [x.ndim + 3 - len(n) for n, x in pairs if "..." in n]',
        '    pack = "ABCDEFGHIJKLMNOP"[: max(ranks, default=0)]',
        '    names = [n.replace("...", pack) for n in names]',
        '    out = out.replace("...", pack)',
        "    left, x = names[0], operands[0]",
        "    for k, (right, y) in enumerate(zip(names[1:], operands[1:], strict=True)):",
        '        later = out + "".join(names[k + 2 :])',
        "        batch = [i for i in left if i in right and i in later]",
        "        both = [i for i in left if i in right and i not in later]",
        "        rows = [i for i in left if i not in right]",
        "        columns = [i for i in right if i not in left]",
        "        size = dict(zip([*left, *right], [*x.shape, *y.shape], strict=True))",
        "        sizes = [size[i] for i in batch]",
        "        n, k, m = [math.prod([size[i] for i in s]) for s in (rows, both, columns)]",
        "        x = x.permute([left.index(i) for i in (*batch, *rows, *both)])",
        "        y = y.permute([right.index(i) for i in (*batch, *both, *columns)])",
        "        x = x.reshape(*sizes, n, k) @ y.reshape(*sizes, k, m)",
        "        left = [*batch, *rows, *columns]",
        "        x = x.reshape([size[i] for i in left])",
        "    alone = [k for k, i in enumerate(left) if i not in out]",
        "    x = x.sum(dim=alone) if alone else x",
        "    left = [i for i in left if i in out]",
        "    return x.permute([left.index(i) for i in out])",
    ),
    "_places": (
        "def _places(shape, device):",
        '    """Return the places along each axis of `shape`, in arrays that broadcast."""',
        "    ones = (1,) * len(shape)",
        "    ranges = [torch.arange(n, device=device) for n in shape]",
        "    return [r.reshape(-1, *ones[k + 1 :]) for k, r in enumerate(ranges)]",
    ),
    "_solve_triangular": (
        "def _solve_triangular(a, b, upper):",
        '    """Return x with a x = b for a triangular `a`; b is a vector or a matrix."""',
        "    if b.ndim < a.ndim:",
        "        b = b[..., None]",
        "        return torch.linalg.solve_triangular(a, b, upper=upper)[..., 0]",
        "    return torch.linalg.solve_triangular(a, b, upper=upper)",
    ),
    "_windows": (
        "def _windows(x, axis, size, step=1, dilation=1):",
        '    """Return a view of the windows of x along `axis`, each in a new last axis."""',
        "    span = dilation * (size - 1) + 1",
        "    if x.shape[axis] < span or size == 0:",
        "        shape = list(x.shape)",
        "        shape[axis] = max((x.shape[axis] - span) // step + 1, 0)",
        "        return x.new_zeros((*shape, size))",
        "    windows = x.unfold(axis, span, step)",
        "    return windows if dilation == 1 else windows[..., ::dilation]",
    ),
}
