"""The words of outdoor people: what a question says about prices, sizes, places and days."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

from .question import Question

__all__ = [
    "GOODS",
    "category",
    "city",
    "colour",
    "comfort",
    "country",
    "elsewhere",
    "goods_value",
    "is_a_kind",
    "max_price",
    "max_weight",
    "min_price",
    "names_something",
    "order_number",
    "period",
    "persons",
    "season",
    "subject",
    "weekday",
]

_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_OTHER_UNIT = r"\d|kg|kilo|g\b|gram|person|people|night|day|l\b|lit|°|degree"
_PRICE = rf"(?:€|eur|euros?)?\s*(\d+)(?:[.,]\d\d)?(?!\s*(?:{_OTHER_UNIT}))"
_MOST = (
    r"(?:under|below|less than|up to|at most|max(?:imum)?(?: of)?|cheaper than|no more than|not more than|within|"
    r"budget(?: of| is)?)"
)
_LEAST = r"(?:over|above|more than|at least|from|starting at)"
_CATEGORIES = {
    "sleeping-bags": r"sleeping[ -]?bags?",
    "sleeping-mats": r"(?:sleeping |air |foam )?(?:mats?|pads?|mattress(?:es)?)",
    "tents": r"tents?|shelters?",
    "backpacks": r"(?:back|day|ruck)[ -]?(?:packs?|sacks?)",
    "jackets": r"jackets?|coats?|anoraks?|rain ?wear|rain ?gear",
    "footwear": r"boots?|(?:hiking |walking )?shoes?|footwear",
    "cooking": r"stoves?|cookers?|pots?|cookware|cooking(?: gear)?|bottles?|(?:water )?filters?",
    "lights": r"lights?|head ?lamps?|head ?torch(?:es)?|torch(?:es)?|lamps?|lanterns?",
    "accessories": r"accessories|poles?|compass(?:es)?|dry ?bags?",
}
#: A pattern for every word that names a kind of goods.
GOODS = "|".join(_CATEGORIES.values())
_COLOURS = r"black|blue|brown|green|gr[ea]y|orange|red|sand|silver|yellow"
_CITIES = {
    "Berlin": "berlin",
    "Hamburg": "hamburg",
    "Munich": r"munich|m(?:ü|ue)nchen",
    "Leipzig": "leipzig",
    "Rotterdam": "rotterdam",
}
_COUNTRIES = {
    "Germany": "germany|deutschland",
    "Austria": "austria|vienna|innsbruck",
    "Netherlands": "(?:the )?netherlands|holland",
    "France": "france|paris",
    "Switzerland": "switzerland|zurich|zürich",
    "Norway": "norway|oslo",
}
#: What follows "to" and is no place.
_ENDS = re.compile(
    r"home|house|door|address|place|friend|store|shop|arrive|come|get|buy|return|pay|know|order"
)
_PERIODS = {
    "today": "today",
    "yesterday": "yesterday",
    "this_week": "this week",
    "last_week": "last week|past week|previous week",
    "this_month": "this month",
    "last_month": "last month|previous month",
    "this_year": "this year|year to date|so far this year",
    "last_7_days": r"(?:last|past) (?:7|seven) days",
    "last_30_days": r"(?:last|past) (?:30|thirty) days|past month",
    "last_90_days": r"(?:last|past) (?:90|ninety) days|(?:last|past) (?:3|three) months|(?:last|past|this) quarter",
    "last_12_months": r"(?:last|past) (?:12|twelve) months|(?:last|past) year",
}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SEASONS = {"winter": "winter|snow|frost", "summer": "summer", "spring": "spring", "autumn": "autumn|fall"}
_FILLERS = frozenset(Path(__file__).with_name("fillers.txt").read_text("utf-8").split())


def category(asked: Question) -> str | None:
    """Return the category that is named."""
    return _named(asked, _CATEGORIES)


def is_a_kind(name: str) -> bool:
    """Whether a name is no product's, but says only which kind of goods."""
    return re.fullmatch(GOODS, name) is not None


def colour(asked: Question) -> str | None:
    """Return the colour that is named."""
    found = re.search(rf"\b({_COLOURS})\b", asked.words)
    return found[1].replace("gray", "grey") if found else None


def city(asked: Question) -> str | None:
    """Return which of our places is named."""
    return _named(asked, _CITIES)


def country(asked: Question) -> str | None:
    """Return the country to ship to."""
    return _named(asked, _COUNTRIES)


def elsewhere(asked: Question) -> str | None:
    """Return the name of a country or town that is named as a parcel's end and that we do not know."""
    if country(asked) or city(asked):
        return None
    found = re.search(r"\bto (?:the |my |our )?([^\W\d]+)", asked.words)
    if not found or found[1] in _FILLERS or _ENDS.fullmatch(found[1]):
        return None
    return found[1].title()


def period(asked: Question) -> str | None:
    """Return the period that is named, as the tools call it."""
    return _named(asked, _PERIODS)


