"""Program -> kernels: the style of plan that a GPU runs, from the steps that loops are made of. Read `kernels` first.

A kernel is a grid of programs. What is a loop in C is one of three things here:

    rows    a loop whose turns do not need each other: programs, of one row each, or of every n-th one
    lanes   an axis that something is summed over which is read along the same axis again: in full in each program, if
            it is short; else in blocks, which a program walks along as often as one reduction needs another (`walks`)
    flat    rows without lanes: elements by number, a block of them in each program

A sum over rows is one of parts: each program writes its own, and they are added up in one order. Sums of products are
computed in tiles instead (`tiles`), and what reduces their results along one of its axes in a walk (`streams`), or in
chunks of rows (`chunks`). A recurrence of elements is a loop in each program, with a block of lanes (`scans`).
"""

from __future__ import annotations

from .axes import named_alike
from .chunks import Turn, in_turns
from .data import Kernel, Walk
from .products import Product, product_of
from .scans import Scan
from .stages import Choice, kernels, picks
from .streams import Streams
from .tiles import Tiles
