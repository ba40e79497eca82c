"""Why a row misses its goal, and what comes next: from the printed text, the compiled code, and parts timed alone.

report.py prints those that still miss; one that meets its goal stays silent, and one without a reason says so.
"""

from .work import OURS, OURS_NUMPY

BA = (
    "Four divisions by the depth, which may be any number: the reciprocal of 1e-309 is infinite. With one of them it "
    "is 0.06 less. 1 - cos of the angle, which keeps its digits, divides once more: 0.07. Next: a range of the depth, "
    "where the declaration has one."
)
UNASKED = "forward, which is run for what it saves, computes a result that nobody asked for"
COLUMNS = (
    "Each operation on a slice of 8192 points makes an array, and forward, where it saves something, results that "
    "nobody asked for; on an AMD EPYC the three take 121, 289 and 607 ns. Next: `out=` where it stays readable."
)
SAME_PRODUCTS = "The products are the same; the shape of the cotangent is checked."
CALLED = "The framework's own calls; what they are given is checked and copied before."
POOL = (
    "Ties share the gradient, where the framework gives it to the first: the counts of ties are a pass over all "
    "windows. Next: counted in the loop that writes the gradient."
)

IN_C = {
    "ba": BA,
    "ba_batch": BA,
    "ba_jacobian": (
        "309 operations, where CasADi has 292 and the floor fewer; six of them divide by the depth, which may be any "
        "number: with one reciprocal it is 0.08 less. Next: a range of the depth, where the declaration has one."
    ),
    "arm": "The floor knows that a joint's gradient is a moment about its axis; ours goes back through rotations.",
    "quadrotor": (
        "As much arithmetic as the floor's, one by one, where the floor's sums over the 13 states are in vectors. "
        "Next: numbers before sums that several read."
    ),
    "quadrotor_batch": f"As at a point: {UNASKED}. Next: save by cost.",
    "softmax_ce": (
        "exp within 1 unit in the last place takes 0.73 ns, where glibc's for vectors, within 4, takes 0.54, "
        "and NaN is looked for beside the maximum."
    ),
    "layer_norm": (
        "The sums of a row wait for one vector of partial sums: four take 0.9 of the time; and 24 MB pass through the "
        "memory. Next: sums in several vectors, in text that reads well."
    ),
    "gelu": (
        "A polynomial of 24 terms for erfc, whose tail keeps its digits, where the floor's erf, within 4 units of 1, "
        "is short; the exponential, in two parts, is shared with the slope's. Next: fewer terms near 0."
    ),
    "chain": (
        "Four divisions for each element, in tanh, its slope, the sigmoid and its slope, take all of the time: without "
        "one of them it is 0.97. Next: a reciprocal once for a divisor that stands in several quotients."
    ),
    "conv2d": (
        "A product for each image, row and tap, of forward and of grad_x, and each packs its panels; those of narrow "
        "images are half empty. Next: the rows of an image, and images, as columns of one product."
    ),
    "attention": f"The products are at the floor's speed; {UNASKED}. Next: save by cost.",
    "gmm": (
        "The loops run over all points of a component, where the floor has 64, which the first cache holds. The "
        "triangular products store their sums after every term, which takes 40 % of the time, and the sums over the "
        "points wait for one vector of partial sums each, a fifth. malloc's memory begins 16 bytes behind a line of "
        "the cache, so that each vector of 64 bytes takes two: at a line, as `sg.load` has it, ours takes two thirds "
        "of the time. (The floor takes 1.45 times its own there: it has the best place here.) "
        "Next: blocks of 256 points, whose sums are added up."
    ),
    "linear_64": "To pack the panels is not made up for by so small a product.",
    "linear_1024": (
        "Each product takes 1.3 to 1.7 times OpenBLAS's time, which packs both operands in memory of its own; here one "
        "is, in panels on the stack. Rows of 8 KiB of the other one share a quarter of the second cache, and it is "
        "read with a stride where it is transposed. Both packed, in panels of three vectors, take 1.04 to 1.15 with "
        "512 KiB for the second one, 1.1 to 1.4 with 256, and no less than now, but for what is transposed, with the "
        "64 that a stack has to spare. Next: both packed, where a workspace is given."
    ),
    "mlp": "As linear 1024^3: the transposed products of the two weights.",
}
IN_NUMPY = {
    "ba_batch": COLUMNS,
    "arm_batch": COLUMNS,
    "quadrotor_batch": COLUMNS,
    "softmax_ce": (
        "exp of the matrix twice, in forward for the sum that it saves and in backward. Next: what forward has "
        "computed is saved where that costs less than to compute it again."
    ),
    "layer_norm": f"{UNASKED.capitalize()}, and sums of products make the products.",
    "gelu": (
        "`ndtr`, which keeps the digits of the tail, takes longer than erf, and the bell is two exponentials, so that "
        "it keeps its digits. Next: the second one where x is large alone."
    ),
    "chain": (
        "Temporaries of 8 MB, which leave the cache between two operations, and two exponentials in the sigmoid, one "
        "of which keeps the digits of its tail. Next: a loop over slices of some thousand elements, which takes half "
        "of the time."
    ),
    "conv2d": "grad_x is a product for each place in a window and each image, where all places are one by hand.",
    "attention": f"The products are NumPy's; {UNASKED}.",
    "gmm": (
        "Sums of products over the points make the products, and forward keeps z and exp for backward. Next: such sums "
        "as `einsum`."
    ),
    "linear_64": SAME_PRODUCTS,
    "linear_1024": SAME_PRODUCTS,
    "mlp": f"{UNASKED.capitalize()}.",
}
IN_FRAMEWORKS = {
    ("softmax_ce", "symgrad torch"): "Maximum, exp, sums and scaling are kernels of their own, where torch has one.",
    ("softmax_ce", "symgrad torch, compiled"): "exp is computed again in backward, for sums that forward saved.",
    ("layer_norm", "symgrad torch"): "Each operation is a pass over the matrix; torch's kernel has all in one.",
    ("layer_norm", "symgrad torch, compiled"): "xhat is computed again for each gradient that reads it.",
    ("gelu", "symgrad torch"): (
        "erfc, which keeps the digits of the tail, takes twice erf's time, in forward and in backward, and the other "
        "operations are passes of their own. Next: the framework's own where an equation is one."
    ),
    ("gelu", "symgrad JAX"): (
        "Of the slope's two quotients XLA makes divisions: JAX's own rule multiplies."
    ),
    ("max_pool2d", "symgrad torch"): POOL,
    ("max_pool2d", "symgrad torch, compiled"): POOL,
    ("conv2d", "symgrad torch"): CALLED,
    ("conv2d", "symgrad JAX"): CALLED,
}
REASONS = {
    **{(row, OURS): why for row, why in IN_C.items()},
    **{(row, OURS_NUMPY): why for row, why in IN_NUMPY.items()},
    **IN_FRAMEWORKS,
}
