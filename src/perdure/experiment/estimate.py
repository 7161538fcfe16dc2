"""What a run would take, without asking a model: calls, tokens, dollars."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature

from perdure.core.agent import ContextView, ModelAgent
from perdure.core.types import Trial
from perdure.experiment.costs import price_of
from perdure.experiment.experiment import Experiment
from perdure.experiment.registry import load_plugin
from perdure.models.token_estimate import estimate_messages

REPLY_TOKENS = 512
"""Assumed length of a reply where the configuration sets no `agent.sampling.max_tokens`."""

OBSERVATION_TOKENS = 1000
"""Assumed length of an observation: about 4,000 characters."""


@dataclass(frozen=True)
class Estimate:
    """Bounds for one run. Tokens are estimated (four characters each) and cost is in US dollars.

    The upper bounds assume that every task uses its last turn, that no prompt is dropped, that replies and
    observations are as long as stated, and that no prompt is longer than the model's context window. A run of
    a scripted agent asks no model: all zero.
    """

    sessions: int
    tasks: int
    first_prompt_tokens: int
    """Prompts of the first call of every session, together."""
    calls_at_most: int
    prompt_tokens_at_most: int
    completion_tokens_at_most: int
    reply_tokens: int
    observation_tokens: int
    context_window: int | None
    """Tokens that a prompt has at most, where the model says so."""
    cost_at_least: float | None
    """The first call of every session, without its reply."""
    cost_at_most: float | None


def estimate(experiment: Experiment) -> Estimate:
    """Open every task once and measure the prompt of its first call; O(tasks). Raises UsageError."""
    agent = experiment.agent()
    trials = experiment.trials
    tasks = list(dict.fromkeys(trial.task_id for trial in trials))
    sessions = len(trials)
    if not isinstance(agent, ModelAgent):
        return Estimate(sessions, len(tasks), 0, 0, 0, 0, 0, 0, None, None, None)
    first = {task: _first_prompt_tokens(experiment, agent, task) for task in tasks}
    trials = [trial for trial in trials if first[trial.task_id]]
    asked = len(trials)
    prompts = sum(first[trial.task_id] for trial in trials)
    turns = experiment.limits.max_turns
    reply = experiment.config.agent.sampling.max_tokens or REPLY_TOKENS
    window = context_window(experiment)
    reply = min(reply, window or reply)
    at_most = {size: _prompts_at_most(size, turns, reply, window) for size in set(first.values()) if size}
    prompt_at_most = sum(at_most[first[trial.task_id]] for trial in trials)
    completion_at_most = asked * turns * reply
    price = price_of(experiment.config, experiment.config.agent.model)
    least = most = None
    if price is not None:
        least = prompts * price.prompt / 1e6
        most = (prompt_at_most * price.prompt + completion_at_most * price.completion) / 1e6
    return Estimate(
        sessions,
        len(tasks),
        prompts,
        asked * turns,
        prompt_at_most,
        completion_at_most,
        reply,
        OBSERVATION_TOKENS,
        window,
        least,
        most,
    )


def context_window(experiment: Experiment) -> int | None:
    """What the agent's model says of its window: its configuration, else its constructor's own default."""
    section = experiment.config.models[experiment.config.agent.model]
    target = load_plugin("model", section.provider, base=experiment.base).target
    parameter = signature(target).parameters.get("context_window")
    window = section.parameters.get("context_window", parameter and parameter.default)
    return window if isinstance(window, int) else None


def _prompts_at_most(first: int, turns: int, reply: int, window: int | None) -> int:
    """Tokens of one session's prompts: turn t (from 0) shows the opening and t exchanges.

    A prompt beyond the window is refused, which ends the session: none is longer.
    """
    exchange = reply + OBSERVATION_TOKENS
    sizes = (first + turn * exchange for turn in range(turns))
    return sum(size if window is None else min(size, window) for size in sizes)


def _first_prompt_tokens(experiment: Experiment, agent: ModelAgent, task: str) -> int:
    """0 for a task that cannot be opened: no model is asked about it."""
    environment = experiment.environment
    trial = Trial(task, clock=experiment.config.instant)
    opening = environment.reset(trial)
    if opening.observation.status.is_terminal:
        return 0
    agent.strategy.start(opening, environment.instructions)
    view = ContextView(
        trial=trial,
        turn=1,
        instructions=environment.instructions,
        reply_form=experiment.world.reply_form(environment),
        goal=opening.goal,
        experience=(),
        history=tuple(opening.history),
    )
    return estimate_messages(agent.strategy.render(view)).tokens
