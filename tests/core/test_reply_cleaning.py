"""What is thought is told from what is said, whatever the shape; what only talks about thinking survives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.parts import ToolCall
from perdure.core.reply_cleaning import CleanReply, clean_reply
from perdure.core.well_formed import well_formed

ACTION = "Action: Operation\n```sql\nSELECT 1;\n```"
MARKS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
    ("<THINK>", "</Think>"),
]
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0<[◁`'\"‘“«(")).filter(
    lambda text: not text.lstrip().startswith("analysis")
)
TAGS = st.sampled_from(
    [
        *(mark for pair in MARKS for mark in pair),
        "<|channel|>",
        "<|message|>",
        "<|start|>assistant",
        "<|end|>",
        "final",
        "analysis",
        "assistantfinal",
        "```",
        "```sql",
        "`",
        "\n",
        "\n\n",
        " ",
        '"',
        "'",
        "Action: add 3",
        "\ud800",
        "\0",
    ]
)


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        (ACTION, ACTION, ()),
        (f"<think>a</think>{ACTION}", ACTION, ("a",)),
        (f"\n <think>\na\n</think>\n\n{ACTION}", ACTION, ("a",)),
        (f"<think></think>\n\n{ACTION}", ACTION, ()),
        (f"<think>a</think>\n<think>b</think>{ACTION}", ACTION, ("a", "b")),
        (f"<think>a<think>b</think>c</think>{ACTION}", ACTION, ("a<think>b", "c")),
        (f"a\n</think>\n\n{ACTION}", ACTION, ("a",)),
        (f"So be it.</think>{ACTION}", ACTION, ("So be it.",)),
        (f"So be it. </think>\n\n{ACTION}", ACTION, ("So be it.",)),
        (f"</think>\n{ACTION}", ACTION, ()),
        (
            f"maybe\n```sql\nDROP TABLE t\n```\nno\n</think>\n{ACTION}",
            ACTION,
            ("maybe\n```sql\nDROP TABLE t\n```\nno",),
        ),
        ("<think>I never stop", "", ("I never stop",)),
        ("<think>", "", ()),
        ("only thought\n</think>", "", ("only thought",)),
    ],
)
def test_thinking_is_split_off(text: str, said: str, thought: tuple[str, ...]) -> None:
    assert clean_reply(text) == CleanReply(said, thought)


@pytest.mark.parametrize(
    "text",
    [
        "Action: Operation\n```bash\necho '<think>' > f; echo '</think>' >> f\n```",
        "Action: Operation\n```bash\ncat > f <<EOF\n<think>\nx\n</think>\nEOF\n```",
        "Action: Operation\n```\n</think>\n```",
        "Action: Answer\nFinal Answer: the tag </think> ends it",
        "Action: Answer\nFinal Answer: <think> and </think>",
        "Action: add 3\n<think>that was right</think>",
        "Use `</think>` to end.\nAction: add 3",
        'echo "x</think>"',
        "echo 'x</think>' # done",
        '{"state_patch": {"note": "so ends</think>"}, "action": "a</think>"}',
        'print("</think>")',
        "The end (</think>) is near",
        "the <|channel|> mark, <|start|>assistant<|channel|>final<|message|>x",
        "analysis of the table\nAction: add 3",
    ],
)
def test_what_talks_about_thinking_survives(text: str) -> None:
    assert clean_reply(text) == CleanReply(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<|channel|>analysis<|message|>hm<|end|>"
            "<|start|>assistant<|channel|>final<|message|>Action: add 3<|return|>",
            CleanReply("Action: add 3", ("hm",)),
        ),
        (
            "<|start|>assistant<|channel|>analysis<|message|>a<|end|>"
            "<|start|>assistant<|channel|>commentary<|message|>b<|end|>"
            "<|start|>assistant<|channel|>final <|constrain|>JSON<|message|>{}",
            CleanReply("{}", ("a", "b")),
        ),
        (
            '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"n": 3}<|call|>',
            CleanReply("", (), (ToolCall("", "add", '{"n": 3}'),)),
        ),
        ("<|channel|>analysis<|message|>cut off", CleanReply("", ("cut off",))),
        ("<|channel|>anal", CleanReply("", ("<|channel|>anal",))),
        (
            "analysisThe user wants 3.assistantfinalAction: add 3",
            CleanReply("Action: add 3", ("The user wants 3.",)),
        ),
        (
            "<|channel|>final<|message|>write `<|start|>`, then\n```\n<think>\n```",
            CleanReply("write `<|start|>`, then\n```\n<think>\n```"),
        ),
    ],
)
def test_harmony_channels(text: str, expected: CleanReply) -> None:
    assert clean_reply(text) == expected


@pytest.mark.parametrize(("begin", "end"), MARKS)
@given(thought=PLAIN, said=PLAIN)
def test_any_thought_before_anything_said(begin: str, end: str, thought: str, said: str) -> None:
    expected = CleanReply(said.lstrip(), (thought.strip(),) if thought.strip() else ())
    assert clean_reply(f"{begin}{thought}{end}{said}") == expected
    assert clean_reply(f"{thought}\n{end}\n{said}") == expected
    assert clean_reply(f"{begin}{thought}") == CleanReply("", expected.reasoning)


@given(PLAIN, st.lists(TAGS | PLAIN, max_size=6))
def test_code_survives_whatever_it_holds(before: str, pieces: list[str]) -> None:
    code = well_formed("".join(pieces)).replace("```", "")
    if before.strip():
        text = f"{before}\n```\n{code}\n```"
        assert clean_reply(text) == CleanReply(text)


@given(st.lists(TAGS | PLAIN, max_size=12).map("".join))
def test_a_clean_reply_is_clean(text: str) -> None:
    reply = clean_reply(text)
    assert clean_reply(reply.text) == CleanReply(reply.text)
    for piece in (reply.text, *reply.reasoning):
        piece.encode()
        assert "\0" not in piece


@given(st.lists(TAGS | PLAIN, max_size=12).map("".join))
def test_nothing_is_invented(text: str) -> None:
    reply = clean_reply(text)
    for piece in (*reply.reasoning, *(call.arguments for call in reply.tool_calls)):
        assert piece in well_formed(text)


def test_surrogates_and_nul() -> None:
    assert (
        clean_reply("ls \ud800 \ud83d\ude00 \0").text
        == "ls \N{REPLACEMENT CHARACTER} 😀 \N{REPLACEMENT CHARACTER}"
    )


@pytest.mark.parametrize(
    "hostile",
    [
        "x.</think>\n",
        "<think></think>",
        "<think>",
        "```a\n",
        "```\n~~~\n",
        "`</think>` ",
        "<|channel|>a ",
        "<|channel|>a<|message|>",
        "<|channel|>final<|constrain|>",
        "analysisx",
        "'</think>' ",
        "a</think> ",
    ],
)
def test_a_flood_of_marks_is_read(hostile: str) -> None:
    text = hostile * ((1 << 18) // len(hostile))
    for shape in (text, f"{text}\n</think>\n", f"<|channel|>{text}", f"a `b` {text}"):
        clean_reply(shape)
