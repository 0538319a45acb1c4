"""The operator's pages: blueprint ``litro_admin``. They show and ask; whatever they decide goes through the same views
and the same gate as everybody's requests."""
