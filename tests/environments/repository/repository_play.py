"""Ways to play the repository in tests: by oracle, through a window, with a state, with a summary."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Environment
from perdure.core.types import JSON, Evaluation, Message, Observation, Trial
from perdure.environments.repository import RepositoryEnvironment
from perdure.environments.repository.oracle import oracle
from perdure.environments.repository.perfect_reader import perfect_reader, perfect_summary

Reader = Callable[[list[Message]], str]

CONTRACT = """
Reply with one json block that has exactly the keys `state_patch` and `action`:
```json
{"state_patch": {}, "action": "..."}
```"""


def oracle_for(**parameters: Any) -> Agent:
    return oracle(RepositoryEnvironment(**parameters))


def play_agent(environment: Environment, agent: Agent, task: str) -> tuple[list[str], Evaluation]:
    """The actions of an agent in one task, and the verdict."""
    opening = environment.reset(Trial(task))
    agent.start(Trial(task), opening)
    view = ContextView(environment.instructions, opening.goal, (), tuple(opening.history))
    actions: list[str] = []
    observation = opening.observation
    while not observation.done:
        actions.append(str(agent.infer(view)))
        observation = environment.interact(actions[-1])
        agent.observe(observation)
    return actions, environment.complete()


def oracle_verdicts(**parameters: Any) -> list[Evaluation]:
    environment = RepositoryEnvironment(**parameters)
    agent = oracle_for(**parameters)
    return [play_agent(environment, agent, task)[1] for task in environment.task_ids()]


def play_window(environment: Environment, task: str, turns: int | None) -> Evaluation:
    """The perfect reader with the last `turns` turns in its prompt (None: all)."""
    observation: Observation = environment.reset(Trial(task)).observation
    instructions = Message("system", environment.instructions)
    past: list[tuple[Message, Message]] = []
    while not observation.done:
        latest = Message("user", observation.text)
        kept = past if turns is None else past[len(past) - min(turns, len(past)) :]
        reply = perfect_reader([instructions, *(message for turn in kept for message in turn), latest])
        past.append((latest, Message("agent", reply)))
        observation = environment.interact(reply)
    return environment.complete()


def window_score(turns: int | None, **parameters: Any) -> float:
    """Mean score over the tasks."""
    environment = RepositoryEnvironment(**parameters)
    scores = [play_window(environment, task, turns).reward for task in environment.task_ids()]
    return sum(scores) / len(scores)


def merged(state: JSON, patch: JSON) -> JSON:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(state) if isinstance(state, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def deletions(patch: JSON) -> Iterator[str]:
    """Keys that a merge patch deletes, at any depth."""
    for key, value in patch.items():
        if value is None:
            yield key
        elif isinstance(value, dict):
            yield from deletions(value)


def play_state(
    environment: Environment, task: str, state: JSON, reader: Reader = perfect_reader
) -> tuple[Evaluation, list[JSON], list[str]]:
    """A reader that sees instructions, state and latest observation; states after each step, and actions."""
    observation: Observation = environment.reset(Trial(task)).observation
    states: list[JSON] = []
    actions: list[str] = []
    while not observation.done:
        shown = json.dumps(state, separators=(",", ":"))
        reply = reader(
            [
                Message("system", environment.instructions + CONTRACT),
                Message("user", f"```json\n{shown}\n```\n{observation.text}"),
            ]
        )
        block = re.fullmatch(r"```json\n(.*)\n```", reply)
        assert block is not None, reply
        envelope = json.loads(block[1])
        assert set(envelope) == {"state_patch", "action"}
        named = f"{observation.text} {envelope['action']}"
        for key in deletions(envelope["state_patch"]):
            assert key in named, f"{key} is deleted, but neither observation nor action names it"
        observation = environment.interact(envelope["action"])
        if observation.accepted:
            state = merged(state, envelope["state_patch"])
        states.append(state)
        actions.append(envelope["action"])
    return environment.complete(), states, actions


def play_memory(environment: Environment, task: str, turns: int = 3) -> Evaluation:
    """The perfect reader with a window and a summary of every turn that has left it."""
    observation: Observation = environment.reset(Trial(task)).observation
    instructions = Message("system", environment.instructions)
    summary = ""
    past: list[tuple[Message, Message]] = []
    while not observation.done:
        latest = Message("user", observation.text)
        window = [message for turn in past for message in turn]
        reply = perfect_reader([instructions, Message("user", summary), *window, latest])
        past.append((latest, Message("agent", reply)))
        if len(past) > turns:
            summary = perfect_summary([instructions, Message("user", summary), *past.pop(0)])
        observation = environment.interact(reply)
    return environment.complete()
