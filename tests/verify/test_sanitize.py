"""Mistakes of printed C that only large sizes show: the text and the values of small ones are right."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest
from loading import Compiled, heads
from printed import FUNCTIONS, C, c_files

from symgrad.verify import check, sanitize
from symgrad.verify.c_text import CText
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample

FORWARD = "out[i * m + j] = bias != NULL ? sum + bias[j] : sum;"
MISTAKES = [
    ("linear", FORWARD, FORWARD + " if (n > 20 && bias) { sum = bias[m]; }", "heap-buffer-overflow at linear.c:"),
    ("linear", "grad_bias[j] = 0.0;", "grad_bias[n > 20 ? m : j] = 0.0;", "heap-buffer-overflow at linear.c:"),
    (
        "linear",
        FORWARD,
        FORWARD + " if (n > 20) { int big = 2147483647; big += (int)n; sum = big; }",
        "signed integer overflow: 2147483647 + ",
    ),
    ("linear", FORWARD, FORWARD + " if (n > 20) { int none = 0; sum = (double)(1 / none); }", "division by zero"),
    (
        "layer_norm",
        "work[j] = grad",
        "work[n > 20 ? d : j] = 0.0; work[j] = grad",
        "heap-buffer-overflow at layer_norm.c",
    ),
]


@pytest.mark.parametrize("row", MISTAKES, ids=[r[2] for r in MISTAKES])
def test_a_mistake_at_real_sizes_is_found(row):
    name, old, new, said = row
    function, text = FUNCTIONS[name](), C[name]
    assert old in text
    report = check(function, c_files(name, text.replace(old, new, 1)), "c", Compiled(function, c_files(name)))
    assert said in str(report) and "[sanitizer]" in str(report), str(report)
    assert ", for x (" in str(report)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "squares"])
def test_the_driver_runs_every_call(name):
    function = FUNCTIONS[name]()
    executed = CText(function, c_files(name), heads(function, c_files(name)))
    calls = sample(Declaration(function)).cases
    assert sanitize.sanitized(function, executed, c_files(name), calls) is None
    each = 2 if sanitize.Driver(function, executed, f"{name}.h").saved else 1
    start = C[name].index("{\n", C[name].index(f"{name}_forward(")) + 2
    for number in (1, len(calls)):
        counter = f"static int left = {each * number}; left -= 1; if (left == 0) {{ left = 1 / left; }}\n"
        wrong = C[name][:start] + counter + C[name][start:]
        said, found = sanitize.sanitized(function, executed, c_files(name, wrong), calls)
        assert said.startswith("division by zero at") and found == number - 1


LIMITS = [1 << 33, 16_000_000_000 << 10, 18_000_000_000 << 10]  # bytes of addresses: what fails there differs


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a limit of addresses is not kept")
@pytest.mark.parametrize("most", LIMITS)
def test_a_sanitizer_that_has_no_memory_for_itself_is_no_finding(monkeypatch, most):
    import resource  # which Windows has not

    limited = functools.partial(subprocess.run, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
    monkeypatch.setattr(sanitize.subprocess, "run", limited)
    function = FUNCTIONS["squares"]()
    executed = CText(function, c_files("squares"), heads(function, c_files("squares")))
    calls = sample(Declaration(function)).cases
    assert sanitize.sanitized(function, executed, c_files("squares"), calls) is None


def test_a_compiler_without_sanitizers_is_left_in_peace(monkeypatch):
    monkeypatch.setattr(sanitize, "FLAGS", ("-fsanitize=nothing-like-it",))
    function = FUNCTIONS["squares"]()
    assert check(function, c_files("squares"), "c", Compiled(function, c_files("squares"))).ok
