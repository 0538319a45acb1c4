"""The catalogues of the operator's pages: taken from the sources, brought up to date, and written for machines.

``python -m tests.translations`` does all three; what a new text means in German is then written into ``de``'s ``.po``.
"""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po

from flask_litro_agent.web.admin.words import DOMAIN, FOLDER

PACKAGE = FOLDER.parent
TEMPLATE = FOLDER / f"{DOMAIN}.pot"
METHODS = [("web/admin/**.py", "python"), ("templates/litro_agent/admin/**.html", "jinja2")]
KEYWORDS = {"_": None, "say": None, "mark": None, "ngettext": (1, 2), "say_many": (1, 2)}
HEADER = "# The words of the operator's pages: `python -m tests.translations` brings them up to date."
#: Lines that would be other ones on another day, or with another version of Babel.
CHANGING = re.compile(
    rb'^"(Project-Id-Version|Report-Msgid-Bugs-To|POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team|'
    rb"Generated-By): .*\n",
    re.MULTILINE,
)
LANGUAGES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))


def extracted() -> Catalog:
    """Return every text of the sources; the order is theirs."""
    catalogue = Catalog(domain=DOMAIN, charset="utf-8", fuzzy=False, header_comment=HEADER)
    found = extract_from_dir(PACKAGE, METHODS, keywords=KEYWORDS, comment_tags=("translators:",))
    for file, _, message, comments, _ in sorted(found, key=lambda each: (each[0], each[1])):
        catalogue.add(message, None, [(file, None)], auto_comments=comments)
    return catalogue


def catalogue_of(language: str) -> Catalog:
    """Return what is written for a language."""
    with path_of(language).open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def path_of(language: str, ending: str = "po") -> Path:
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.{ending}"


def template() -> bytes:
    return _written(extracted())


def updated(language: str) -> bytes:
    """Return the language's catalogue with the texts that there are now; a new one has no translation yet."""
    catalogue = catalogue_of(language)
    catalogue.update(extracted(), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    return _written(catalogue)


def compiled(language: str) -> bytes:
    catalogue, file = catalogue_of(language), io.BytesIO()
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    write_mo(file, catalogue)
    return file.getvalue()


def read_compiled(language: str) -> dict[object, object]:
    """Return what the machines read."""
    with path_of(language, "mo").open("rb") as file:
        return dict(_plain(message.id, message.string) for message in read_mo(file) if message.id)


def missing(language: str) -> list[str | tuple[str, ...]]:
    """Return the texts that have no translation, or not each of its forms."""
    return [message.id for message in catalogue_of(language) if message.id and not _is_whole(message.string)]


def written(language: str) -> dict[object, object]:
    """Return what the people write."""
    return dict(_plain(message.id, message.string) for message in catalogue_of(language) if message.id)


def _plain(*texts: object) -> tuple[object, ...]:
    return tuple(text if isinstance(text, str) else tuple(text) for text in texts)  # type: ignore[arg-type]


def _is_whole(told: str | tuple[str, ...] | list[str]) -> bool:
    return bool(told) if isinstance(told, str) else all(told)


def _written(catalogue: Catalog) -> bytes:
    """Return it as a file without times, so that equal texts make equal files."""
    file = io.BytesIO()
    catalogue.header_comment = HEADER
    write_po(file, catalogue, width=100, include_lineno=False)
    return CHANGING.sub(b"", file.getvalue())


if __name__ == "__main__":
    TEMPLATE.write_bytes(template())
    for each in LANGUAGES:
        path_of(each).write_bytes(updated(each))
        path_of(each, "mo").write_bytes(compiled(each))
        left = missing(each)
        print(f"{each}: {len(left)} without a translation", *map(repr, left), sep="\n  ")
