"""A small site for the tests: one agent whose model does what the person's text says."""
