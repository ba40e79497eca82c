"""Formulas drawn at random by Hypothesis, and what is asked of them: that the oracle agrees with what is printed.

scalars()       a formula of 1 to 60 operations on three inputs
tensors()       a block of one to three statements: reductions, shifts, conditions, loops
affine()        one or two equations whose subscripts are affine in their indices, read and written
compositions()  functions of the library and of arrays, one of the other, with inputs that may be absent
"""

from __future__ import annotations

import re

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import symgrad as sg
from symgrad.errors import DeclarationError, ShapeError, UnsupportedError

UNARY = ("sin({})", "tanh({})", "{}**2", "sigmoid({})", "abs({})", "-{}", "sqrt(1 + {}**2)", "exp(-{}**2)")
BINARY = ("{} + {}", "{} - {}", "({})*({})", "({})/(1 + ({})**2)", "maximum({}, {})", "atan2({}, 2 + ({})**2)")
REDUCTIONS = ("sum", "sum", "mean", "max", "min", "prod", "logsumexp")
INPUTS = {"x": ("n", "m"), "y": ("m",), "z": ("n",), "w": ()}
INDICES = {"i": "n", "j": "m", "k": "n", "l": "m"}

# formulas of scalars: as people write them, with the rounding and the domains that this brings

SCALAR_UNARY = (
    *("exp({})", "log({})", "sqrt({})", "sin({})", "cos({})", "tanh({})", "1/({})", "({})**2", "({})**3", "-({})"),
    *("abs({})", "1/(1 + exp(-({})))", "log(1 + exp({}))", "exp({}) - 1", "log(1 + {})", "1 - cos({})", "erf({})"),
    *("cosh({})", "sinh({})", "atan({})", "sigmoid({})", "softplus({})", "relu({})", "({})**-2", "({})**0.5", "2*({})"),
    *("erfc({})", "asinh({})", "log(({})**2 + 1)", "exp(-({})**2)", "cbrt({})", "expm1({})", "log1p(({})**2)"),
)
SCALAR_BINARY = (  # conditions compare inputs: what 1 + exp(-1e5) > 1 is, no number of digits of the oracle tells
    *("({}) + ({})", "({}) + ({})", "({}) - ({})", "({}) - ({})", "({})*({})", "({})*({})", "({})/({})"),
    *("maximum({}, {})", "minimum({}, {})", "atan2({}, {})", "hypot({}, {})", "sqrt(({})**2 + ({})**2)"),
    *("log(exp({}) + exp({}))", "where(x > y, {}, {})", "abs({})**({})", "logaddexp({}, {})"),
)
MOST = 60  # operations


