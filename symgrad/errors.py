"""What can go wrong, in the user's words: every message says what, where, and what to do next."""


class SymgradError(Exception):
    """The base of every error that a user of symgrad can cause and mend."""


class DeclarationError(SymgradError):
    """A declaration that says something impossible: an unknown name, a reserved word, an `if` on a symbol."""


class FormulaError(DeclarationError):
    """Formula text that cannot be read; the message shows the text with a caret under the place.

    said  the message without the text
    at    the place in the text, in characters from 0; None where it is no single one
    """

    def __init__(self, message: str, said: str = "", at: int | None = None) -> None:
        super().__init__(message)
        self.said, self.at = said or message, at


class ShapeError(DeclarationError):
    """Two places that give one index or size different extents, or an extent that nothing tells."""


class UnsupportedError(SymgradError):
    """A declaration that is meaningful, and that symgrad cannot turn into code; the message says why."""


class TargetError(SymgradError):
    """A TARGET or a language that cannot be found."""


class CompilerError(SymgradError):
    """A C compiler that refused what was printed; MachineError where the code has no part in it."""


class MachineError(CompilerError):
    """What this machine lacks to run printed code: a C compiler that works, or a library that the code calls."""


class CheckError(SymgradError):
    """Printed code that does not compute what was declared; the message is the report."""
