"""The Model Context Protocol: an agent's tools for a person's other programs, through the same gate.

Every call is an HTTP request of its own and is decided as if it were the first: nothing here remembers a client. The
rule that must not be broken: a tool is reached by ``Gate.call`` alone, and no answer has html in it.
"""
