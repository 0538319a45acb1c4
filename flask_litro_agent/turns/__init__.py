"""One turn of an agent, from the person's words to ``turn-end``: written first, shown second.

``writer`` numbers and stores events, ``live`` shows them to this process's readers, ``history`` turns the log into
messages, ``histories`` keeps some between turns, ``drafts`` are the events that close something, ``loop`` is the turn
itself, ``runner`` starts and ends turns, ``watcher`` keeps their leases and hears their stops, ``tail`` is what a
response sends. Nothing here knows a Flask view or pluggy.
"""
