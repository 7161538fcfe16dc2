"""Texts that have a UTF-8 form: half a surrogate pair has none."""

from __future__ import annotations

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined, and each lone surrogate and NUL replaced by U+FFFD.

    No argument of a program can hold a NUL.
    """
    text = text.replace("\0", _REPLACEMENT)
    return text if _has_utf8(text) else _joined(text, "replace")


def spelled_out(text: str) -> str:
    r"""The text with surrogate pairs joined, and each lone surrogate spelled out (`\ud83d`)."""
    if _has_utf8(text):
        return text
    return _joined(text, "surrogatepass").encode(errors="backslashreplace").decode()


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _joined(text: str, lone: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", lone)
