"""The private functions of a printed NumPy file: what refuses inputs and gradients that do not fit.

Each is a list of lines; the messages name the function, the tensor, the size, and who told it first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..expr import Const, Expr, Ref, show
from ..ir import Dtype, Function, Tensor, show_shape
from ..plan import Program
from .python_lines import listed


def inputs_helper(program: Program) -> list[str]:
    primal = program.derivative.primal
    lines = [
        *listed("def _inputs(", primal.inputs, "):"),
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
    lines += [f"    {line}" for line in _index_checks(program, bound)]
    returned = listed("return ", primal.inputs, "", 4) if len(primal.inputs) > 1 else [f"return {primal.inputs[0]}"]
    return [*lines, *(f"    {line}" for line in returned)]


def _shape_checks(primal: Function, tensor: Tensor, bound: dict[str, tuple[str, str]]) -> list[str]:
    """Lines that compare the shape of an input with what earlier inputs told; `bound` is (text, place) by size."""
    name = tensor.name
    extents = list(tensor.shape)
    pack = extents[0] if extents and isinstance(extents[0], Ref) and extents[0].name in primal.packs else None
    rank = len(extents) - (pack is not None)
    lines: list[str] = []
    wanted = show_shape(tensor)
    if pack is None or rank:
        test = f"{name}.ndim {'!=' if pack is None else '<'} {rank}"
        lines += [
            f"if {test}:",
            *raised("ValueError", f"{primal.name}: {name} has shape {{{name}.shape}}, expected {wanted}"),
        ]
    for place, extent in enumerate(extents):
        first = pack is not None and place == 0
        axis = place if pack is None else place - len(extents)
        text = f"{name}.shape[{axis}]"
        if first:
            text = f"{name}.shape[:-{rank}]" if rank else f"{name}.shape"
        where = "leading axes" if first else f"axis {axis}"
        lines += _axis_check(primal, name, extent, text, where, bound)
    return lines


def _axis_check(
    primal: Function, name: str, extent: Expr, text: str, where: str, bound: dict[str, tuple[str, str]]
) -> list[str]:
    function = primal.name
    if isinstance(extent, Const):
        return [
            f"if {text} != {show(extent)}:",
            *raised("ValueError", f"{function}: {name} has {{{text}}} in {where}, expected {show(extent)}"),
        ]
    assert isinstance(extent, Ref)
    told = f"{name} has {extent.name} = {{{text}}} ({where})"
    if not extent.name.isidentifier():
        told = f"{name} has {'shape' if text.endswith('shape') else 'leading axes'} {{{text}}}"
    if extent.name not in bound:
        bound[extent.name] = (text, told)
        return []
    other, first = bound[extent.name]
    return [f"if {text} != {other}:", *raised("ValueError", f"{function}: {first}, {told}")]


def _index_checks(program: Program, bound: Mapping[str, tuple[str, str]]) -> list[str]:
    primal = program.derivative.primal
    lines = []
    for element, extent in program.indexed:
        name = element.name
        if name not in primal.inputs:
            continue
        text = bound[extent.name][0] if isinstance(extent, Ref) else show(extent)
        given = f"{name} is not None and " if primal.table[name].optional else ""
        lines += [
            f"if {given}{name}.size and not (0 <= {name}.min() and {name}.max() < {text}):",
            *raised(
                "IndexError",
                f"{primal.name}: {name} must be in range({show(extent)}), here range({{{text}}})",
            ),
        ]
    return lines


def raised(kind: str, message: str) -> list[str]:
    """`raise kind(f"...")`, one column in; a long message in two strings."""
    line = f'    raise {kind}(f"{message}")'
    if len(line) <= 80:
        return [line]
    cut = message.rfind(", ", 0, 76)
    cut = cut if cut > 0 else message.rfind(" ", 0, 76)
    first, second = message[: cut + 1], message[cut + 1 :]
    return [
        f"    raise {kind}(",
        f"        {_string(first)}",
        f"        {_string(second)}",
        "    )",
    ]


def _string(text: str) -> str:
    return f'f"{text}"' if "{" in text else f'"{text}"'


def type_helper(function: str, word: str, kind: str, check: str) -> list[str]:
    message = f"{function}: {{name}} has dtype {{array.dtype}}, expected {kind}"
    return [
        f"def {word}(name, value):",
        f'    """Return `value` as an array, which must be {kind}."""',
        "    array = np.asarray(value)",
        f"    if not np.issubdtype(array.dtype, {check}):",
        *(f"    {line}" for line in raised("TypeError", message)),
        "    return array",
    ]


def cotangent_helper(function: str, output: str, scalar: str) -> list[str]:
    """`scalar`: whether the output is "always" a scalar, is "sometimes" (a pack of no axes), or never ("")."""
    lines = [
        f"def _cotangent(grad_output, shape{', dtype' if scalar else ''}):",
        f'    """Return grad_output as an array of the shape of {output}."""',
        "    if grad_output is None:",
    ]
    refusal = [
        "raise ValueError(",
        f'    "{function}: grad can be implicitly created only for scalar outputs; "',
        f'    f"pass grad_output of shape {{shape}}, the shape of {output}"',
        ")",
    ]
    if scalar == "always":
        lines.append("        return np.ones(shape, dtype=dtype)")
    elif scalar:
        lines += ["        if shape != ():", *(f"            {line}" for line in refusal)]
        lines.append("        return np.ones(shape, dtype=dtype)")
    else:
        lines += [f"        {line}" for line in refusal]
    return [
        *lines,
        "    grad_output = np.asarray(grad_output)",
        "    if grad_output.shape != shape:",
        "        raise ValueError(",
        f'            f"{function}: grad_output has shape {{grad_output.shape}}, "',
        f'            f"{output} has shape {{shape}}"',
        "        )",
        "    return grad_output",
    ]


def cotangents_helper(function: str, outputs: Sequence[str]) -> list[str]:
    names = ", ".join(outputs)
    count = len(outputs)
    return [
        "def _cotangents(grad_output, shapes, dtype):",
        f'    """Return the gradients of {names} as arrays; None counts as zero."""',
        "    if grad_output is None:",
        "        raise ValueError(",
        f'            "{function}: grad can be implicitly created only for scalar outputs; "',
        f'            f"pass a tuple of {count} gradients of the shapes {{shapes}}"',
        "        )",
        f"    if len(grad_output) != {count}:",
        f'        raise ValueError(f"{function}: {{len(grad_output)}} gradients given for {count} outputs")',
        "    gradients = []",
        f"    for name, g, shape in zip({_names(outputs)}, grad_output, shapes, strict=True):",
        "        g = np.zeros(shape, dtype=dtype) if g is None else np.asarray(g)",
        "        if g.shape != shape:",
        "            raise ValueError(",
        f'                f"{function}: grad_{{name}} has shape {{g.shape}}, {{name}} has shape {{shape}}"',
        "            )",
        "        gradients.append(g)",
        "    return gradients",
    ]


def _names(outputs: Sequence[str]) -> str:
    return "(" + ", ".join(f'"{o}"' for o in outputs) + ")"


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
