"""Why backward multiplies by grad_output: the chain rule through one function, and what J itself would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ..expr import Apply, Expr
from ..ir import Derivative, Dtype, Function, extent_of
from .document import Block, Formula, Formulas, Items, Paragraph

NOMINAL = 64  # what a size is, where it is said how large J would be
KERNEL = 3  # and what one is that makes an output smaller, as that of a kernel
BYTES = 8  # of a float64


def chain_blocks(function: Function, derivative: Derivative) -> tuple[Block, ...]:
    """The answer, for this function."""
    name = function.name
    outs = [o for o in function.outputs if function.table[o].dtype == Dtype.REAL]
    seeds = [seed for output, seed in derivative.seeds if output in outs]
    out, v, several = _listed(outs), _listed(seeds), len(outs) > 1
    first = "dL/d output" if several else f"dL/d{outs[0]}"
    asked = (
        f"`{name}` is one step of a larger program, and somewhere behind it that program makes a single number: the "
        f"loss L. Training never asks how {out} {'move' if several else 'moves'}. It asks how L moves when an input of "
        f"`{name}` moves. Between the two {'stand' if several else 'stands'} {out}, and the chain rule goes through "
        f"{'them' if several else 'it'}, element by element:"
    )
    answers: tuple[str, ...] = (
        f"The first factor, v = {first}, belongs to what comes behind `{name}`. `{name}` cannot know it, so it is "
        f"handed in: that is {v}. PyTorch calls it grad_output, JAX the cotangent, papers the upstream gradient.",
        f"The second factor, J, belongs to `{name}` alone: its local derivatives.",
        "Their product, added up over all elements of the output, is the gradient of L. Without grad_output it would "
        "be the derivative of something that nobody asked for.",
        f"So {v} {'have the shapes' if several else 'has the shape'} of {out}; and each gradient has the shape of its "
        "input, whatever the shape of the output is.",
    )
    if "v" in function.table:
        answers = (*answers, "(Here v is what comes from behind, and not the `v` of the function.)")
    summed = [f"{o}.sum()" if function.table[o].shape else o for o in outs]
    blocks = (Paragraph(asked), Formulas(RULE), Items(answers), Paragraph(_first_v(outs, seeds, summed)))
    return (*blocks, *_cost(function, outs, [x for x, _ in derivative.gradients]))


_LEFT = r"\frac{\partial L}{\partial \mathrm{input}_j}"
RULE = (
    Formula(
        "d L / d input[j] = sum[i]( d L / d output[i]  *  d output[i] / d input[j] )",
        rf"{_LEFT} = \sum_i \frac{{\partial L}}{{\partial \mathrm{{output}}_i}} "
        r"\, \frac{\partial \mathrm{output}_i}{\partial \mathrm{input}_j}",
    ),
    Formula("                 = sum[i]( v[i] * J[i,j] )", rf"\phantom{{{_LEFT}}} = \sum_i v_i \, J_{{i,j}}"),
    Formula("                 = (J^T v)[j]", rf"\phantom{{{_LEFT}}} = (J^{{T}} v)_j"),
)


def _first_v(outs: Sequence[str], seeds: Sequence[str], summed: Sequence[str]) -> str:
    """Where v comes from if there is no loss yet; `summed` are the outputs as one number each."""
    first, *others = outs
    if [first] == summed:
        return (
            f"`{first}` is a single number. If it is the loss itself, then v = dL/d{first} = 1: this 1 is what PyTorch "
            f"fills in when you call `{first}.backward()`. It is still there, as a factor 1."
        )
    one = f"({' + '.join(summed)})" if others else summed[0]
    listed = f"[{', '.join(outs)}], [{', '.join(seeds)}]"
    given = f"torch.autograd.backward({listed})" if others else f"{first}.backward(v)"
    return (
        "The output is more than one number, so there is no v until you say one: that is what PyTorch means by 'grad "
        f"can be implicitly created only for scalar outputs'. Either make one number of it, as in `{one}.backward()`, "
        f"where v is all ones; or hand v in, as in `{given}`."
    )


def _cost(function: Function, outs: Sequence[str], inputs: Sequence[str]) -> tuple[Block, ...]:
    """How many numbers J has, and how many J^T v."""
    if not function.dims:
        return ()
    sizes = _sizes(function, outs)

    def count(names: Sequence[str]) -> int:
        return sum(prod([_extent(e, function, sizes) for e in function.table[n].shape]) for n in names)

    above, below = count(outs), count(inputs)
    few = [f"`{n}` = {size}" for n, size in sizes.items() if size != NOMINAL]
    rest = f"every size {NOMINAL}" if len(sizes) > 1 else f"`{function.dims[0].name}` = {NOMINAL}"
    with_sizes = f"{', '.join(few)} and every other size {NOMINAL}" if few else rest
    said = (
        f"And J itself is never made. With {with_sizes}, the output has {above:,} number{'s' * (above != 1)} and "
        f"the inputs have {below:,}: J would have {above:,} * {below:,} = {above * below:,} entries "
        f"({_memory(above * below)} of float64). J^T v has {below:,}, and backward computes them directly."
    )
    return (Paragraph(said),)


def _sizes(function: Function, outs: Sequence[str]) -> dict[str, int]:
    """The size of each dim, where it is said how large J would be: those that make an output smaller are small."""
    sizes = {d.name.lstrip("*"): NOMINAL for d in function.dims}
    followed = [e for n in outs for e in function.table[n].shape if isinstance(e, Apply)]
    for name in sizes:
        smaller = {**sizes, name: KERNEL}
        if any(_extent(e, function, smaller) > _extent(e, function, sizes) for e in followed):
            sizes = smaller
    return sizes


def _extent(extent: Expr, function: Function, sizes: Mapping[str, int]) -> int:
    return extent_of(extent, sizes, {o.name: o.default for o in function.options})


def _memory(entries: int) -> str:
    size, unit = float(entries * BYTES), 0
    while size >= 1024 and unit < 5:
        size, unit = size / 1024, unit + 1
    return f"{size:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]}"


def _listed(names: Sequence[str]) -> str:
    """`` `a`, `b` and `c` ``."""
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
