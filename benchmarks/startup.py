"""How long a user waits before anything happens: `import perdure` and `perdure --help`, medians of 9."""

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
    shown = seconds([str(Path(sys.executable).with_name("perdure")), "--help"])
    took = imported - bare
    print(f"import perdure: {took:.3f} s beside Python's own, target <= 0.08 s, ratio {took / 0.08:.2f}")
    print(f"perdure --help: {shown:.3f} s, target <= 0.6 s, ratio {shown / 0.6:.2f}")


if __name__ == "__main__":
    main()
