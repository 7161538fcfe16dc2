"""Question templates over the invented world: words, the types of the entities they name, and the program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Template:
    """`words` and `program` hold `{0}`, `{1}`, …: names in the first, identifiers in the second."""

    words: str
    slots: tuple[str, ...]
    program: str


def _hop(inner: str, *relations: str) -> str:
    for relation in relations:
        inner = f"(JOIN (R {relation}) {inner})"
    return inner


def _both(left: str, right: str) -> str:
    return f"(AND {left} {right})"


def _count(inner: str) -> str:
    return f"(COUNT {inner})"


def _most(inner: str, attribute: str) -> str:
    return f"(ARGMAX {inner} {attribute})"


def _least(inner: str, attribute: str) -> str:
    return f"(ARGMIN {inner} {attribute})"


_TOWN, _REGION, _RIVER = "place.town", "place.region", "place.river"
_PERSON, _PROFESSION, _GENRE = "people.person", "people.profession", "film.genre"
_CLUB, _SUBJECT, _INDUSTRY = "sport.club", "book.subject", "business.industry"
_NATIVES, _WORKERS = "place.town.natives", "people.profession.practitioners"
_SET_HERE, _DIRECTED, _CAST = "place.town.films_set_here", "film.director.films", "film.film.cast"

HOPS = (
    Template("Which towns lie on the {0}?", (_RIVER,), _hop("{0}", "place.river.towns")),
    Template(
        "Which towns lie on rivers that flow into the {0}?",
        (_RIVER,),
        _hop("{0}", "place.river.tributaries", "place.river.towns"),
    ),
    Template(
        "What do the people born in {0} do for a living?",
        (_TOWN,),
        _hop("{0}", _NATIVES, "people.person.profession"),
    ),
    Template(
        "Who has written about {0}?", (_SUBJECT,), _hop("{0}", "book.subject.books", "book.book.author")
    ),
    Template(
        "In which regions were the players of {0} born?",
        (_CLUB,),
        _hop("{0}", "sport.club.players", "people.person.birthplace", "place.town.region"),
    ),
    Template(
        "Which industries have a company in a town on the {0}?",
        (_RIVER,),
        _hop("{0}", "place.river.towns", "place.town.companies", "business.company.industry"),
    ),
)

INTERSECTIONS = (
    Template(
        "Which people born in {0} have the profession {1}?",
        (_TOWN, _PROFESSION),
        _both(_hop("{0}", _NATIVES), _hop("{1}", _WORKERS)),
    ),
    Template(
        "Which films of the genre {0} are set in {1}?",
        (_GENRE, _TOWN),
        _both(_hop("{0}", "film.genre.films"), _hop("{1}", _SET_HERE)),
    ),
    Template(
        "Which films directed by {0} have {1} in the cast?",
        (_PERSON, _PERSON),
        _both(_hop("{0}", _DIRECTED), _hop("{1}", "film.actor.films")),
    ),
    Template(
        "Which players of {0} play as {1}?",
        (_CLUB, "sport.position"),
        _both(_hop("{0}", "sport.club.players"), _hop("{1}", "sport.position.players")),
    ),
    Template(
        "Which towns in {0} lie on the {1}?",
        (_REGION, _RIVER),
        _both(_hop("{0}", "place.region.towns"), _hop("{1}", "place.river.towns")),
    ),
    Template(
        "Who has acted both in a film directed by {0} and in a film set in {1}?",
        (_PERSON, _TOWN),
        _both(_hop("{0}", _DIRECTED, _CAST), _hop("{1}", _SET_HERE, _CAST)),
    ),
    Template(
        "In which regions are the towns where {0} museums stand and {1} companies have their headquarters?",
        ("museum.collection", _INDUSTRY),
        _hop(
            _both(
                _hop("{0}", "museum.collection.museums", "museum.museum.town"),
                _hop("{1}", "business.industry.companies", "business.company.headquarters"),
            ),
            "place.town.region",
        ),
    ),
    Template(
        "Which people of the profession {1} born in {0} have acted in a film of the genre {2}?",
        (_TOWN, _PROFESSION, _GENRE),
        _both(_hop("{0}", _NATIVES), _both(_hop("{1}", _WORKERS), _hop("{2}", "film.genre.films", _CAST))),
    ),
)

COUNTS = (
    Template("How many people were born in {0}?", (_TOWN,), _count(_hop("{0}", _NATIVES))),
    Template(
        "How many people play for a club in {0}?",
        (_TOWN,),
        _count(_hop("{0}", "place.town.clubs", "sport.club.players")),
    ),
    Template(
        "How many different actors appear in the films directed by {0}?",
        (_PERSON,),
        _count(_hop("{0}", _DIRECTED, _CAST)),
    ),
    Template(
        "How many books by {0} are about {1}?",
        (_PERSON, _SUBJECT),
        _count(_both(_hop("{0}", "book.author.books"), _hop("{1}", "book.subject.books"))),
    ),
    Template(
        "How many companies of the {0} industry have their headquarters in {1}?",
        (_INDUSTRY, _REGION),
        _count(
            _both(
                _hop("{0}", "business.industry.companies"),
                _hop("{1}", "place.region.towns", "place.town.companies"),
            )
        ),
    ),
)

LARGEST = (
    Template(
        "What is the most populous town on the {0}?",
        (_RIVER,),
        _most(_hop("{0}", "place.river.towns"), "place.town.population"),
    ),
    Template(
        "What is the longest film directed by {0}?",
        (_PERSON,),
        _most(_hop("{0}", _DIRECTED), "film.film.runtime_minutes"),
    ),
    Template(
        "Who is the tallest player of {0}?",
        (_CLUB,),
        _most(_hop("{0}", "sport.club.players"), "people.person.height_cm"),
    ),
    Template(
        "What is the most recently published book by {0}?",
        (_PERSON,),
        _most(_hop("{0}", "book.author.books"), "book.book.published"),
    ),
    Template(
        "Which club in {0} has the largest stadium?",
        (_REGION,),
        _most(_hop("{0}", "place.region.towns", "place.town.clubs"), "sport.club.stadium_capacity"),
    ),
    Template(
        "Which museum in {1} that collects {0} has the most visitors?",
        ("museum.collection", _REGION),
        _most(
            _both(
                _hop("{0}", "museum.collection.museums"),
                _hop("{1}", "place.region.towns", "place.town.museums"),
            ),
            "museum.museum.visitors_a_year",
        ),
    ),
)

SMALLEST = (
    Template(
        "Which town in {0} was founded first?",
        (_REGION,),
        _least(_hop("{0}", "place.region.towns"), "place.town.founded"),
    ),
    Template(
        "Who is the oldest person born in {0}?",
        (_TOWN,),
        _least(_hop("{0}", _NATIVES), "people.person.birth_date"),
    ),
    Template(
        "What is the shortest river that flows into the {0}?",
        (_RIVER,),
        _least(_hop("{0}", "place.river.tributaries"), "place.river.length_km"),
    ),
    Template(
        "What is the first film of the genre {0} that {1} directed?",
        (_GENRE, _PERSON),
        _least(_both(_hop("{0}", "film.genre.films"), _hop("{1}", _DIRECTED)), "film.film.release_date"),
    ),
    Template(
        "Which company with headquarters in {0} has the fewest employees?",
        (_REGION,),
        _least(_hop("{0}", "place.region.towns", "place.town.companies"), "business.company.employees"),
    ),
    Template(
        "What is the thinnest book about {0} by somebody born in {1}?",
        (_SUBJECT, _TOWN),
        _least(
            _both(_hop("{0}", "book.subject.books"), _hop("{1}", _NATIVES, "book.author.books")),
            "book.book.pages",
        ),
    ),
)

TEMPLATES = (*HOPS, *INTERSECTIONS, *COUNTS, *LARGEST, *SMALLEST)
