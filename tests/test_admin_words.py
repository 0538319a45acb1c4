"""The pages' words: every text is in the catalogues, a site's own win, and what is missing or broken is English."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from flask import request
from flask_babel import Babel

from flask_litro_agent.web.admin.sentences import SENTENCES
from tests import translations
from tests.pages import open_page
from tests.proposal_site import Browser, proposal_site

PACKAGE = Path(translations.PACKAGE)
PLACE = re.compile(r"%\(\w+\)s")


class TestCatalogues:
    """When one of these fails: ``python -m tests.translations``, and translate what it lists."""

    def test_the_template_has_every_text_of_the_sources(self):
        assert translations.TEMPLATE.read_bytes() == translations.template()

    @pytest.mark.parametrize("language", translations.LANGUAGES)
    def test_a_language_has_every_text_and_translates_it(self, language):
        assert translations.path_of(language).read_bytes() == translations.updated(language)
        assert translations.missing(language) == []

    @pytest.mark.parametrize("language", translations.LANGUAGES)
    def test_what_the_pages_read_is_what_is_written(self, language):
        assert translations.read_compiled(language) == translations.written(language)

    @pytest.mark.parametrize("language", translations.LANGUAGES)
    def test_a_translation_has_the_same_places_to_fill_in(self, language):
        wrong = [
            message.id
            for message in translations.catalogue_of(language)
            if message.id and places(message.string) != places(message.id)
        ]
        assert wrong == []

    def test_a_language_names_itself(self):
        assert [translations.catalogue_of(each).get("en").string for each in translations.LANGUAGES] == list(
            translations.LANGUAGES
        )

    def test_the_gates_sentences_are_those_that_it_says(self):
        rooms = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "sentences.py"]
        source = " ".join(rooms).replace('"\n        "', "").replace('" "', "")
        assert [sentence for sentence in SENTENCES if sentence not in source] == []


def places(text):
    texts = [text] if isinstance(text, str) else text
    return [sorted(set(PLACE.findall(each))) for each in texts]


@pytest.fixture
def app(tmp_path):
    """A site whose pages are in the language that ``?lang=`` names."""
    return proposal_site(tmp_path, extensions=("litro", babel()))


def babel():
    class ByQuery(Babel):
        def init_app(self, app):
            super().init_app(app, locale_selector=lambda: request.args.get("lang", "en"))

    return ByQuery()


def own(tmp_path, language, texts):
    """Write a catalogue of the site's own."""
    catalogue = Catalog(locale=language, domain="litro_agent")
    for english, told in texts.items():
        catalogue.add(english, told)
    file = io.BytesIO()
    write_mo(file, catalogue)
    write_own(tmp_path, language, file.getvalue())


def write_own(tmp_path, language, data):
    folder = tmp_path / "translations" / language / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "litro_agent.mo").write_bytes(data)


def page(app, language="de"):
    return open_page(Browser(app), f"/litro/?lang={language}")


def test_a_site_without_babel_has_english_pages(tmp_path):
    found = page(proposal_site(tmp_path))
    assert '<html lang="en" dir="ltr">' in found.html
    assert found.title == "Inbox"


def test_a_german_request_has_a_german_page(app):
    proposal_id = Browser(app, "eve").ask()["proposal_id"]
    found = page(app)
    assert '<html lang="de" dir="ltr">' in found.html
    assert found.title == "(1) Eingang"
    assert found.card(proposal_id).buttons == ["Genehmigen", "Ablehnen"]
    assert "noch 4 Minuten" in found.text
    assert "1 Vorschlag wartet" in found.text


def test_the_next_request_may_be_in_another_language(app):
    assert [page(app, each).title for each in ("de", "en", "de_AT")] == ["Eingang", "Inbox", "Eingang"]


def test_what_the_gate_says_is_translated_where_it_is_known(app):
    proposal_id = Browser(app, "eve").ask()["proposal_id"]
    ops = Browser(app)
    form = ops.form(proposal_id)
    path = f"/__litro/proposals/{proposal_id}/approve?lang=de"
    open_page(ops, path, form)
    found = open_page(ops, path, form)
    assert found.status == 409
    assert "Dieser Vorschlag ist abgelaufen oder wurde schon behandelt" in found.text
    assert "Entschieden von Olga" in found.text


def test_json_stays_in_english(app):
    ops = Browser(app)
    answer = ops.client.get("/__litro/proposals/p0?lang=de", headers={"X-Actor": "ops"})
    assert answer.json["message"] == "there is no such proposal"


def test_a_language_without_a_catalogue_is_english_and_says_so(app):
    found = page(app, "fr")
    assert '<html lang="en" dir="ltr">' in found.html
    assert found.title == "Inbox"


def test_a_sites_own_words_win_and_ours_fill_the_rest(app, tmp_path):
    own(tmp_path, "de", {"Inbox": "Postkorb"})
    found = page(app)
    assert found.title == "Postkorb"
    assert "Nichts wartet auf eine Entscheidung." in found.text


def test_a_site_can_bring_a_language_of_its_own_with_its_direction(app, tmp_path):
    own(tmp_path, "ar", {"en": "ar", "Inbox": "الوارد"})
    found = page(app, "ar")
    assert '<html lang="ar" dir="rtl">' in found.html
    assert found.title == "الوارد"
    assert "Nothing waits for a decision." in found.text, "what is missing is English"


def test_a_translation_that_cannot_be_filled_in_is_english(app, tmp_path, caplog):
    own(
        tmp_path,
        "de",
        {("%(count)s proposal waits", "%(count)s proposals wait"): ("%(anzahl)s", "%(anzahl)d")},
    )
    Browser(app, "eve").ask()
    found = page(app)
    assert found.status == 200
    assert "1 proposal waits" in found.text
    assert "cannot be filled in" in caplog.text


@pytest.mark.parametrize("data", [b"", b"no catalogue", b"\xde\x12\x04\x95" + b"\xff" * 40])
def test_a_catalogue_that_cannot_be_read_is_english_and_a_logged_line(app, tmp_path, caplog, data):
    write_own(tmp_path, "de", data)
    found = page(app)
    assert found.status == 200
    assert found.title == "Inbox"
    assert caplog.text.count("the catalogue for de cannot be read") == 1


def test_markup_in_a_translation_is_text(app, tmp_path):
    own(tmp_path, "de", {"Inbox": "<script>alert(1)</script>"})
    assert "<script>alert" not in page(app).html
