"""`python -m benchmarks.speed`, in one thread: see run.py."""

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    os.environ |= dict.fromkeys(THREADS, "1")  # it is read when NumPy, torch and JAX are imported
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    from .run import main as run

    run()


if __name__ == "__main__":
    main()
