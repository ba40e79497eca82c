"""The functions of a printed C file that multiply matrices, called beside plain loops.

They compute with vectors and panels, or by CBLAS, which the check does not execute as text and which behave otherwise
at sizes that no point of a check has. So they are compiled, with the file that they stand in, and called at sizes
around their panels, in all layouts. All numbers are small integers: sums are exact in any order, and what differs is
wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ops.primitive import Primitive
from .sanitize import ENDLESS, ran, stand_ins

CALLS = {  # layouts of the operands, and of the element: by CBLAS row-major; groups of terms; and what is called
    "contract": (8, 1, "n, m, k, 2, left, li, lq, right, rq, rj, found, ei, ej"),
    "contract_groups": (8, 3, "3, n, m, k, 2, left, n * k, li, lq, right, k * m, rq, rj, found, ei, ej"),
    "blas_contract": (4, 1, "n, m, k, 2, left, li, lq, right, rq, rj, found, ei"),
}
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
        {{2, 3, 391}}, {{9, 19, 390}}, {{5, 6, 777}}, {{260, 3, 2}}, {{2, 3, 1500}}, {{70000, 1, 1}},
    }};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {{
        for (int layout = 0; layout < {layouts}; ++layout) {{
            const size_t n = sizes[s][0], m = sizes[s][1], k = sizes[s][2];
            const size_t li = layout & 1 ? 1 : k, lq = layout & 1 ? n : 1;
            const size_t rq = layout & 2 ? 1 : m, rj = layout & 2 ? k : 1;
            const size_t ei = layout & 4 ? 1 : m, ej = layout & 4 ? n : 1;
            {real} *left = probe_array({groups} * n * k, 1), *right = probe_array({groups} * k * m, 2);
            {real} *found = probe_array(n * m, 3), *wanted = probe_array(n * m, 3);
            {name}({given});
            for (size_t i = 0; i < n; ++i) {{
                for (size_t j = 0; j < m; ++j) {{
                    for (size_t q = 0; q < k; ++q) {{
                        for (size_t g = 0; g < {groups}; ++g) {{
                            wanted[i * ei + j * ej] +=
                                2 * left[g * n * k + i * li + q * lq] * right[g * k * m + q * rq + j * rj];
                        }}
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


def wrong_products(
    local: Mapping[str, str], files: Mapping[str, str], single: bool, own: Sequence[Primitive] = ()
) -> str | None:
    """What is wrong with one of the functions; None if nothing, or if the file has none, or the machine no compiler.

    local  what the functions of the file stand for
    own    functions of the user's that it calls
    """
    others = stand_ins(own)
    source = next((n for n in files if n.endswith(".c")), None)
    for name, word in local.items() if source is not None else ():
        if word not in CALLS:
            continue
        layouts, groups, given = CALLS[word]
        of = {"file": source, "name": name, "real": "float" if single else "double"}
        probe = {"probe.c": PROBE.format(**of, layouts=layouts, groups=groups, given=given)}
        written, sources = {**files, **probe, **others}, ["probe.c", *others]
        done = ran(written, sources) or ran(written, sources, ("-std=c99", "-w"))
        if done is None or done.returncode == 0:
            continue
        if done.returncode is None:
            return f"{name} {ENDLESS}"
        return f"{name} is wrong for matrices {done.stdout.decode() or 'of some sizes: it reads or writes elsewhere'}"
    return None
