"""What type checkers are told of a declaration; mypy reads it with the package."""

from typing import Annotated

import symgrad as sg


@sg.function
def linear(
    x: Annotated[sg.Array, "n k"], weight: Annotated[sg.Array, "m k"], bias: Annotated[sg.Array, "m"] | None = None
) -> sg.Array:
    out = x @ weight.T
    return out if bias is None else sg.exp(out + bias) * sg.sum(weight)


code = sg.load(linear, check=False)
text: str = sg.generate("f(x) = x**2", to="c", check=False)["f.c"]
product: sg.Derivative = sg.vjp(linear)
