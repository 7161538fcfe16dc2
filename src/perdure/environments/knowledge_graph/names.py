"""Identifiers ↔ IRIs: an identifier is an IRI without the graph's namespace.

Full IRIs are written everywhere (`<http://…/people.person.nationality>`): SPARQL parsers reject prefixed
names whose local part has two dots, as every relation of Freebase has.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

FREEBASE = "http://rdf.freebase.com/ns/"

_FORBIDDEN = '<>"{}|^`\\% ' + "".join(map(chr, range(0x20)))
_ESCAPES = {ord(sign): f"%{ord(sign):02X}" for sign in _FORBIDDEN}
"""What an IRI may not hold (RFC 3987), and the sign that escapes it."""

_ESCAPES_OF_IRIS = {sign: escape for sign, escape in _ESCAPES.items() if sign != ord("%")}
_WHOLE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>")

_TIMEZONE = "-08:00"
"""Freebase's dates carry it; published answers do not."""


class Names:
    """The identifiers of one graph."""

    def __init__(self, namespace: str = FREEBASE) -> None:
        if not namespace or namespace.translate(_ESCAPES) != namespace:
            raise ValueError(f"namespace must be an IRI, not {namespace!r}")
        self.namespace = namespace

    def iri(self, identifier: str) -> str:
        """The IRI of an identifier; `<scheme:…>` is an IRI outside the namespace."""
        if _WHOLE.fullmatch(identifier):
            return identifier[1:-1].translate(_ESCAPES_OF_IRIS)
        return self.namespace + identifier.translate(_ESCAPES)

    def identifier(self, iri: str) -> str:
        """The identifier whose IRI this is."""
        if iri.startswith(self.namespace):
            local = iri[len(self.namespace) :]
            if "%" not in local:
                return local
            identifier = unquote(local)
            if self.iri(identifier) == iri:
                return identifier
        return f"<{iri}>"


def literal_text(lexical: str) -> str:
    """A literal as answers write it."""
    return lexical.removesuffix(_TIMEZONE)


def is_foreign(language: str | None) -> bool:
    """Literals in other languages than English are not answers."""
    return bool(language) and language is not None and language.lower().split("-")[0] != "en"
