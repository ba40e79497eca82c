"""Write the tables of docs/gpu.md anew: what the compiler makes of kernels, without a GPU.

    python docs/make_gpu.py

Bytes are those of the PTX for sm_90, of the loads and stores that are done for each element of a row: 16 bytes by each
thread; a long row is walked along in blocks. Registers and spills are what ptxas says.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

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
COLUMNS, LONG, TILE = (1024, 4096, 8192), 128256, 4096
WIDE = {"mean_x", "rstd", "max_logits", "sum_exp_logits", "sum_loss", "sum_own"}  # kept in float32
KERNELS = {  # what is said of each; the arrays of a row that it must read and write, and those of columns beside them
    "gelu": {"_forward_kernel": ("forward", (1, 1), (0, 0)), "_backward_kernel": ("backward", (2, 1), (0, 0))},
    "swiglu": {"_forward_kernel": ("forward", (2, 1), (0, 0)), "_backward_kernel": ("backward", (3, 2), (0, 0))},
    "softmax": {
        "_forward_kernel": ("forward", (1, 1), (0, 0)),
        "_forward_long_kernel": ("forward", (1, 1), (0, 0)),
        "_backward_kernel": ("backward", (2, 1), (0, 0)),
        "_backward_long_kernel": ("backward", (2, 1), (0, 0)),
    },
    "layer_norm": {
        "_forward_kernel": ("forward", (1, 1), (2, 0)),
        "_forward_long_kernel": ("forward", (1, 1), (2, 0)),
        "_backward_kernel": ("backward", (2, 1), (1, 2)),
        "_backward_grad_x_long_kernel": ("backward of x", (2, 1), (2, 0)),
        "_backward_grad_gain_long_kernel": ("backward of gain and bias", (2, 0), (0, 2)),
    },
    "rms_norm": {
        "_forward_kernel": ("forward", (1, 1), (1, 0)),
        "_forward_long_kernel": ("forward", (1, 1), (1, 0)),
        "_backward_kernel": ("backward", (2, 1), (1, 1)),
        "_backward_grad_x_long_kernel": ("backward of x", (2, 1), (2, 0)),
        "_backward_grad_gain_long_kernel": ("backward of gain", (2, 0), (0, 1)),
    },
    "cross_entropy": {
        "_forward_max_logits_kernel": ("forward", (1, 0), (0, 0)),
        "_backward_kernel": ("backward", (1, 1), (0, 0)),
    },
}


def columns_of(name: str, kernel: str) -> tuple[int, ...]:
    """The lengths of rows at which a kernel is asked: it is for short ones, for long ones, or for both."""
    if "_long_" in kernel:
        return (LONG,)
    if len(KERNELS[name]) > 2:
        return COLUMNS
    return COLUMNS[:1] if name in ("gelu", "swiglu") else (*COLUMNS[:2], LONG)


def signature(kernel: object, real: str, columns: int) -> tuple[dict[str, str], dict[str, object]]:
    """The types of what a launch passes, and what is known when it is compiled."""
    kinds: dict[str, str] = {}
    known: dict[str, object] = {}
    for p in kernel.params:  # type: ignore[attr-defined]
        name = p.name.removesuffix("_ptr")
        if p.is_constexpr:
            kinds[p.name] = "constexpr"
            known[p.name] = tl.float32 if name == "REAL" else columns if name.startswith("BLOCK") else True
            if name == "eps":
                known[p.name] = 1e-5
        elif name != p.name:
            own = "i64" if name == "target" or name.endswith("_places") else real
            kinds[p.name] = "*fp32" if name in WIDE or name.endswith("_parts") else f"*{own}"
            if name in ("weight", "grad_weight_parts", "grad_weight_places"):
                kinds[p.name], known[p.name] = "constexpr", None
        else:
            kinds[p.name] = "i32"
    if "NEEDS_WEIGHT" in known:
        known["NEEDS_WEIGHT"] = False
    return kinds, known


def facts(kernel: object, real: str, block: int) -> tuple[int, int, int, int]:
    """Bytes that are loaded and stored for each element of a row, registers, and bytes that are spilled."""
    kinds, known = signature(kernel, real, block)
    aligned = {(k,): [["tt.divisibility", 16]] for k, kind in enumerate(kinds.values()) if kind != "constexpr"}
    warps = min(max(block // 256, 4), 32)
    source = ASTSource(kernel, kinds, known, aligned)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    text = made.asm["ptx"]
    loaded, stored = (
        sum(line.count(".v4.b32") * 16 for line in text.splitlines() if f"{way}.global" in line) * 32 * warps // block
        for way in ("ld", "st")
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.ptx")
        path.write_text(text)
        (target,) = re.findall(r"^\.target (\w+)", text, re.MULTILINE)
        line = [PTXAS, "-v", f"-arch={target}", "-o", Path(folder, "kernel.cubin"), path]
        said = subprocess.run(line, capture_output=True, text=True, check=True).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
    return loaded, stored, int(re.findall(r"Used (\d+) registers", said)[0]), spilled


def table() -> str:
    """The rows of the page."""
    lines = [
        "| kernel | numbers | columns | loaded | stored | least | registers | spilled |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, kernels in KERNELS.items():
        ((path, text),) = printed(getattr(library, name), "triton").files.items()
        module = module_from(path, text)
        for kernel, (about, rows, beside) in kernels.items():
            for real, size in (("fp32", 4), ("bf16", 2)):
                for columns in columns_of(name, kernel):
                    block = TILE if columns == LONG else columns
                    loaded, stored, registers, spilled = facts(getattr(module, kernel), real, block)
                    asked = f"{rows[0] * size} + {rows[1] * size}"
                    more = beside[0] * size, beside[1] * 4
                    read = f"{loaded - more[0]} (+ {more[0]})" if more[0] else str(loaded)
                    wrote = f"{stored - more[1]} (+ {more[1]})" if more[1] else str(stored)
                    cells = (f"{name}, {about}", real, columns, read, wrote, asked, registers, spilled)
                    lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition("<!-- table -->\n")
    _, _, tail = rest.partition("<!-- end -->")
    PAGE.write_text(f"{head}<!-- table -->\n{table()}\n\n<!-- end -->{tail}", encoding="utf-8")
