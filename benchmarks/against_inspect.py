"""The same work by perdure and by Inspect AI: 200 tasks of five calls, a loopback server with 0.2 s latency.

Both have 64 connections and ask the same server, one after the other, three times each; the median of either
is compared. Inspect AI gets a virtual environment of its own, which is made once below the cache folder;
where that cannot be (no network), the comparison is skipped and says why.

    python benchmarks/against_inspect.py
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.lanes import measure
from benchmarks.model_concurrency import CALLS, serve

TASKS = 200
CONNECTIONS = 64
ROUNDS = 3
TARGET = 2.0
PACKAGES = ("inspect-ai==0.3.285", "openai==3.57.0")
INSPECT = """
import sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import solver

@solver
def turns():
    async def solve(state, generate):
        for _ in range({calls}):
            state = await generate(state)
            state.messages.append(ChatMessageUser(content="The counter is at 3."))
        return state
    return solve

task = Task(dataset=MemoryDataset([Sample(input="Reach 7.") for _ in range({tasks})]), solver=turns())
started = time.perf_counter()
(log,) = eval(
    task, model="openai-api/local/m", model_base_url=sys.argv[1], max_connections={connections},
    log_dir=sys.argv[2], display="none",
)
assert log.status == "success", log.error
assert all(len(sample.messages) == 2 * {calls} + 1 for sample in log.samples)
print(time.perf_counter() - started)
"""


class NotHere(Exception):
    """Inspect AI cannot be installed on this machine."""


def interpreter() -> Path:
    """The Python of an environment that has Inspect AI. Raises NotHere."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perdure-benchmarks"
    folder = cache / "-".join(package.replace("==", "-") for package in PACKAGES)
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        commands = (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", *PACKAGES],
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotHere((done.stderr.strip().splitlines() or ["no reason given"])[-1])
        (folder / "complete").touch()
    return python


def inspect_seconds(python: Path, port: int) -> float:
    """How long one evaluation takes, start of the process left out."""
    script = INSPECT.format(calls=CALLS, tasks=TASKS, connections=CONNECTIONS)
    with tempfile.TemporaryDirectory(prefix="perdure-inspect-") as scratch:
        arguments = [str(python), "-c", script, f"http://127.0.0.1:{port}/v1", scratch]
        environment = {**os.environ, "LOCAL_API_KEY": "none"}
        done = subprocess.run(
            arguments, env=environment, cwd=scratch, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise NotHere((done.stderr.strip().splitlines() or ["it failed without a word"])[-1][:300])
    return float(done.stdout.split()[-1])


def main() -> None:
    try:
        python = interpreter()
    except NotHere as reason:
        print(f"skipped: Inspect AI cannot be installed here: {reason}")
        return
    ready, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(child,), daemon=True)
    server.start()
    port = ready.recv()
    try:
        theirs, ours = [], []
        for _ in range(ROUNDS):
            theirs.append(inspect_seconds(python, port))
            ours.append(measure(port, TASKS, CONNECTIONS, CONNECTIONS)[0])
    except NotHere as reason:
        print(f"skipped: Inspect AI does not run here: {reason}")
        return
    finally:
        server.terminate()
    times = median(theirs) / median(ours)
    print(
        f"{TASKS} tasks x {CALLS} calls, {CONNECTIONS} connections: perdure {median(ours):.2f} s, Inspect AI "
        f"{median(theirs):.2f} s ({PACKAGES[0]}); {times:.2f} x as fast (target >= {TARGET} x, "
        f"ratio {times / TARGET:.2f})"
    )


if __name__ == "__main__":
    main()
