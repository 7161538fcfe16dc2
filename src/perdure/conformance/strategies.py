"""What every context strategy keeps to. `check_strategy` is the suite.

A suite in a test file of your own:

    failed = [result for result in check_strategy(MyStrategy) if not result.passed]
    assert not failed
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from perdure.conformance.checks import CheckFailed, require, run_checks, shorten
from perdure.conformance.hostile import HOSTILE_REPLIES
from perdure.conformance.result import CheckResult
from perdure.core.agent import ContextStrategy, ContextView
from perdure.core.environment import Opening
from perdure.core.history import HistoryFactory
from perdure.core.session import Rejected
from perdure.core.types import Completion, Message, Observation, Trial

STEPS = 50

_VIEW = ContextView(
    trial=Trial("TASK"),
    turn=1,
    instructions="INSTRUCTIONS-7f3a: press the buttons in the right order.",
    reply_form="FORM-28d1: one line, for example:\nAction: press 0",
    goal="GOAL-51c2: open the gate.",
    experience=("LESSON-90be: the red button comes first.", "LESSON-4d77: never press the blue one twice."),
    history=(),
)
_FIRST = Observation("OBSERVATION-0: all lights are off.")


def press(step: int) -> str:
    """The reply of a turn, for a strategy that takes the reply as the action."""
    return f"Action: press {step}"


@dataclass(frozen=True)
class Subject:
    """A strategy under test: how to build one, and a reply for each turn that it accepts."""

    build: Callable[[], ContextStrategy]
    reply: Callable[[int], str] = press


def check_strategy(
    build: Callable[[], ContextStrategy], reply: Callable[[int], str] = press
) -> Iterator[CheckResult]:
    """Run every check on strategies that `build` makes; `reply` writes replies in the strategy's own format.

    One result a check, in order; nothing is raised for a plugin's failure.
    """
    yield from run_checks(Subject(build, reply), CHECKS)


def first_message_is_the_instructions_block(subject: Subject) -> str:
    """A system message with the instructions and every lesson, at the start and later."""
    strategy, view = _started(subject)
    for _ in range(3):
        prompt = strategy.render(view)
        require(prompt and prompt[0].role == "system", "the first message is no system message")
        for part in (view.instructions, *view.experience):
            require(part in prompt[0].text, f"the system message lacks {shorten(part)}")
        view = _step(subject, strategy, view, 1)
    return ""


def only_the_first_message_is_system(subject: Subject) -> str:
    """After it, user and agent alternate, from user to user."""
    strategy, view = _started(subject)
    for step in range(4):
        _check_roles(strategy.render(view))
        view = _step(subject, strategy, view, step)
    rejected = replace(view, rejected=(Rejected("REPLY-A", "ERROR-A"), Rejected("REPLY-B", "ERROR-B")))
    _check_roles(strategy.render(rejected))
    return ""


def goal_and_first_observation_are_visible(subject: Subject) -> str:
    """The first prompt shows both."""
    strategy, view = _started(subject)
    text = _text(strategy.render(view))
    require(view.goal in text, "the goal is not in the first prompt")
    require(_FIRST.text in text, "the first observation is not in the first prompt")
    return ""


def goal_stays_visible(subject: Subject) -> str:
    """After many steps the prompt still shows the goal."""
    strategy, view = _started(subject)
    for step in range(STEPS):
        view = _step(subject, strategy, view, step)
    require(view.goal in _text(strategy.render(view)), f"the goal is gone after {STEPS} steps")
    return f"{STEPS} steps"


def latest_observation_is_visible(subject: Subject) -> str:
    """After each step the prompt shows what the environment answered last."""
    strategy, view = _started(subject)
    for step in range(5):
        view = _step(subject, strategy, view, step)
        latest = view.history[-1].text
        require(latest in _text(strategy.render(view)), f"{shorten(latest)} is not in the prompt after it")
    return ""


def rejected_replies_are_shown_with_their_error(subject: Subject) -> str:
    """The model sees what it said and why that was no action."""
    strategy, view = _started(subject)
    view = replace(view, rejected=(Rejected("REPLY-a1", "ERROR-b2: no action found"),))
    text = _text(strategy.render(view))
    require("ERROR-b2: no action found" in text, "the error of a rejected reply is not shown")
    require("REPLY-a1" in text, "the rejected reply is not shown")
    return ""


def render_is_pure(subject: Subject) -> str:
    """Twice the same view gives the same messages; what others had rendered leaves no trace in anything."""
    strategy, view = _started(subject)
    alone, _ = _started(subject)
    for step in range(8):
        before = copy.deepcopy(view)
        first = list(strategy.render(view))
        require(list(alone.render(view)) == first, f"step {step}: what was rendered before shows")
        require(list(strategy.render(view)) == first, f"step {step}: two renderings differ")
        strategy.render(replace(view, experience=("OTHER",), instructions="OTHER", note="OTHER"))
        require(view == before, f"step {step}: the view was changed")
        _step(subject, alone, view, step)
        view = _step(subject, strategy, view, step)
    require(strategy.trace() == alone.trace(), "what was rendered for another view is in the trace")
    return ""


def read_is_pure(subject: Subject) -> str:
    """Reading a reply's action gives what absorbing it gives, and changes nothing."""
    strategy, view = _started(subject)
    for step in range(3):
        reply = Completion(subject.reply(step))
        before, trace = list(strategy.render(view)), copy.deepcopy(strategy.trace())
        for hostile in HOSTILE_REPLIES.values():
            found = strategy.read(Completion(hostile))
            require(found is None or isinstance(found, str), f"read returned {type(found).__name__}")
        read = strategy.read(reply)
        require(list(strategy.render(view)) == before, "read changed the prompt")
        require(strategy.trace() == trace, "read changed the trace")
        absorbed = strategy.absorb(reply).action
        require(read == absorbed, f"read gives {read!r:.80}, absorb {absorbed!r:.80}")
        view = _step(subject, strategy, view, step)
    return ""


