"""Load untrusted pickles as plain containers.

``pickle`` runs code from a file. Here all opcodes are checked first, without running them: each must be one that plain
data needs, and each length must fit the file. Only then does Python's own unpickler load the file, with a find_class
that allows a few names. The check is needed because two kinds of file crash the process before Python can raise an
error: memo number 4,000,000,000 (the unpickler allocates all numbers below), and dict keys of tuples nested a million
levels deep (hashing them overflows the C stack).

Format: ``pickletools`` in Python's library; protocols 0 to 5.
"""

from __future__ import annotations

import functools
import gc
import mmap
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from kbkit.errors import BadInputError

DOWNLOAD_AGAIN = "Download the file again"

_MAX_TUPLES = 1_000
"""Maximum number of tuples that are data, not arguments of a call: as many as the C stack can hash when nested."""
_COUNTED = {b"X"[0]: 4, b"T"[0]: 4, b"B"[0]: 4, 0x8B: 4, 0x8D: 8, 0x8E: 8, 0x96: 8, 0x95: 8}
"""Opcodes with a length prefix, and the bytes of that prefix; 0x95 (FRAME) contains opcodes."""
_FRAME = 0x95
_BARE_TUPLES = frozenset(b"t\x85\x86\x87")
_STOP = b"."[0]

Loader = Callable[[object], object]


class RefusedError(Exception):
    """A pickle has content that is not allowed. The message completes "the file ..."."""


