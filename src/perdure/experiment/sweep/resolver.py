"""What the machine decides for environments in files, asked in another process: their code may do anything.

`python -m perdure.experiment.sweep.resolver`: stdin holds `{"base": …, "environments": [section, …]}`; stdout
gets a line a section, what it is here or null where it cannot be resolved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from perdure.core.errors import PerdureError
from perdure.core.types import JSON


def ask_resolver(sections: Sequence[JSON], base: Path) -> list[JSON]:
    """The sections as they are here, None for what cannot be resolved; its run will say why.

    A process that dies over one section is followed by another for the rest.
    """
    answers: list[JSON] = []
    while len(answers) < len(sections):
        order = {"base": str(base), "environments": list(sections[len(answers) :])}
        done = subprocess.run(
            [sys.executable, "-m", "perdure.experiment.sweep.resolver"],
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        given = [json.loads(line) for line in done.stdout.splitlines()]
        answers += given if len(given) == len(order["environments"]) else [*given, None]
    return answers


def main() -> None:
    """Answer, section by section."""
    from perdure.experiment.config import PluginSection
    from perdure.experiment.surroundings import resolve_environment

    order = json.loads(sys.stdin.buffer.read())
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what plug-ins print is no answer
        for fields in order["environments"]:
            try:
                section = resolve_environment(PluginSection.model_validate(fields), Path(order["base"]))
                answer = section.model_dump(mode="json")
            except PerdureError:
                answer = None
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
