"""Write the tables of docs/gpu.md anew: what the compiler makes of kernels, without a GPU.

    python docs/make_gpu.py             # pip install --no-deps liger-kernel, for the columns beside it

Bytes are those of the PTX for sm_90, of the loads and stores that are done for each element of a row; a long row is
walked along in blocks. Registers and spills are what ptxas says.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, str(Path(__file__).parent.parent))

from symgrad import library
from symgrad.backends.python_names import module_from
from symgrad.pipeline import printed

PAGE = Path(__file__).with_name("gpu.md")
PTXAS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas-blackwell"
COLUMNS, LONG = (1024, 4096, 8192), 128256
SHORT, TILE = 16384, 4096  # what registers hold of a row, and the blocks of longer ones
SIZES = {"fp32": 4, "bf16": 2, "f32": 4, "i64": 8}
WIDE = {"mean_x", "rstd", "max_logits", "sum_exp_logits", "sum_loss", "sum_own"}  # kept in float32
LEFT_OUT = {"NEEDS_WEIGHT", "NEEDS_P"}  # gradients that nobody asks for: of class weights, of what is no logarithm
Bytes = tuple[int, int]


@dataclass(frozen=True)
class Kernel:
    """A kernel of ours: what is said of it, the arrays of a row that it must read and write, those of columns that it
    reads and writes beside them, and how long rows are that it is asked about."""

    about: str
    rows: Bytes
    beside: Bytes = (0, 0)
    columns: tuple[int, ...] = (1024,)


@dataclass(frozen=True)
class Theirs:
    """A kernel of Liger's: where it is, what its constants are, what it reads and writes beside the rows as `Kernel`
    says, and on a way that no row takes that counts; the largest block, and the warps if the block does not tell."""

    module: str
    name: str
    known: Mapping[str, Any] = field(default_factory=dict)
    beside: Bytes = (0, 0)
    skipped: Bytes = (0, 0)
    most: int = 65536
    warps: int = 0


KERNELS = {
    "gelu": {"_forward_kernel": Kernel("forward", (1, 1)), "_backward_kernel": Kernel("backward", (2, 1))},
    "swiglu": {"_forward_kernel": Kernel("forward", (2, 1)), "_backward_kernel": Kernel("backward", (3, 2))},
    "geglu": {"_forward_kernel": Kernel("forward", (2, 1)), "_backward_kernel": Kernel("backward", (3, 2))},
    "softmax": {
        "_forward_kernel": Kernel("forward", (1, 1), columns=COLUMNS),
        "_forward_long_kernel": Kernel("forward", (1, 1), columns=(LONG,)),
        "_backward_kernel": Kernel("backward", (2, 1), columns=COLUMNS),
        "_backward_long_kernel": Kernel("backward", (2, 1), columns=(LONG,)),
    },
    "layer_norm": {
        "_forward_kernel": Kernel("forward", (1, 1), (2, 0), COLUMNS),
        "_forward_long_kernel": Kernel("forward", (1, 1), (2, 0), (LONG,)),
        "_backward_kernel": Kernel("backward", (2, 1), (1, 2), COLUMNS),
        "_backward_grad_x_long_kernel": Kernel("backward of x", (2, 1), (2, 0), (LONG,)),
        "_backward_grad_gain_long_kernel": Kernel("backward of gain and bias", (2, 0), (0, 2), (LONG,)),
    },
    "rms_norm": {
        "_forward_kernel": Kernel("forward", (1, 1), (1, 0), COLUMNS),
        "_forward_long_kernel": Kernel("forward", (1, 1), (1, 0), (LONG,)),
        "_backward_kernel": Kernel("backward", (2, 1), (1, 1), COLUMNS),
        "_backward_grad_x_long_kernel": Kernel("backward of x", (2, 1), (2, 0), (LONG,)),
        "_backward_grad_gain_long_kernel": Kernel("backward of gain", (2, 0), (0, 1), (LONG,)),
    },
    "cross_entropy": {
        "_forward_max_logits_kernel": Kernel("forward", (1, 0), columns=(*COLUMNS, LONG)),
        "_backward_kernel": Kernel("backward", (1, 1), columns=(*COLUMNS, LONG)),
    },
    "kl_div": {
        "_forward_out_sum_kernel": Kernel("forward", (2, 0), columns=(*COLUMNS, LONG)),
        "_backward_kernel": Kernel("backward", (1, 1)),
    },
}
LOSS = {"lse_square_scale": 0.0, "label_smoothing": 0.0, "reduction": "mean", "HAS_GRADIENTS": True}
NORM = {"casting_mode": 0, "elementwise_affine": True, "rows_per_program": 32}
DIVERGENCE = {"reduction": 3, "log_target": False}
LIGER = {  # what does the same as kernels of ours: one, or several
    ("swiglu", "forward"): Theirs("swiglu", "_swiglu_forward_kernel"),
    ("swiglu", "backward"): Theirs("swiglu", "_swiglu_backward_kernel"),
    ("geglu", "forward"): Theirs("geglu", "_geglu_tanh_forward_kernel"),
    ("geglu", "backward"): Theirs("geglu", "_geglu_tanh_backward_kernel"),
    ("softmax", "forward"): Theirs("softmax", "_softmax_single_block_forward_kernel"),
    ("softmax", "backward"): Theirs("softmax", "_softmax_single_block_backward_kernel"),
    ("layer_norm", "forward"): Theirs("layer_norm", "_layer_norm_forward_kernel", beside=(2, 0)),
    ("layer_norm", "backward"): Theirs("layer_norm", "_layer_norm_backward_kernel", NORM, (1, 2)),
    ("rms_norm", "forward"): Theirs("rms_norm", "_rms_norm_forward_kernel", NORM, (1, 0)),
    ("rms_norm", "backward"): Theirs("rms_norm", "_rms_norm_backward_kernel", NORM, (1, 1)),
    ("cross_entropy", "forward and backward"): Theirs(
        "cross_entropy", "liger_cross_entropy_kernel", LOSS, skipped=(0, 1), most=32768, warps=32
    ),
    ("kl_div", "forward"): Theirs("kl_div", "_kldiv_kernel_forward", DIVERGENCE, most=16384),
    ("kl_div", "backward"): Theirs("kl_div", "_kldiv_kernel_backward", DIVERGENCE, most=16384),
}


@dataclass(frozen=True)
class Facts:
    """Bytes for each element of a row, loaded and stored, and those beside them; registers, and bytes spilled."""

    moved: Bytes
    beside: Bytes
    registers: str
    spilled: int

    def __add__(self, other: Facts) -> Facts:
        moved, beside = (
            tuple(map(sum, zip(*pair, strict=True)))
            for pair in ((self.moved, other.moved), (self.beside, other.beside))
        )
        return Facts(moved, beside, f"{self.registers}, {other.registers}", self.spilled + other.spilled)

    @property
    def cells(self) -> list[str]:
        """What stands in a table."""
        moved = (f"{n} (+ {b})" if b else str(n) for n, b in zip(self.moved, self.beside, strict=True))
        return [*moved, self.registers, str(self.spilled)]


@cache
def module_of(name: str) -> ModuleType:
    """What is printed of a function."""
    ((path, text),) = printed(getattr(library, name), "triton").files.items()
    return module_from(path, text)


@cache
def ours(name: str, kernel: str, real: str, block: int) -> Facts:
    """A kernel of ours, with blocks of so many elements."""
    function = getattr(module_of(name), kernel)
    kinds: dict[str, str] = {}
    known: dict[str, object] = {}
    for p in function.params:
        own = p.name.removesuffix("_ptr")
        if p.is_constexpr:
            kinds[p.name] = "constexpr"
            known[p.name] = tl.float32 if own == "REAL" else block if own.startswith("BLOCK") else own not in LEFT_OUT
            if own == "eps":
                known[p.name] = 1e-5
        elif own != p.name:
            whole = "i64" if own == "target" or own.endswith("_places") else real
            kinds[p.name] = "*fp32" if own in WIDE or own.endswith("_parts") else f"*{whole}"
            if own in ("weight", "grad_weight_parts", "grad_weight_places"):
                kinds[p.name], known[p.name] = "constexpr", None
        else:
            kinds[p.name] = "i32"
    kinds |= dict.fromkeys(ones := _ones(function), "constexpr")
    known |= dict.fromkeys(ones, 1)
    read, wrote = KERNELS[name][kernel].beside
    warps = min(max(block // 256, 4), 32)
    return compiled(function, kinds, known, block, warps, (read * SIZES[real], wrote * 4))


def _ones(function: Any) -> list[str]:
    """The strides that are 1 of contiguous arrays, which triton compiles another kernel for."""
    strides = (p.name for p in function.params if "_stride" in p.name)
    return [name for name in strides if re.search(rf"\* {name}\b(?! \+|\s+\+)", function.src)]


def theirs(of: Theirs, real: str, columns: int) -> Facts:
    """A kernel of Liger's, as it is launched for rows of a length."""
    function = getattr(importlib.import_module(f"liger_kernel.ops.{of.module}"), of.name)
    block = min(triton.next_power_of_2(columns), of.most)
    warps = of.warps or (32 if block >= 32768 else 16 if block >= 8192 else 8 if block >= 2048 else 4)
    own = {
        "BLOCK_SIZE": block,
        "n_cols": columns,
        "X_dtype": getattr(tl, {"fp32": "float32", "bf16": "bfloat16"}[real]),
    }
    kinds = {p.name: "constexpr" if p.is_constexpr else _kind(p.name, of, real) for p in function.params}
    constants = [name for name, kind in kinds.items() if kind == "constexpr"]
    known = {name: {**own, **of.known}.get(name, name.startswith("COMPUTE")) for name in constants}
    wrote = 4 if "norm" in of.module else SIZES[real]  # parts of sums over rows are float32
    beside = of.beside[0] * SIZES[real], of.beside[1] * wrote
    skipped = of.skipped[0] * SIZES[real], of.skipped[1] * SIZES[real]
    return compiled(function, kinds, known, block, warps, beside, skipped)


