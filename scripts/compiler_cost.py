#!/usr/bin/env python3
"""A compiler launcher that records what a compiler takes: compiler_cost.py COMPILER ARGUMENT...

Appends one line to the file that BUILD_COST_RECORDS names: CPU seconds, peak memory in MB of the largest
process, and the output file, separated by tabs. The exit code is the compiler's. Used by
scripts/build_cost.py --per-source.
"""

import os
import resource
import sys

code = os.spawnvp(os.P_WAIT, sys.argv[1], sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
name = sys.argv[sys.argv.index("-o") + 1] if "-o" in sys.argv[:-1] else "-"
line = f"{used.ru_utime + used.ru_stime:.3f}\t{used.ru_maxrss / 1024:.1f}\t{name}\n"
records = os.open(os.environ["BUILD_COST_RECORDS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
os.write(records, line.encode())  # one write: compilers run at the same time
sys.exit(code if code >= 0 else 128 - code)
