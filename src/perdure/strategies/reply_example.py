"""The one example with which a reply form ends."""

from __future__ import annotations


def split_example(form: str) -> tuple[str, str]:
    """The rules of a reply form and the example after its last `example:` line; no example where none is."""
    lines = form.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].rstrip().lower().endswith("example:") and number + 1 < len(lines):
            rules = "\n".join([*lines[:number], _without_announcement(lines[number])]).strip()
            return rules, "\n".join(lines[number + 1 :])
    return form, ""


def _without_announcement(line: str) -> str:
    """A line without the words that announce the example."""
    head = line.rstrip()[: -len("example:")].rstrip()
    for word in ("for", "an"):
        if head.lower().endswith(f" {word}") or head.lower() == word:
            head = head[: -len(word)].rstrip()
    head = head.rstrip(",;: ")
    return head if not head or head.endswith((".", "!", "?")) else f"{head}."
