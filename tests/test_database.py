"""core/database.py"""

from __future__ import annotations
import time
import pytest
from tests.databases import frozen
from sqlalchemy import select


def test_time(database):
    assert abs(database.time() - time.time() * 1000) < 1500


def test_frozen(database):
    f = frozen(database, 1234)
    assert f.time() == 1234
    f.move(5)
    assert f.write(lambda c: c.execute(select(f.now)).scalar_one()) == 1239
