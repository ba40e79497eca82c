"""A printed C file, executed on Numbers: its text, not what a compiler makes of it.

Arguments have places: what each parameter is to who calls comes with the text, as `symgrad.source.tree` says it; the
text must have these parameters and no others.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from types import FunctionType
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..expr import refs
from ..ir import Function, bind
from ..ops.primitive import Primitive
from ..records import dataclass
from ..source.tree import Function as Head
from ..source.tree import Parameter as Argument
from . import c_functions, c_memory
from .approximations import APPROXIMATED, approved
from .c_memory import WORD, Pointer, block, quotient, remainder, unsigned
from .c_source import prepared
from .c_translate import translate
from .c_types import DOUBLE, Parameter
from .primitives import functions
from .rounding import DOUBLE as DOUBLE_FORMAT
from .rounding import FUNCTIONS, Number, lift, literal, pi, rounding, total
from .rounding import SINGLE as SINGLE_FORMAT
from .rounding.array import UNSET, exact, filled
from .series import Choice
from .sizes import count
from .text import Fault, Kinds, Steps, Values, differentiable, full_shape, has_backward

_TESTS = {"isnan": mp.isnan, "isinf": mp.isinf, "isfinite": mp.isfinite, "signbit": lambda v: v < 0}


@dataclass(frozen=True, slots=True)
class Saved:
    """What forward leaves for backward: the call's inputs, and the memory it wrote, one per point of a component."""

    inputs: Values
    options: Mapping[str, Any]
    memory: tuple[dict[str, Pointer], ...]


