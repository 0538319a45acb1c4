"""A policy that adds a refusal: changes are for office hours only. It never allows, so it can take nothing away."""

import datetime

from flask_litro_agent.contracts import Verdict


class Hours:
    def __init__(self, opens, closes, *, utc_offset=0, clock=datetime.datetime.now):
        self._opens, self._closes = opens, closes
        self._zone = datetime.timezone(datetime.timedelta(hours=utc_offset))
        self._clock = clock

    def decide(self, actor, tool, arguments):
        if tool.mode == "read" or self._opens <= self._clock(self._zone).hour < self._closes:
            return Verdict.abstain()
        return Verdict.deny(f"changes are made from {self._opens} to {self._closes} o'clock")
