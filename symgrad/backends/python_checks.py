"""The private functions of a printed Python file: what refuses inputs and gradients that do not fit.

Each is a list of lines; the messages name the function, the tensor, the size, and who told it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..expr import ZERO, Apply, Const, Expr, Ref, ref, refs, show, substitute, transform
from ..ir import Dtype, Function, Tensor, show_shape
from ..plan import Program
from ..plan.arrays.taking import as_number
from ..plan.arrays.tree import Array, Elementwise, Num, SizeOf, Var
from .python_text import WIDTH, ArrayPrinter, assigned, if_lines, parameters, returned

RANGE = "{name}.size and not (0 <= {name}.min() and {name}.max() < {extent})"


def promoted(primal: Function) -> list[str]:
    """The inputs of real numbers that get one dtype: all, if there are several."""
    reals = [n for n in primal.inputs if primal.table[n].dtype == Dtype.REAL]
    return reals if len(reals) > 1 else []


@dataclass(frozen=True)
class RangeCheck:
    """That the integers in an input are subscripts of an axis.

    name    the input
    given   what asks whether it is there; empty for one that always is
    extent  the text of how long the axis is
    asked   the condition under which its elements are read; None if all are
    said    what they must be, in words
    """

    name: str
    given: str
    extent: str
    asked: Array | None
    said: str


Refuse = Callable[[Function, RangeCheck], list[str]]


def inputs_helper(program: Program, refuse: Refuse | None, one_type: Sequence[str] = ()) -> list[str]:
    """`_inputs`, which checks types and shapes.

    refuse    the lines that refuse subscripts out of range; None if they are refused later
    one_type  inputs that get one dtype
    """
    primal = program.derivative.primal
    options = checked_options(program) if refuse is not None else []
    lines = [
        f"def _inputs({parameters('_inputs', [*primal.inputs, *options])}):",
        '    """Return the inputs as arrays; refuse what is of another type or shape."""',
    ]
    words = {Dtype.REAL: "_real", Dtype.INT: "_integer", Dtype.BOOL: "_boolean"}
    for name in primal.inputs:
        tensor = primal.table[name]
        value = f'{words[tensor.dtype]}("{name}", {name})'
        value = f"None if {name} is None else {value}" if tensor.optional else value
        lines.append(f"    {name} = {value}")
    bound: dict[str, tuple[str, str]] = {}
    for name in sorted(primal.inputs, key=lambda name: primal.table[name].optional):  # who is sure to be there tells
        checks = _shape_checks(primal, primal.table[name], bound)
        if primal.table[name].optional and checks:
            checks = [f"if {name} is not None:", *(f"    {line}" for line in checks)]
        lines += [f"    {line}" for line in checks]
    if refuse is not None:
        told = {size: where for size, (where, _) in bound.items()}
        lines += [f"    {line}" for check in _range_checks(program, told) for line in refuse(primal, check)]
    if one_type:
        names = ", ".join(one_type)
        lines += [f"    {line}" for line in assigned(names, f"_promoted({names})", 4)]
    return [*lines, *(f"    {line}" for line in returned(", ".join(primal.inputs), 4))]


def _shape_checks(primal: Function, tensor: Tensor, bound: dict[str, tuple[str, str]]) -> list[str]:
    """Lines that compare the shape of an input with what earlier inputs told; `bound` is (text, place) by size."""
    name, indent = tensor.name, 8 if tensor.optional else 4
    extents = list(tensor.shape)
    pack = extents[0] if extents and isinstance(extents[0], Ref) and extents[0].name in primal.packs else None
    rank = len(extents) - (pack is not None)
    lines: list[str] = []
    wanted = show_shape(tensor)
    if pack is None or rank:
        test = f"{name}.ndim {'!=' if pack is None else '<'} {rank}"
        lines += [
            f"if {test}:",
            *raised("ValueError", f"{primal.name}: {name} has shape {{{name}.shape}}, expected {wanted}", indent),
        ]
    for place, extent in enumerate(extents):
        first = pack is not None and place == 0
        axis = place if pack is None else place - len(extents)
        text = f"{name}.shape[{axis}]"
        if first:
            text = f"{name}.shape[:-{rank}]" if rank else f"{name}.shape"
        where = "leading axes" if first else f"axis {axis}"
        lines += _axis_check(primal.name, tensor, extent, text, where, bound)
    return lines


def _axis_check(
    function: str, tensor: Tensor, extent: Expr, text: str, where: str, bound: dict[str, tuple[str, str]]
) -> list[str]:
    name, indent = tensor.name, 8 if tensor.optional else 4
    if isinstance(extent, Const):
        return [
            *if_lines(f"{text} != {show(extent)}", indent),
            *raised("ValueError", f"{function}: {name} has {{{text}}} in {where}, expected {show(extent)}", indent),
        ]
    assert isinstance(extent, Ref)
    told = f"{name} has {extent.name} = {{{text}}} ({where})"
    if not extent.name.isidentifier():
        told = f"{name} has {'shape' if text.endswith('shape') else 'leading axes'} {{{text}}}"
    if extent.name not in bound:
        bound[extent.name] = (text, told)
        return []
    other, first = bound[extent.name]
    message = f"{function}: {first}, {told}"
    return [*if_lines(f"{text} != {other}", indent), *raised("ValueError", message, indent)]


def _range_checks(program: Program, told: Mapping[str, str]) -> Iterator[RangeCheck]:
    """What is asked of the integers in inputs; `told` is the text of each size."""
    primal = program.derivative.primal
    options = [o.name for o in primal.options]
    for subscript in program.indexed:
        name, extent = subscript.element.name, subscript.extent
        if name not in primal.inputs:
            continue
        limit = show(substitute(extent, {r: ref(told[r.name]) for r in refs(extent) if r.name in told}))
        asked, said = None, f"range({show(extent)})"
        if subscript.where is not None:
            condition = transform(subscript.where, lambda n: ref(n.name) if isinstance(n, Ref) else n)
            asked, said = _array(condition, options), f"{said} where {show(condition)}"
        given = f"{name} is not None" if primal.table[name].optional else ""
        yield RangeCheck(name, given, limit, asked, said)


def range_refused(outside: str, text: ArrayPrinter) -> Refuse:
    """Subscripts are looked at: `outside` asks whether those in `name` reach out of range(`extent`)."""

    def lines(primal: Function, check: RangeCheck) -> list[str]:
        name, given, block = check.name, check.given, []
        if check.asked is not None:
            name = "places"
            places = Elementwise("select", (check.asked, Var(check.name), Num(as_number(ZERO))))
            block = assigned(name, text(places), 8 if given else 4)
        test = outside.format(name=name, extent=check.extent)
        nested = bool(given and block)
        indent = 8 if nested else 4
        message = f"{primal.name}: {check.name} must be in {check.said}, here range({{{check.extent}}})"
        block += if_lines(f"{given} and {test}" if given and not nested else test, indent)
        block += raised("IndexError", message, indent)
        return [f"if {given}:", *(f"    {line}" for line in block)] if nested else block

    return lines


def _array(condition: Expr, options: Sequence[str]) -> Array:
    """A condition on tensors that are named alone, as one on whole arrays."""
    if isinstance(condition, Const):
        return Num(condition)
    if isinstance(condition, Ref):
        return SizeOf(condition) if condition.name in options else Var(condition.name)
    assert isinstance(condition, Apply)
    return Elementwise(condition.op, tuple(_array(a, options) for a in condition.args))


def checked_options(program: Program) -> list[str]:
    """The options that tell how far the integers in an input may reach."""
    primal = program.derivative.primal
    reached = {
        r.name
        for subscript in program.indexed
        if subscript.element.name in primal.inputs
        for r in refs(subscript.extent, *([] if subscript.where is None else [subscript.where]))
    }
    return [o.name for o in primal.options if o.name in reached]


def raised(kind: str, message: str, indent: int = 4) -> list[str]:
    """`raise kind(f"...")`, one column in; a long message in several strings. `indent` is that of the `if`."""
    line = f"    raise {kind}({_string(message)})"
    if len(line) + indent <= WIDTH:
        return [line]
    strings = _strings(message, WIDTH - indent - 8)
    return [f"    raise {kind}(", *(f"        {text}" for text in strings), "    )"]


def _strings(message: str, room: int) -> list[str]:
    """A message as neighbouring strings of at most `room` columns, cut behind the commas of its sentence, or else
    between words; never in what is computed."""
    parts, depth = [""], 0
    for letter in message:
        depth += (letter in "{([") - (letter in "})]")
        if letter == " " and not depth and parts[-1].endswith((",", ";")):
            parts[-1] += letter
            parts.append("")
        else:
            parts[-1] += letter
    lines = [""]
    for part in parts:
        if len(lines[-1] + part) + 3 <= room or not lines[-1]:
            lines[-1] += part
        else:
            lines.append(part)
    return [_string(piece) for line in lines for piece in _words(line, room - 3)]


def _words(line: str, room: int) -> list[str]:
    """A line cut between words, outside of what is computed, where it is too long."""
    pieces, depth, start = [], 0, 0
    place = 0
    for k, letter in enumerate(line):
        depth += (letter == "{") - (letter == "}")
        if k - start >= room and place > start:
            pieces.append(line[start:place])
            start = place
        if letter == " " and not depth:
            place = k + 1
    return [*pieces, line[start:]]


def _string(text: str) -> str:
    return f'f"{text}"' if "{" in text else f'"{text}"'


def type_helpers(primal: Function, module: str) -> list[list[str]]:
    """What makes arrays of the inputs, and refuses those of another type; `module` is np or jnp."""
    kinds = {primal.table[n].dtype for n in primal.inputs}
    rows = (
        (Dtype.REAL, "_real", "floating point", "floating"),
        (Dtype.INT, "_integer", "integer", "integer"),
        (Dtype.BOOL, "_boolean", "boolean", "bool_"),
    )
    found = []
    for dtype, word, kind, check in rows:
        message = f"{primal.name}: {{name}} has dtype {{array.dtype}}, expected {kind}"
        lines = [
            f"def {word}(name, value):",
            f'    """Return `value` as an array, which must be {kind}."""',
            f"    array = {module}.asarray(value)",
            f"    if not {module}.issubdtype(array.dtype, {module}.{check}):",
            *(f"    {line}" for line in raised("TypeError", message)),
            "    return array",
        ]
        found += [lines] if dtype in kinds else []
    return found


NO_COTANGENT = "grad can be implicitly created only for scalar outputs"


def cotangent_helper(function: str, output: str, scalar: str) -> list[str]:
    """`scalar`: whether the output is "always" a scalar, is "sometimes" (a pack of no axes), or never ("")."""
    lines = [
        f"def _cotangent(grad_output, shape{', dtype' if scalar else ''}):",
        f'    """Return grad_output as an array of the shape of {output}."""',
        "    if grad_output is None:",
    ]
    message = f"{function}: {NO_COTANGENT}; pass grad_output of shape {{shape}}, the shape of {output}"
    if scalar == "always":
        lines.append("        return np.ones(shape, dtype=dtype)")
    elif scalar:
        refusal = raised("ValueError", message, 8)
        lines += ["        if shape != ():", *(f"        {line}" for line in refusal)]
        lines.append("        return np.ones(shape, dtype=dtype)")
    else:
        lines += [f"    {line}" for line in raised("ValueError", message)]
    differs = f"{function}: grad_output has shape {{grad_output.shape}}, {output} has shape {{shape}}"
    return [
        *lines,
        "    grad_output = np.asarray(grad_output)",
        "    if grad_output.shape != shape:",
        *(f"    {line}" for line in raised("ValueError", differs)),
        "    return grad_output",
    ]


def cotangents_helper(function: str, outputs: Sequence[str]) -> list[str]:
    count = len(outputs)
    names = "(" + ", ".join(f'"{o}"' for o in outputs) + ")"
    head = f"for name, g, shape in zip({names}, grad_output, shapes, strict=True):"
    loop = [head] if len(head) + 4 <= WIDTH else [*assigned("names", names, 4), head.replace(names, "names")]
    missing = f"{function}: {NO_COTANGENT}; pass a tuple of {count} gradients of the shapes {{shapes}}"
    number = f"{function}: {{len(grad_output)}} gradients given for {count} outputs"
    differs = f"{function}: grad_{{name}} has shape {{g.shape}}, {{name}} has shape {{shape}}"
    return [
        "def _cotangents(grad_output, shapes, dtype):",
        '    """Return the gradients of the outputs as arrays; None counts as zero."""',
        "    if grad_output is None:",
        *(f"    {line}" for line in raised("ValueError", missing)),
        f"    if len(grad_output) != {count}:",
        *(f"    {line}" for line in raised("ValueError", number)),
        "    gradients = []",
        *(f"    {line}" for line in loop),
        "        g = np.zeros(shape, dtype=dtype) if g is None else np.asarray(g)",
        "        if g.shape != shape:",
        *(f"        {line}" for line in raised("ValueError", differs, 8)),
        "        gradients.append(g)",
        "    return gradients",
    ]


WINDOWS = (
    "def _windows(x, axis, size, step=1, dilation=1):",
    '    """Return a view of the windows of x along `axis`, each in a new last axis."""',
    "    axis %= x.ndim",
    "    span = dilation * (size - 1) + 1",
    "    count = max((x.shape[axis] - span) // step + 1, 0)",
    "    if count == 0 or size == 0:",
    "        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)",
    "        return np.empty(shape, dtype=x.dtype)",
    "    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis)",
    "    return windows[(slice(None),) * axis + (slice(None, None, step),)][..., ::dilation]",
)