class CText:
    """A printed C file with its header; see `Text`.

    heads        its functions, without bodies
    accumulates  backward adds to what is in the gradients' memory
    users        functions of the user's that it may call
    """

    def __init__(
        self, function: Function, files: Mapping[str, str], heads: Sequence[Head], users: Sequence[Primitive] = ()
    ) -> None:
        self.function, self.users = function, users
        self.accumulates = False
        self.unit = translate(prepared(files), {f.name: f.stands_for for f in heads if f.role == "local"})
        self.heads = {f.role: f for f in heads if f.role != "local"}
        self.steps = Steps(function)
        self.module = self._execute()
        self.component = "forward_batch" in self.heads
        self.variants = ("", "_batch") if self.component else ("",)
        own = ("forward", "backward") if has_backward(function) else ("forward",)
        for variant, which in itertools.product(self.variants, own):
            head = self.heads[f"{which}{variant}"]
            if f"c_{head.name}" not in self.module:
                raise Fault(f"the file has no function {head.name}")
            taken = tuple((p.name, p.pointer) for p in self.unit.functions[head.name])
            if taken != tuple((p.name, p.type.pointer) for p in head.parameters):
                raise Fault(f"{head.name} takes {', '.join(name for name, _ in taken)}, and is called otherwise")

    def parameters(self, which: str) -> list[tuple[Parameter, Argument]]:
        """The parameters of `forward`, `backward_batch` ..., as the text has them and as what they are."""
        head = self.heads[which]
        return [*zip(self.unit.functions[head.name], head.parameters, strict=True)]

    def _execute(self) -> dict[str, Any]:
        module: dict[str, Any] = {
            "__builtins__": {"range": range, "int": int, "bool": bool},
            "_k": self.unit.constants,
            "_f": FUNCTIONS,
            "_nan": Number(mpmath.mpf("nan")),
            "_inf": Number(mpmath.mpf("inf")),
            **{f"_test_{n}": lambda x, t=t: int(bool(t(lift(x).value))) for n, t in _TESTS.items()},
            "_lift": lift,
            "_literal": literal,
            "_pi": pi,
            "_total": total,
            "_whole": int,
            "_unsigned": unsigned,
            "_quotient": quotient,
            "_remainder": remainder,
            "_first": lambda value, _: value,
            "_block": block,
            "_begin": c_memory.begin,
            "_turn": c_memory.turn,
            "_end": c_memory.end,
            "_Pointer": Pointer,
            "_UNSET": UNSET,
            "_WORD": WORD,
            "_tick": self.steps.tick,
            **{
                f"c_{name}": c_functions.function_of(word)
                for name, word in self.unit.local.items()
                if c_functions.known(word)
            },
        }
        for op, called in functions(self.users).items():
            module |= {f"c_{op.about.places['c']}{end}": called for end in ("", "f")}
        choice = Choice()
        module["_either"] = choice
        exec(compile("\n".join(self.unit.lines), f"{self.function.name}.c", "exec"), module)
        for name, function in list(module.items()):
            if isinstance(function, FunctionType) and "_either" in function.__code__.co_names:
                module[name] = choice.parts(name.removeprefix("c_"), function)
        for name, word in self.unit.local.items():
            if word not in APPROXIMATED:
                continue
            single = name in self.unit.floats
            chosen = SINGLE_FORMAT if single else DOUBLE_FORMAT
            module[f"c_{name}"] = approved(word, module[f"c_{name}"], chosen, self._whole(f"c_{name}"))
        return module

    def _whole(self, name: str) -> tuple[str, ...]:
        """The text of a function and of all that it reads, with their numbers, and the words they stand for."""
        texts = {}
        for part in re.split(r"\n(?=\w)", "\n".join(self.unit.lines)):
            found = re.match(r"(?:def )?(\w+)", part)
            assert found is not None
            texts[found.group(1)] = re.sub(r"_k\[(\d+)\]", lambda k: repr(self.unit.constants[int(k.group(1))]), part)
        whole: dict[str, str] = {}
        names = [name]
        while names:
            one = names.pop()
            if one not in whole:
                whole[one] = f"{self.unit.local.get(one.removeprefix('c_'))}: {texts.get(one)}"
                names += re.findall(r"\b[cg]_\w+", whole[one])
        return tuple(whole.values())

    # calling

    def sizes(self, inputs: Values, options: Mapping[str, Any]) -> dict[str, Any]:
        """The sizes and options as they are passed: of a pack, how many points it has."""
        numbers: dict[str, Any] = {name: count(size) for name, size in bind(self.function, inputs).items()}
        return numbers | {k: v if isinstance(v, int) else literal(v) for k, v in options.items()}

    def room(self, work: str, which: str, variant: str, sizes: Mapping[str, Any]) -> int:
        """How many elements a workspace must have, as its macro says."""
        macros = {m.work: m for end in ("", variant) for m in self.heads[f"{which}{end}"].macros}
        if work not in macros or macros[work].name not in self.unit.functions:
            raise Fault(f"{self.function.name}_{which} takes {work}, and nothing tells how much of it")
        macro = macros[work]
        found: int = self.module[f"c_{macro.name}"](*(sizes[p.tensor] for p in macro.parameters))
        return found

    def _run(
        self,
        which: str,
        variant: str,
        part: Values,
        options: Mapping[str, Any],
        other: Callable[[Parameter, Argument], Any],
        refuses: bool = False,
    ) -> Any:
        """Run a function; what it returns, which is not 0 only where it `refuses`.

        other  gives the arguments that the inputs and options do not tell
        """
        sizes, arguments = self.sizes(part, options), []
        for own, p in self.parameters(f"{which}{variant}"):
            match p.role:
                case "size" | "option":
                    arguments.append(sizes[p.tensor])
                case "presence":
                    arguments.append(int(part.get(p.tensor) is not None))
                case "input":
                    arguments.append(_passed(own, part.get(p.tensor)))
                case "work":
                    arguments.append(block(self.room(p.tensor, which, variant, sizes), p.tensor))
                case _:
                    arguments.append(other(own, p))
        name = self.heads[f"{which}{variant}"].name
        self.steps.count = 0
        try:
            status = self.module[f"c_{name}"](*arguments)
        except Fault as fault:
            raise type(fault)(f"{name} {fault}") from fault
        except KeyError as error:
            raise Fault(f"{name} calls {error}, which the check does not know") from error
        except Exception as error:
            raise Fault(f"{name}: {type(error).__name__}: {error}") from error
        finally:
            c_memory.end()
        if status and not refuses:
            raise Fault(f"{name} returns {status}")
        return status

    def _forwarded(
        self, variant: str, part: Values, options: Mapping[str, Any], absent: Sequence[str] = (), refuses: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """What forward returns, and the memory of outputs and of what is saved; NULL for those in `absent`."""
        memory = {n: block(prod(full_shape(self.function, n, part, options)), n) for n in self.function.outputs}

        def result(own: Parameter, p: Argument) -> Any:
            return None if p.tensor in absent else memory.setdefault(p.tensor, Pointer([], p.name, open_=True))

        return self._run("forward", variant, part, options, result, refuses), memory

    def _backwarded(
        self,
        variant: str,
        part: Values,
        saved: Saved,
        index: int,
        seeds: Values,
        wanted: Sequence[str],
        before: Any = UNSET,
        refuses: bool = False,
    ) -> tuple[Any, dict[str, Pointer]]:
        """What backward returns, and the memory of the gradients, with `before` in each element."""
        grads = {n: block(np.size(part[n]), f"grad_{n}", before) for n in wanted}  # type: ignore[arg-type]  # given

        def other(own: Parameter, p: Argument) -> Any:
            if p.role == "cotangent":
                return _passed(own, seeds[p.tensor])
            if p.role == "gradient":
                return grads.get(p.tensor)
            if p.tensor not in saved.memory[index]:
                raise Fault(f"{self.function.name}_backward{variant} reads {p.name}, which forward does not save")
            found = saved.memory[index][p.tensor]
            return found.reading() if p.type.pointer else found.get(0)

        return self._run("backward", variant, part, saved.options, other, refuses), grads

    def forward(self, variant: str, inputs: Values, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        memories = [self._forwarded(variant, part, options)[1] for part in self._parts(variant, inputs)]
        return self._outputs(memories, inputs, options), Saved(inputs, options, tuple(memories))

    def _outputs(
        self,
        memories: Sequence[Mapping[str, Pointer]],
        inputs: Values,
        options: Mapping[str, Any],
        absent: Sequence[str] = (),
    ) -> dict[str, Any]:
        names = (n for n in self.function.outputs if n not in absent)
        shapes = {n: full_shape(self.function, n, inputs, options) for n in names}
        return {n: filled([cell for m in memories for cell in m[n].cells], shape) for n, shape in shapes.items()}

    def backward(self, variant: str, saved: Any, seeds: Values, needs: tuple[bool, ...]) -> dict[str, Any]:
        assert isinstance(saved, Saved)
        wanted = [n for n, need in zip(self.function.inputs, needs, strict=True) if need]
        wanted = [n for n in wanted if n in differentiable(self.function) and saved.inputs.get(n) is not None]
        collected: dict[str, list[Any]] = {n: [] for n in wanted}
        parts = self._parts(variant, saved.inputs)
        for index, part in enumerate(parts):
            own = seeds
            if self.component and not variant:
                own = {n: None if s is None else s.reshape(len(parts), -1)[index] for n, s in seeds.items()}
            before = lift(0) if self.accumulates else UNSET
            _, grads = self._backwarded(variant, part, saved, index, own, wanted, before)
            for name in wanted:
                collected[name] += grads[name].cells
            if not self.accumulates:
                continue
            with rounding(DOUBLE_FORMAT, mp.prec):  # what was no number before is none after, if it is added to
                _, grads = self._backwarded(variant, part, saved, index, own, wanted, Number(mpmath.mpf("nan")))
            for name, pointer in grads.items():
                for at, cell in enumerate(pointer.cells):
                    if not mp.isnan(lift(cell).value):
                        raise Fault(f"{self.function.name}_backward{variant} overwrites grad_{name}[{at}]")
        found: dict[str, Any] = dict.fromkeys(self.function.inputs)
        return found | {n: filled(collected[n], np.shape(saved.inputs[n])) for n in wanted}  # type: ignore[arg-type]  # given

    # what the header promises

    def partial(self, variant: str, inputs: Values, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Each pointer that may be NULL so by itself, then all for backward, and all but these; of a function that has
        no backward all but one, and all. What is still written must be the same."""
        parameters = self.heads[f"forward{variant}"].parameters
        saved = [p.tensor for p in parameters if p.role == "saved"]
        outputs = [p.tensor for p in parameters if p.role == "output" and p.nullable]
        some = [*((n,) for n in (*saved, *outputs)), tuple(saved), tuple(outputs)]
        if not has_backward(self.function):
            some += [tuple(m for m in outputs if m != n) for n in outputs]
        parts = self._parts(variant, inputs) if any(some) else []
        wholes = [self._forwarded(variant, part, options)[1] for part in parts] if saved else []
        for absent in dict.fromkeys(filter(None, some)):
            said = f"where {' and '.join(absent)} is NULL"
            try:
                memories = [self._forwarded(variant, part, options, absent)[1] for part in parts]
            except Fault as fault:
                raise Fault(f"{fault}, {said}") from fault
            for whole, memory in zip(wholes, memories, strict=bool(saved)):
                for n in memory.keys() - set(self.function.outputs):
                    one, other = memory[n].cells, whole[n].cells
                    if len(one) != len(other) or not all(map(_same, one, other)):
                        raise Fault(f"{self.function.name}_forward{variant} saves another {n} {said}")
            yield self._outputs(memories, inputs, options, absent)

    def refusal(
        self, variant: str, inputs: Values, options: Mapping[str, Any], saved: Any, seeds: Values, kinds: Kinds
    ) -> str | None:
        """`kinds` are not asked for: C returns a number. Nothing may be written."""
        parts, name = self._parts(variant, inputs), self.heads[f"forward{variant}"].name
        said = [_refused(name, *self._forwarded(variant, part, options, (), True)) for part in parts]
        if all(said):  # of points that are called one by one, one must be refused
            return said[0]
        bad = said.index(None)
        if not has_backward(self.function):
            return None
        taken = {p.tensor for _, p in self.parameters(f"backward{variant}") if p.role == "input"}
        changed = [n for n in inputs if saved is not None and inputs[n] is not saved.inputs[n]]
        if not taken.intersection(changed):
            return None
        wanted = [n for n in differentiable(self.function) if inputs.get(n) is not None]
        if self.component and not variant:
            seeds = {n: None if s is None else s.reshape(len(parts), -1)[bad] for n, s in seeds.items()}
        asked = self._backwarded(variant, parts[bad], saved, bad, seeds, wanted, refuses=True)
        return _refused(self.heads[f"backward{variant}"].name, *asked)

    def _parts(self, variant: str, inputs: Values) -> list[Values]:
        """The points of a component function, each with a pack of no axes; the whole call otherwise."""
        if not self.component or variant:
            return [inputs]
        (count,) = {prod(s) for s in bind(self.function, inputs).values() if isinstance(s, tuple)}
        split: dict[str, Any] = {}
        for name, array in inputs.items():
            shape = self.function.table[name].shape
            if array is not None and not any(r.name in self.function.packs for r in refs(*shape)):
                split[name] = [array] * count  # all points have it
            elif array is not None:
                split[name] = array.reshape((count, *array.shape[array.ndim - len(shape) + 1 :]))
        return [{n: split[n][k] if n in split else None for n in inputs} for k in range(count)]


def _refused(name: str, status: Any, written: Mapping[str, Pointer]) -> str | None:
    if not status:
        return f"{name} returns {'nothing' if status is None else status}, as if all were well"
    for place, pointer in written.items():
        if any(cell is not UNSET for cell in pointer.cells):
            return f"{name} returns {status}, and has written to {place}"
    return None


def _same(a: Any, b: Any) -> bool:
    """Whether two cells are the same, up to a few roundings of the precision."""
    if a is UNSET or b is UNSET or not isinstance(a, Number):
        return a is b or bool(a == b)
    if mp.isnan(a.value) or mp.isnan(b.value):
        return bool(mp.isnan(a.value) and mp.isnan(b.value))
    return bool(a.value == b.value) or bool(abs(a.value - b.value) <= mp.ldexp(abs(b.value), 20 - mp.prec))


def _passed(parameter: Parameter, value: Any) -> Any:
    """An input as C receives it: a number, or memory that may only be read."""
    if value is None:
        return None if parameter.pointer else lift(0)
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        cells: list[Any] = [int(v) for v in array.ravel().tolist()]
    else:
        cells = exact(array).ravel().tolist()
    if not parameter.pointer:
        return cells[0] if parameter.kind != DOUBLE else lift(cells[0])
    if not parameter.const:
        raise Fault(f"takes {parameter.name}, which it may only read, without const")
    return Pointer(cells, parameter.name, True)
