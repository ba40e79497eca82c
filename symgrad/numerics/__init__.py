"""How formulas are computed in floating point, and the forms of them that lose fewer digits.

    floating.py   an expression step by step in doubles, and the bits that it loses
    overflow.py   forms of which no part leaves the range
    taylor.py     series near a point
    removable.py  0/0 at a point, filled by its limit
"""
