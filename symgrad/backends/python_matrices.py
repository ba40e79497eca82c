"""What functions of whole matrices are called in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Mapping

CALLS: Mapping[str, str] = {
    # the whole of a call with several results
    "slogdet": "{np}.linalg.slogdet({})",
    "qr": "{np}.linalg.qr({})",
    "eigh": "{np}.linalg.eigh({})",
    "svd": "{np}.linalg.svd({}, full_matrices=False)",
    # one result
    "inv": "{np}.linalg.inv({})",
    "solve": "{np}.linalg.solve({}, {})",
    "solve_lower": "linalg.solve_triangular({}, {}, lower=True)",
    "solve_upper": "linalg.solve_triangular({}, {})",
    "det": "{np}.linalg.det({})",
    "slogdet_sign": "{np}.linalg.slogdet({})[0]",
    "slogdet_log": "{np}.linalg.slogdet({})[1]",
    "cholesky": "{np}.linalg.cholesky({})",
    "qr_q": "{np}.linalg.qr({})[0]",
    "qr_r": '{np}.linalg.qr({}, mode="r")',
    "eigh_values": "{np}.linalg.eigvalsh({})",
    "eigh_vectors": "{np}.linalg.eigh({})[1]",
    "svd_u": "{np}.linalg.svd({}, full_matrices=False)[0]",
    "svd_values": "{np}.linalg.svd({}, compute_uv=False)",
    "svd_vh": "{np}.linalg.svd({}, full_matrices=False)[2]",
    "pinv": "{np}.linalg.pinv({})",
    "expm": "linalg.expm({})",
    "argsort": '{np}.argsort({}, axis=-1, kind="stable")',
}
