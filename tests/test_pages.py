"""Pages in a browser: what is typed, clicked and read, in Chromium without a window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Thread
from typing import ClassVar

import numpy as np
import pytest
from pages import script

import symgrad as sg
from symgrad.playground import SERVING, static

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDED = {*SERVING, "playwright", "axe_playwright_python"}
missing = [name for name in sorted(NEEDED) if find_spec(name) is None] + ["chromium"] * (BROWSER is None)
PATIENCE = 60_000  # milliseconds, on a machine that does much else
SERIOUS = ("serious", "critical")  # findings of axe
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser(request):
    if missing:
        said = f"pages are not tried: {', '.join(missing)} missing"
        (pytest.fail if request.config.getoption("--frameworks") else pytest.skip)(said)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as p:
        # the sandbox takes rights that a container seldom has; the pages are our own
        found = p.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(browser):
    command = [sys.executable, "-m", "symgrad", "playground", "--port", "0", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().split()[3]
        server.terminate()


@contextmanager
def opened(browser, address, **how):
    """A page; nothing may go wrong in it."""
    wrong = []
    page = browser.new_page(**how)
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda r: None if r.url.startswith((address.split("#")[0], "data:")) else wrong.append(r.url))
    page.goto(address)
    yield page
    page.close()
    assert wrong == []


def findings(page):
    """What axe finds that keeps somebody out."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in SERIOUS]


def test_a_formula_is_typed(browser, address):
    from playwright.sync_api import expect

    with opened(browser, address) as page:
        editor = page.get_by_label("Formula", exact=True)
        expect(page.locator("#product")).to_contain_text("grad_x")  # of the example that stands there
        editor.fill("")
        editor.press_sequentially("f(x, y) = x*exp(y")
        expect(page.locator("#error")).to_contain_text("column")
        expect(editor).to_have_attribute("aria-invalid", "true")
        editor.press_sequentially(")")
        expect(page).to_have_title("f - symgrad playground")
        expect(editor).to_have_attribute("aria-invalid", "false")
        expect(page.locator("#error")).to_be_empty()
        row = page.get_by_role("row", name="d out")
        expect(row.get_by_role("cell")).to_have_text(["exp(y)", "x * exp(y)"])
        products = page.locator("#product math")
        assert [m.get_attribute("alttext") for m in products.all()] == [
            "grad_x = exp(y) * grad_output",
            "grad_y = grad_output * out",
        ]
        expect(page.locator("#checked")).to_contain_text("\u2713 f numpy agrees with the formula and J^T v")
        assert findings(page) == []


def test_an_error_is_under_its_character(browser, address):
    from playwright.sync_api import expect

    with opened(browser, address) as page:
        page.get_by_label("Formula", exact=True).fill("f(x[n]):\n    y[i] = x[i]\n    out[i] = y[i] * z")
        expect(page.locator("#error")).to_contain_text("line 3, column 21: z is not known.")
        expect(page.locator("mark")).to_have_text("z")
        mark, pane, editor = (page.locator(s).bounding_box() for s in ("mark", "#marks", "#formula"))
        assert pane == editor, "the mark lies over the text"
        width = mark["width"]
        assert abs(mark["x"] - editor["x"] - 18 - 20 * width) < width / 2
        assert editor["height"] * 0.5 < mark["y"] - editor["y"] < editor["height"] * 0.9
        expect(page.locator("#derived")).to_have_attribute("inert", "")
        assert findings(page) == []


def test_languages_by_the_keyboard(browser, address):
    from playwright.sync_api import expect

    with opened(browser, address) as page:
        code = page.locator("#code")
        expect(code).to_contain_text("squares_numpy.py")
        page.get_by_label("NumPy", exact=True).focus()
        for name in ("squares.h", "squares_torch.py", "squares_jax.py", "squares_scipy.py", "squares_torch_c.py"):
            page.keyboard.press("ArrowRight")
            expect(code).to_contain_text(name)
        page.keyboard.press("ArrowRight")  # around
        expect(page.locator("#checked")).to_contain_text("\u2713 squares numpy agrees")
        link = code.get_by_role("link").first
        link.click()
        assert "formula=squares" in page.url, "a link to a line leaves the link of the page as it is"
        assert "row" in page.evaluate("document.activeElement.className")
        link.hover()
        expect(code.locator(".row.lit").first).to_contain_text("x**2")


