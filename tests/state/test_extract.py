from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.conformance.hostile import HOSTILE_REPLIES
from perdure.state import Failure, FailureClass, Proposal
from perdure.state.extract import Extracted, answer_text, extract
from perdure.state.taxonomy import PatchRejected
from tests.state.places import PARSER_CASES, propose, refused, reply, runtime

ANSWER = '{"state_patch": {"stock": 1}, "action": "go"}'


def found(text: str) -> Extracted:
    return extract(text, max_chars=2_000_000, max_depth=32)


def failure_of(text: str) -> tuple[FailureClass, str]:
    with pytest.raises(PatchRejected) as caught:
        found(text)
    return caught.value.failure.kind, caught.value.failure.code


@pytest.mark.parametrize(
    ("text", "tolerances"),
    [
        (f"```json\n{ANSWER}\n```", set()),
        (ANSWER, set()),
        (f"I think {{a}} or {{b}}.\n```json\n{ANSWER}\n```\nThat {{is}} it.", set()),
        (f'Open brace {{ in prose, said "so.\n```json\n{ANSWER}\n```', set()),
        (f"```\n{ANSWER}\n```", {"fence_without_json"}),
        (f"```python\n{ANSWER}\n```", {"fence_without_json"}),
        (f"So: {ANSWER} done", {"no_fence"}),
        (f"So: {ANSWER}", {"no_fence"}),
        (f"```json\n{ANSWER}", {"no_fence"}),
        (f'```json\n{ANSWER}""\n```', {"text_around_object"}),
        (f'```json\n{{"draft": 1}}\n```\nNo:\n```json\n{ANSWER}\n```', {"several_blocks"}),
        (f'```json\n{ANSWER}\n```\n```json\n{{"draft": 1}}\n```', {"several_blocks"}),
        ('```json\n{"state_patch": {"stock": 1,}, "action": "go",}\n```', {"trailing_comma"}),
        ('{"state_patch": {"stock": 1}, "action": "go", "action": "go"}', {"repeated_key"}),
    ],
)
def test_forgiven_and_named(text: str, tolerances: set[str]) -> None:
    extracted = found(text)
    assert extracted.value == json.loads(ANSWER)
    assert set(extracted.tolerances) == tolerances


def test_a_raw_line_break_in_a_text_is_forgiven() -> None:
    extracted = found('```json\n{"state_patch": {}, "action": "one\ntwo"}\n```')
    assert extracted.value["action"] == "one\ntwo"
    assert extracted.tolerances == ("raw_control_character",)


def test_commas_inside_texts_stay() -> None:
    assert found('{"action": "a,} b,]", "state_patch": {},}').value["action"] == "a,} b,]"


def test_the_last_of_two_answers_counts() -> None:
    second = ANSWER.replace("go", "stop")
    assert found(f"```json\n{ANSWER}\n```\n```json\n{second}\n```").value["action"] == "stop"
    assert found(f"{ANSWER} {second}").value["action"] == "stop"


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("", FailureClass.SYNTAX, "no_object"),
        ("no braces", FailureClass.SYNTAX, "no_object"),
        ('{"state_patch": {"a": 1}, "action": "g', FailureClass.SYNTAX, "no_object"),
        ("```json\n[1, 2]\n```", FailureClass.SYNTAX, "no_object"),
        ('{"state_patch": {"a" 1}, "action": "go"}', FailureClass.SYNTAX, "invalid_json"),
        ("{'state_patch': {}, 'action': 'go'}", FailureClass.SYNTAX, "invalid_json"),
        ('{"state_patch": {}, "action": "\\u12"}', FailureClass.SYNTAX, "invalid_json"),
        ('{"state_patch": {}, "action": "\\x"}', FailureClass.SYNTAX, "invalid_json"),
        ('{"state_patch": {}, "action": "\\ud800"}', FailureClass.SYNTAX, "lone_surrogate"),
        ('{"state_patch": {"a": NaN}, "action": "go"}', FailureClass.SYNTAX, "not_a_number"),
        ('{"state_patch": {"a": -Infinity}, "action": "go"}', FailureClass.SYNTAX, "not_a_number"),
        ('{"state_patch": {}, "action": "a", "action": "b"}', FailureClass.SYNTAX, "duplicate_key"),
        ('{"state_patch": {"a": 1, "a": true}, "action": "b"}', FailureClass.SYNTAX, "duplicate_key"),
        ('{"state_patch": {"a": 1' + "0" * 5000 + '}, "action": "b"}', FailureClass.SCHEMA, "size"),
        ('{"state_patch": {"a": 1e999}, "action": "b"}', FailureClass.SCHEMA, "size"),
        ('{"a":' * 1000 + "1" + "}" * 1000, FailureClass.SCHEMA, "depth"),
        ('{"state_patch": ' + "[" * 1000 + "]" * 1000 + ', "action": "go"}', FailureClass.SCHEMA, "depth"),
        (
            '{"state_patch": {"note": "' + "x" * 10_000_000 + '"}, "action": "go"}',
            FailureClass.SCHEMA,
            "size",
        ),
    ],
)
def test_not_forgiven(text: str, kind: FailureClass, code: str) -> None:
    assert failure_of(text) == (kind, code)
    assert (lambda f: (f.kind, f.code))(refused(runtime(), text)) == (kind, code)