def season(asked: Question) -> str | None:
    """Return the season that is named."""
    return _named(asked, _SEASONS)


def weekday(asked: Question, today: date | None = None) -> str | None:
    """Return the day of the week that is named, also as today or tomorrow."""
    ahead = {"today": 0, "now": 0, "tomorrow": 1}
    for word, days in ahead.items():
        if asked.says(word):
            return _WEEKDAYS[((today or date.today()) + timedelta(days=days)).weekday()]
    return next((name for name in _WEEKDAYS if asked.says(f"{name.casefold()}s?")), None)


def max_price(asked: Question) -> int | None:
    """Return the highest price in euros."""
    between = _between(asked)
    return between[1] if between else _integer(asked, rf"\b{_MOST}\s*{_PRICE}")


def min_price(asked: Question) -> int | None:
    """Return the lowest price in euros."""
    between = _between(asked)
    return between[0] if between else _integer(asked, rf"\b{_LEAST}\s*{_PRICE}")


def goods_value(asked: Question) -> int | None:
    """Return the value in euros that an order is said to have."""
    return _integer(asked, r"(?:€|eur)\s*(\d+)|(\d+)(?:[.,]\d\d)?\s*(?:€|eur\b|euros?\b)")


def max_weight(asked: Question) -> int | None:
    """Return the highest weight in grams."""
    found = re.search(rf"(?:{_MOST}|lighter than)\s*(\d+(?:[.,]\d+)?)\s*(kg|kilos?|g|grams?)\b", asked.words)
    if not found:
        return 1000 if asked.says("under a kilo|less than a kilo") else None
    amount = float(found[1].replace(",", "."))
    return round(amount * 1000) if found[2].startswith("k") else round(amount)


def persons(asked: Question) -> int | None:
    """Return for how many people something shall be."""
    one_of = "|".join(_NUMBERS)
    brought = re.search(rf"\bwith (?:(?:my|our) )?(\d|{one_of}) (?:kids?|children|friends?)\b", asked.words)
    if brought:
        return 1 + (_NUMBERS.get(brought[1]) or int(brought[1]))
    patterns = (
        rf"\b(\d|{one_of})[ -]?(?:persons?|people|man|men|sleepers?|adults?|of us)\b",
        rf"\b(?:for|family of|we are) (\d|{one_of})\b(?! (?:nights?|days?|weeks?))(?!\s*(?:€|eur))",
    )
    found = next((match for pattern in patterns if (match := re.search(pattern, asked.words))), None)
    if not found:
        return 1 if asked.says("solo|on my own|alone") else None
    return _NUMBERS.get(found[1]) or int(found[1])


def comfort(asked: Question) -> int | None:
    """Return the temperature in °C at which a sleeping bag shall be comfortable."""
    found = re.search(r"(minus |-)?(\d{1,2})\s*(?:°|degrees|celsius)", asked.words)
    if found:
        return -int(found[2]) if found[1] else int(found[2])
    return {"winter": -15, "autumn": -5, "spring": -5, "summer": 5}.get(season(asked) or "")


def order_number(asked: Question) -> int | None:
    """Return the number of the order that is named."""
    return _integer(asked, r"\border (?:number |no\.? ?|nr\.? ?)?#?(\d{1,6})\b|#(\d{1,6})\b|\b(\d{4,6})\b")


def names_something(asked: Question) -> bool:
    """Whether the question has a word that could narrow down an earlier one."""
    readers = (category, colour, city, country, period, season, weekday, max_price, min_price, goods_value)
    return any(reader(asked) is not None for reader in (*readers, max_weight, persons, comfort, order_number))


def subject(asked: Question, *, beside: str = "") -> str:
    """Return what the question is about: its words without those that only ask, in their order.

    ``beside`` is a pattern of more words that do not belong to the name.
    """
    text = re.sub(rf"\b(?:{beside})(?!\w)", " ", asked.words) if beside else asked.words
    for pattern in (*_CITIES.values(), *_PERIODS.values()):
        text = re.sub(rf"\b(?:{pattern})\b", " ", text)
    bare = [word.strip("'.,#+").removesuffix("'s") for word in text.split()]
    return " ".join(word for word in bare if word.strip("-€") and word not in _FILLERS)


def _named(asked: Question, patterns: Mapping[str, str]) -> str | None:
    return next((name for name, pattern in patterns.items() if asked.says(pattern)), None)


def _between(asked: Question) -> tuple[int, int] | None:
    found = re.search(r"\bbetween (?:€|eur)?\s*(\d+)(?:\s*(?:€|euros?))? and (?:€|eur)?\s*(\d+)", asked.words)
    return (int(found[1]), int(found[2])) if found else None


def _integer(asked: Question, pattern: str) -> int | None:
    found = re.search(pattern, asked.words)
    return int(next(group for group in found.groups() if group)) if found else None
