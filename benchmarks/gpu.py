"""How fast the kernels of `--to triton` are on this GPU: beside torch, torch.compile, and Liger where it is installed.

    python benchmarks/gpu.py                    # pip install --no-deps liger-kernel, for a column of it
    TRITON_INTERPRET=1 python benchmarks/gpu.py --tiny    # without a GPU: whether each case runs; no time that counts

Milliseconds are the median that `triton.testing.do_bench` tells. The bandwidth is that of the bytes that must be moved,
each input and each output once, and of the GPU's own copy of as many. Shapes are those of public threads about kernels
written by hand: ServiceNow/Fast-LLM #499 and #546 (backward of norms), linkedin/Liger-Kernel #801 (rows between 4,096
and 8,192), and vocabularies of language models.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
import triton

sys.path.insert(0, str(Path(__file__).parent.parent))

from symgrad import library
from symgrad.backends.python_names import module_from
from symgrad.pipeline import printed

Call = Callable[..., torch.Tensor]
Shape = tuple[int, ...]
ROWS, COLUMNS = 8192, (1024, 4096, 8192, 16384)
TOKENS, VOCABULARIES = 4096, (32000, 128256)
HEADS = ((4, 16, 2048, 64), (2, 16, 4096, 128))  # batch, heads, length, features
TINY = 32  # of every size, where kernels are interpreted


@dataclass(frozen=True)
class Integers:
    """Integers of some shape, from 0 to one `below`."""

    shape: Shape
    below: int


@dataclass(frozen=True)
class Work:
    """What is computed.

    name    of the function in the library
    inputs  the shape of each real one, or integers
    theirs  the same by torch
    liger   the same by Liger: its module, and what is called there
    """

    name: str
    inputs: tuple[Shape | Integers, ...]
    theirs: Call
    liger: tuple[str, Callable[[Any], Call]] | None = None


def works() -> Iterator[Work]:
    """Everything that is measured."""
    for d in COLUMNS:
        rows, columns = (ROWS, d), (d,)
        yield Work("softmax", (rows,), lambda x: x.softmax(-1),
                   ("softmax", lambda ops: ops.LigerSoftmaxFunction.apply))  # fmt: skip
        yield Work("rms_norm", (rows, columns), lambda x, g: F.rms_norm(x, g.shape, g, 1e-6),
                   ("rms_norm", lambda ops: lambda x, g: ops.LigerRMSNormFunction.apply(x, g, 1e-6)))  # fmt: skip
        yield Work("layer_norm", (rows, columns, columns), lambda x, g, b: F.layer_norm(x, g.shape, g, b, 1e-5),
                   ("layer_norm", lambda ops: lambda x, g, b: ops.LigerLayerNormFunction.apply(x, g, b, 1e-5)),
        )  # fmt: skip
        yield Work("swiglu", (rows, rows), lambda a, b: a * F.silu(b),
                   ("swiglu", lambda ops: lambda a, b: ops.LigerSiLUMulFunction.apply(b, a)))  # fmt: skip
    for c in VOCABULARIES:
        yield Work("cross_entropy", ((TOKENS, c), Integers((TOKENS,), c)), F.cross_entropy,
                   ("cross_entropy", lambda ops: lambda x, t: ops.LigerCrossEntropyFunction.apply(x, t, None)[0]),
        )  # fmt: skip
    for shape in HEADS:
        yield Work("causal_attention", (shape,) * 3,
                   lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))  # fmt: skip


def arguments(work: Work, dtype: torch.dtype, device: str, tiny: bool) -> list[torch.Tensor]:
    """Random inputs; gradients are asked of the real ones."""
    made = []
    for one in work.inputs:
        shape = one.shape if isinstance(one, Integers) else one
        shape = tuple(min(n, TINY) for n in shape) if tiny else shape
        if isinstance(one, Integers):
            made.append(torch.randint(min(one.below, TINY) if tiny else one.below, shape, device=device))
        else:
            made.append(torch.randn(shape, device=device, dtype=dtype, requires_grad=True))
    return made


def milliseconds(call: Callable[[], object], device: str) -> float:
    """The median of many calls; of one, where there is no GPU."""
    if device == "cuda":
        return float(triton.testing.do_bench(call, return_mode="median"))
    start = perf_counter()
    call()
    return 1e3 * (perf_counter() - start)


def measured(call: Call, given: list[torch.Tensor], device: str) -> tuple[float, float, float]:
    """Milliseconds of forward and of backward, and the MB that both take beside their inputs."""
    real = [x for x in given if x.requires_grad]
    out = call(*given)
    ones = torch.randn_like(out)
    before = 0
    if device == "cuda":
        del out
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        out = call(*given)
    torch.autograd.grad(out, real, ones)
    memory = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
    ahead = milliseconds(lambda: call(*given), device)
    out = call(*given)
    back = milliseconds(lambda: torch.autograd.grad(out, real, ones, retain_graph=True), device)
    return ahead, back, memory / 1e6


def ours(name: str) -> Call:
    """The function that the printed file has."""
    ((path, text),) = printed(getattr(library, name), "triton").files.items()
    return getattr(module_from(path, text), name)  # type: ignore[no-any-return]


def copied(size: int, device: str) -> float:
    """Bytes in a second that the GPU moves where it copies so many."""
    x = torch.empty(size, dtype=torch.uint8, device=device)
    y = torch.empty_like(x)
    return 2 * size / milliseconds(lambda: y.copy_(x), device) * 1e3


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--tiny", action="store_true", help="small sizes, on any machine")
    read.add_argument("--only", help="one function")
    asked = read.parse_args()
    tiny = asked.tiny
    device = "cpu" if tiny else "cuda"
    if not tiny and not torch.cuda.is_available():
        sys.exit("There is no GPU here. With TRITON_INTERPRET=1, --tiny asks on the CPU whether each case runs.")
    print(torch.cuda.get_device_name() if device == "cuda" else "interpreted", triton.__version__, torch.__version__)
    print("| function | inputs | numbers | ms | of a copy's bandwidth | torch | compiled | Liger | MB, torch's MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for work in (w for w in works() if asked.only in (None, w.name)):
        for dtype in (torch.bfloat16, torch.float32):
            if tiny and work.name == "causal_attention" and dtype is torch.bfloat16:
                continue  # the interpreter multiplies the bits of these numbers
            given = arguments(work, dtype, device, tiny)
            real = [x for x in given if x.requires_grad]
            mine = ours(work.name)
            expected, found = work.theirs(*given), mine(*given)
            torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
            columns: list[tuple[float, float, float] | None] = [measured(mine, given, device)]
            columns.append(measured(work.theirs, given, device))
            columns.append(None if tiny else measured(torch.compile(work.theirs), given, device))
            there = work.liger is not None and not tiny and util.find_spec("liger_kernel") is not None
            if there and work.liger is not None:
                ops = __import__(f"liger_kernel.ops.{work.liger[0]}", fromlist=["ops"])
                columns.append(measured(work.liger[1](ops), given, device))
            else:
                columns.append(None)
            least = [sum(x.nbytes for x in (*given, found)), sum(2 * x.nbytes for x in real) + found.nbytes]
            speed = [copied(size // 2, device) for size in least]
            assert columns[0] is not None and columns[1] is not None
            for k, way in enumerate(("forward", "backward")):
                own = columns[0][k]
                share = "" if work.name == "causal_attention" else f"{least[k] / own * 1e3 / speed[k]:.0%}"
                others = ["" if c is None else f"{c[k] / own:.2f} x" for c in columns[1:]]
                memory = f"{columns[0][2]:.0f}, {columns[1][2]:.0f}"
                shapes = " ".join("x".join(map(str, x.shape)) for x in given)
                cells = (f"{work.name}, {way}", shapes, str(dtype)[6:], f"{own:.3f}", share, *others, memory)
                print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
