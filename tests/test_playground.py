"""The playground without a browser: what is answered, what is refused, and what HTTP says of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import symgrad as sg
from symgrad import library, playground
from symgrad.backends import BACKENDS
from symgrad.derivatives import as_function
from symgrad.errors import TargetError
from symgrad.explanation import html
from symgrad.playground import static
from symgrad.playground.answers import LONGEST, answer

pytestmark = pytest.mark.skipif(not all(map(find_spec, html.NEEDED)), reason="symgrad[html] is not installed")
TEMPLATES = Path(__file__).parent.parent / "templates"
LONG = "f(x) = " + " + ".join(["x"] * LONGEST)

ERRORS = [  # a question, what is said of it, and the characters from which on it is
    ({"formula": "f(x) = x*q"}, "q is not known", "q"),
    ({"formula": "f(x) = x +"}, "the text ends here", ""),
    ({"formula": "f(x[n]):\n    y[i] = x[i]\n    out[i] = y[i] * z"}, "z is not known", "z"),
    ({"formula": "f(a[n,k], b[m,k]) = a @ b"}, "k and m meet in one axis", "@ b"),
    ({"formula": "f(x[n], y[m])[i] = x[i]*y[i]"}, "i has two sizes", None),
    ({"formula": "__import__('os').system('ls')"}, "has no meaning here", "'os"),
    ({"formula": "symgrad.library:linear"}, "A name has no attributes", ".library"),
    ({"formula": "layers.py:linear"}, "A name has no attributes", ".py"),
    ({"formula": "/etc/passwd"}, "an operand is missing", "/etc"),
    ({"formula": "f(x: int) = x + 1"}, "has no gradient", None),
    ({"formula": LONG}, f"and a page reads {LONGEST:,}", None),
    ({"formula": ""}, "there is no formula", ""),
    ({"library": "os"}, "there is no os in the library", None),
    ({"library": "symgrad.library:linear"}, "there is no", None),
    ({"formula": "x", "to": "cobol"}, "no language that symgrad prints", None),
    ({"ask": "eval", "formula": "x"}, "ask is derive", None),
    ({"formula": ["x"]}, "a JSON object of strings", None),
    ({"formula": "x", "path": "a.py"}, "a question has ask, formula, library and to", None),
    ([], "a JSON object of strings", None),
    (None, "a JSON object of strings", None),
]


@pytest.mark.parametrize(("question", "said", "there"), ERRORS, ids=lambda x: str(x)[:40])
def test_errors_say_where(question, said, there):
    asked = {"ask": "derive", **question} if isinstance(question, dict) else question
    found = answer(asked)
    assert said in found["error"] and "html" not in found
    at = found.get("at")
    assert (at is None) == (there is None)
    assert at is None or question["formula"][at:].startswith(there)


def test_a_formula_error_says_its_place():
    with pytest.raises(sg.FormulaError) as error:
        sg.parse("f(x) = x*q")
    assert error.value.at == 9 and error.value.said in str(error.value) and "^" not in error.value.said


DERIVED = [  # a formula, and what stands in J and J^T v
    ({"formula": "squares(x, y) = x**2, x*y, y**2"}, ["grad_x = 2 * x * grad_out0 + y * grad_out1", "J ="]),
    ({"formula": "s(x[n]): out[i] = exp(x[i]) / sum[j](exp(x[j]))"}, ["grad_x[i] = out[i] * (grad_output[i] - "]),
    ({"library": "linear"}, ["grad_bias[j] = sum[i](grad_output[i, j])", "d out[i,j] / d x[p,l] = "]),
]


@pytest.mark.parametrize(("question", "said"), DERIVED, ids=lambda x: str(x)[:30])
def test_j_and_its_product(question, said):
    found = answer({"ask": "derive", **question})
    assert all(s in found["html"] for s in said), found
    assert re.findall(r'<section id="(\w+)"', found["html"]) == ["function", "jacobian", "product"]


@pytest.mark.parametrize("to", BACKENDS)
def test_code_is_that_of_the_command(to):
    formula = "f(x[n]) = sum[i](x[i]**2)"
    found = answer({"ask": "code", "formula": formula, "to": to})
    text = re.sub(r"<[^>]*>", "", found["html"])
    for path in sg.generate(formula, to, check=False):
        assert path in text
    assert len({*re.findall(r' id="([^"]+)"', found["html"])}) == found["html"].count(' id="')


def test_the_check_and_the_derivation():
    found = answer({"ask": "check", "formula": "f(x) = x**2"})
    assert found["ok"] is True and "agrees with the formula and J^T v" in found["html"]
    found = answer({"ask": "explain", "formula": "f(x) = log(1 + exp(x))"})
    assert {"local", "why", "numbers", "rewrites", "saved"} <= {*re.findall(r'<section id="(\w+)"', found["html"])}
    assert " style=" not in found["html"], "the policy of the page refuses styles in the text"


def test_what_cannot_be_checked_here_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = answer({"ask": "check", "formula": "f(x) = x**2", "to": "torch"})
    assert found["ok"] is None
    assert found["said"] == (
        "It was not checked here: f: the printed torch code needs torch. To get it: pip install torch"
    )


def test_the_library_by_its_files():
    groups = answer({"ask": "library"})["groups"]
    assert sorted(n for names in groups.values() for n in names) == sorted(library.__all__)
    assert "relu" in groups["activations"]


def test_what_stands_in_the_editor_reads_back():
    """Of what formula text can say: conditions on optional inputs, it cannot."""
    for name in ("softmax", "squares", "attention", "tanh", "triu"):
        text = answer({"ask": "derive", "library": name})["text"]
        assert str(sg.parse(text)) == str(as_function(getattr(library, name)))


MEMORY = """
from symgrad.playground import answers, worker
worker.MEMORY = 1 << 29
answers.ASKS = {"derive": lambda declaration, to: bytearray(1 << 30)}
worker._limit({})
print(answers.answer({"ask": "derive", "formula": "x"})["error"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of POSIX, and macOS does not keep to it")
def test_memory_has_a_limit():
    found = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("this takes more memory than a page may")


def test_says_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(playground.SERVING, "no_such_module", "no-such-package")
    with pytest.raises(TargetError, match=r"no-such-package too: pip install 'symgrad\[playground\]'"):
        playground.serve(0, 1.0, print)


# without a server


def test_the_page_for_pyodide(tmp_path):
    with pytest.raises(TargetError, match=r"there is no .*pyodide-lock\.json. Unpack a release of Pyodide"):
        static.write(tmp_path, 20.0)
    (tmp_path / "pyodide").mkdir()
    lock = {"packages": {name: {"file_name": f"{name}-1-py3-none-any.whl"} for name in static.PACKAGES}}
    (tmp_path / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock))
    with pytest.raises(TargetError, match=r"lacks click-1-py3-none-any\.whl, .*python_flint.*pip download"):
        static.write(tmp_path, 20.0)
    for name in (*static.PACKAGES, *static.WHEELS):
        (tmp_path / "pyodide" / f"{name}-1-py3-none-any.whl").touch()
    written = static.write(tmp_path, 20.0)
    assert {*written} == {*tmp_path.iterdir()} - {tmp_path / "pyodide"}
    text = (tmp_path / "index.html").read_text()
    assert "script-src 'self' 'wasm-unsafe-eval'" in text and text.index("static.js") < text.index("playground.js")
    for name in re.findall(r'(?:src|href)="([\w.]+)"', text):
        assert (tmp_path / name).is_file()
    with zipfile.ZipFile(tmp_path / "symgrad.zip") as archive:
        assert {"symgrad/playground/answers.py", "symgrad/templates/numpy.py"} <= {*archive.namelist()}
    first = (tmp_path / "symgrad.zip").read_bytes()
    static.write(tmp_path, 20.0)
    assert (tmp_path / "symgrad.zip").read_bytes() == first


# over HTTP

serving = pytest.mark.skipif(
    not all(map(find_spec, ("starlette", "httpx2"))), reason="symgrad[playground] or httpx2 is not installed"
)
HERE = "http://127.0.0.1:8600"
JSON = {"Content-Type": "application/json"}
QUESTION = json.dumps({"ask": "derive", "formula": "f(x) = x**2"})

REQUESTS = [  # method, path, headers, body; the status, and what is in the text
    ("GET", "/", {}, "", 200, "<h1>symgrad playground</h1>"),
    ("GET", "/", {"Host": "localhost:8600"}, "", 200, "<h1>symgrad playground</h1>"),
    ("GET", "/?formula=x", {}, "", 200, "<h1>symgrad playground</h1>"),
    ("GET", "/playground.js", {}, "", 200, "fetch("),
    ("GET", "/explain.css", {}, "", 200, "prefers-color-scheme"),
    ("GET", "/", {"Host": "example.org"}, "", 400, "Invalid host"),
    ("GET", "/", {"Host": "127.0.0.1.example.org"}, "", 400, "Invalid host"),
    ("GET", "/numpy.py", {}, "", 404, ""),
    ("GET", "/../pyproject.toml", {}, "", 404, ""),
    ("GET", "/%2e%2e/pyproject.toml", {}, "", 404, ""),
    ("GET", "/answer", {}, "", 405, ""),
    ("OPTIONS", "/answer", {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}, "", 405, ""),
    ("POST", "/answer", JSON, QUESTION, 200, "grad_x = 2 * x * grad_output"),
    ("POST", "/answer", JSON | {"Host": "example.org"}, QUESTION, 400, "Invalid host"),
    ("POST", "/answer", {"Content-Type": "text/plain"}, QUESTION, 415, "application/json"),
    ("POST", "/answer", {}, QUESTION, 415, "application/json"),
    ("POST", "/answer", JSON, "{", 400, "this is not JSON"),
    ("POST", "/answer", JSON, "[" * 10_000, 400, "this is not JSON"),
    ("POST", "/answer", JSON, " " * 20_000, 413, "at most 16,384 bytes"),
    ("POST", "/answer", JSON, json.dumps({"ask": "derive", "formula": LONG[: LONGEST + 1]}), 200, "a page reads 2,000"),
    ("POST", "/answer", JSON, json.dumps({"ask": "derive", "formula": "f(x) = x*q"}), 200, '"at":9'),
]


@pytest.fixture(scope="module")
def client():
    from starlette.testclient import TestClient

    from symgrad.playground.server import application

    with TestClient(application(seconds=300.0, processes=1), base_url=HERE) as client:
        yield client


@serving
@pytest.mark.parametrize(("method", "path", "headers", "body", "status", "said"), REQUESTS)
def test_requests(client, method, path, headers, body, status, said):
    found = client.request(method, path, headers=headers, content=body)
    assert (found.status_code, said in found.text) == (status, True), found.text
    assert "access-control-allow-origin" not in found.headers
    if found.status_code == 200:
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert "unsafe" not in found.headers["content-security-policy"]


@serving
def test_what_takes_too_long_is_ended():
    """Each question ends its process, and the next one has another."""
    from starlette.testclient import TestClient

    from symgrad.playground.server import application

    with TestClient(application(seconds=0.01, processes=1), base_url=HERE) as client:
        for _ in range(2):
            found = client.post("/answer", headers=JSON, content=QUESTION)
            assert "this took more than 0.01 s, and was ended" in found.json()["error"]


@serving
def test_a_formula_that_ends_its_process(monkeypatch):
    from starlette.testclient import TestClient

    from symgrad.playground import workers
    from symgrad.playground.server import application

    monkeypatch.setattr(workers, "LARGEST", 10)
    with TestClient(application(seconds=300.0, processes=1), base_url=HERE) as client:
        for _ in range(2):
            found = client.post("/answer", headers=JSON, content=QUESTION)
            assert "is too long for a page" in found.json()["error"]


def test_a_page_needs_nothing_from_elsewhere():
    for name in ("playground.html", "playground.css", "playground.js", "explain.css", "explain.js"):
        assert not re.search(r"https?:|//\w+\.|@import|url\(", (TEMPLATES / name).read_text(encoding="utf-8")), name
