"""A small wrong change of one file, and the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in `file` (below `src/perdure`), and `new` takes its place."""

    what: str
    """The mistake, in a few words."""
    file: str
    old: str
    new: str
    tests: str = ""
    """Test files below `tests`, between blanks, that kill it."""

    def apply(self, source: Path) -> None:
        """Make the change in a copy of `src/perdure`. Raises ValueError where the text is not there."""
        path = source / self.file
        text = path.read_text("utf-8")
        if text.count(self.old) != 1 or self.old == self.new:
            found = text.count(self.old)
            raise ValueError(
                f"{self.what!r}: {self.file} holds its text {found} times, not once: {self.old!r}"
            )
        path.write_text(text.replace(self.old, self.new), "utf-8")