def load_pickle(handle: IO[bytes], where: Path, names: Mapping[str, Any], persistent: Loader | None = None) -> Any:
    """Return the object in a seekable binary file; raise :class:`BadInputError`, naming ``where``.

    ``names`` are the globals (``module.name``) that it may use in addition to plain containers and numpy scalars;
    ``persistent`` returns the object of a persistent id.
    """
    try:
        _check_opcodes(handle, persistent=persistent is not None)
        handle.seek(0)
        return _build(handle, names, persistent)
    except RefusedError as error:
        raise BadInputError(f"{where} {error}", DOWNLOAD_AGAIN) from None
    except (MemoryError, OverflowError, RecursionError):
        raise BadInputError(f"{where} needs more memory than is available", DOWNLOAD_AGAIN) from None
    except (
        pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadInputError(f"Cannot read {where}: {reason}", DOWNLOAD_AGAIN) from None


def _build(handle: IO[bytes], names: Mapping[str, Any], persistent: Loader | None) -> Any:
    collecting = gc.isenabled()
    gc.disable()  # millions of containers, none of them garbage: collections would take most of the time
    try:
        return _Unpickler(handle, names, persistent).load()
    finally:
        if collecting:
            gc.enable()


class _Unpickler(pickle.Unpickler):
    def __init__(self, handle: IO[bytes], names: Mapping[str, Any], persistent: Loader | None) -> None:
        super().__init__(handle)
        self._names = names
        self._persistent = persistent

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        allowed = self._names.get(full, _PLAIN.get(full))
        if allowed is None:
            raise RefusedError(f"uses {repr(full)[1:-1][:200]}, which is not allowed")
        return allowed

    def persistent_load(self, pid: object) -> object:
        if self._persistent is None:
            raise RefusedError("refers to objects outside itself")
        return self._persistent(pid)


class Call:
    """A function that a pickle may call. Without ``__dict__``, so that a pickle cannot change it.

    The function must reject tuples in its arguments, else calls could nest tuples beyond ``_MAX_TUPLES``.
    """

    __slots__ = ("_function",)
    _function: Callable[..., object]

    def __init__(self, function: Callable[..., object]) -> None:
        object.__setattr__(self, "_function", function)

    def __setattr__(self, name: str, value: object) -> None:
        raise RefusedError("modifies a function")

    def __call__(self, *args: object) -> object:
        """Call the function."""
        return self._function(*args)


_STATES = (int, str, type(None))


class _Dtype:
    """Kind, size and byte order of a numpy scalar."""

    __slots__ = ("code", "order")

    def __init__(self, code: str) -> None:
        self.code, self.order = code, "="

    def __setstate__(self, state: object) -> None:
        """Set the byte order from numpy's state: (version, byte order, fields of structured and datetime types)."""
        plain = type(state) is tuple and len(state) >= 5 and all(type(part) in _STATES for part in state)
        if type(state) is not tuple or not plain or state[1] not in ("<", ">", "|", "="):
            raise RefusedError("contains a numpy type of an unknown form")
        self.order = state[1]


def _dtype(code: object, *flags: object) -> _Dtype:
    if any(type(flag) not in (bool, int) for flag in flags):
        raise RefusedError("contains a numpy type of an unknown form")
    if type(code) is not str or not re.fullmatch(r"[biufUS][0-9]{0,9}", code):
        raise RefusedError(f"contains a numpy value of type {str(code)[:50]!r}, not a number or string")
    return _Dtype(code)


def _scalar(kind: object, data: object) -> object:
    if type(kind) is not _Dtype or type(data) is not bytes:
        raise RefusedError("contains a numpy value of an unknown form")
    if kind.code[0] == "U":
        return data.decode("utf-32-be" if kind.order == ">" else "utf-32-le", "replace").rstrip("\0")
    if kind.code[0] == "S":
        return data.rstrip(b"\0")
    return _number(kind.code, kind.order, data)


@functools.lru_cache(4096)  # prices, votes and stars repeat
def _number(code: str, order: str, data: bytes) -> object:
    dtype = np.dtype(order.replace("|", "=") + code)
    if len(data) != dtype.itemsize:
        raise RefusedError(f"contains a numpy value of type {code!r} in {len(data)} bytes")
    return np.frombuffer(data, dtype)[0].item()


def _encode(text: object, encoding: object = "latin1") -> bytes:
    """Encode text in Latin-1, as protocols 0 to 2 write bytes."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise RefusedError("encodes text in another encoding than Latin-1")
    return text.encode("latin1")


def _no_bytes(*arguments: object) -> bytes:
    """Return empty bytes, as protocols 0 to 2 write them."""
    if arguments:
        raise RefusedError("calls bytes with arguments")
    return b""


def _container(kind: type) -> Callable[..., object]:
    def make(*items: object) -> object:
        if len(items) > 1 or any(type(item) is not list for item in items):
            raise RefusedError(f"creates a {kind.__name__} from something other than a list")
        return kind(*items)

    return make


_PLAIN: dict[str, Any] = {
    **dict.fromkeys(("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"), Call(_scalar)),
    "numpy.dtype": Call(_dtype),
    "_codecs.encode": Call(_encode),
    **dict.fromkeys(("builtins.bytes", "__builtin__.bytes"), Call(_no_bytes)),
    "collections.OrderedDict": Call(_container(dict)),
    **{f"{module}.{kind.__name__}": Call(_container(kind))
       for module in ("builtins", "__builtin__") for kind in (set, frozenset)},
}  # fmt: skip


# -- opcodes ----------------------------------------------------------------------------------------------------------


def _check_opcodes(handle: IO[bytes], *, persistent: bool) -> None:
    """Check all opcodes of a file without running them; raise :class:`RefusedError` for unsupported ones."""
    try:
        data: Any = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # not a file of the operating system
        data = handle.read()
    try:
        _check_data(data, persistent=persistent)
    finally:
        if isinstance(data, mmap.mmap):
            data.close()


def _check_data(data: bytes, *, persistent: bool) -> None:
    position, size, tuples = 0, len(data), 0
    run = _run(size, persistent=persistent)
    while True:
        match = run.match(data, position)
        position = match.end() if match else position
        if position >= size:
            raise RefusedError("is truncated")
        opcode = data[position]
        if opcode in _COUNTED:
            position += 1 + _COUNTED[opcode]
            length = int.from_bytes(data[position - _COUNTED[opcode] : position], "little")
            if position + length > size:
                raise RefusedError("is truncated")
            position += 0 if opcode == _FRAME else length
        elif opcode in _BARE_TUPLES:
            position, tuples = position + 1, tuples + 1
            if tuples > _MAX_TUPLES:
                raise RefusedError(f"contains more than {_MAX_TUPLES:,} tuples")
        elif opcode == _STOP:
            return
        else:
            raise RefusedError(f"uses opcode {opcode:#04x} at byte {position:,}, which is not allowed")


@functools.lru_cache(8)
def _run(size: int, *, persistent: bool) -> re.Pattern[bytes]:
    """Return a pattern for a run of opcodes whose length follows from their own bytes.

    The others are left to the caller: strings of more than 255 bytes, tuples that are data, the end, and unsupported
    opcodes. Memo numbers must not exceed about the size of the file, because the unpickler allocates all numbers below.
    """
    if size < 1 << 16:
        memo = rb"r..\0\0"
    elif size < 1 << 24:
        memo = rb"r..[\0-" + re.escape(bytes([size >> 16])) + rb"]\0"
    else:
        memo = rb"r...[\0-" + re.escape(bytes([min(size >> 24, 255)])) + rb"]"
    short = b"|".join(re.escape(bytes([n])) + b".{%d}" % n for n in range(256))
    put = rb"\x94|q.|" + memo
    parts = [
        rb"[\x94(012NRabde}l\]su)\x88\x89\x8f\x90\x91\x93]",
        b"[\x8cCU\x8a](?:" + short + b")",
        rb"[Khq\x80].",
        rb"[Jj].{4}",
        rb"G.{8}",
        rb"M..",
        memo,
        rb"[t\x85\x86\x87](?:" + put + rb")?[Rb" + (b"Q" if persistent else b"") + b"]",
        rb"[ILFVS][^\n]*+\n",
        rb"g[0-9]{1,20}\n",
        rb"p[0-9]{1,%d}\n" % min(len(str(size)), 8),
        rb"c[^\n]{1,200}\n[^\n]{1,200}\n",
    ]
    return re.compile(b"(?:" + b"|".join(parts) + b")*+", re.DOTALL)