def test_the_library_the_derivation_and_the_link(browser, address):
    from playwright.sync_api import expect

    with opened(browser, address) as page:
        page.get_by_label("or one of the library").select_option("softmax")
        expect(page).to_have_title("softmax - symgrad playground")
        expect(page.get_by_label("Formula", exact=True)).to_have_value(re.compile(r"softmax\(x\[\.\.\.,n\]\) -> out:"))
        page.get_by_text("How it is derived, with numbers").click()
        expect(page.locator("#derivation")).to_contain_text("The result")
        page.get_by_label("C", exact=True).check(force=True)
        expect(page.locator("#checked")).to_contain_text("\u2713 softmax c agrees")
        assert findings(page) == []
        link = page.get_by_role("button", name="Copy the link").get_attribute("value")
        assert link == page.url == f"{address}#library=softmax&to=c"
    with opened(browser, link) as page:
        expect(page).to_have_title("softmax - symgrad playground")
        expect(page.get_by_label("or one of the library")).to_have_value("softmax")
        expect(page.locator("#code")).to_contain_text("softmax.c")
        page.get_by_label("Formula", exact=True).fill("g(x) = x**3")
        expect(page).to_have_title("g - symgrad playground")
        expect(page.get_by_label("or one of the library")).to_have_value("")


def test_a_late_answer_is_not_of_the_language_chosen_since(browser, address):
    from playwright.sync_api import expect

    with opened(browser, address) as page:
        expect(page.locator("#checked")).to_contain_text("numpy agrees")
        kept = []
        late = re.compile(r'"to":\s*"torch"')
        page.route("**/answer", lambda r: kept.append(r) if late.search(r.request.post_data) else r.continue_())
        page.get_by_label("PyTorch", exact=True).check(force=True)
        page.wait_for_function("document.getElementById('checked').textContent === '...'")
        page.get_by_label("C", exact=True).check(force=True)
        expect(page.locator("#checked")).to_contain_text("squares c agrees")
        for route in kept:
            route.fulfill(json={"html": "late"})
        page.evaluate("new Promise((then) => setTimeout(then, 100))")
        expect(page.locator("#code")).to_contain_text("squares.h")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(browser, address, scheme):
    from playwright.sync_api import expect

    with opened(browser, address, viewport=PHONE, color_scheme=scheme) as page:
        page.get_by_role("button", name="softmax").click()
        expect(page.locator("#checked")).to_contain_text("\u2713 softmax numpy agrees")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert findings(page) == []


PYODIDE = """
export const loadPyodide = async () => ({
  loadPackage: async () => {},
  unpackArchive: () => {},
  runPython: () => (text) => {
    const { ask, formula } = JSON.parse(text);
    while (formula === "endless");
    if (ask === "library") return JSON.stringify({ groups: { some: ["relu"] } });
    return JSON.stringify({ error: `${ask} of ${formula}`, at: 0 });
  },
});"""


def test_without_a_server(browser, tmp_path):
    """The worker, its limit of time, and the policy; what stands for Pyodide here has no Python in it."""
    from playwright.sync_api import expect

    (tmp_path / "pyodide").mkdir()
    lock = {"packages": {name: {"file_name": "a.whl"} for name in static.PACKAGES}}
    texts = {"pyodide-lock.json": json.dumps(lock), "pyodide.mjs": PYODIDE, "a.whl": ""}
    for name, text in (texts | {f"{name}-1.whl": "" for name in static.WHEELS}).items():
        (tmp_path / "pyodide" / name).write_text(text)
    static.write(tmp_path, 1.0)
    with served(tmp_path) as found, opened(browser, f"{found}#formula=a&to=c") as page:
        expect(page.locator("#error")).to_have_text("column 1: derive of a")
        expect(page.get_by_label("or one of the library").locator("option")).to_have_count(2)
        page.get_by_label("Formula", exact=True).fill("endless")
        expect(page.locator("#error")).to_contain_text("this took more than 1 s, and was ended")
        page.get_by_label("Formula", exact=True).fill("b")
        expect(page.locator("#error")).to_have_text("column 1: derive of b")


