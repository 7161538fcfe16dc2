"""Events taking place: what one does to the world before it is answered, and the text that tells it."""

from __future__ import annotations

from perdure.environments.repository.events import Event, Kind
from perdure.environments.repository.parameters import Drift
from perdure.environments.repository.world import World


def take_place(event: Event, world: World, t: int) -> tuple[Event, str]:
    """Let an event happen; the event as it shows itself in this world, and its text."""
    repository = world.repository
    shown = event
    match event.kind:
        case Kind.BACKPORT | Kind.CHATTER:  # the most frequent kinds stand first
            pass
        case Kind.ISSUE:
            world.asked = (event.other, event.file, event.subject)
        case Kind.CI_REPORT:
            branch = repository.tested_by(event.subject)
            if branch is not None:
                passed = world.passes(branch)
                repository.tested(branch, passed)
                shown = Event(event.kind, event.subject, failed=not passed, probe=event.probe)
        case Kind.APPROVED:
            if event.subject in repository.prs:
                repository.approve(event.subject)
        case Kind.CUT:
            world.tag = event.subject
        case Kind.BROKEN:
            for release in repository.releases:
                release.good = release.good and release.tag != event.subject
        case Kind.PUSHED:
            world.start_topic(event.other, world.new_id(t), event.file, event.subject)
        case Kind.OPENED:
            world.open_pull(event.other)
        case Kind.FIXED if event.subject in repository.branches:
            return event, f"developer at work: {world.push_fix(event.subject, world.new_id(t))}."
        case Kind.FIXED:
            return event, f"developer at work: nothing is left to be fixed on {event.subject}."
        case Kind.RETIRED:
            commit = world.retire(event.subject)
            needless = f", {commit} is not needed any more" if commit else ""
            return event, f"{event.subject} is out of support{needless}."
        case _:
            pass
    return shown, _tell(shown, world, t)


def set_aside(world: World) -> None:
    """The event is over: what it asked for can no longer be done."""
    world.asked, world.tag = ("", "", ""), ""


def _tell(event: Event, world: World, t: int) -> str:
    subject = event.subject
    match event.kind:
        case Kind.BACKPORT:
            return f"backport {subject} to {event.other}."
        case Kind.CHATTER | Kind.ALERT:
            return event.other
        case Kind.ISSUE:
            return f"{subject} needs {event.file} on {event.other}."
        case Kind.READY:
            return f"{subject} is ready for review."
        case Kind.CI_REPORT:
            return f"CI {'failed' if event.failed else 'passed'} on {subject}."
        case Kind.APPROVED:
            return f"{subject} was approved."
        case Kind.WINDOW:
            return "the merge window is open."
        case Kind.CUT:
            return f"cut release {subject}."
        case Kind.BROKEN:
            return f"{subject} is broken in production."
        case Kind.PUSHED:
            return (
                f"developer at work: {world.new_id(t)} made on {event.other} with {event.file} for {subject}."
            )
        case Kind.OPENED:
            return f"developer at work: {subject} opened for {event.other}."
        case _:
            raise ValueError(f"no text for {event.kind!r}")


def change_world(world: World, drift: Drift, pull_number: str, t: int) -> str:
    """The silent change around one pull request, and the text of the alert to come.

    A: its branch is force-pushed. B: CI was flaky, its result flips. C: somebody else closes it.
    """
    repository = world.repository
    pull = repository.prs.get(pull_number)
    branch = pull.branch if pull is not None and pull.state == "open" else ""
    match drift:
        case "A" if not branch:
            return f"alert: the branch of {pull_number} was force-pushed, and is deleted."
        case "A":
            commit = f"{world.new_id(t)}f"
            replaced = " and ".join(repository.rewrite(branch, commit))
            return f"alert: {branch} was force-pushed, {commit} replaces {replaced}."
        case "B":
            check = repository.ci.get(branch)
            if check is not None:
                repository.tested(branch, check.status != "passed")
                check = repository.ci[branch]
            status = check.status if check is not None else "failed"
            return f"alert: CI was flaky, the result of {pull_number} is in truth {status}."
        case "C":
            if pull is not None:
                pull.state = "closed"
            return f"alert: {pull_number} was closed by somebody else."
        case "none":
            raise ValueError("a task without a drift has no change")
