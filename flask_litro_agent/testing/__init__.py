"""The test kit for sites and for the authors of plugins."""