@contextmanager
def served(folder):
    """The address of the files in a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and tells nobody."""

    extensions_map: ClassVar = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, *said):
        pass


def test_an_explanation(browser, tmp_path):
    """The page of `symgrad explain`: formulas and lines light up together, and a file is copied."""
    from playwright.sync_api import expect

    path = tmp_path / "page.html"
    path.write_text(sg.explain(sg.parse("f(x, y) = x*exp(y)"), only=("function", "code", "graph")).html(), "utf-8")
    with opened(browser, path.as_uri()) as page:
        page.locator("[data-key='backward grad_y']").hover()
        expect(page.locator(".row.lit")).to_contain_text("grad_y = grad_output * out")
        page.get_by_role("button", name="Copy the file").click()
        expect(page.locator("#said")).to_have_text("Copied")
        assert findings(page) == []


FUNCTIONS = [  # of the gallery: name, topic, what is said of it
    ("gelu", "activations", "x*Phi(x), exact."),
    ("relu", "activations", "The larger one of x and 0."),
    ("smooth_l1_loss", "losses", "Squares near 0, and absolute values beyond."),
]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """An index of some functions, whose pages say no more than their names."""
    folder, make = tmp_path_factory.mktemp("gallery"), script("make_gallery")
    for name, topic, said in FUNCTIONS:
        record = {"name": name, "topic": topic, "about": f"Of {topic}.", "said": said}
        (folder / f"{name}.json").write_text(json.dumps(record | {"picture": make.thumbnail(np.eye(3))}))
        (folder / f"{name}.html").write_text(f'<link rel="icon" href="data:,"><title>{name}</title>')
    (folder / "index.html").write_text(make.index(folder))
    with served(folder) as found:
        yield found


SEARCHES = [  # what is typed, which functions are left, and what is said of how many
    ("", ["gelu", "relu", "smooth_l1_loss"], "3 functions"),
    ("elu", ["gelu", "relu"], "2 functions"),
    ("Smooth L1", ["smooth_l1_loss"], "1 function"),
    ("activations larger", ["relu"], "1 function"),
    ("losses", ["smooth_l1_loss"], "1 function"),
    ("conv", [], "0 functions"),
]


@pytest.mark.parametrize(("typed", "left", "said"), SEARCHES, ids=[row[0] or "nothing" for row in SEARCHES])
def test_the_gallery_is_searched(browser, gallery, typed, left, said):
    from playwright.sync_api import expect

    with opened(browser, gallery) as page:
        page.get_by_label("Search by name, words or topic").press_sequentially(typed)
        expect(page.get_by_role("status")).to_have_text(said)
        expect(page.get_by_role("main").get_by_role("link").locator("b")).to_have_text(left)
        assert page.get_by_role("heading", level=2).count() == len({t for n, t, _ in FUNCTIONS if n in left})
        found = page.url
    with opened(browser, found) as page:  # the address has what was typed
        expect(page.get_by_role("status")).to_have_text(said)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_gallery_by_the_keyboard_on_a_phone(browser, gallery, scheme):
    from playwright.sync_api import expect

    with opened(browser, gallery, viewport=PHONE, color_scheme=scheme) as page:
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the functions")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        search = page.get_by_label("Search by name, words or topic")
        expect(search).to_be_focused()
        page.keyboard.type("relu")
        page.keyboard.press("Enter")  # sends nothing anywhere
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="relu")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page).to_have_title("relu")
