"""The vocabulary of the invented world: relations both ways with the types they lead to, and attributes."""

from __future__ import annotations

from dataclasses import dataclass

INTEGER, DATE = "type.int", "type.datetime"


@dataclass(frozen=True)
class Relation:
    """A relation from `domain` to `range`, and the one that goes back."""

    name: str
    domain: str
    range: str
    inverse: str


@dataclass(frozen=True)
class Attribute:
    """A number or a date of a type's entities."""

    name: str
    domain: str
    datatype: str = INTEGER


RELATIONS = (
    Relation("place.town.region", "place.town", "place.region", "place.region.towns"),
    Relation("place.town.river", "place.town", "place.river", "place.river.towns"),
    Relation("place.river.flows_into", "place.river", "place.river", "place.river.tributaries"),
    Relation("people.person.birthplace", "people.person", "place.town", "place.town.natives"),
    Relation(
        "people.person.profession", "people.person", "people.profession", "people.profession.practitioners"
    ),
    Relation("people.person.parents", "people.person", "people.person", "people.person.children"),
    Relation("people.person.spouse", "people.person", "people.person", "people.person.spouse"),
    Relation("film.film.director", "film.film", "people.person", "film.director.films"),
    Relation("film.film.cast", "film.film", "people.person", "film.actor.films"),
    Relation("film.film.genre", "film.film", "film.genre", "film.genre.films"),
    Relation("film.film.setting", "film.film", "place.town", "place.town.films_set_here"),
    Relation("sport.club.town", "sport.club", "place.town", "place.town.clubs"),
    Relation("sport.club.players", "sport.club", "people.person", "sport.player.club"),
    Relation("sport.player.position", "people.person", "sport.position", "sport.position.players"),
    Relation("book.book.author", "book.book", "people.person", "book.author.books"),
    Relation("book.book.subject", "book.book", "book.subject", "book.subject.books"),
    Relation("business.company.headquarters", "business.company", "place.town", "place.town.companies"),
    Relation(
        "business.company.industry", "business.company", "business.industry", "business.industry.companies"
    ),
    Relation(
        "business.company.founder", "business.company", "people.person", "business.founder.companies_founded"
    ),
    Relation("museum.museum.town", "museum.museum", "place.town", "place.town.museums"),
    Relation("museum.museum.collection", "museum.museum", "museum.collection", "museum.collection.museums"),
)

ATTRIBUTES = (
    Attribute("place.town.population", "place.town"),
    Attribute("place.town.founded", "place.town"),
    Attribute("place.town.elevation_m", "place.town"),
    Attribute("place.river.length_km", "place.river"),
    Attribute("people.person.birth_date", "people.person", DATE),
    Attribute("people.person.height_cm", "people.person"),
    Attribute("film.film.runtime_minutes", "film.film"),
    Attribute("film.film.release_date", "film.film", DATE),
    Attribute("sport.club.founded", "sport.club"),
    Attribute("sport.club.stadium_capacity", "sport.club"),
    Attribute("book.book.pages", "book.book"),
    Attribute("book.book.published", "book.book", DATE),
    Attribute("business.company.employees", "business.company"),
    Attribute("business.company.founded", "business.company"),
    Attribute("museum.museum.visitors_a_year", "museum.museum"),
)


def vocabulary() -> dict[str, list[str]]:
    """The content of `vocab.json`."""
    both = {relation.name for relation in RELATIONS} | {relation.inverse for relation in RELATIONS}
    return {"relations": sorted(both), "attributes": sorted(attribute.name for attribute in ATTRIBUTES)}


def roles() -> list[str]:
    """The lines of `roles.txt`."""
    lines = {f"{relation.domain} {relation.name} {relation.range}" for relation in RELATIONS}
    lines |= {f"{relation.range} {relation.inverse} {relation.domain}" for relation in RELATIONS}
    lines |= {f"{attribute.domain} {attribute.name} {attribute.datatype}" for attribute in ATTRIBUTES}
    return sorted(lines)


def inverses() -> list[str]:
    """The lines of `inverses.txt`."""
    pairs = {(relation.name, relation.inverse) for relation in RELATIONS}
    return sorted({f"{a}\t{b}" for pair in pairs for a, b in (pair, pair[::-1])})
