"""What the head of a C file says that it calls and costs, and what is left to link without an operating system."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import symgrad as sg
from symgrad import library

ASKED_BY_GCC = {"memcpy", "memset", "memmove", "memcmp"}  # in a freestanding program, too
NORMED = "f(x[..., n], w[n])[..., i] = exp(x[..., i]*w[i])/sum[j](erf(x[..., j])**2)"
SINC = "f(x, y) = sin(sqrt(x**2 + y**2))/sqrt(x**2 + y**2)"
NINE = "f(x[9])[i] = sin(x[i])*sum[j](x[j]**2)"
COSTS = [  # formula, options, and the operations of a function
    ("f(x, y) = x*y - sin(x)", {}, "f_forward", "1 +, 1 *, sin"),
    ("f(x, y) = x*y - sin(x)", {}, "f_backward", "1 +, 2 *, cos"),
    ("f(x, y) = x*y - sin(x)", {"dtype": "float"}, "f_backward", "1 +, 2 *, cosf"),
    ("f(x, y) = where(x > 0, exp(y), x*x*x)", {}, "f_forward", "2 *, 1 ?:, exp"),
    ("f(x[3], a[4])[i] = x[i]/a[0]", {}, "f_forward", "3 /"),  # a loop of three turns
    (NINE, {"functions": "forward"}, "f_forward", "9 +, 18 *, 9 sin"),
    (NORMED, {}, "f_forward", None),
]


def head(files):
    (text,) = (t for name, t in files.items() if name.endswith(".c"))
    return text[: text.index("*/")]


@pytest.mark.parametrize(("text", "options", "name", "said"), COSTS)
def test_operations_are_those_of_the_text(text, options, name, said):
    found = re.findall(
        rf"^ \*     {name} +(.*)$", head(sg.generate(sg.parse(text), to="c", **options, check=False)), re.M
    )
    assert found == ([] if said is None else [said])


def test_arrays_on_the_stack_count():
    text = head(sg.generate(sg.parse(NINE), to="c", functions="gauss_newton", dtype="float", check=False))
    assert re.search(r"f_gauss_newton .* (\d+) bytes of arrays", " ".join(text.replace(" *", "").split()))


@pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("nm") is None, reason="no gcc, or no nm")
@pytest.mark.parametrize("options", [{}, {"dtype": "float"}, {"functions": "jacobian"}], ids=str)
@pytest.mark.parametrize("text", [NORMED, SINC, NINE, "softmax", "lstm_cell", "rodrigues", "gelu_exact"])
@pytest.mark.in_turn
def test_nothing_else_is_left_to_link(text, options, tmp_path):
    function = sg.parse(text) if "=" in text else getattr(library, text)
    files = sg.generate(function, to="c", **options, check=False)
    for name, content in files.items():
        tmp_path.joinpath(name).write_text(content)
    source = next(name for name in files if name.endswith(".c"))
    flags = ["-std=c99", "-O2", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-c", source, "-o", "out.o"], cwd=tmp_path, check=True)
    done = subprocess.run(["nm", "-u", "out.o"], cwd=tmp_path, check=True, capture_output=True, text=True)
    left = {line.split()[-1] for line in done.stdout.splitlines()} - {"_GLOBAL_OFFSET_TABLE_"}
    listed = re.search(r"Calls of the C library\n((?: \*     .*\n)+)", head(files))
    said = set(re.findall(r"\w+", listed[1])) if listed else set()
    assert left <= said | ASKED_BY_GCC
