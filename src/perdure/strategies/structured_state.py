"""SKILL.state: instructions, the current state and the latest observation; no history."""

from __future__ import annotations

from perdure.strategies.published import PublishedRules
from perdure.strategies.state_context import StateContext


class StructuredState(StateContext):
    """Keeps a declared state, which the model changes with a patch in every reply.

    `state_schema`: a JSON Schema, `"file.py:Name"` of one or of a pydantic model; by default the
    environment's own, else one field of notes. `patch_mode`: `merge`, `ops` or `rewrite`. `commit`:
    `on_accept` (default: the state changes if the environment accepted the action) or `paper` (it changes
    whatever happens to the action). `constrained` (default): send the JSON Schema of a reply, which begins
    with a text for thoughts, to models that can be held to one. `window`: so many observations before the
    latest are shown beside the state.
    `action_pattern`: a regular expression for whole actions, or the list of all of them, that such models are
    held to; `action_form`: how one action is written, as the prompt says it; `action_example`: one of them;
    by default the environment's own. What an action is decides `read_action`, the environment's reading.
    `max_deletions` (5), `named_deletions` (true), `max_shrink` (0.5): what one patch may lose, see `Guards`;
    a negative `max_deletions` and a `max_shrink` of 1 turn a guard off. `max_state_chars`: size of the state.
    `compat = "paper"`: free answers, no guards, the state changes before the action, and the contract stands
    below the observation; options that are given win.

    Source: SKILL.state (arXiv 2608.26263), algorithm 1. Raises ConfigError.
    """

    published = PublishedRules(
        retries=2,
        takes_no_op=True,
        differences="free answers, no guards, the state changes before the action, "
        "contract below the observation",
    )


STRATEGY = StructuredState
