"""Words that MySQL 8 reserves and the parser would take for names."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

RESERVED = frozenset(
    (
        "accessible", "analyze", "before", "both", "call", "cascade", "change", "check", "condition",
        "cube", "cume_dist", "databases", "delayed", "dense_rank", "describe", "deterministic",
        "distinctrow", "div", "each", "elseif", "empty", "enclosed", "escaped", "exit", "explain",
        "fetch", "first_value", "force", "foreign", "function", "generated", "get", "grant", "grouping",
        "groups", "high_priority", "if", "ignore", "infile", "inner", "inout", "insensitive", "iterate",
        "keys", "kill", "lag", "last_value", "lead", "leading", "leave", "linear", "lines", "load", "lock",
        "loop", "low_priority", "match", "mod", "modifies", "natural", "nth_value", "ntile", "optimize",
        "option", "optionally", "out", "outer", "outfile", "over", "partition", "percent_rank", "primary",
        "procedure", "purge", "range", "rank", "read", "references", "release", "rename", "repeat",
        "require", "resignal", "restrict", "return", "revoke", "rlike", "row", "row_number", "rows",
        "schema", "schemas", "separator", "show", "signal", "spatial", "specific", "sql", "sqlexception",
        "sqlstate", "sqlwarning", "ssl", "starting", "stored", "system", "terminated", "trailing",
        "trigger", "undo", "unlock", "usage", "use", "varying", "virtual", "while", "window", "write",
        "year_month", "zerofill"
    )
)  # fmt: skip
"""In lower case. Those that the parser knows as words of its own are not listed."""
_SHOWING = frozenset({"DESC", "DESCRIBE"})
_NAMING = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "AS"})


def misused_word(tokens: Sequence[Token]) -> Token | None:
    """The first reserved word that stands unquoted where a table or an alias is named."""
    if len(tokens) == 2 and tokens[0].text.upper() in _SHOWING and _is_reserved(tokens[1]):
        return tokens[1]
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if after is not None and after.token_type == TokenType.L_PAREN:
            continue  # a call, as in TRIM('a' FROM REPEAT('a', 3))
        if before.text.upper() in _NAMING and _is_reserved(token):
            return token
    return None


def _is_reserved(token: Token) -> bool:
    return token.text.lower() in RESERVED and token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)
