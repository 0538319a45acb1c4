"""core/migration.py"""
from __future__ import annotations
from flask_litro_agent.core import migration
from tests.databases import open_database

def test_up(database_uri):
    d = open_database(database_uri)
    print(migration.fault(d))
    assert migration.upgrade(d) == "0001"
    assert migration.upgrade(d) == "0001"
    assert migration.fault(d) is None
    d.engine.dispose()
