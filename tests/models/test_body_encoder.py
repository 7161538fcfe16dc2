from __future__ import annotations

import json
from threading import Thread

from hypothesis import given
from hypothesis import strategies as st

from perdure.core.types import Message, Role
from perdure.models.body_encoder import BodyEncoder
from perdure.models.chat_dialect import chat_message

ROLES: tuple[Role, ...] = ("system", "user", "agent")
MESSAGES = st.builds(
    Message, st.sampled_from(ROLES), st.sampled_from(["", "a", "b", "\ud800", '"\\\n', "é" * 40])
)
PROMPTS = st.lists(st.lists(MESSAGES, max_size=6).map(tuple), max_size=30)


def plainly(messages: tuple[Message, ...], fields: dict[str, int]) -> object:
    return {"messages": [chat_message(m.role, m.text) for m in messages], **fields}


@given(PROMPTS, st.integers(1, 400), st.dictionaries(st.sampled_from("xyz"), st.integers()))
def test_what_was_sent_before_never_shows_in_a_body(
    prompts: list[tuple[Message, ...]], budget: int, fields: dict[str, int]
) -> None:
    encoder = BodyEncoder(budget)
    for prompt in prompts:
        assert json.loads(encoder.encode(prompt, fields)) == plainly(prompt, fields)


@given(st.lists(MESSAGES, max_size=30), st.lists(st.integers(0, 30), max_size=20))
def test_growing_and_shrinking_histories(history: list[Message], cuts: list[int]) -> None:
    encoder = BodyEncoder()
    for cut in cuts:
        prompt = tuple(history[:cut])
        fields = {"turn": cut}
        assert json.loads(encoder.encode(prompt, fields)) == plainly(prompt, fields)


def test_a_second_messages_field_is_left_out() -> None:
    assert json.loads(BodyEncoder().encode((), {"messages": [1], "a": 2})) == {"messages": [], "a": 2}
    assert json.loads(BodyEncoder().encode((), {})) == {"messages": []}


def test_threads_share_an_encoder() -> None:
    encoder = BodyEncoder(2_000)
    wrong: list[int] = []

    def play(task: int) -> None:
        for turns in range(60):
            prompt = tuple(Message("user", f"{task} {turn}") for turn in range(turns))
            if json.loads(encoder.encode(prompt, {"t": task})) != plainly(prompt, {"t": task}):
                wrong.append(task)

    threads = [Thread(target=play, args=(task,)) for task in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