@st.composite
def scalars(draw, most=MOST):
    """The text of a function of three scalars: of one output, or of two that share a value."""
    count = draw(st.integers(1, most))
    if count > 3 and draw(st.integers(0, 4)) == 0:
        shared, rest = draw(_scalar(count // 3, "xyz")), count - count // 3
        one, other = draw(_scalar(rest // 2, "xyzs")), draw(_scalar(rest - rest // 2, "xyzs"))
        return f"f(x, y, z) -> a, b: s = {shared}; a = {one}; b = {other}"
    return f"f(x, y, z) = {draw(_scalar(count, 'xyz'))}"


@st.composite
def _scalar(draw, count, names):
    """An expression of about `count` operations."""
    if count <= 0:
        return draw(st.sampled_from((*names, *names, "0.5", "2", "3", "0.1")))
    if count == 1 or draw(st.booleans()):
        return draw(st.sampled_from(SCALAR_UNARY)).format(draw(_scalar(count - 1, names)))
    left = draw(st.integers(0, count - 1))
    a, b = draw(_scalar(left, names)), draw(_scalar(count - 1 - left, names))
    return draw(st.sampled_from(SCALAR_BINARY)).format(a, b)


# equations with affine subscripts


@st.composite
def affine(draw):
    """One or two equations that read, reduce and write with strides, offsets, and from the end."""
    free = draw(st.sampled_from(((), ("i",), ("i",), ("i", "j"))))
    extents = {index: draw(st.sampled_from(("2", "3", "n", "m"))) for index in (*free, "r", "s")}
    shown = ",".join(f"{index}:{extents[index]}" for index in free)
    body = draw(_affine_body(free, extents, draw(st.integers(0, 3))))
    if not free or draw(st.integers(0, 2)):
        return f"f(x[n,m], y[m], z[n], w)[{shown}] = {body}" if free else f"f(x[n,m], y[m], z[n], w) = {body}"
    step, start = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    first, *others = free
    rest = "".join(f",{index}:{extents[index]}" for index in others)
    first_place = f"{step}*{first} + {start}" if step > 1 or start else first
    places = ",".join([first_place, *others])
    size = f"{step}*{extents[first]} + {start}"
    more = draw(_affine_body(free, extents, draw(st.integers(0, 2))))
    wide = f"h[a:{size}{rest}] = {draw(st.sampled_from(('0', '0.5', 'w')))}"
    given = ",".join(f"{index}:{extents[index]}" for index in free)
    if draw(st.booleans()) and places == ",".join(free):
        return f"f(x[n,m], y[m], z[n], w) -> h: h[{given}] = {body}; h[{places}] += {more}"
    loops = f"q[{given}] = {body}; {wide}; h[{places}] += q[{','.join(free)}] + {more}"
    return f"f(x[n,m], y[m], z[n], w) -> h: {loops}"


@st.composite
def _affine_body(draw, free, extents, depth):
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(_affine_element(free, extents))
    kind = draw(st.sampled_from(("unary", "binary", "binary", "reduce", "reduce", "where")))
    if kind == "unary":
        return draw(st.sampled_from(UNARY)).format(f"({draw(_affine_body(free, extents, depth - 1))})")
    if kind == "reduce":
        bound = [index for index in ("r", "s") if index not in free]
        if bound:
            index = draw(st.sampled_from(bound))
            body = draw(_affine_body((*free, index), extents, depth - 1))
            return f"{draw(st.sampled_from(REDUCTIONS))}[{index}:{extents[index]}]({body})"
    if kind == "where" and free:
        index = draw(st.sampled_from(free))
        a, b = (draw(_affine_body(free, extents, depth - 1)) for _ in range(2))
        return f"where({draw(st.sampled_from((f'{index} > 0', f'{index} == 1', f'{index} % 2 == 0')))}, {a}, {b})"
    a, b = (draw(_affine_body(free, extents, depth - 1)) for _ in range(2))
    return draw(st.sampled_from(BINARY)).format(a, b)


@st.composite
def _affine_element(draw, free, extents):
    name = draw(st.sampled_from(("x", "x", "y", "z", "w")))
    axes = INPUTS[name]
    if not axes:
        return draw(st.sampled_from(("w", "0.5", "2")))
    return f"{name}[{','.join(draw(_subscript(free, extents, axis)) for axis in axes)}]"


@st.composite
def _subscript(draw, free, extents, axis):
    """A place of an axis: affine in one or two indices of literal extent, or along the axis itself, also backwards."""
    along = [index for index in free if extents[index] == axis]
    short = [index for index in free if extents[index] in ("2", "3")]
    kinds = ["literal", *["along"] * (3 * bool(along)), *["affine"] * (3 * bool(short))]
    kind = draw(st.sampled_from(kinds))
    if kind == "along":
        index = draw(st.sampled_from(along))
        return draw(st.sampled_from((index, index, f"{axis} - 1 - {index}")))
    if kind == "affine":
        parts = []
        for index in draw(st.lists(st.sampled_from(short), min_size=1, max_size=2, unique=True)):
            parts.append(draw(st.sampled_from((index, f"2*{index}", f"3*{index}"))))
        text = " + ".join(parts)
        end = draw(st.sampled_from(("", "", " + 1", "from the end", "back")))
        if end == "from the end":
            return f"{axis} - 1 - ({text})" if len(parts) > 1 else f"{axis} - 1 - {text}"
        if end == "back" and len(parts) == 1 and "*" not in text:
            return f"2 - {text}"
        return text + (end if end == " + 1" else "")
    return draw(st.sampled_from(("0", "1", f"{axis} - 1")))


# blocks of statements


@st.composite
def tensors(draw):
    """The text of a function with one to three statements; each target runs over some of the indices i and j."""
    tensors = dict(INPUTS)
    statements = []
    for number in range(draw(st.integers(1, 3))):
        shown = draw(st.sampled_from(((), ("i",), ("j",), ("i", "j"), ("j", "i"))))
        name = f"h{number}"
        kind = draw(st.sampled_from(("plain", "plain", "plain", "literal", "shifted", "loop")))
        if kind == "loop" and shown[:1] == ("i",):
            rest = "".join(f",{index}:{INDICES[index]}" for index in shown[1:])
            at = "".join(f",{index}" for index in shown[1:])
            body = draw(expressions(tensors, shown, 2))
            factor = draw(st.sampled_from(("", "0.5*", "w*")))
            statements += [f"{name}[0{rest}] = 1", f"{name}[i+1{at}] = {factor}{name}[i{at}] + {body}"]
            tensors[name] = ("n+1", *(INDICES[index] for index in shown[1:]))
            continue
        body = draw(expressions(tensors, shown, 3))
        if kind == "literal" and shown:
            rest = "".join(f",{index}:{INDICES[index]}" for index in shown[1:])
            other = draw(expressions(tensors, shown[1:], 2))
            inner = draw(expressions(tensors, shown[1:], 2))
            statements += [f"{name}[0{rest}] = {inner}", f"{name}[1{rest}] = {other}"]
            tensors[name] = ("2", *(INDICES[index] for index in shown[1:]))
            continue
        left = f"{name}[{','.join(f'{index}:{INDICES[index]}' for index in shown)}]" if shown else name
        statements.append(f"{left} = {body}")
        tensors[name] = tuple(INDICES[index] for index in shown)
        if kind == "shifted" and shown:
            more = draw(expressions(tensors | {name: ("no", *shown)}, shown, 2))
            extents = [f"{index}:{INDICES[index]}" for index in shown]
            places = ",".join([f"{INDICES[shown[0]]} + {shown[0]}", *(e for e in extents[1:])])
            statements.append(f"{name}[{places}] = {more}")
            tensors[name] = (f"2*{INDICES[shown[0]]}", *(INDICES[index] for index in shown[1:]))
    return f"f(x[n,m], y[m], z[n], w) -> {name}: {'; '.join(statements)}"


@st.composite
def expressions(draw, tensors, free, depth):
    """The text of a body over the indices `free`."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(elements(tensors, free))
    kind = draw(st.sampled_from(("unary", "binary", "binary", "where", "reduce", "guard")))
    if kind == "unary":
        return draw(st.sampled_from(UNARY)).format(f"({draw(expressions(tensors, free, depth - 1))})")
    if kind == "where":
        a, b, c = (draw(expressions(tensors, free, depth - 1)) for _ in range(3))
        return f"where({a} > {draw(st.sampled_from(('0.5', '-1', b)))}, {b}, {c})"
    if kind == "reduce" and len(free) < len(INDICES):
        bound = draw(st.sampled_from([index for index in INDICES if index not in free]))
        body = draw(expressions(tensors, (*free, bound), depth - 1))
        return f"{draw(st.sampled_from(REDUCTIONS))}[{bound}:{INDICES[bound]}]({body})"
    if kind == "guard" and free:
        index = draw(st.sampled_from(free))
        element = draw(elements(tensors, (index,)))
        back = element.replace(f"[{index}", f"[{index}-1")
        return f"where({index} > 0, {back}, {draw(expressions(tensors, free, depth - 1))})"
    a, b = (draw(expressions(tensors, free, depth - 1)) for _ in range(2))
    return draw(st.sampled_from(BINARY)).format(a, b)


@st.composite
def elements(draw, tensors, free):
    """An element of a tensor whose axes the indices can run along, or a number."""
    fitting = []
    for name, axes in tensors.items():
        choices = [[index for index in free if INDICES[index] == axis] for axis in axes]
        choices = [c or (["0", "1"] if axis == "2" else []) for c, axis in zip(choices, axes, strict=True)]
        if all(choices):
            fitting.append((name, choices))
    if not fitting or draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(("0.5", "2", "w")))
    name, choices = draw(st.sampled_from(fitting))
    subscripts = [draw(st.sampled_from(c)) for c in choices]
    return f"{name}[{','.join(subscripts)}]" if subscripts else name


# compositions: what users write around their own sums

LAYERS = (
    *("relu({})", "silu({})", "tanh({})", "softmax({})", "log_softmax({})", "standardize({})", "l2_normalize({})"),
    *("layer_norm({}, gain, bias)", "rms_norm({}, gain)", "({} + bias)", "({}*mask)", "where(keep, {}, 0)"),
    *("given(bias, {}*bias, {})", "maximum({}, y)", "where({} > 0, {}, y)", "flip({})", "roll({}, 1)", "sort({})"),
    *("({} - max({}))", "({} - mean({}))", "({}/(1 + sum({}**2)))", "clip({}, -1, 1)", "cumsum({})"),
    "linear({}, w, shift)",
)
LOSSES = (
    *("{}", "{}", "mean({})", "max({})", "sum({}**2)", "var({})", "logsumexp({})", "mse_loss({}, y)"),
    *("cross_entropy({}, t)", "nll_loss({}, t)", "kl_div({}, y)"),
)
ARGUMENTS = {
    "w": "w[k,k]", "y": "y[n,k]", "gain": "gain[k]", "shift": "shift[k]?", "bias": "bias[k]?", "mask": "mask[n,k]",
    "keep": "keep[n,k]: bool", "t": "t[n]: int",
    "r": "r[n]: int",
}  # fmt: skip


@st.composite
def compositions(draw, most=4):
    """The text of a function that calls others: a loss of layers of layers."""
    body = draw(st.sampled_from(("x", "x", "(x + y)", "(x*mask)")))
    for _ in range(draw(st.integers(1, most))):
        body = draw(st.sampled_from(LAYERS)).replace("{}", body)
    body = draw(st.sampled_from(LOSSES)).replace("{}", body)
    given_to = [declared for name, declared in ARGUMENTS.items() if re.search(rf"\b{name}\b", body)]
    return f"f({', '.join(['x[n,k]', *given_to])}): out = {body}"


# programs: several statements, each of which makes n rows and k columns of what was there before; a maximum is one of
# what is given, as rounding decides which of two numbers that are equal by an identity is the larger one

STATEMENTS = (
    *("{new}[i,j] = {a}[i,j] - mean[p]({a}[p,j])", "{new}[i,j] = {a}[i,j]/(1 + sum[p]({b}[p,j]**2))"),
    *("{new}[i,j] = max[p](x[p,j])*{a}[i,j]", "{new} = softmax({a}, axis=-2)", "{new} = cumsum({a}, axis=-2)"),
    *("{new}[i,j] = {a}[r[i],j]", "{new}[i:n,j:k] = 0; {new}[r[i],j] += {a}[i,j]", "{new}[i,j] = {a}[n-1-i,j]"),
    *("{new}[i,j] = where(i > 0, {a}[i-1,j], {b}[i,j])", "{new}[i,j] = where(j <= i, {a}[i,j], 0)"),
    *("{new}[i,j] = sum[p]({a}[i,p]*w[p,j])", "{new}[i:n,j] = sum[p](where(p <= i, {a}[p,j], 0)*{b}[p,j])"),
    *("{new} = attention({a}, {b}, {c})", "{new} = causal_attention({a}, {b}, {c})", "{new} = dropout({a}, keep)"),
    *("{new} = exponential_moving_average({a}, 0.5)", "{new} = {a} + logsumexp({b}, axis=-2)"),
    "{new} = masked_softmax({a}, keep)",
    *("{new} = batch_norm({a}, gain, shift)", "{new} = layer_norm({a}, gain, shift)", "{new} = prelu({a}, gain)"),
    "{new}s[0,j] = gain[j]; {new}s[i+1,j] = tanh({new}s[i,j])*{a}[i,j] + {b}[i,j]; {new}[i,j] = {new}s[i+1,j]",
    "{new}s[0,j] = gain[j]; {new}s[i+1,j] = max({new}s[i,j], {b}[i,j]); {new}[i,j] = {new}s[i,j]*{a}[i,j]",
    *("{new} = linear({a}, w, bias)", "{new} = given(bias, {a}*bias, {b})", "{new} = where({a} > {b}, {a}, {c})"),
    *("{new} = swiglu({a}, {b})", "{new} = {a}*{b} + {c}", "{new} = tanh({a})*sigmoid({b})", "{new} = {a} + {b}"),
)
RESULTS = (
    *("out = {a}", "out = {a}; other = {b}", "out = mean({a})", "out = sum({a}*{b})", "out = cross_entropy({a}, t)"),
    *("out = mse_loss({a}, {b})", "out = {a}; other = logsumexp({a})"),
)


@st.composite
def programs(draw, most=4):
    """The text of a function of several statements: rows, columns, recurrences, gathers and products."""
    known, statements = ["y", "x"], []

    def filled(text):
        """The last array and others."""
        return re.sub(r"\{[bc]\}", lambda _: draw(st.sampled_from(known)), text).replace("{a}", known[-1])

    for number in range(draw(st.integers(2, most))):
        statements.append(filled(draw(st.sampled_from(STATEMENTS))).replace("{new}", f"h{number}"))
        known.append(f"h{number}")
    statements.append(filled(draw(st.sampled_from(RESULTS))))
    body = "; ".join(statements)
    given_to = [declared for name, declared in ARGUMENTS.items() if re.search(rf"\b{name}\b", body)]
    results = "out, other" if "other" in body else "out"
    return f"f({', '.join(['x[n,k]', *given_to])}) -> {results}: {body}"


# what is asked of them

SECONDS = 30  # of a check; one that does not finish says nothing


def hunt(strategy, to, count):
    """Draw `count` formulas, the same each time; what fails is told by the smallest formula that still does."""
    failed = {}

    @settings(
        max_examples=count,
        derandomize=True,
        phases=(Phase.generate,),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(text=strategy)
    def one(text):
        said = disagreement(text, to)
        assume(said is not None)
        if said:
            failed[text] = said

    one()
    small = [shrunk(text, lambda t: bool(disagreement(t, to))) for text in sorted(failed, key=len)]
    told = "\n\n".join(f"{text}\n{disagreement(text, to)}" for text in dict.fromkeys(small))
    assert not failed, f"{len(failed)} formulas fail:\n{told}"


def disagreement(text, to, **options):
    """What the oracle says against a formula, printed with options; None if it says nothing: a refusal, or a check that
    takes too long."""
    try:
        function = sg.parse(text)
        sg.generate(function, to=to, check=False, **options)
        report = sg.check(function, to=to, seconds=SECONDS, **options)
    except (DeclarationError, ShapeError, UnsupportedError):  # text that does not compile is no refusal
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if "no point was found where the function has a value" in str(report):
        return None  # sqrt(2**-2**x - 2**0.5) has none
    return str(report) if report.failures else "" if report.ok else None


def shrunk(text, fails, most=200):
    """`text` with calls and brackets put into the place of those around them, as long as it still fails."""
    progress = True
    while progress and most > 0:
        progress = False
        for start, end in sorted(_brackets(text), key=lambda p: p[0] - p[1]):
            inner = text[start + 1 : end]
            before = re.search(r"(\w+(\[[^]]*\])?)?$", text[:start]).start()
            for part in ("x", *_parts(inner)) if "x" not in text[before : end + 1].split() else _parts(inner):
                smaller = f"{text[:before]}{part.strip()}{text[end + 1 :]}"
                most -= 1
                if len(smaller) < len(text) and fails(smaller):
                    text, progress = smaller, True
                    break
            if progress or most <= 0:
                break
    return text


def _brackets(text):
    """Where the brackets of the right-hand sides open and close."""
    opened = []
    for place, letter in enumerate(text):
        if letter == "(":
            opened.append(place)
        elif letter == ")":
            start = opened.pop()
            if "=" in text[:start]:
                yield start, place


def _parts(text):
    """What stands between the commas that are in no brackets."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            yield part
            part = ""
        else:
            part += letter
    yield part
