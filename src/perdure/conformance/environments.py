"""What every environment keeps to. `check_environment` is the suite.

A suite in a test file of your own:

    failed = [result for result in check_environment(WORLD) if not result.passed]
    assert not failed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TypeAlias

from perdure.conformance.checks import CheckFailed, require, run_checks, shorten
from perdure.conformance.environment_play import Subject, parting, play
from perdure.conformance.hostile import HOSTILE_REPLIES, inside_action
from perdure.conformance.result import NOT_APPLICABLE, CheckResult
from perdure.conformance.side_by_side import instances_do_not_disturb_each_other
from perdure.core.environment import Environment
from perdure.core.handed_over import evaluation_problem
from perdure.core.reply_cleaning import clean_reply
from perdure.core.session import SessionRecord, check_alternation
from perdure.core.types import EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.core.world import World

Keys: TypeAlias = dict[str, str | None]

PUBLIC_MEMBERS = frozenset(
    {
        "name",
        "version",
        "instructions",
        "history_factory",
        "task_ids",
        "reset",
        "interact",
        "read_action",
        "complete",
        "calculate_metric",
        "release",
    }
)


def check_environment(
    world: World,
    build: Callable[[], Environment] | None = None,
    *,
    sample: int = 5,
    oracle_seconds: float = 0.0,
) -> Iterator[CheckResult]:
    """Run every check on environments that `build` makes; `sample` tasks, spread evenly, are played.

    Without `build` they are made by the world's own defaults. The oracle plays all other tasks, too, as long
    as `oracle_seconds` have not passed. One result a check, in order; nothing is raised for a plugin's
    failure but what `build` itself raises.
    """
    subject = Subject(world, build or world.environment, sample, oracle_seconds)
    try:
        yield from run_checks(subject, CHECKS)
    finally:
        subject.close()


def public_members(subject: Subject) -> str:
    """Exactly the members of the contract are public."""
    offered = {name for name in dir(subject.environment) if not name.startswith("_")}
    require(offered >= PUBLIC_MEMBERS, f"missing: {', '.join(sorted(PUBLIC_MEMBERS - offered))}")
    require(offered <= PUBLIC_MEMBERS, f"not in the contract: {', '.join(sorted(offered - PUBLIC_MEMBERS))}")
    for name in ("name", "version", "instructions"):
        value = getattr(subject.environment, name)
        require(isinstance(value, str) and value, f"{name} must be a text that is not empty, not {value!r}")
    return f"{subject.environment.name} {subject.environment.version}"


def task_ids_are_unique_texts(subject: Subject) -> str:
    """There is a task, and no id twice."""
    ids = list(subject.environment.task_ids())
    require(ids, "there is no task")
    wrong = [task for task in ids if not str.strip(task)]
    require(not wrong, f"an id must not be blank, as {wrong[:1]} is")
    require(len(set(ids)) == len(ids), "an id occurs twice")
    require(list(subject.environment.task_ids()) == ids, "the second call gives other ids")
    return f"{len(ids)} tasks"


def unknown_task_raises_key_error(subject: Subject) -> str:
    """`reset` of an id that does not exist."""
    unknown = "no such task \u2205"
    try:
        subject.environment.reset(Trial(unknown))
    except KeyError:
        return ""
    raise CheckFailed("reset of an unknown id did not raise KeyError")


def openings_are_valid(subject: Subject) -> str:
    """The history alternates from a user message and holds the goal; the first observation is open."""
    for task in subject.tasks:
        opening = subject.environment.reset(Trial(task))
        check_alternation(opening.history)
        if opening.observation.status.is_terminal:
            continue
        require(opening.goal, f"task {task!r} has no goal")
        require(len(opening.history) % 2 == 1, f"task {task!r}: the history must end with a user message")
        require(
            opening.goal in opening.history[-1].text, f"task {task!r}: the history does not show the goal"
        )
        require(not opening.observation.done, f"task {task!r} is done before it began")
        subject.environment.complete()
    return f"{len(subject.tasks)} tasks"


def instructions_are_constant(subject: Subject) -> str:
    """The same text before, within and after a task, and in a second instance."""
    before = subject.environment.instructions
    subject.environment.reset(Trial(subject.tasks[0]))
    within = subject.environment.instructions
    subject.environment.complete()
    same = before == within == subject.environment.instructions == subject.fresh().instructions
    require(same, "the instructions changed")
    return f"{len(before)} characters"


def second_reset_abandons_the_first(subject: Subject) -> str:
    """`reset` while a task is open gives that task the opening it always has."""
    task, other = subject.tasks[0], subject.tasks[-1]
    first = subject.opening_text(subject.environment.reset(Trial(task)))
    subject.environment.reset(Trial(other))
    subject.environment.interact(subject.world.do_nothing)
    again = subject.opening_text(subject.environment.reset(Trial(task)))
    subject.environment.complete()
    require(first == again, f"task {task!r} opens differently after another was abandoned")
    return ""


def oracle_solves_the_tasks(subject: Subject) -> str:
    """The oracle scores 1.0 through the real controller; a task that is ignored here is told, not judged."""
    oracle = subject.oracle()
    if oracle is None:
        return f"{NOT_APPLICABLE}: the world has no oracle"
    records = subject.play_by_oracle(oracle)
    counted = [record for record in records if not record.ignored]
    wrong = [record for record in counted if record.reward != 1.0 or not record.correct]
    solved = f"{len(counted) - len(wrong)}/{len(subject.environment.task_ids())} tasks"
    require(not wrong, "; ".join([solved, *(_told(record) for record in wrong[:3])]))
    reasons = Counter(record.finish_reason for record in records if record.ignored)
    ignored = [f"ignored: {', '.join(f'{why} {count}' for why, count in reasons.most_common())}"]
    left = len(subject.environment.task_ids()) - len(records)
    unplayed = [f"{left} not played"] if left else []
    return "; ".join([solved, *(ignored if reasons else []), *unplayed])


def do_nothing_terminates(subject: Subject) -> str:
    """The do-nothing reply ends every task; its score is the floor."""
    records = play(subject, subject.do_nothing_agent())
    open_ones = [record for record in records if record.status is SessionStatus.TASK_LIMIT_REACHED]
    require(not open_ones, "; ".join(_told(record) for record in open_ones[:3]))
    return f"floor {sum(record.reward for record in records) / len(records):.2f}"


def hostile_replies_are_data(subject: Subject) -> str:
    """No reply raises, whether hostile as a whole or inside an action of the environment's own form."""
    for kind, reply in HOSTILE_REPLIES.items():
        _takes(subject, {kind: reply})
    inside = inside_action(subject.actions(subject.tasks[0])[0]) if subject.world.oracle is not None else {}
    _takes(subject, inside)
    return f"{len(HOSTILE_REPLIES) + len(inside)} kinds"


