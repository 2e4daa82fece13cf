"""Errors of the library as exceptions."""
from __future__ import annotations


class Error(Exception):
    """What the library refused or what failed, in its own sentences: `str(error)`.

    status    "argument", "unsupported", "not found", "format", "memory", "compile", "device" or "io"
    argument  the argument that it is about, as the sentence names it ("lda"); "" for none
    native    the driver's or the system's own code; 0 where there is none
    """

    status: str = ""
    argument: str = ""
    native: int = 0

    def __init__(self, text: str, argument: str = "", native: int = 0) -> None:
        super().__init__(text)
        self.argument = argument
        self.native = native


class ArgumentError(Error, ValueError):
    """A value that can never be right."""
    status = "argument"


class ArgumentTypeError(ArgumentError, TypeError):
    """A type that can never be right: of an object, or of an array's elements."""


class UnsupportedError(Error, NotImplementedError):
    """Right in itself, but not on this device or in this build."""
    status = "unsupported"


class NotFoundError(Error, LookupError):
    """No such device, file, template or profile."""
    status = "not found"


class FormatError(Error, ValueError):
    """A file that is not what it should be."""
    status = "format"


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""
    status = "memory"


class CompileError(Error, RuntimeError):
    """A kernel does not compile; the text has the head of its log."""
    status = "compile"


class DeviceError(Error, RuntimeError):
    """The driver refused or the device failed; `native` has its code."""
    status = "device"


class FileError(Error, OSError):
    """Reading or writing a file failed; `native` has errno."""
    status = "io"


def as_error(error: Exception) -> Error:
    """The error, or one of ours whose cause it is where another library raised it."""
    if isinstance(error, Error):
        return error
    short = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    made = (OutOfMemoryError if short else Error)(f"{type(error).__name__}: {error}")
    made.__cause__ = error
    return made


# By mmt_status, from 1 on.
BY_STATUS = (ArgumentError, UnsupportedError, NotFoundError, FormatError, OutOfMemoryError, CompileError,
             DeviceError, FileError)
