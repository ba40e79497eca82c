"""The function of a printed C file that multiplies matrices, called beside plain loops.

It computes with vectors and panels, which the check does not execute as text, and behaves otherwise at sizes that no
point of a check has. So it is compiled, with the file that it stands in, and called at sizes around its panels, in all
layouts. All numbers are small integers: sums are exact in any order, and what differs is wrong.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .sanitize import ENVIRONMENT, FLAGS, LIMIT, libraries

NAME = "contract"
PROBE = """
#include <stdio.h>
#include <stdlib.h>
#include "{file}"
static {real} *probe_array(size_t count, unsigned seed)
{{
    {real} *found = malloc((count + 1) * sizeof *found);
    for (size_t k = 0; k < count; ++k) {{
        seed = seed * 1103515245u + 12345u;
        found[k] = ({real})((int)(seed >> 16) % 9 - 4);
    }}
    return found;
}}
int main(void)
{{
    const size_t sizes[][3] = {{
        {{0, 2, 2}}, {{2, 0, 2}}, {{2, 2, 0}}, {{1, 1, 1}}, {{3, 5, 2}}, {{4, 4, 9}}, {{7, 18, 5}}, {{9, 33, 3}},
        {{2, 3, 391}}, {{9, 19, 390}}, {{5, 6, 777}},
    }};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {{
        for (int layout = 0; layout < 8; ++layout) {{
            const size_t n = sizes[s][0], m = sizes[s][1], k = sizes[s][2];
            const size_t li = layout & 1 ? 1 : k, lq = layout & 1 ? n : 1;
            const size_t rq = layout & 2 ? 1 : m, rj = layout & 2 ? k : 1;
            const size_t ei = layout & 4 ? 1 : m, ej = layout & 4 ? n : 1;
            {real} *left = probe_array(n * k, 1), *right = probe_array(k * m, 2);
            {real} *found = probe_array(n * m, 3), *wanted = probe_array(n * m, 3);
            {name}(n, m, k, 2, left, li, lq, right, rq, rj, found, ei, ej);
            for (size_t i = 0; i < n; ++i) {{
                for (size_t j = 0; j < m; ++j) {{
                    for (size_t q = 0; q < k; ++q) {{
                        wanted[i * ei + j * ej] += 2 * left[i * li + q * lq] * right[q * rq + j * rj];
                    }}
                    if (found[i * ei + j * ej] != wanted[i * ei + j * ej]) {{
                        printf("of %d by %d by %d", (int)n, (int)k, (int)m);
                        return 1;
                    }}
                }}
            }}
            free(left); free(right); free(found); free(wanted);
        }}
    }}
    return 0;
}}
"""


def wrong_products(local: Mapping[str, str], files: Mapping[str, str], single: bool) -> str | None:
    """What is wrong with the function; None if nothing, or if the file has none, or the machine no compiler.

    local  what the functions of the file stand for
    """
    name = next((name for name, word in local.items() if word == NAME), None)
    names = {path.rpartition("/")[2]: text for path, text in files.items()}
    source = next((n for n in names if n.endswith(".c")), None)
    if name is None or source is None:
        return None
    with tempfile.TemporaryDirectory(prefix="symgrad-") as place:
        folder = Path(place)
        probe = PROBE.format(file=source, name=name, real="float" if single else "double")
        for file, content in {**names, "probe_of_products.c": probe}.items():
            folder.joinpath(file).write_text(content, encoding="utf-8")
        compiler = shlex.split(os.environ.get("CC") or "cc")
        for flags in (FLAGS, ("-std=c99", "-w")):
            line = [*compiler, *flags, "-o", "probe", "probe_of_products.c", *libraries(names), "-lm"]
            try:
                if subprocess.run(line, cwd=folder, capture_output=True, check=False).returncode:
                    continue
                done = subprocess.run(
                    [str(folder / "probe")],
                    cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=LIMIT,
                    env={**os.environ, **ENVIRONMENT},
                )  # fmt: skip
            except OSError:
                return None
            except subprocess.TimeoutExpired:
                return f"{name} does not end within {LIMIT:g} s"
            if done.returncode:
                return f"{name} is wrong for matrices {done.stdout or 'of some sizes: it reads or writes elsewhere'}"
            return None
    return None
