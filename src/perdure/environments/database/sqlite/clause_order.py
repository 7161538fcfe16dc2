"""What MySQL's grammar refuses by the order of words, and the parser would let pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

_RANKS: Mapping[TokenType, int] = {
    TokenType.FROM: 1,
    TokenType.JOIN: 2,
    TokenType.STRAIGHT_JOIN: 2,
    TokenType.WHERE: 3,
    TokenType.GROUP_BY: 4,
    TokenType.HAVING: 5,
    TokenType.WINDOW: 6,
    TokenType.ORDER_BY: 7,
    TokenType.LIMIT: 8,
}
"""Clauses of a SELECT in the order in which they may stand."""
_JOIN = 2
_ORDER = 7
_SET_OPERATIONS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_JOIN_WORDS = frozenset({"INNER", "CROSS", "LEFT", "RIGHT", "OUTER", "NATURAL"})
_UNSPACED = frozenset(
    {"ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "COUNT", "CURDATE", "CURTIME", "DATE_ADD", "DATE_SUB"}
    | {"GROUP_CONCAT", "MAX", "MID", "MIN", "NOW", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUBDATE"}
    | {"SUBSTR", "SUBSTRING", "SUM", "SYSDATE", "TRIM", "VARIANCE", "VAR_POP", "VAR_SAMP"}
)
"""Names that are native functions only with their parenthesis next to them (`IGNORE_SPACE` is off)."""
_NATIVE_ONLY = frozenset({TokenType.STAR, TokenType.DISTINCT, TokenType.ALL})
"""What may follow the parenthesis of a native function only."""


@dataclass
class _Frame:
    """One level of parentheses."""

    selects: bool = False
    rank: int = 0


def misplaced_word(tokens: Sequence[Token]) -> Token | None:
    """The first token at which MySQL's parser would stop, as far as the order of clauses decides."""
    frames = [_Frame()]
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            frames.append(_Frame())
        elif kind == TokenType.R_PAREN and len(frames) > 1:
            frames.pop()
        elif not _take(token, frames[-1]):
            return _first_word(tokens, index)
        if _is_foreign(tokens, index) or (frames[-1].selects and _lacks_is(tokens, index)):
            return token
    return None


def _take(token: Token, frame: _Frame) -> bool:
    """Go on by one token; False where the order of clauses does not allow it."""
    kind = token.token_type
    if kind == TokenType.SELECT:
        frame.selects, frame.rank = True, 0
    elif frame.selects and kind in _SET_OPERATIONS:
        broken = frame.rank >= _ORDER  # ORDER BY and LIMIT end a query that is not in parentheses
        frame.selects, frame.rank = False, 0
        return not broken
    elif frame.selects and kind in _RANKS:
        rank = _RANKS[kind]
        if rank < frame.rank or (rank == frame.rank and rank != _JOIN):
            return False
        frame.rank = rank
    return True


def _first_word(tokens: Sequence[Token], index: int) -> Token:
    """Where a clause begins: joins have words before their name."""
    if _RANKS.get(tokens[index].token_type) == _JOIN:
        while index and tokens[index - 1].text.upper() in _JOIN_WORDS:
            index -= 1
    return tokens[index]


def _is_foreign(tokens: Sequence[Token], index: int) -> bool:
    """`IS [NOT] DISTINCT FROM`, and `COUNT (*)` with a space."""
    if tokens[index].token_type not in _NATIVE_ONLY or index < 2:
        return False
    before, earlier = tokens[index - 1].token_type, tokens[index - 2].token_type
    if before == TokenType.L_PAREN:
        return is_spaced_call(tokens, index - 2)
    negated = before == TokenType.NOT and earlier == TokenType.IS
    return tokens[index].token_type == TokenType.DISTINCT and (before == TokenType.IS or negated)


def _lacks_is(tokens: Sequence[Token], index: int) -> bool:
    """`x NOT NULL`, which is for definitions of columns."""
    return (
        tokens[index].token_type == TokenType.NULL
        and index > 1
        and tokens[index - 1].token_type == TokenType.NOT
        and tokens[index - 2].token_type
        in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.NUMBER, TokenType.STRING)
    )


def is_spaced_call(tokens: Sequence[Token], index: int) -> bool:
    """A name that stops being a native function by the space before its parenthesis."""
    token, following = tokens[index], tokens[index + 1]
    return (
        following.token_type == TokenType.L_PAREN
        and following.start > token.end + 1
        and token.text.upper() in _UNSPACED
        and token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)
    )
