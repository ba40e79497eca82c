"""Write the tables of docs/gpu.md anew: what the compiler makes of kernels, without a GPU.

    python docs/make_gpu.py

Bytes are those of the PTX for sm_90, of the loads and stores that are done for each element of a row: 16 bytes by each
thread. Registers and spills are what ptxas says.
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
COLUMNS = (1024, 4096, 8192)
WIDE = {"mean_x", "rstd", "max_logits", "sum_exp_logits", "sum_loss", "sum_own"}  # kept in float32
LEAST = {  # arrays of a row that must be read, and written; in the order of kernels
    "gelu": ((1, 1), (2, 1)),
    "swiglu": ((2, 1), (3, 2)),
    "layer_norm": ((1, 1), (2, 1)),
    "rms_norm": ((1, 1), (2, 1)),
    "cross_entropy": ((1, 0), (1, 1)),
}
OF_COLUMNS = {"layer_norm": ((2, 0), (1, 2)), "rms_norm": ((1, 0), (1, 1))}  # read, or written, once for many rows


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


def facts(kernel: object, real: str, columns: int) -> tuple[int, int, int, int]:
    """Bytes that are loaded and stored for each element of a row, registers, and bytes that are spilled."""
    kinds, known = signature(kernel, real, columns)
    aligned = {(k,): [["tt.divisibility", 16]] for k, kind in enumerate(kinds.values()) if kind != "constexpr"}
    warps = min(max(columns // 256, 4), 32)
    source = ASTSource(kernel, kinds, known, aligned)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    text = made.asm["ptx"]
    loaded, stored = (
        sum(line.count(".v4.b32") * 16 for line in text.splitlines() if f"{way}.global" in line) * 32 * warps // columns
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
    for name, least in LEAST.items():
        ((path, text),) = printed(getattr(library, name), "triton").files.items()
        module = module_from(path, text)
        own = [f for n, f in vars(module).items() if n.endswith("_kernel") and "_out_" not in n]
        for kernel, which, rows, columns_of in zip(
            own, ("forward", "backward"), least, OF_COLUMNS.get(name, ((0, 0), (0, 0))), strict=True
        ):
            for real, size in (("fp32", 4), ("bf16", 2)):
                for columns in COLUMNS if name not in ("gelu", "swiglu") else COLUMNS[:1]:
                    loaded, stored, registers, spilled = facts(kernel, real, columns)
                    asked = f"{rows[0] * size} + {rows[1] * size}"
                    more = columns_of[0] * size, columns_of[1] * 4
                    read = f"{loaded - more[0]} (+ {more[0]})" if more[0] else str(loaded)
                    wrote = f"{stored - more[1]} (+ {more[1]})" if more[1] else str(stored)
                    cells = (f"{name}, {which}", real, columns, read, wrote, asked, registers, spilled)
                    lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition("<!-- table -->\n")
    _, _, tail = rest.partition("<!-- end -->")
    PAGE.write_text(f"{head}<!-- table -->\n{table()}\n\n<!-- end -->{tail}", encoding="utf-8")
