"""Replies that a model may give and that nothing may break on."""

from __future__ import annotations

from collections.abc import Mapping

MEGABYTE = 1_000_000

HOSTILE_REPLIES: Mapping[str, str] = {
    "empty": "",
    "blank": " \n\t\r\n ",
    "no action": "I am not sure what to do next.",
    "two actions": "Action: Operation\n```sql\nSELECT 1;\n```\nAction: Answer\nFinal Answer: []",
    "unclosed fence": "Action: Operation\n```sql\nSELECT 1;",
    "fence without content": "```\n```",
    "one megabyte of words": "word " * (MEGABYTE // 5),
    "one megabyte of fences": "```" * (MEGABYTE // 3),
    "one megabyte of actions": "Action: " * (MEGABYTE // 8),
    "deep nesting": "Final Answer: " + "[" * 20_000,
    "open braces": '{"action": ' * 5_000,
    "lone surrogates": "Action: \ud800\udfff done",
    "NUL": "Action:\x00 done\x00",
    "control characters": "\x1b[2J\x07Action: \x08done",
    "right-to-left": "\u202eAction: done\u202c",
    "JSON null": "null",
    "JSON of the wrong shape": '{"action": {"name": 1, "arguments": "x"}, "state_patch": [1, 2]}',
    "huge number": "Action: add 9" + "9" * 10_000,
}
"""Kind → reply. Every environment and every strategy gets each of them."""

HOSTILE_FRAGMENTS: Mapping[str, str] = {
    "lone surrogates": "\ud800\udfff",
    "NUL": "\x00",
    "control characters": "\x1b[2J\x07\x08",
    "right-to-left": "\u202e\u202c",
    "quotes": "'\"`",
    "brackets": "(((]]]}}}",
    "a fence": "\n```\n",
    "a comment": " -- # /* ",
    "thinking": "</think><think>",
    "expansions": "$(:) `:` ${IFS} %s {0} \\",
    "many digits": "9" * 10_000,
    "one megabyte of words": " word" * (MEGABYTE // 5),
}
"""Kind → what may stand anywhere in a reply."""


def inside_action(action: str) -> dict[str, str]:
    """Kind → an action with a hostile fragment inside: within and behind its longest line, its content."""
    line = max(action.splitlines() or [""], key=len)
    start = action.find(line)
    places = {"within": start + len(line) // 2, "behind": start + len(line)}
    return {
        f"{kind} {name} the content of an action": action[:place] + fragment + action[place:]
        for kind, fragment in HOSTILE_FRAGMENTS.items()
        for name, place in places.items()
    }
