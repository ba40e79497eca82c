"""Derivative -> Program: what to compute, save and return, in which order. Then per style: arrays, or loops.

    question                       for both            arrays                        loops
    what is computed first         steps, sequence     guards: lines of one guard    sequence: steps of one loop; fuse
    what forward saves             saved
    what nothing stores                                                          planes: between products (triton)
    what has a name of its own     lower, naming       cut: lines; named: borders    share, merge_equal, places
    what is written where read     saved               statements: what fits a line  rematerialize
    where it is evaluated          narrow, conditions  borders: slices and pads;     narrow, split: limits of loops;
                                                       branches: safe operands       masks: asked once
    which elements are written     steps (ir.reach)    fills, stores                 order
    calls of whole matrices        operands            matrices, statements          calls
    where it lies in memory        steps: turns        statements: copies of views   memory
"""

from .build import plan
from .program import Beside, Nested, Procedure, Program, Sparse, Step, Subscript
