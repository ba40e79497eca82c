"""Several functions in one .c and .h: their symbols, their check, what stands once, and the command for them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from click.testing import CliRunner

import symgrad as sg
from symgrad.cli import main
from symgrad.errors import TargetError, UnsupportedError
from symgrad.pipeline import printed_together, verified

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
SINC = "sinc(x, y) = sin(sqrt(x**2 + y**2))/sqrt(x**2 + y**2)"
WAVE = "wave(r) = sin(sqrt(r**2))/sqrt(r**2) + exp(r), erf(r)"
SWISH = "swish(x[n])[i] = x[i]*sigmoid(x[i])"
SOFTMAX = "normed(x[n], k[m]: int)[j] = exp(x[k[j]])/sum[i](exp(x[i]))"
TEXTS = [SINC, WAVE, SWISH, SOFTMAX]
MODULE = """\
import symgrad as sg

@sg.function
def polar(r, t):
    return r * sg.cos(t), r * sg.sin(t)

@sg.function
def wave(r, t):
    return sg.exp(r) * sg.cos(t)
"""
OPTIONS = [
    {},
    {"prefix": "rb_", "functions": "forward, backward, jacobian"},
    {"dtype": "float", "index": "int32", "functions": "jacobian"},
    {"openmp": True},
]


@needs_cc
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_each_is_right_and_what_they_share_stands_once(options, tmp_path):
    functions = [sg.parse(text) for text in TEXTS]
    together = printed_together(functions, "c", {"file": "kinematics", **options})
    prefix = options.get("prefix", "")
    assert {*together[0].files} == {f"{prefix}kinematics.c", f"{prefix}kinematics.h"}
    for function, one in zip(functions, together, strict=True):
        assert one.files == together[0].files
        report = verified(function, one, one.load())
        assert report.ok, str(report)
        assert "--file kinematics" in report.command
    files = sg.generate(functions, to="c", file="kinematics", **options, check=False)
    assert files == together[0].files
    source, header = (files[f"{prefix}kinematics.{end}"] for end in "ch")
    defined = re.findall(r"^(?:static |inline )*\w+ \*?(\w+)\(", source, re.M)
    assert len(defined) == len(set(defined)), "a function is defined twice"
    assert header.count("#ifndef SYMGRAD_") == header.count("Checksum of this file") == 1
    for path, text in files.items():
        tmp_path.joinpath(path).write_text(text)
    flags = [*STRICT, *(["-Wno-unknown-pragmas"] if "openmp" in options else [])]
    subprocess.run(["cc", *flags, "-c", f"{prefix}kinematics.c", "-o", "out.o"], cwd=tmp_path, check=True)


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("arm.py").write_text(MODULE)
    asked = ["arm.py", "--to", "c", "--file", "kinematics", "--prefix", "rb_"]
    done = CliRunner().invoke(main, ["generate", *asked])
    assert done.exit_code == 0, done.output
    header = tmp_path / "kinematics" / "rb_kinematics.h"
    (again,) = re.findall(r"symgrad (generate .*)", header.read_text())
    assert again == "generate arm.py:polar arm.py:wave --to c --prefix rb_ --file kinematics"
    for command in ([*again.split(), "--check"], ["generate", *asked, "--check"], ["check", *asked]):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    tmp_path.joinpath("arm.py").write_text(MODULE.replace("sg.exp(r) * ", ""))
    done = CliRunner().invoke(main, ["generate", *asked, "--check"])
    assert done.exit_code == 1 and "rb_wave" in done.output
    shown = CliRunner().invoke(main, ["show", *asked]).output
    assert shown.count("#ifndef SYMGRAD_RB_KINEMATICS_H") == 1


def test_other_languages_print_their_own_files_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("arm.py").write_text(MODULE)
    asked = ["generate", "arm.py", "--to", "numpy,c", "--file", "polar"]  # in the folder of one of the functions
    assert CliRunner().invoke(main, [*asked, "--no-check"]).exit_code == 0
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("[!_]*/*"))
    assert found == ["polar/polar.c", "polar/polar.h", "polar/polar_numpy.py", "wave/wave_numpy.py"]
    done = CliRunner().invoke(main, [*asked, "--check"])
    assert done.exit_code == 0, done.output


REFUSED = [
    ([SINC, WAVE], {}, TargetError, "sinc, wave: c prints a file for each function. Name the file that has all"),
    ([SINC, WAVE], {"to": "numpy"}, TargetError, "numpy prints a file for each function. Print each by itself"),
    ([SINC, WAVE], {"to": "numpy", "file": "k"}, TargetError, "file is an option of c, and numpy has none such"),
    ([SINC, SINC], {"file": "k"}, TargetError, "two functions of the file k would have the same names in C"),
    (["f(x) = x", "F(x) = x**2"], {"file": "k"}, TargetError, "two functions of the file k would have the same names"),
    ([SINC], {"file": "a.c"}, TargetError, "'a.c' is no name of a file of C, as kinematics is"),
    ([SINC], {"file": "math"}, UnsupportedError, r"math.h would hide C's own"),
    ([], {"file": "k"}, TargetError, "there is no function to print"),
]


@pytest.mark.parametrize(("texts", "options", "error", "said"), REFUSED)
def test_what_is_refused(texts, options, error, said):
    with pytest.raises(error) as raised:
        sg.generate([sg.parse(text) for text in texts], **{"to": "c", **options}, check=False)
    assert said in str(raised.value)


def test_of_one_function_the_file_has_the_name():
    files = sg.generate(sg.parse(SINC), to="c", file="waves", check=False)
    assert {*files} == {"waves.c", "waves.h"}
    assert files["waves.c"].startswith("/*\n * sinc(x, y) = ")