def note_stands_beside_the_observation(subject: Subject) -> str:
    """A note is shown in the turn that has it, retries included, and in no other."""
    strategy, view = _started(subject)
    for step in range(3):
        for rejected in ((), (Rejected("REPLY-a1", "ERROR-b2"),)):
            noted = replace(view, note="NOTE-c3: 2 rounds left.", rejected=rejected)
            text = _text(strategy.render(noted))
            require(view.note not in text or not view.note, "a note of an earlier turn is shown")
            require("NOTE-c3: 2 rounds left." in text, "the note is not in the prompt")
        require("NOTE-c3" not in _text(strategy.render(view)), "a note of another view is shown")
        view = _step(subject, strategy, view, step)
    return ""


def two_instances_agree(subject: Subject) -> str:
    """Another instance with the same past renders the same; a task leaves nothing to the next one."""
    strategy, view = _started(subject)
    first = list(strategy.render(view))
    for step in range(3):
        _step(subject, strategy, view, step)
    strategy.start(_opening(), _VIEW.instructions)
    require(list(strategy.render(view)) == first, "a second task starts with traces of the first")
    other, other_view = _started(subject)
    require(list(other.render(other_view)) == first, "two instances render differently")
    return ""


def absorb_survives_hostile_replies(subject: Subject) -> str:
    """Any reply becomes an action or an error; none raises."""
    strategy, _ = _started(subject)
    for kind, reply in HOSTILE_REPLIES.items():
        try:
            absorbed = strategy.absorb(Completion(reply))
        except Exception as error:
            raise CheckFailed(f"{kind}: {type(error).__name__}: {error}") from error
        require((absorbed.action is None) != (absorbed.error is None), f"{kind}: neither action nor error")
    return f"{len(HOSTILE_REPLIES)} kinds"


def absorb_alone_changes_nothing(subject: Subject) -> str:
    """A reply only proposes: without an observation the prompt stays as it was."""
    strategy, view = _started(subject)
    before = list(strategy.render(view))
    for reply in HOSTILE_REPLIES.values():
        strategy.absorb(Completion(reply))
    require(list(strategy.render(view)) == before, "absorb changed the prompt")
    return ""


def many_observations_are_taken(subject: Subject) -> str:
    """Long tasks, refused actions and surrogates in observations do not break it."""
    strategy, view = _started(subject)
    for step in range(STEPS):
        view = _step(subject, strategy, view, step, accepted=step % 3 != 0)
    strategy.observe(Observation("\ud800 broken text", accepted=False))
    strategy.observe(Observation("", done=True))
    strategy.render(view)
    return f"{STEPS} steps"


CHECKS: Sequence[Callable[[Subject], str]] = (
    first_message_is_the_instructions_block,
    only_the_first_message_is_system,
    goal_and_first_observation_are_visible,
    goal_stays_visible,
    latest_observation_is_visible,
    rejected_replies_are_shown_with_their_error,
    render_is_pure,
    read_is_pure,
    note_stands_beside_the_observation,
    two_instances_agree,
    absorb_survives_hostile_replies,
    absorb_alone_changes_nothing,
    many_observations_are_taken,
)


def _opening() -> Opening:
    return Opening(_VIEW.goal, _FIRST, HistoryFactory().construct(_VIEW.goal, _FIRST))


def _started(subject: Subject) -> tuple[ContextStrategy, ContextView]:
    strategy = subject.build()
    opening = _opening()
    strategy.start(opening, _VIEW.instructions)
    return strategy, replace(_VIEW, history=tuple(opening.history))


def _step(
    subject: Subject, strategy: ContextStrategy, view: ContextView, step: int, *, accepted: bool = True
) -> ContextView:
    """One turn as the controller plays it: absorb, then observe; returns the view of the next turn."""
    reply = subject.reply(step)
    observation = Observation(f"OBSERVATION-{step + 1}: light {step} is on.", accepted=accepted)
    strategy.absorb(Completion(reply))
    strategy.observe(observation)
    exchange = (Message("agent", reply), Message("user", observation.text))
    return replace(view, history=(*view.history, *exchange))


def _check_roles(prompt: Sequence[Message]) -> None:
    roles = [message.role for message in prompt]
    expected = ["system", *("user" if i % 2 == 0 else "agent" for i in range(len(roles) - 1))]
    require(roles == expected, f"roles do not alternate: {roles[:9]}")
    require(roles[-1] == "user", "the last message is not the user's")


def _text(prompt: Sequence[Message]) -> str:
    return "\n".join(message.text for message in prompt)
