"""Statements on arrays as lines of Python, and the lines about sizes, conditions and results around them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from ..expr import ONE, Apply, Expr, Ref, apply, refs, show
from ..ir import Function, Tensor
from ..plan import Program
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Statement, Unpack, Update
from ..plan.arrays.layout import Pattern
from ..plan.arrays.tree import Array, Elementwise
from .python_checks import raised
from .python_names import names_in
from .python_text import ArrayPrinter, assigned, if_lines, pack_name, returned, sizes

Asked = Callable[[Guard], str]


class Lines(ABC):
    """Statements as lines of Python; a language says how it writes into an array, and how it repeats.

    asked  the conditions of a Guard as text; empty where its body always runs
    """

    def __init__(self, text: ArrayPrinter, asked: Asked) -> None:
        self.text = text
        self.asked = asked

    def __call__(self, statements: Sequence[Statement], indent: int = 4) -> list[str]:
        """The lines of `statements`, which stand `indent` columns in."""
        return [line for s in statements for line in self.statement(s, indent)]

    def statement(self, s: Statement, indent: int) -> list[str]:
        match s:
            case Assign(name, value):
                return assigned(name, self.text(value), indent)
            case Unpack(_, value):
                return assigned(s.name, self.text(value), indent)
            case Update():
                return self.update(s, indent)
            case AddAt():
                return self.add_at(s, indent)
            case For():
                return self.loop(s, indent)
            case Guard(_, _, body, otherwise, condition):
                asked = sizes(condition) if condition is not None else self.asked(s)
                if not asked:
                    return self(body, indent)
                lines = [*if_lines(asked, indent), *indented(self(body, indent + 4))]
                return [*lines, "else:", *indented(self(otherwise, indent + 4))] if otherwise else lines

    def update(self, s: Update, indent: int) -> list[str]:
        """`name[items] += value`."""
        value, sign = s.value, "=" if s.first else "+="
        if is_negative(value) and not s.first:
            sign, value = "-=", value.args[0]
        return assigned(f"{s.name}[{self.text.items(s.items)}]", self.text(value), indent, sign)

    @abstractmethod
    def add_at(self, s: AddAt, indent: int) -> list[str]:
        """`name[items] += value`, where elements may repeat."""

    def loop(self, s: For, indent: int) -> list[str]:
        """`for name in range(extent)`."""
        turns = f"range({sizes(s.extent)})"
        head = f"for {s.name} in {f'reversed({turns})' if s.reverse else turns}:"
        return [head, *indented(self(s.body, indent + 4))]


def indented(lines: Sequence[str]) -> list[str]:
    """The lines, four columns in."""
    return [f"    {line}" if line else line for line in lines]


def is_negative(value: Array) -> TypeGuard[Elementwise]:
    """Whether a sum would show it with a minus."""
    return isinstance(value, Elementwise) and value.op == "neg"


def conditions(guard: Guard, gradients: Mapping[str, int], program: Program | None, word: str) -> str:
    """What a Guard asks: `needs_input_grad[0] and bias is not None`.

    gradients  the place of each gradient among those that may be asked for
    program    of backward, where presence is told by flags
    word       what tells the gradients that are needed
    """
    needs = needed([gradients[g] for g in guard.serves], len(program.derivative.primal.inputs) if program else 0, word)
    parts = [" or ".join(needs)] if needs else []
    if len(needs) > 1 and guard.when:
        parts = [f"({parts[0]})"]
    return " and ".join([*parts, *present(guard, program)])


def present(guard: Guard, program: Program | None) -> list[str]:
    """What a Guard asks of optional inputs."""
    flags = () if program is None else program.saved_presence
    return [
        f"{'' if given else 'not '}has_{name}" if name in flags else f"{name} is {'not ' if given else ''}None"
        for name, given in guard.when
    ]


def needed(places: Sequence[int], inputs: int, word: str) -> list[str]:
    """What asks for one of the gradients at these places: of many, neighbours together, `any(needs_input_grad[2:])`."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if len(places) > 2 and runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [
        f"{word}[{first}]"
        if first == last
        else f"any({word})"
        if last - first == inputs - 1
        else f"any({word}[{first or ''}:{last + 1 if last + 1 < inputs else ''}])"
        for first, *_, last in (run * 2 for run in runs)
    ]


