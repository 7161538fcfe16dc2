"""Names for an invented country: never twice the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

PROFESSIONS = (
    "Actor", "Architect", "Baker", "Botanist", "Carpenter", "Chemist", "Composer", "Diplomat", "Engineer",
    "Film director", "Footballer", "Journalist", "Novelist", "Painter", "Physician", "Teacher",
)  # fmt: skip
FILM_GENRES = ("Adventure", "Comedy", "Crime", "Drama", "Fantasy", "Historical", "Mystery", "Romance")
POSITIONS = ("Defender", "Forward", "Goalkeeper", "Midfielder", "Winger")
SUBJECTS = (
    "Astronomy", "Beekeeping", "Bridges", "Cartography", "Cookery", "Folk music", "Forestry", "Glassmaking",
    "Migration", "Mountaineering", "Railways", "Seafaring",
)  # fmt: skip
INDUSTRIES = (
    "Brewing",
    "Ceramics",
    "Machine tools",
    "Paper",
    "Publishing",
    "Shipbuilding",
    "Textiles",
    "Timber",
)
COLLECTIONS = (
    "Clocks",
    "Costumes",
    "Folk art",
    "Maps",
    "Minerals",
    "Musical instruments",
    "Sculpture",
    "Ships",
)

_STEMS = (
    "Alder", "Ashen", "Barrow", "Brack", "Calder", "Corve", "Dun", "Elm", "Fallow", "Fenn", "Garth", "Hal",
    "Harrow", "Ister", "Kell", "Lang", "Lorn", "Marl", "Merrow", "Nether", "Oak", "Orr", "Pell", "Quill",
    "Raven", "Rush", "Selk", "Sorrel", "Tarn", "Thorn", "Ullen", "Vale", "Wester", "Whin", "Yar",
)  # fmt: skip
_TOWN_ENDS = ("by", "field", "ford", "gate", "ham", "holm", "mouth", "port", "stead", "ton", "wick", "worth")
_REGION_ENDS = ("mark", "land", "shire", "fells")
_RIVERS = (
    "Aune", "Brenn", "Cassel", "Dorn", "Esk Water", "Fyle", "Gaunt", "Hester", "Ilm", "Lisk", "Morrow",
    "Nidd", "Ouselet", "Penn Water", "Rill", "Sarn", "Tessel", "Wend",
)  # fmt: skip
_GIVEN = (
    "Ada", "Aldo", "Anouk", "Bram", "Carla", "Cyril", "Dagny", "Edda", "Emil", "Fergus", "Greta", "Hanne",
    "Henrik", "Ilse", "Ivo", "Jonas", "Karin", "Lars", "Leona", "Lucan", "Mattis", "Mira", "Nell", "Odile",
    "Osric", "Petra", "Quentin", "Rhea", "Rolf", "Selma", "Stellan", "Tilda", "Ulric", "Vera", "Wanda",
    "Yorick",
)  # fmt: skip
_SURNAME_ENDS = ("and", "ane", "berg", "croft", "ell", "er", "gren", "hurst", "man", "sen", "ström", "well")
_ADJECTIVES = (
    "Amber", "Broken", "Distant", "Empty", "Faithful", "Golden", "Hidden", "Last", "Long", "Northern",
    "Patient", "Quiet", "Second", "Silver", "Stolen", "Winter",
)  # fmt: skip
_NOUNS = (
    "Bridge", "Calendar", "Garden", "Harbour", "Inheritance", "Lantern", "Letter", "Mirror", "Orchard",
    "Passage", "Promise", "River", "Season", "Station", "Voyage", "Witness",
)  # fmt: skip
_BOOK_HEADS = ("A Guide to", "Notes on", "The Making of", "A History of", "Letters from", "Under")
_CLUB_HEADS = ("Athletic", "Rovers", "United", "Wanderers", "Albion", "City")
_COMPANY_ENDS = ("& Daughters", "Works", "Brothers", "Company", "Group", "Mills")
_MUSEUM_ENDS = ("Museum", "Gallery", "Collection", "House Museum")


class NameMaker:
    """Draws names of each kind without repetition."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._taken: set[str] = set()

    def region(self) -> str:
        """`Fennmark`."""
        return self._fresh(lambda: self._one(_STEMS) + self._one(_REGION_ENDS))

    def river(self) -> str:
        """`Brenn`."""
        return self._fresh(lambda: f"River {self._one(_RIVERS)}")

    def town(self) -> str:
        """`Alderford`."""
        return self._fresh(lambda: self._one(_STEMS) + self._one(_TOWN_ENDS))

    def person(self) -> str:
        """`Mira Halgren`."""
        return self._fresh(
            lambda: f"{self._one(_GIVEN)} {self._one(_STEMS)}{self._one(_SURNAME_ENDS)}",
        )

    def film(self) -> str:
        """`The Quiet Harbour`."""
        return self._fresh(lambda: f"The {self._one(_ADJECTIVES)} {self._one(_NOUNS)}")

    def book(self) -> str:
        """`Notes on the Silver Orchard`; some have a comma, as titles do."""

        def title() -> str:
            noun, place = self._one(_NOUNS), self._one(_STEMS)
            tail = self._one((f"the {noun}", f"{place}, and Beyond", f"the {noun} of {place}"))
            return f"{self._one(_BOOK_HEADS)} {tail}"

        return self._fresh(title)

    def club(self) -> str:
        """`Tarnholm Rovers`."""
        return self._fresh(lambda: f"{self._one(_STEMS)}{self._one(_TOWN_ENDS)} {self._one(_CLUB_HEADS)}")

    def company(self) -> str:
        """`Corvell Works`."""
        return self._fresh(
            lambda: f"{self._one(_STEMS)}{self._one(_SURNAME_ENDS)} {self._one(_COMPANY_ENDS)}"
        )

    def museum(self) -> str:
        """`Old Marl Gallery`."""
        return self._fresh(lambda: f"{self._one(_STEMS)}{self._one(_TOWN_ENDS)} {self._one(_MUSEUM_ENDS)}")

    def _one(self, words: tuple[str, ...]) -> str:
        return self._draw.choice(words)

    def _fresh(self, make: Callable[[], str]) -> str:
        while True:
            name = make()
            if name not in self._taken:
                self._taken.add(name)
                return name