def _takes(subject: Subject, replies: Mapping[str, str]) -> None:
    """Play replies in the first task, as they enter a run, and begin again where one ended it."""
    environment, is_open = subject.environment, False
    for kind, reply in replies.items():
        if not is_open:
            environment.reset(Trial(subject.tasks[0]))
        try:
            observation = environment.interact(clean_reply(reply).text)
            is_open = not (observation.done or observation.status.is_terminal)
            outcome = environment.complete().outcome if not is_open else None
        except Exception as error:
            raise CheckFailed(f"{kind}: {type(error).__name__}: {error}") from error
        require(isinstance(observation, Observation), f"{kind}: {type(observation).__name__} returned")
        require(observation.status is not SessionStatus.INITIAL, f"{kind}: the status is initial")
        require(outcome is not EvaluationOutcome.UNSET, f"{kind}: no outcome")
    if is_open:
        outcome = environment.complete().outcome
        require(outcome is not EvaluationOutcome.UNSET, "no outcome after hostile replies")


def complete_restores(subject: Subject) -> str:
    """The second play of a task, on the same instance, gives the same observations."""
    for task in subject.tasks:
        actions = subject.actions(task)
        first = subject.transcript(subject.environment, task, actions)
        subject.transcript(subject.environment, subject.tasks[0], subject.actions(subject.tasks[0]))
        second = subject.transcript(subject.environment, task, actions)
        require(first == second, f"task {task!r}: {parting(first, second)}")
    return f"{len(subject.tasks)} tasks"


