"""The paper's ratios with the perfect reader: tokens over those of structured_state, T = 100.

A perfect reader has nothing to think over, so it is run twice: with bare replies, and with as much empty
reasoning as a language model may write. What is to be compared is the ratios, not totals. Prints one line a
strategy: ours, the paper's, and their ratio.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from perdure.experiment.sweep import load_sweep, run_sweep
from perdure.reports.paper import published
from perdure.reports.sweep_table import sweep_facts

SWEEP = """\
name = "paper-ratios"
[base]
seed = 42
environment = ENVIRONMENT
[base.models.default]
provider = "perfect_reader"
tokenizer = "pieces"
reasoning_tokens = REASONING
[grid]
"agent.strategy" = [
  { name = "structured_state" },
  { name = "full_history" },
  { name = "memory" },
  { name = "stateful" },
BUDGETED]
"""
BUDGETED = """\
  { name = "sliding_window", budget_tokens = 900 },
  { name = "capped_summary", budget_tokens = 900 },
  { name = "prompt_compression", budget_tokens = 900 },
"""
ENVIRONMENTS = {
    "warehouse": '{ name = "warehouse", tasks = 3, horizon = 100, profile = "paper" }',
    "repository": '{ name = "repository", tasks = 3, horizon = 100 }',
}

ROWS = {
    "full_history": ("T=100", "ReAct"),
    "memory": ("T=100", "Memory"),
    "stateful": ("T=100", "Stateful"),
    "sliding_window": ("T=100 budget~1800", "Sliding window"),
    "capped_summary": ("T=100 budget~1800", "Summary-capped"),
    "prompt_compression": ("T=100 budget~1800", "ReAct+LLMLingua"),
}


def paper(benchmark: str, condition: str, runtime: str, metric: str) -> float:
    value = published(benchmark, condition, runtime, metric, model="Gemini-3-Flash")
    if value is None:
        raise ValueError(f"the paper has no {metric} of {runtime} at {condition}")
    return float(value)


def main() -> None:
    for benchmark in ENVIRONMENTS:
        for reasoning in (0, 200):
            print(f"{benchmark}, replies with {reasoning} tokens of reasoning:")
            compare(benchmark, reasoning)


def compare(benchmark: str, reasoning: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="perdure-bench-"))
    file = folder / "sweep.toml"
    file.write_text(
        SWEEP.replace("ENVIRONMENT", ENVIRONMENTS[benchmark])
        .replace("BENCHMARK", benchmark)
        .replace("REASONING", str(reasoning))
        .replace("BUDGETED", BUDGETED if benchmark == "warehouse" else "")
    )
    facts = {entry["strategy"]: entry for entry in sweep_facts(run_sweep(load_sweep(file, out=folder)))}
    state = facts["structured_state"]["tokens"]["total"]
    paper_state = paper(benchmark, "T=100", "SKILL.state", "total_tokens")
    for strategy, entry in facts.items():
        if strategy == "structured_state":
            continue
        condition, runtime = ROWS[strategy]
        ours = entry["tokens"]["total"] / state
        theirs = paper(benchmark, condition, runtime, "total_tokens") / paper_state
        print(
            f"{strategy}: {ours:.2f} x the tokens of structured_state (paper {theirs:.2f}, "
            f"ratio {ours / theirs:.2f}), score {entry['score']:.2f} "
            f"(paper {paper(benchmark, condition, runtime, 'score'):.2f})"
        )


if __name__ == "__main__":
    main()
