"""The same sessions by perdure and by Inspect AI: five calls each, against a loopback server with latency.

Both ask one server (`model_concurrency.py`) over 64 connections, 200 tasks of five sequential calls, and time
the run alone, without imports. Inspect AI plays each sample by a solver that asks the model and appends an
observation, and writes its logs as it does by itself. Its virtual environment is made once in the user's
cache; where that cannot be, the reason is told and nothing is compared.

    python benchmarks/against_inspect.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.lanes import measure
from benchmarks.model_concurrency import CALLS, LATENCY, serve

TASKS = 200
CONNECTIONS = 64
TARGET = 2.0
NEEDED = ("inspect-ai", "openai")

PROGRAM = """
import json, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import solver

asked = json.loads(sys.argv[1])

@solver
def player():
    async def solve(state, generate):
        for turn in range(asked["calls"]):
            state = await generate(state)
            state.messages.append(ChatMessageUser(content=f"The counter is at {turn}."))
        return state
    return solve

config = GenerateConfig(max_connections=asked["connections"])
model = get_model("openai/m", base_url=asked["url"], api_key="none", config=config, responses_api=False)
samples = [Sample(input=f"Bring the counter to {number}, then say done.") for number in range(asked["tasks"])]
task = Task(dataset=samples, solver=player(), name="counter")
started = time.perf_counter()
logs = eval(task, model=model, max_samples=asked["connections"], log_dir=asked["logs"], display="none")
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "status": logs[0].status, "error": str(logs[0].error)}))
"""


def environment() -> Path:
    """The Python that has Inspect AI. Raises CalledProcessError, OSError or TimeoutExpired."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perdure" / "benchmarks"
    folder = cache / "inspect-ai"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True
        )
        install = [str(python), "-m", "pip", "install", "--quiet", *NEEDED]
        subprocess.run(install, check=True, capture_output=True, text=True, timeout=900)
        ready.touch()
    return python


def inspect_seconds(python: Path, port: int) -> float:
    """Seconds of one evaluation. Raises SystemExit where it did not end well."""
    with tempfile.TemporaryDirectory(prefix="perdure-inspect-") as logs:
        asked = {
            "url": f"http://127.0.0.1:{port}/v1",
            "tasks": TASKS,
            "calls": CALLS,
            "connections": CONNECTIONS,
            "logs": logs,
        }
        done = subprocess.run([str(python), "-c", PROGRAM, json.dumps(asked)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"Inspect AI ended with {done.returncode}: {done.stderr[-2000:]}")
    answer = json.loads(done.stdout.splitlines()[-1])
    if answer["status"] != "success":
        raise SystemExit(f"Inspect AI says {answer['status']!r}: {answer['error'][:1000]}")
    seconds: float = answer["seconds"]
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    try:
        python = environment()
    except (subprocess.SubprocessError, OSError) as error:
        told = getattr(error, "stderr", None) or error
        print(f"skipped: {' and '.join(NEEDED)} cannot be installed here: {str(told).strip()[-300:]}")
        return
    ready, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(child,), daemon=True)
    server.start()
    port = ready.recv()
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measure(port, TASKS, CONNECTIONS, CONNECTIONS)[0])
        theirs.append(inspect_seconds(python, port))
    server.terminate()
    faster = median(theirs) / median(ours)
    print(
        f"{TASKS} tasks x {CALLS} calls, {CONNECTIONS} connections, {LATENCY} s latency: perdure "
        f"{median(ours):.2f} s, Inspect AI {median(theirs):.2f} s, {faster:.2f}x as fast "
        f"(target >= {TARGET}x, ratio {faster / TARGET:.2f})"
    )


if __name__ == "__main__":
    main()
