"""An operator that a language lacks, and that is long in others, is a function of the file where it is used often."""

from __future__ import annotations

import re

import pytest

import symgrad as sg

SEVERAL = {  # formula -> what each language has as a function of the file
    "f(x, y) = sigmoid(x)*sigmoid(x*y)": {"numpy": "sigmoid", "c": "sigmoid", "torch": "", "jax": ""},
    "f(x, y) = log_cosh(x) + log_cosh(y)": dict.fromkeys(("numpy", "c", "torch", "jax"), "log_cosh"),
    "f(x, y) = softplus(x)*softplus(x + y)": {"numpy": "sigmoid", "c": "sigmoid softplus"},
    "f(x, y, z) = logaddexp(x*y, y) + logaddexp(y*z, z)": {"numpy": "sigmoid", "c": "logaddexp sigmoid"},
    "f(x[n], y[n])[i] = sinc(x[i])*sinc(x[i]*y[i])": {"numpy": "", "c": "sinc"},
    "f(x, y) = sigmoid(x)*sigmoid(x)*y": {"numpy": "", "c": ""},  # one operand: written out once
    "f(x, y) = relu(x)*relu(y)": {"numpy": "", "c": ""},  # short where it stands
}
CASES = [(text, to, names.split()) for text, each in SEVERAL.items() for to, names in each.items()]


@pytest.mark.parametrize(("text", "to", "names"), CASES, ids=[f"{text}-{to}" for text, to, _ in CASES])
def test_what_is_a_function_of_the_file(text, to, names):
    files = sg.generate(sg.parse(text), to=to, check=False)
    code = next(file for path, file in files.items() if path.endswith((".py", ".c")))
    made = re.findall(r"^(?:def _|static double )(\w+)\(", code, re.MULTILINE)
    assert sorted(set(made) & {"sigmoid", "log_cosh", "softplus", "logaddexp", "sinc"}) == names


@pytest.mark.parametrize("to", ["numpy", "c"])
def test_a_function_of_the_file_makes_room_for_the_users_names(to):
    function = sg.parse("sigmoid(sigmoid_, exp_x) = sigmoid(sigmoid_)*sigmoid(sigmoid_*exp_x)")
    assert sg.check(function, to=to).ok


@pytest.mark.parametrize("steps", [5, 60])
def test_a_function_of_one_value_is_called_once(steps):
    """Also in a formula that is too long to be looked through."""
    body = "x"
    for k in range(1, steps + 1):
        body = f"({body}*sin(x) + {k}*cos(y))"
    code = sg.generate(sg.parse(f"f(x, y) = {body}"), to="numpy", check=False)["f_numpy.py"]
    for part in re.split(r"^def ", code, flags=re.MULTILINE):
        assert part.count("np.sin(x)") <= 1 and part.count("np.cos(y)") <= 1
