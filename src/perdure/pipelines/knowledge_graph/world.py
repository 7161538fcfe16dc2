"""An invented country as a knowledge graph: made from a seed, typed, with numbers and dates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from perdure.core.randomness import keyed_random
from perdure.pipelines.knowledge_graph.names import (
    COLLECTIONS,
    FILM_GENRES,
    INDUSTRIES,
    POSITIONS,
    PROFESSIONS,
    SUBJECTS,
    NameMaker,
)
from perdure.pipelines.knowledge_graph.schema import RELATIONS

_INVERSE = {relation.name: relation.inverse for relation in RELATIONS}
_DIGITS = "0123456789bcdfghjklmnpqrstvwxyz_"


@dataclass
class World:
    """Entities by type and the triples about them."""

    names: dict[str, str] = field(default_factory=dict)
    """Identifier → name."""
    types: dict[str, list[str]] = field(default_factory=dict)
    """Type → identifiers, in the order in which they were made."""
    triples: set[tuple[str, str, str]] = field(default_factory=set)

    def lines(self) -> list[str]:
        """The graph as tab-separated lines, sorted."""
        return ["\t".join(triple) for triple in sorted(self.triples)]

    def name_lines(self) -> list[str]:
        """Identifier, type and name of every entity."""
        return sorted(
            f"{id_}\t{type_}\t{self.names[id_]}" for type_, ids in self.types.items() for id_ in ids
        )


def make_world(seed: int) -> World:
    """The world of a seed; equal seeds give equal worlds."""
    builder = _Builder(seed)
    builder.places()
    builder.people()
    builder.films()
    builder.clubs()
    builder.books()
    builder.companies()
    builder.museums()
    return builder.world


class _Builder:
    def __init__(self, seed: int) -> None:
        self.world = World()
        self._seed = seed
        self._draw = keyed_random(seed, "world")
        self._names = NameMaker(keyed_random(seed, "names"))

    def places(self) -> None:
        """Regions, rivers that join others, and towns on them."""
        regions = self._make("place.region", 6, self._names.region)
        rivers = self._make("place.river", 18, self._names.river)
        for i, river in enumerate(rivers):
            self._attribute(river, "place.river.length_km", self._draw.randint(18, 420))
            if i >= 4:
                self._link(river, "place.river.flows_into", self._draw.choice(rivers[:4]))
        for town in self._make("place.town", 60, self._names.town):
            self._link(town, "place.town.region", self._draw.choice(regions))
            for river in self._some(rivers, 0, 2):
                self._link(town, "place.town.river", river)
            self._attribute(town, "place.town.population", round(10 ** self._draw.uniform(2.8, 5.7)))
            self._attribute(town, "place.town.founded", self._draw.randint(820, 1890))
            self._attribute(town, "place.town.elevation_m", self._draw.randint(2, 1250))

    def people(self) -> None:
        """Three generations: who is born where, does what, and is whose child and spouse."""
        professions = self._listed("people.profession", PROFESSIONS)
        towns = self.world.types["place.town"]
        people = self._make("people.person", 260, self._names.person)
        for i, person in enumerate(people):
            generation = 3 * i // len(people)
            self._link(person, "people.person.birthplace", self._skewed(towns))
            for profession in self._some(professions, 1, 2):
                self._link(person, "people.person.profession", profession)
            self._attribute(person, "people.person.height_cm", self._draw.randint(150, 204))
            self._attribute(person, "people.person.birth_date", self._date(1915 + 27 * generation, 24))
        third = len(people) // 3
        for older, first in ((people[:third], third), (people[third : 2 * third], 2 * third)):
            couples = list(zip(older[0::2], older[1::2], strict=False))
            for one, other in couples:
                self._link(one, "people.person.spouse", other)
            for child in people[first : first + third]:
                for parent in self._draw.choice(couples):
                    self._link(child, "people.person.parents", parent)

    def films(self) -> None:
        """A few directors, a larger cast, one or two genres, a setting."""
        genres = self._listed("film.genre", FILM_GENRES)
        people, towns = self.world.types["people.person"], self.world.types["place.town"]
        directors, actors = people[90:102], people[100:190]
        for film in self._make("film.film", 96, self._names.film):
            self._link(film, "film.film.director", self._skewed(directors))
            for actor in self._some(actors, 3, 8):
                self._link(film, "film.film.cast", actor)
            for genre in self._some(genres, 1, 2):
                self._link(film, "film.film.genre", genre)
            self._link(film, "film.film.setting", self._skewed(towns))
            self._attribute(film, "film.film.runtime_minutes", self._draw.randint(71, 203))
            self._attribute(film, "film.film.release_date", self._date(1962, 60))

    def clubs(self) -> None:
        """Clubs of the larger towns and their players."""
        positions = self._listed("sport.position", POSITIONS)
        players = self.world.types["people.person"][150:]
        for i, club in enumerate(self._make("sport.club", 18, self._names.club)):
            self._link(club, "sport.club.town", self.world.types["place.town"][2 * i])
            self._attribute(club, "sport.club.founded", self._draw.randint(1871, 1968))
            self._attribute(club, "sport.club.stadium_capacity", 100 * self._draw.randint(8, 520))
            for player in self._some(players, 7, 13):
                self._link(club, "sport.club.players", player)
        for player in players:
            for position in self._some(positions, 1, 2):
                self._link(player, "sport.player.position", position)

    def books(self) -> None:
        """Books with one or two authors and subjects."""
        subjects = self._listed("book.subject", SUBJECTS)
        authors = self.world.types["people.person"][60:86]
        for book in self._make("book.book", 90, self._names.book):
            for author in self._some(authors, 1, 2):
                self._link(book, "book.book.author", author)
            for subject in self._some(subjects, 1, 2):
                self._link(book, "book.book.subject", subject)
            self._attribute(book, "book.book.pages", self._draw.randint(64, 900))
            self._attribute(book, "book.book.published", self._date(1958, 62))

    def companies(self) -> None:
        """Companies, where they are, what they do and who founded them."""
        industries = self._listed("business.industry", INDUSTRIES)
        people, towns = self.world.types["people.person"], self.world.types["place.town"]
        for company in self._make("business.company", 56, self._names.company):
            self._link(company, "business.company.headquarters", self._skewed(towns))
            self._link(company, "business.company.industry", self._draw.choice(industries))
            for founder in self._some(people[:120], 1, 2):
                self._link(company, "business.company.founder", founder)
            self._attribute(company, "business.company.employees", round(10 ** self._draw.uniform(0.8, 4.2)))
            self._attribute(company, "business.company.founded", self._draw.randint(1860, 2015))

    def museums(self) -> None:
        """Museums and what they collect."""
        collections = self._listed("museum.collection", COLLECTIONS)
        for museum in self._make("museum.museum", 36, self._names.museum):
            self._link(museum, "museum.museum.town", self._skewed(self.world.types["place.town"]))
            for collection in self._some(collections, 1, 3):
                self._link(museum, "museum.museum.collection", collection)
            self._attribute(museum, "museum.museum.visitors_a_year", 100 * self._draw.randint(12, 4800))

    def _make(self, type_: str, count: int, name: Callable[[], str]) -> list[str]:
        return self._listed(type_, [name() for _ in range(count)])

    def _listed(self, type_: str, names: Sequence[str]) -> list[str]:
        made = []
        for name in names:
            identifier = self._identifier(type_, name)
            self.world.names[identifier] = name
            made.append(identifier)
        self.world.types[type_] = made
        return made

    def _identifier(self, type_: str, name: str) -> str:
        draw: Random = keyed_random(self._seed, type_, name)
        while True:
            identifier = "m.0" + "".join(draw.choice(_DIGITS) for _ in range(5))
            if identifier not in self.world.names:
                return identifier

    def _link(self, subject: str, relation: str, object_: str) -> None:
        self.world.triples.add((subject, relation, object_))
        self.world.triples.add((object_, _INVERSE[relation], subject))

    def _attribute(self, subject: str, name: str, value: int | str) -> None:
        self.world.triples.add((subject, name, str(value)))

    def _some(self, items: Sequence[str], least: int, most: int) -> list[str]:
        return self._draw.sample(items, self._draw.randint(least, most))

    def _skewed(self, items: Sequence[str]) -> str:
        """Early items more often: a few large towns, a few busy directors."""
        return items[int(len(items) * self._draw.random() ** 1.8)]

    def _date(self, first_year: int, years: int) -> str:
        year = first_year + self._draw.randrange(years)
        return f"{year:04}-{self._draw.randint(1, 12):02}-{self._draw.randint(1, 28):02}"
