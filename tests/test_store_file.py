"""The file session store: its contract, and what is its own."""

import pytest

from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing.stores import StoreContract


class TestFileStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return FileStore(tmp_path / "sessions")

    def reopen(self, store):
        return FileStore(store.root)
