"""A parcel desk kept by a constant-context agent: typed tools, a declared state, an audit trail.

python examples/parcel_desk.py                                   offline: the model is a short script
python examples/parcel_desk.py --base-url URL --model NAME       a chat-completions server (key: API_KEY)
python examples/parcel_desk.py --local                           the packaged small model: real, not skilled
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from perdure import LanguageModel, Refusal, Request, StateAgent
from perdure.core.model import Outcome
from perdure.core.types import Message
from perdure.core.usage import TokenCount
from perdure.models.scripted import ScriptedModel
from perdure.state.paths import pointer

INSTRUCTIONS = """\
You keep a parcel desk with numbered slots. Each observation tells what happens next.
When a parcel arrives, store it in the free slot with the lowest number. When somebody asks for a parcel, hand
it over from the slot where it is. When the desk closes, finish and say how many parcels are left."""


class Desk(BaseModel):
    """What the agent has to know later."""

    slots: dict[str, str] = Field(default={}, description="occupied slots: number → parcel")
    handed_over: int = Field(default=0, description="parcels handed over so far")


class World:
    """The desk as it is: events come one by one, and the tools change it."""

    def __init__(self, events: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._left = events
        self._arrived = 0
        self._expected = ""
        self.slots: dict[int, str] = {}

    def store(self, parcel: str, slot: int) -> str:
        """Put the parcel that just arrived into a free slot."""
        if slot in self.slots:
            raise Refusal(f"slot {slot} is taken")
        if f"{parcel} arrives" not in self._expected:
            raise Refusal(f"{parcel} is not here to be stored; {self._expected}")
        self.slots[slot] = parcel
        return self.next_event()

    def hand_over(self, slot: int) -> str:
        """Give away the parcel in a slot."""
        parcel = self.slots.get(slot, "nothing")
        if f"asks for {parcel}." not in self._expected:
            raise Refusal(f"slot {slot} holds {parcel}; {self._expected}")
        del self.slots[slot]
        return self.next_event()

    def next_event(self) -> str:
        """What happens now; also what the agent sees after an action."""
        if self._left == 0:
            self._expected = "The desk closes."
        elif self.slots and (len(self.slots) >= 6 or self._random.random() < 0.5):
            self._expected = f"Somebody asks for {self._random.choice(sorted(self.slots.values()))}."
        else:
            self._arrived += 1
            self._expected = f"Parcel P{self._arrived} arrives."
        self._left -= 1
        return self._expected


def script(request: Request) -> str:
    """The offline model: decides from its prompt alone, as a language model would."""
    prompt = request.messages[-1].text
    state = json.loads(prompt.split("```json\n")[1].split("\n```")[0])
    event = prompt.split("Latest observation:\n")[1]
    slots: dict[str, str] = state["slots"]
    patch: dict[str, object] = {}
    if arrived := re.search(r"Parcel (P\d+) arrives", event):
        free = next(number for number in range(1, 100) if str(number) not in slots)
        patch = {"slots": {str(free): arrived[1]}}
        action = {"tool": "store", "arguments": {"parcel": arrived[1], "slot": free}}
    elif asked := re.search(r"asks for (P\d+)", event):
        slot = next(number for number, parcel in slots.items() if parcel == asked[1])
        patch = {"slots": {slot: None}, "handed_over": state["handed_over"] + 1}
        action = {"tool": "hand_over", "arguments": {"slot": int(slot)}}
    else:
        action = {"tool": "finish", "arguments": {"answer": f"{len(slots)} parcels are left"}}
    answer = json.dumps({"state_patch": patch, "action": action})
    return f"The event is: {event}\n```json\n{answer}\n```"


class Meter:
    """Any model, with the size of its prompts noted down."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.sizes: list[int] = []

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        """As the model does."""
        self.sizes += [self.count_tokens(request.messages).tokens for request in requests]
        return self._model.generate(requests)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """As the model does."""
        return self._model.count_tokens(messages)


def chosen_model(options: argparse.Namespace) -> LanguageModel:
    """The model of the command line."""
    if options.base_url:
        from perdure.models.openai_compatible import OpenAICompatibleModel

        return OpenAICompatibleModel(base_url=options.base_url, model=options.model, api_key_env="API_KEY")
    if options.local:
        from perdure.models.local import LocalModel

        return LocalModel()
    return ScriptedModel(script)


def main() -> None:
    """Work one day at the desk and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--model", default="")
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args()
    world, model = World(options.events, options.seed), Meter(chosen_model(options))
    agent = StateAgent(
        model=model,
        instructions=INSTRUCTIONS,
        state=Desk,
        tools=[world.store, world.hand_over],
    )
    result = agent.run(
        "Keep the desk until it closes.", observation=world.next_event(), max_steps=options.events + 20
    )
    print(f"finished: {result.finished}, answer: {result.answer!r}, steps: {result.steps}")
    print(f"state is right: {result.state.slots == {str(k): v for k, v in world.slots.items()}}")
    print(f"failures by class: {agent.trace()['counts']}")
    print(f"prompt tokens: first {model.sizes[0]}, last {model.sizes[-1]}, largest {max(model.sizes)}")
    for path, step in sorted(agent.journal.provenance().items()):
        print(f"  {pointer(path)} was set in step {step}")


if __name__ == "__main__":
    main()
