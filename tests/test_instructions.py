"""The file of instructions: read again when it changes, never worse than its last good text."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.instructions import MAX_BYTES, InstructionsFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "instructions.md"
    path.write_text("Be brief.\n", encoding="utf-8")
    return path


def replace(path: Path, data: bytes) -> None:
    """Save as careful editors do: a new file in the place of the old one."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(data)
    os.replace(fresh, path)


def fault_of(path: Path, within: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        InstructionsFile(path, within=within)
    return str(caught.value)


def test_an_edit_counts_at_the_next_look(path: Path, tmp_path: Path) -> None:
    instructions = InstructionsFile(path, within=tmp_path)
    assert instructions.text() == "Be brief.\n"
    path.write_text("Be very brief.\n", encoding="utf-8")
    assert instructions.text() == "Be very brief.\n"


def test_an_edit_of_the_same_size_and_time_counts_when_the_file_is_another(
    path: Path, tmp_path: Path
) -> None:
    instructions = InstructionsFile(path, within=tmp_path)
    before = path.stat()
    replace(path, b"Be loud!!\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert instructions.text() == "Be loud!!\n"


def test_the_text_is_data_and_comes_back_as_it_was_written(path: Path, tmp_path: Path) -> None:
    text = "{{ cycler.__init__.__globals__ }} {0} %s ${HOME} {% raw %}"
    path.write_text(text, encoding="utf-8")
    assert InstructionsFile(path, within=tmp_path).text() == text


def test_a_byte_order_mark_is_no_part_of_the_text(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfBe brief.")
    assert InstructionsFile(path, within=tmp_path).text() == "Be brief."


def test_an_optional_file_may_be_missing_and_may_come_later(tmp_path: Path) -> None:
    instructions = InstructionsFile(tmp_path / "later.md", within=tmp_path, optional=True)
    assert instructions.text() == ""
    (tmp_path / "later.md").write_text("Now.", encoding="utf-8")
    assert instructions.text() == "Now."


def test_a_file_that_goes_away_keeps_its_last_text(path: Path, tmp_path: Path) -> None:
    instructions = InstructionsFile(path, within=tmp_path, optional=True)
    path.unlink()
    assert instructions.text() == "Be brief.\n"


def test_a_bad_edit_keeps_the_last_good_text_and_is_logged_once(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instructions = InstructionsFile(path, within=tmp_path)
    path.write_bytes(b"caf\xe9 and more")
    with caplog.at_level(logging.WARNING):
        texts = [instructions.text(), instructions.text()]
    assert texts == ["Be brief.\n", "Be brief.\n"]
    (record,) = caplog.records
    assert "is not UTF-8 (line 1); the last good text stays in force" in record.getMessage()
    path.write_text("Mended.", encoding="utf-8")
    assert instructions.text() == "Mended."


def test_a_file_swapped_for_a_link_that_leads_out_is_not_followed(path: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("key", encoding="utf-8")
    inside = tmp_path / "agents"
    inside.mkdir()
    path = path.rename(inside / "instructions.md")
    instructions = InstructionsFile(path, within=inside)
    path.unlink()
    path.symlink_to(secret)
    assert instructions.text() == "Be brief.\n"


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    assert fault_of(tmp_path / "no.md", tmp_path) == "cannot be read: No such file or directory"


def test_a_broken_link_is_a_fault_even_where_the_file_is_optional(tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(tmp_path / "nowhere.md")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        InstructionsFile(tmp_path / "link.md", within=tmp_path, optional=True)


def test_a_link_that_leads_out_is_a_fault(tmp_path: Path, path: Path) -> None:
    inside = tmp_path / "agents"
    inside.mkdir()
    (inside / "instructions.md").symlink_to(path)
    assert fault_of(inside / "instructions.md", inside).startswith("is a symbolic link that leads out")


def test_a_pipe_is_a_fault_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert fault_of(tmp_path / "pipe.md", tmp_path) == "is not a regular file"


def test_the_line_that_is_not_utf_8_is_named(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"one\ntwo\ncaf\xe9\n")
    assert fault_of(path, tmp_path) == "is not UTF-8 (line 3)"


def test_the_largest_file_is_256_kib(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"x" * MAX_BYTES)
    assert len(InstructionsFile(path, within=tmp_path).text()) == MAX_BYTES
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    assert fault_of(path, tmp_path) == "is larger than 256 KiB"
