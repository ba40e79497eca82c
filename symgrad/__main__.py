"""`python -m symgrad`: the same as the command `symgrad`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="symgrad")
