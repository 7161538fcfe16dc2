"""One run of a sweep as a process: `python -m perdure.experiment.sweep.worker`, spoken to through stdin.

The first line of stdin is `{"config": …, "base": …, "out": …}`; stdin then stays open for as long as the
sweep lives. When it closes, so does this process: a run folder survives that, and nobody would read the rest.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread

from perdure.core.errors import PerdureError

PLAYED = "perdure: the run is finished"
FINISHED_BEFORE = "perdure: the run was finished before"
"""The last line that a worker writes; without one of them its run did not come to its end."""


def main() -> int:
    """Carry the run out, or resume it; 0, or 1 with one line on stderr."""
    from perdure.experiment.config import load_config
    from perdure.experiment.experiment import Experiment

    order = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with_stdin, daemon=True).start()
    try:
        config = load_config(order["config"], values={"execution.out": order["out"]})
        with Experiment(
            config, base=Path(order["base"]), accept_version=order["accept_version"]
        ) as experiment:
            experiment.run()
            print(FINISHED_BEFORE if experiment.was_finished else PLAYED)
    except PerdureError as error:
        notes = [str(error), *getattr(error, "__notes__", [])]
        line = "; ".join(" ".join(note.split()) for note in notes)
        sys.stderr.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return 1
    return 0


def _end_with_stdin() -> None:
    # Not through `sys.stdin`: its lock must be free when the interpreter shuts down.
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
