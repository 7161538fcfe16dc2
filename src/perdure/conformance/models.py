"""What every language model must do, checked on a built one by asking it short questions.

Two attributes, both optional, tell the suite what not to expect: `honours_sampling = False` of a model whose
replies are given rather than drawn, `constrains_replies = False` of one that ignores a request's schema.
`context_window`, where it is a number of tokens, is tried out with a prompt twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from json import loads

from perdure.conformance.checks import CheckFailed, require, run_checks, shorten
from perdure.conformance.result import NOT_APPLICABLE, CheckResult
from perdure.core.errors import ModelError, UsageError
from perdure.core.model import LanguageModel, Outcome, all_outcomes, is_pure
from perdure.core.types import Completion, Message, Request, Sampling, SessionStatus

_SHORT = Sampling(seed=0, max_tokens=8)
_QUESTION = "Name one colour."
_GIVEN = f"{NOT_APPLICABLE}: the model's replies are given, not drawn"


def check_model(model: LanguageModel) -> Iterator[CheckResult]:
    """Run every check; about twenty short calls. The model stays open."""
    return run_checks(model, CHECKS)


def is_a_language_model(model: LanguageModel) -> str:
    """It has both methods of the contract."""
    require(isinstance(model, LanguageModel), "needs the methods generate and count_tokens")
    return "has generate and count_tokens"


def empty_batch(model: LanguageModel) -> str:
    """No requests, no outcomes."""
    outcomes = model.generate([])
    require(list(outcomes) == [], f"generate([]) returned {outcomes!r}")
    return "no outcomes"


def facts_are_told(model: LanguageModel) -> str:
    """What lanes ask of a model: how many calls at once, and whether a reply depends on its request alone."""
    at_once, pure = getattr(model, "max_concurrency", 1), getattr(model, "pure", False)
    require(isinstance(at_once, int) and at_once >= 1, f"max_concurrency is {at_once!r}")
    require(isinstance(pure, bool), f"pure is {pure!r}")
    return f"{at_once} at once, {'pure' if pure else 'not pure'}"


def equal_requests_in_any_order(model: LanguageModel) -> str:
    """A pure model answers greedy requests alike, whatever was asked before."""
    if not is_pure(model):
        return f"{NOT_APPLICABLE}: the model is not pure"
    requests = [_request(f"{_QUESTION} ({i})") for i in range(3)]
    forwards = _ask(model, *requests)
    backwards = _ask(model, *reversed(requests))[::-1]
    for first, second in zip(forwards, backwards, strict=True):
        require(_facts(first) == _facts(second), f"{_facts(first)!r:.80}, then {_facts(second)!r:.80}")
    return "three requests, forwards and backwards"


def one_outcome_a_request(model: LanguageModel) -> str:
    """Batches of one, two and five are answered one for one."""
    for size in (1, 2, 5):
        _ask(model, *(_request(f"{_QUESTION} ({i})") for i in range(size)))
    return "batches of 1, 2 and 5"


def batch_keeps_order(model: LanguageModel) -> str:
    """The prompt sizes that the server counted stand in the order of the requests."""
    outcomes = _ask(model, *(_request("word " * length + _QUESTION) for length in (20, 1, 40, 10)))
    sizes = [outcome.usage.prompt_tokens for outcome in outcomes if isinstance(outcome, Completion)]
    if len(sizes) < len(outcomes) or 0 in sizes:
        return f"{NOT_APPLICABLE}: not every outcome came with a prompt size"
    ranks = sorted(range(4), key=sizes.__getitem__)
    require(ranks == [1, 3, 0, 2], f"prompts of 20, 1, 40 and 10 extra words were counted as {sizes} tokens")
    return f"{sizes} prompt tokens"


def conversation_is_accepted(model: LanguageModel) -> str:
    """All three roles, alternating as in a task."""
    messages = (
        Message("system", "You are terse."),
        Message("user", _QUESTION),
        Message("agent", "Red."),
        Message("user", "Another."),
    )
    return shorten(_completion(model, Request(messages, sampling=_SHORT)).text)


def usage_is_counted(model: LanguageModel) -> str:
    """Token counts are never negative, and parts do not exceed their wholes."""
    usage = _completion(model, _request(_QUESTION)).usage
    require(min(vars(usage).values()) >= 0, f"negative token counts: {usage}")
    require(usage.cached_tokens <= usage.prompt_tokens, f"more cached than prompt tokens: {usage}")
    return f"{usage.prompt_tokens} prompt and {usage.completion_tokens} completion tokens"


def greedy_replies_repeat(model: LanguageModel) -> str:
    """Temperature 0 gives the same text twice."""
    if not _draws(model):
        return _GIVEN
    first, second = (_completion(model, _request(_QUESTION)).text for _ in range(2))
    require(first == second, f"temperature 0 gave {shorten(first)}, then {shorten(second)}")
    return f"{shorten(first)} twice"


def max_tokens_is_respected(model: LanguageModel) -> str:
    """A reply is cut where the request says, and says so."""
    if not _draws(model):
        return _GIVEN
    request = _request("Count from one to one hundred in words.", Sampling(seed=0, max_tokens=4))
    reply = _completion(model, request)
    spent = reply.usage.completion_tokens
    require(spent <= 4, f"max_tokens = 4, but the reply has {spent} tokens")
    require(reply.finish_reason != "stop" or spent < 4, "a cut reply has the finish reason 'stop'")
    return f"{spent} tokens, finish reason {reply.finish_reason!r}"


def stop_is_respected(model: LanguageModel) -> str:
    """A reply ends before its stop sequence."""
    if not _draws(model):
        return _GIVEN
    text = _completion(model, _request(_QUESTION)).text
    stop = text[len(text) // 2 :][:2]
    if not stop.strip():
        return f"{NOT_APPLICABLE}: nothing in the reply {text!r} to stop at"
    cut = _completion(model, _request(_QUESTION, Sampling(seed=0, max_tokens=8, stop=(stop,)))).text
    require(stop not in cut, f"the stop sequence {stop!r} is in the reply {shorten(cut)}")
    return f"{shorten(cut)} before {stop!r}"


def any_text_is_accepted(model: LanguageModel) -> str:
    """Emoji, combining marks, control characters and lone surrogates reach the model in some form."""
    for text in ("Grüße 你好 😀", "e\u0301\u200d\u202e", "\x00\x07\t\r\n", "lone \ud800 and \udfff"):
        _ask(model, _request(f"{text} {_QUESTION}"))
    return "emoji, marks, control characters, lone surrogates"


def count_tokens_grows(model: LanguageModel) -> str:
    """A longer prompt never has fewer tokens, and some are counted at all."""
    prompts = [[Message("user", "word " * length)] for length in (1, 10, 100, 1000)]
    prompts.append([*prompts[-1], Message("agent", "More words."), Message("user", "And more.")])
    counts = [model.count_tokens(prompt) for prompt in prompts]
    tokens = [count.tokens for count in counts]
    require(
        tokens == sorted(tokens) and 0 < tokens[0] < tokens[-1], f"growing prompts were counted as {tokens}"
    )
    require(len({count.exact for count in counts}) == 1, "some counts are exact and others are not")
    return f"{tokens} tokens, {'exact' if counts[0].exact else 'estimated'}"


def overlong_prompt_is_data(model: LanguageModel) -> str:
    """A prompt beyond the context window is a `ModelError` with the status of the context limit."""
    window = getattr(model, "context_window", None)
    if not isinstance(window, int):
        return f"{NOT_APPLICABLE}: the model does not tell its context_window"
    [outcome] = _ask(model, _request("word " * 2 * window))
    if isinstance(outcome, Completion):
        raise CheckFailed(f"a prompt of {2 * window} words was answered by a window of {window} tokens")
    limit = SessionStatus.AGENT_CONTEXT_LIMIT
    require(outcome.status is limit, f"the status is {outcome.status}, not {limit}: {outcome}")
    return str(outcome)


def schema_reply_parses(model: LanguageModel) -> str:
    """A reply under a schema is a JSON object, unless it was cut."""
    if not _draws(model):
        return _GIVEN
    if not getattr(model, "constrains_replies", True):
        return f"{NOT_APPLICABLE}: the model does not constrain its replies"
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green", "blue"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    prompt = (Message("user", f'{_QUESTION} Reply in JSON, like {{"colour": "red"}}.'),)
    reply = _completion(model, Request(prompt, schema=schema, sampling=Sampling(seed=0, max_tokens=64)))
    if reply.finish_reason == "length":
        return f"{NOT_APPLICABLE}: the reply was cut at max_tokens"
    try:
        parsed = loads(reply.text)
    except ValueError:
        parsed = None
    require(isinstance(parsed, dict), f"not a JSON object: {shorten(reply.text)}")
    return shorten(reply.text)


def logprobs_are_logarithms(model: LanguageModel) -> str:
    """Log probabilities, where the model gives any, are not positive."""
    request = Request((Message("user", _QUESTION),), logprobs=2, sampling=_SHORT)
    [outcome] = _ask(model, request)
    if not isinstance(outcome, Completion) or not outcome.logprobs:
        return "none given"
    values = [item.logprob for item in outcome.logprobs]
    require(max(values) <= 1e-6, f"positive log probabilities: {values}")
    return f"{len(values)} tokens with log probabilities"


def threads_may_share_it(model: LanguageModel) -> str:
    """Callers in several threads each get their own outcomes."""

    def ask(caller: int) -> int:
        return len(_ask(model, _request(_QUESTION), _request(f"{_QUESTION} ({caller})")))

    with ThreadPoolExecutor(3) as pool:
        sizes = list(pool.map(ask, range(3)))
    return f"{len(sizes)} threads, {sum(sizes)} outcomes"


CHECKS: tuple[Callable[[LanguageModel], str], ...] = (
    is_a_language_model,
    facts_are_told,
    empty_batch,
    one_outcome_a_request,
    batch_keeps_order,
    conversation_is_accepted,
    usage_is_counted,
    greedy_replies_repeat,
    max_tokens_is_respected,
    stop_is_respected,
    any_text_is_accepted,
    count_tokens_grows,
    overlong_prompt_is_data,
    schema_reply_parses,
    logprobs_are_logarithms,
    equal_requests_in_any_order,
    threads_may_share_it,
)


def _request(text: str, sampling: Sampling = _SHORT) -> Request:
    return Request((Message("user", text),), sampling=sampling)


def _ask(model: LanguageModel, *requests: Request) -> list[Outcome]:
    try:
        return all_outcomes(model, requests)
    except UsageError as error:
        raise CheckFailed(str(error)) from error


def _completion(model: LanguageModel, request: Request) -> Completion:
    [outcome] = _ask(model, request)
    if isinstance(outcome, ModelError):
        raise outcome
    return outcome


def _facts(outcome: Outcome) -> tuple[object, ...]:
    return (str(outcome),) if isinstance(outcome, ModelError) else (outcome.parts, outcome.finish_reason)


def _draws(model: LanguageModel) -> bool:
    return getattr(model, "honours_sampling", True)
