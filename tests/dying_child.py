"""A process that ends inside an approved tool, without a word: ``dying_child.py <folder>``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.gate_bench import GateBench, Spy

bench = GateBench(Path(sys.argv[1]), Spy(lambda params, ctx: os._exit(9)).tool())
bench.approve(bench.propose())
