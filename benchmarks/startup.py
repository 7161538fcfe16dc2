"""How long a user waits before anything happens: `import perdure`, its names, `perdure --help`; medians of 9.

`perdure` imports a public name when it is first asked for; the second line asks for two of them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median


def seconds(command: list[str]) -> float:
    times = []
    for _ in range(9):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    bare = seconds([sys.executable, "-c", "pass"])
    imported = seconds([sys.executable, "-c", "import perdure"])
    used = seconds([sys.executable, "-c", "from perdure import Environment, run"])
    shown = seconds([str(Path(sys.executable).with_name("perdure")), "--help"])
    ratio = imported / 0.08
    print(f"import perdure: {imported:.3f} s, target <= 0.08 s, ratio {ratio:.2f} (Python {bare:.3f} s)")
    print(f"from perdure import Environment, run: {used:.3f} s, target <= 0.3 s, ratio {used / 0.3:.2f}")
    print(f"perdure --help: {shown:.3f} s, target <= 0.6 s, ratio {shown / 0.6:.2f}")


if __name__ == "__main__":
    main()