def _kind(name: str, of: Theirs, real: str) -> str:
    if not (name.endswith("_ptr") or len(name) <= 2):
        return "fp32" if name in ("eps", "offset", "gate_multiplier") else "i32"
    if of.module == "cross_entropy" and name == "Y_ptr":  # the targets
        return "*i64"
    return "*fp32" if name in ("Mean_ptr", "RSTD_ptr", "DW_ptr", "DB_ptr", "dW_ptr") else f"*{real}"


def compiled(
    function: Any,
    kinds: Mapping[str, str],
    known: Mapping[str, Any],
    block: int,
    warps: int,
    beside: Bytes,
    skipped: Bytes = (0, 0),
) -> Facts:
    """A kernel that is launched with these types and constants, for blocks of so many elements of a row."""
    aligned = {(k,): [["tt.divisibility", 16]] for k, kind in enumerate(kinds.values()) if kind[0] in "*i"}
    source = ASTSource(function, {**kinds}, {**known}, aligned)
    made, registers, spilled = assembled(source, num_warps=warps)
    each = [_moved(made.asm["ptx"], made.asm["ttgir"], way) * 32 * warps // block for way in ("load", "store")]
    read, wrote = (n - b - s for n, b, s in zip(each, beside, skipped, strict=True))
    return Facts((read, wrote), beside, registers, spilled)


def assembled(source: ASTSource, **options: int) -> tuple[Any, str, int]:
    """A kernel for sm_90, its registers, and the bytes that are spilled."""
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    text = made.asm["ptx"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.ptx")
        path.write_text(text)
        (target,) = re.findall(r"^\.target (\w+)", text, re.MULTILINE)
        line = [PTXAS, "-v", f"-arch={target}", "-o", Path(folder, "kernel.cubin"), path]
        said = subprocess.run(line, capture_output=True, text=True, check=True).stderr
    (registers,) = re.findall(r"Used (\d+) registers", said)
    return made, registers, sum(map(int, re.findall(r"(\d+) bytes spill", said)))


def _moved(ptx: str, ttgir: str, way: str) -> int:
    """How many bytes a thread loads or stores, but for the numbers that there is one of for a whole row."""
    short = {"load": "ld", "store": "st"}[way]
    pairs = re.findall(rf"\b{short}\.global\S*?(?:\.v(\d))?\.b(\d+)\b", ptx)
    alone = re.findall(rf"tt\.{way} .*: !tt\.ptr<(\w+)>", ttgir)
    return sum(int(n or 1) * int(bits) // 8 for n, bits in pairs) - sum(map(SIZES.__getitem__, alone))


def table() -> str:
    """What the kernels of ours are."""
    lines = [
        "| kernel | numbers | columns | loaded | stored | least | registers | spilled |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, kernels in KERNELS.items():
        for kernel, row in kernels.items():
            for real in ("fp32", "bf16"):
                for columns in row.columns:
                    *moved, registers, spilled = ours(name, kernel, real, _block(row, columns)).cells
                    least = " + ".join(str(n * SIZES[real]) for n in row.rows)
                    cells = (f"{name}, {row.about}", real, columns, *moved, least, registers, spilled)
                    lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _block(row: Kernel, columns: int) -> int:
    """How many elements of rows of a length a kernel of ours takes: those without reductions know of no rows."""
    return 1024 if row.columns == (1024,) else TILE if columns > SHORT else columns


def beside_liger() -> str:
    """Ours and Liger's."""
    lines = [
        "| operation | numbers | columns | ours: loaded | stored | registers | spilled "
        "| Liger: loaded | stored | registers | spilled |",
        f"|{' --- |' * 11}",
    ]
    for (name, about), of in LIGER.items():
        walked = of.most < 65536  # as losses are
        lengths = (8192, *((LONG,) if walked else (65536,) if LONG in _lengths(name) else ()))
        for real in ("fp32", "bf16"):
            for columns in lengths:
                alike = _alike(name, about, columns)
                facts = [ours(name, k, real, _block(KERNELS[name][k], columns)) for k in alike]
                found = theirs(of, real, columns).cells if util.find_spec("liger_kernel") else ["not installed"] * 4
                cells = (f"{name}, {about}", real, columns, *sum(facts[1:], facts[0]).cells, *found)
                lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def attention() -> str:
    """The kernels that walk along planes, in the blocks that a launch takes; nothing of a plane is stored: a kernel has
    as many stores as results."""
    lines = [
        "| kernel | numbers | features | rows | columns of a block | warps | registers | spilled | shared memory |",
        f"|{' --- |' * 9}",
    ]
    module = module_of("causal_attention")
    for real, features in (("bf16", 64), ("bf16", 128), ("fp32", 64)):
        like = SimpleNamespace(element_size=lambda real=real: SIZES[real])
        *blocks, warps, stages = module._streams(4096, 4096, features, features, like)
        for which in ("forward", "backward_grad_q", "backward_grad_k"):
            function = getattr(module, f"_{which}_kernel")
            names = [p.name for p in function.params]
            known = {**dict(zip([n for n in names if n.startswith("BLOCK")], blocks, strict=True)), "REAL": tl.float32}
            known |= {n: True for n in names if n.startswith("NEEDS")} | dict.fromkeys(_ones(function), 1)
            kinds = {n: "constexpr" if n in known else f"*{real}" if n.endswith("_ptr") else "i32" for n in names}
            kinds |= {n: "*fp32" for n in names if n.startswith(("max_", "sum_"))}
            aligned = {(k,): [["tt.divisibility", 16]] for k, kind in enumerate(kinds.values()) if kind[0] in "*i"}
            made, *said = assembled(ASTSource(function, kinds, known, aligned), num_warps=warps, num_stages=stages)
            about = f"{which.replace('_', ' of ', 1).replace('grad_k', 'grad_k and grad_v')}"
            cells = (about, real, features, *blocks[:2], warps, *said, f"{made.metadata.shared // 1024} KiB")
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _lengths(name: str) -> set[int]:
    return {columns for row in KERNELS[name].values() for columns in row.columns}


def _alike(name: str, about: str, columns: int) -> list[str]:
    """The kernels of ours that are launched for rows of a length."""
    rows = KERNELS[name].items()
    found = [k for k, row in rows if any(row.about.startswith(word) for word in about.split(" and "))]
    long = [k for k in found if "_long_" in k]
    return long if long and columns > SHORT else [k for k in found if k not in long]


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    for mark, text in (("attention", attention()), ("table", table()), ("liger", beside_liger())):
        head, _, rest = page.partition(f"<!-- {mark} -->\n")
        _, _, tail = rest.partition("<!-- end -->")
        page = f"{head}<!-- {mark} -->\n{text}\n\n<!-- end -->{tail}"
    PAGE.write_text(page, encoding="utf-8")
