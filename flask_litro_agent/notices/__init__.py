"""How somebody learns that something waits or has happened: signals to the site's code, messages to another place."""
