"""The history without its least surprising tokens: the LLMLingua control of SKILL.state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError
from perdure.core.pool import ModelHandle
from perdure.core.session import shown
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.strategies.budget import Budget, BudgetKind
from perdure.strategies.llmlingua_package import LLMLinguaPackage
from perdure.strategies.logprob_scorer import LogprobScorer
from perdure.strategies.ngram_scorer import NGramScorer
from perdure.strategies.perplexity_pruning import ScoredTurn, Scorer, filter_turns, prune
from perdure.strategies.published import SHARED_BASELINE, Compat
from perdure.strategies.text_replies import TextReplies
from perdure.strategies.turn_pieces import most_pieces, turn_pieces
from perdure.strategies.window import cut_to_fit, windowed

ScorerName: TypeAlias = Literal["ngram", "model", "llmlingua"]

COMPRESSED_HEADING = "Earlier turns, shortened:\n"


class PromptCompression(TextReplies):
    """Instructions, goal and latest observation verbatim; of the turns before, what says the most.

    While everything fits `budget_tokens`, the history is shown as it is. Then turns are dropped until about
    `coarse` times the room is left, and of those the least surprising tokens until the prompt fits.
    `budget`: `whole_prompt` or `history_only`. `scorer`: `ngram` (built in, deterministic), `model` (`model`,
    by the probabilities it tells; one short call a piece of text) or `llmlingua` (the package, with the
    causal model `llmlingua_model` on `llmlingua_device`). The trace says which one ran: only the package is
    called LLMLingua. The reply is the action. Of a turn far larger than the budget only head and tail are
    scored, see `turn_pieces`: a step costs what the budget allows, whatever was said.

    `compat = "paper"`: an unusable reply is not asked for again but goes to the environment as it is.

    Source: SKILL.state (arXiv 2608.26263), ReAct + LLMLingua. Raises ConfigError, MissingExtra.
    """

    published = SHARED_BASELINE
    _latest: str
    _reply: str

    def __init__(
        self,
        *,
        budget_tokens: int,
        budget: BudgetKind = "whole_prompt",
        scorer: ScorerName = "ngram",
        coarse: float = 2.0,
        llmlingua_model: str | None = None,
        llmlingua_device: str = "cpu",
        model: ModelHandle | None = None,
        compat: Compat = "none",
    ) -> None:
        self.compat: Compat = compat
        if not coarse >= 1:
            raise ConfigError(f"coarse must be at least 1, not {coarse}")
        if scorer == "llmlingua" and llmlingua_model is None:
            raise ConfigError("scorer = 'llmlingua': give the causal model to score with as llmlingua_model")
        self._budget = Budget(budget_tokens, budget, model)
        self._coarse = coarse
        self._most_pieces = most_pieces(budget_tokens)
        self._package = (
            LLMLinguaPackage.load(llmlingua_model, device=llmlingua_device)
            if scorer == "llmlingua" and llmlingua_model is not None
            else None
        )
        self._scorer: Scorer = LogprobScorer(model) if scorer == "model" else NGramScorer()
        self._begin("")

    def start(self, opening: Opening, instructions: str) -> None:
        """No turn was played yet."""
        self._budget.start()
        self._begin(opening.observation.text)

    def render(self, view: ContextView) -> Sequence[Message]:
        """The whole history, or what is left of it."""
        fixed = self._prompt(view, "")
        limit = self._budget.limit(fixed)
        prompt = windowed(view, played=len(self._turns), shown=len(self._turns))
        compress = self._budget.count(prompt) > limit
        if compress:
            prompt = self._prompt(view, self._compressed(view, fixed, limit))
        step = len(self._turns) + 1
        first = self._budget.note(step, len(view.rejected), self._budget.count(prompt), limit)
        if first and compress:
            self._compressions.add(step)
        return prompt

    def absorb(self, reply: Reply) -> Absorbed:
        """The reply's text is the action."""
        self._reply = shown(reply)
        return Absorbed(action=reply.text)

    def observe(self, observation: Observation) -> None:
        """Score the turn that is over: it will be shown again and again."""
        pieces, cut = turn_pieces(f"{self._latest}\n{self._reply}\n", self._most_pieces)
        text = "".join(pieces)
        if self._package is not None:
            pieces = [text]
        scores = self._scorer.score(pieces) if self._package is None else [0.0]
        self._turns.append(ScoredTurn(tuple(pieces), tuple(scores), self._budget.size(text)))
        self._cut_turns += cut
        self._latest, self._reply = observation.text, ""

    def trace(self) -> JSON:
        """What compressed, how many prompts, of how many turns only the ends, and what the budget came to."""
        if self._package is None:
            ran: JSON = {"method": f"LLMLingua-style, {self._scorer.label} scorer"}
        else:
            ran = {"method": self._package.label, "missed_targets": self._package.misses}
        return {
            **ran,
            "compressed_prompts": len(self._compressions),
            "cut_turns": self._cut_turns,
            "budget": self._budget.trace(),
        }

    def _compressed(self, view: ContextView, fixed: Sequence[Message], limit: int) -> str:
        room = limit - self._budget.count(fixed)
        if room <= 0:
            return ""

        def fits(text: str) -> bool:
            return self._budget.count(self._prompt(view, text)) <= limit

        if self._package is None:
            return prune(filter_turns(self._turns, int(self._coarse * room)), fits)
        texts = [turn.text for turn in self._turns]
        return cut_to_fit(self._package.compress(texts, self._latest, room, fits), fits)

    def _prompt(self, view: ContextView, history: str) -> list[Message]:
        note = COMPRESSED_HEADING + history if history else ""
        return windowed(view, played=len(self._turns), shown=0, note=note)

    def _begin(self, observation: str) -> None:
        self._scorer.start()
        self._turns: list[ScoredTurn] = []
        self._cut_turns = 0
        self._latest, self._reply = observation, ""
        self._compressions: set[int] = set()


STRATEGY = PromptCompression
