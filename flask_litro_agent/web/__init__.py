"""The routes: each reads the request, asks one part, and answers."""
