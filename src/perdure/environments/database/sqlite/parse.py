"""Text to syntax trees: statements are split by token, and what MySQL cannot parse is error 1064."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from perdure.environments.database.sqlite.calls import FUNCTION_NAMES
from perdure.environments.database.sqlite.clause_order import is_spaced_call, misplaced_word
from perdure.environments.database.sqlite.failure import SqlFailure, denied, syntax_error
from perdure.environments.database.sqlite.grammar import check_grammar
from perdure.environments.database.sqlite.marking import PREFIX, SPACED
from perdure.environments.database.sqlite.reserved_words import misused_word

MAX_STATEMENT = 200_000
"""Longest statement in characters; a longer one is refused like an oversized packet."""

_DIALECT = MySQL()
_REPLACE = re.compile(r"\A\s*replace\b(?!\s*\()", re.IGNORECASE)
_FOREIGN = frozenset({TokenType.DCOLON, TokenType.ILIKE, TokenType.QUALIFY})
"""Tokens of other dialects that the parser would accept."""
_NOT_CALLED_AFTER = frozenset({"INTO", "TABLE", "AS", "WITH", "RECURSIVE", "INDEX", "KEY", "VIEW", "EXISTS"})
_DEFINITIONS = frozenset({"CREATE", "ALTER"})
_VERBS = frozenset(
    {"SELECT", "WITH", "(", "INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "TRUNCATE"}
    | {"SHOW", "DESCRIBE", "DESC", "EXPLAIN", "SET", "USE", "START", "BEGIN", "COMMIT", "ROLLBACK"}
)
_DENIED = frozenset(
    {"LOAD", "GRANT", "REVOKE", "CALL", "HANDLER", "LOCK", "UNLOCK", "FLUSH", "KILL", "SHUTDOWN", "RESTART"}
    | {"INSTALL", "UNINSTALL", "IMPORT", "CLONE", "RENAME", "PREPARE", "EXECUTE", "DEALLOCATE", "OPTIMIZE"}
    | {"REPAIR", "ANALYZE", "CHECK", "CHECKSUM", "PURGE", "RESET", "DO", "XA"}
)


def tokenize(sql: str) -> list[Token]:
    """MySQL tokens. Raises SqlFailure 1064 for an unclosed quote and the like."""
    if len(sql) > MAX_STATEMENT:
        raise SqlFailure(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes")
    try:
        sql.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = sql[error.start : error.start + 1].encode("utf-8", "surrogatepass").hex().upper()
        raise SqlFailure(1300, "HY000", f"Invalid utf8mb4 character string: '{bad}'") from None
    try:
        return list(_DIALECT.tokenize(sql))
    except TokenError:
        raise syntax_error(sql[-80:].lstrip()) from None


def split_statements(sql: str) -> list[str]:
    """The statements of a text, at semicolons outside quotes and comments; empty ones are dropped.

    Raises SqlFailure when the text cannot be split.
    """
    statements: list[str] = []
    first: Token | None = None
    last: Token | None = None
    for token in tokenize(sql):
        if token.token_type == TokenType.SEMICOLON:
            if first is not None and last is not None:
                statements.append(sql[first.start : last.end + 1])
            first = None
            continue
        first = first or token
        last = token
    if first is not None and last is not None:
        statements.append(sql[first.start : last.end + 1])
    return statements


def parse_statement(sql: str) -> exp.Expression:
    """The tree of the one statement in a text, with function names marked. Raises SqlFailure."""
    tokens = tokenize(_REPLACE.sub("INSERT ", sql, count=1))  # no table here has a unique key: it inserts
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise SqlFailure(1065, "42000", "Query was empty")
    for i, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON and i + 1 < len(tokens):
            following = tokens[i + 1]
            raise syntax_error(sql[following.start :], following.line)
        if token.token_type in _FOREIGN:
            raise syntax_error(sql[token.start :], token.line)
    _check_verb(tokens[0], sql)
    word = misused_word(tokens) or misplaced_word(tokens)
    if word is not None:
        raise syntax_error(sql[word.start :], word.line)
    marked = _mark_functions(tokens)
    tree = _parse(marked, sql)
    if not isinstance(tree, exp.Expression):
        raise syntax_error(sql)
    check_grammar(tree)
    return tree


def _parse(tokens: list[Token], sql: str) -> object:
    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True  # it prints what it cannot read; that is an error here
    try:
        trees = _DIALECT.parser().parse(tokens, sql)
    except ParseError as error:
        raise _near(error) from None
    except (TokenError, AttributeError, LookupError, TypeError, ValueError, AssertionError):
        # What the parser raises where a statement breaks off, besides its own errors.
        raise syntax_error(sql[-80:]) from None
    finally:
        logger.disabled = disabled
    return trees[0] if trees else None


def _check_verb(first: Token, sql: str) -> None:
    words = first.text.upper().split()
    verb = words[0] if words else ""
    if verb in _DENIED and first.token_type != TokenType.IDENTIFIER:
        raise denied(verb)
    if verb not in _VERBS:
        raise syntax_error(sql, first.line)


def _mark_functions(tokens: Sequence[Token]) -> list[Token]:
    marked = list(tokens)
    defining = tokens[0].text.upper() in _DEFINITIONS
    for i, token in enumerate(tokens[:-1]):
        opens = tokens[i + 1].token_type == TokenType.L_PAREN
        if not opens or token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            continue
        name = token.text.upper()
        if name not in FUNCTION_NAMES or (i and tokens[i - 1].text.upper() in _NOT_CALLED_AFTER):
            continue
        if defining and not _in_query(tokens, i):
            continue
        prefix = SPACED if is_spaced_call(tokens, i) else PREFIX
        marked[i] = Token(TokenType.VAR, prefix + name, token.line, token.col, token.start, token.end)
    return marked


def _in_query(tokens: Sequence[Token], index: int) -> bool:
    return any(token.token_type == TokenType.SELECT for token in tokens[:index])


def _near(error: ParseError) -> SqlFailure:
    detail = error.errors[0] if error.errors else {}
    near = f"{detail.get('highlight') or ''}{detail.get('end_context') or ''}"
    return syntax_error(near.replace(PREFIX, "").replace(SPACED, ""), int(detail.get("line") or 1))