def count_lines(counts: Sequence[tuple[str, Expr]], indent: int = 4) -> list[str]:
    """`count_i = max(h - p + 1, 0)`: how far an index runs, where nothing may fit."""
    return [line for name, extent in counts for line in assigned(name, f"max({sizes(extent)}, 0)", indent)]


def constraint_lines(primal: Function, conditions: Sequence[Expr], indent: int = 4) -> list[str]:
    """What must hold of the sizes and options, checked before anything is computed."""
    lines: list[str] = []
    for condition in conditions:
        names = dict.fromkeys(r.name for r in refs(condition))
        values = ", ".join(f"{n} = {{{pack_name(n)}}}" for n in names)
        text = f"{primal.name}: needs {show(condition)}, here {values}"
        lines += [*if_lines(_fails(condition), indent), *raised("ValueError", text, indent)]
    return lines


def _fails(condition: Expr) -> str:
    """`not s >= 1`, and `p == 0` where that is what must not be."""
    if isinstance(condition, Apply) and condition.op == "ne":
        return sizes(apply("eq", *condition.args))
    return sizes(apply("not", condition))


def with_return(lines: list[str], outputs: Sequence[str], saved: Sequence[str], kept: str) -> list[str]:
    """The lines and the return; outputs that are only returned stand in the return itself while that is short."""
    last: dict[str, str] = {}
    for line in reversed(lines):
        name, _, value = line.partition(" = ")
        if name not in outputs or name in saved or value.endswith("("):
            break
        last[name] = value
    apart = names_in("\n".join(last.values())).isdisjoint(outputs)
    if len(outputs) > 1 and len(last) == len(outputs) and apart:
        inlined = f"return ({', '.join(last[o] for o in outputs)}), {kept}"
        if len(inlined) <= 84:
            return [*lines[: len(lines) - len(last)], inlined]
    return [*lines, *returned(f"{tuple_of(outputs) if len(outputs) > 1 else outputs[0]}, {kept}", 4)]


def as_stored(tensor: Tensor, pattern: Pattern | None) -> Tensor:
    """A tensor with the shape that it is saved in: 1 where a reduced axis is kept."""
    if pattern is None:
        return tensor
    extents = iter(tensor.shape)
    return replace(tensor, shape=tuple(next(extents) if present else ONE for present in pattern))


def size_lines(names: Sequence[str], tensors: Sequence[Tensor]) -> list[str]:
    """`n, k = x.shape` for the sizes that are needed."""
    lines: list[str] = []
    left = list(names)
    for tensor in tensors:
        own = [e.name if isinstance(e, Ref) else None for e in tensor.shape]
        if len(own) > 1 and all(n in left for n in own) and len(set(own)) == len(own):
            if own[0] is not None and own[0].isidentifier():
                lines.append(f"{', '.join(str(n) for n in own)} = {tensor.name}.shape")
                left = [n for n in left if n not in own]
    for name in left:
        lines.append(f"{pack_name(name)} = {where_told(name, tensors)}")
    return lines


def where_told(name: str, tensors: Sequence[Tensor]) -> str:
    """`x.shape[1]`: where the size `name` is read from."""
    for tensor in tensors:
        for place, extent in enumerate(tensor.shape):
            if isinstance(extent, Ref) and extent.name == name:
                head = tensor.shape[0]
                packed = isinstance(head, Ref) and not head.name.isidentifier()
                if packed and place == 0:
                    rest = len(tensor.shape) - 1
                    return f"{tensor.name}.shape[:-{rest}]" if rest else f"{tensor.name}.shape"
                return f"{tensor.name}.shape[{place - len(tensor.shape) if packed else place}]"
    raise AssertionError(f"no tensor tells the size {name}")


def unpacked(names: Sequence[str], value: str = "saved", indent: int = 4) -> list[str]:
    """`x, y = saved`."""
    return assigned(f"({names[0]},)" if len(names) == 1 else ", ".join(names), value, indent)


def listed(words: Sequence[str]) -> str:
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), words[-1]])


def tuple_of(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def number_of(value: object) -> str:
    return repr(value)


def in_docstring(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"""', "'''")