def test_a_broken_answer_is_not_replaced_by_an_intact_aside() -> None:
    text = '```json\n{"aside": 1}\n```\n```json\n{"state_patch": {"a" 1}, "action": "go"}\n```'
    assert failure_of(text) == (FailureClass.SYNTAX, "invalid_json")


@pytest.mark.parametrize("text", HOSTILE_REPLIES.values(), ids=HOSTILE_REPLIES.keys())
def test_hostile_replies_are_failures(text: str) -> None:
    assert refused(runtime(), text).kind in (FailureClass.SYNTAX, FailureClass.SCHEMA)


@given(st.text(alphabet=st.sampled_from('{}[]",:`\\\n abcjson$e1')) | st.text())
def test_nothing_raises_but_a_classified_failure(text: str) -> None:
    outcome = propose(runtime(), text)
    assert isinstance(outcome, Failure | Proposal)
    assert answer_text(text) in (text, text.strip()) or answer_text(text) in text


@given(st.text(max_size=60), st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_an_answer_is_read_whatever_was_thought_before(prose: str, action: str) -> None:
    body = json.dumps({"state_patch": {}, "action": action})
    text = f"{prose.replace('`', '')}\n```json\n{body}\n```"
    assert found(text).value["action"] == action


SIZE = 300_000


@pytest.mark.parametrize(
    "text",
    [
        "{" * SIZE,
        "{}" * (SIZE // 2),
        '{"' * (SIZE // 2),
        '{"a' + '\\"' * (SIZE // 2),
        "{" + '"\\' * (SIZE // 2),
        "```a\n" * (SIZE // 5),
        "{" + ", " * (SIZE // 2),
        "{," + " " * SIZE + "x",
        '{"state_patch": {' * (SIZE // 17),
        '{"a":1}\n"' * (SIZE // 9),
        " " * SIZE + "```",
    ],
    ids=range(11),
)
def test_texts_on_which_a_quadratic_scan_would_not_come_back(text: str) -> None:
    assert refused(runtime(), text).kind in (FailureClass.SYNTAX, FailureClass.SCHEMA)


def parser_inputs() -> list[tuple[str, str]]:
    suite = sorted((PARSER_CASES / "jsontestsuite").glob("*.json"))
    cases = [(path.name, path.read_bytes().decode("utf-8", "surrogateescape")) for path in suite]
    repairs: list[dict[str, Any]] = json.loads((PARSER_CASES / "json_repair_cases.json").read_text("utf-8"))
    return cases + [(f"json_repair {case['index']}", case["input"]) for case in repairs]


@pytest.mark.skipif(not PARSER_CASES.is_dir(), reason=f"the parser cases are not at {PARSER_CASES}")
def test_every_parser_case_is_a_failure_or_a_valid_patch_and_none_raises() -> None:
    cases = parser_inputs()
    assert len(cases) > 250
    for name, text in cases:
        for shown in (
            text,
            f"```json\n{text}\n```",
            f'```json\n{{"state_patch": {text}, "action": "Wait"}}\n```',
            f'{{"state_patch": {{"inventory": {text}}}, "action": "Wait"}}',
        ):
            world = runtime({"inventory": {"s": "a"}})
            outcome = propose(world, shown)
            assert isinstance(outcome, Failure | Proposal), name
            assert world.state["inventory"] == {"s": "a"}, name


@pytest.mark.skipif(not PARSER_CASES.is_dir(), reason=f"the parser cases are not at {PARSER_CASES}")
def test_every_valid_document_of_the_suite_is_read_as_a_value() -> None:
    for path in sorted((PARSER_CASES / "jsontestsuite").glob("y_*.json")):
        text = path.read_text("utf-8")
        if "lone" in path.name or "duplicated_key.json" in path.name:
            continue  # refused on purpose
        extracted = found(f'{{"state_patch": {text}, "action": "Wait"}}')
        assert extracted.value["state_patch"] == json.loads(text), path.name


def test_the_reasoning_is_not_part_of_the_quoted_answer() -> None:
    broken = reply({}, "").replace('"action": ""', '"action" 1')
    assert "secret" not in answer_text(f"secret thoughts\n{broken}")


def test_an_answer_that_was_cut_off_is_quoted_from_its_beginning() -> None:
    text = 'thoughts\n```json\n{"state_patch": {"stock": 1}, "action": "g'
    assert answer_text(text) == '{"state_patch": {"stock": 1}, "action": "g'