def two_instances_agree(subject: Subject) -> str:
    """Another instance gives the same ids, openings, observations and verdicts."""
    other = subject.fresh()
    require(list(other.task_ids()) == list(subject.environment.task_ids()), "other task ids")
    require(other.version == subject.environment.version, "another version")
    for task in subject.tasks:
        actions = subject.actions(task)
        first = subject.transcript(subject.environment, task, actions)
        second = subject.transcript(other, task, actions)
        require(first == second, f"task {task!r}: {parting(first, second)}")
    return f"{len(subject.tasks)} tasks"


def evaluations_are_valid(subject: Subject) -> str:
    """Rewards lie in [0, 1], outcomes are set, details are flat numbers that JSON can hold."""
    for task in subject.tasks:
        for actions in ([], subject.actions(task)):
            subject.environment.reset(Trial(task))
            for action in actions:
                subject.environment.interact(action)
            evaluation = subject.environment.complete()
            require(evaluation.outcome is not EvaluationOutcome.UNSET, f"task {task!r}: no outcome")
            problem = evaluation_problem(evaluation)
            require(problem is None, f"task {task!r}: {problem}")
    return ""


def read_action_is_pure_and_total(subject: Subject) -> str:
    """It takes any text, gives None for what is no action, changes nothing, and reads what the oracle did."""
    unread: list[str] = []
    for task in subject.tasks:
        actions = subject.actions(task)
        expected = subject.transcript(subject.environment, task, actions)
        keys: dict[str, str | None] = {}

        def read(environment: Environment, actions: Sequence[str] = actions, keys: Keys = keys) -> None:
            # Everything once a task, and then a few again: reading a megabyte in every step takes its time.
            texts = [*HOSTILE_REPLIES.values(), *actions, ""] if not keys else [*actions[:4], ""]
            for text in texts:
                key = environment.read_action(text)
                require(key is None or isinstance(key, str), f"{shorten(text)} gives {type(key).__name__}")
                require(keys.setdefault(text, key) == key, f"{shorten(text)} is read in two ways")

        found = subject.transcript(subject.environment, task, actions, between=read)
        require(found == expected, f"task {task!r}, while actions are read: {parting(expected, found)}")
        require(keys[""] is None, "an empty reply is read as an action")
        unread += [action for action in actions if keys[action] is None]
    if subject.world.oracle is None:  # a do-nothing reply need not be an action
        return "no actions of an oracle to try it on"
    require(not unread, f"the oracle's {shorten(unread[0]) if unread else ''} is not read as an action")
    return f"{len(subject.tasks)} tasks"


def normalise_is_idempotent(subject: Subject) -> str:
    """`normalise` of a normalised observation changes nothing more; it takes any text."""
    normalise = subject.world.normalise
    seen = [text for task in subject.tasks for text in subject.observations(task)]
    for text in [*HOSTILE_REPLIES.values(), *seen]:
        once = normalise(text)
        require(normalise(once) == once, f"{shorten(text)} changes twice")
    return f"{len(seen)} observations"


def metrics_are_numbers(subject: Subject) -> str:
    """`calculate_metric` of nothing, of finished sessions and of repeats is flat `name -> number`."""
    records = play(subject, subject.do_nothing_agent())
    for given in ([], records, [*records, *records]):
        metrics = subject.environment.calculate_metric(iter(given))
        for key, value in metrics.items():
            require(isfinite(value), f"{key!r} is {value!r}")
    return f"{len(subject.environment.calculate_metric(iter(records)))} metrics"


def release_is_idempotent(subject: Subject) -> str:
    """`release` twice, within an open task."""
    environment = subject.build()
    environment.reset(Trial(subject.tasks[0]))
    environment.release()
    environment.release()
    return ""


CHECKS: Sequence[Callable[[Subject], str]] = (
    public_members,
    task_ids_are_unique_texts,
    unknown_task_raises_key_error,
    openings_are_valid,
    instructions_are_constant,
    second_reset_abandons_the_first,
    oracle_solves_the_tasks,
    do_nothing_terminates,
    hostile_replies_are_data,
    complete_restores,
    two_instances_agree,
    instances_do_not_disturb_each_other,
    evaluations_are_valid,
    read_action_is_pure_and_total,
    normalise_is_idempotent,
    metrics_are_numbers,
    release_is_idempotent,
)


def _told(record: SessionRecord) -> str:
    reason = f" ({record.finish_reason})" if record.finish_reason else ""
    return f"task {record.task_id!r}: {record.outcome}, {record.status}{reason}"
