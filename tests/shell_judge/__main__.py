"""`python -m tests.shell_judge --from SEED --lines N [--jobs 2] [--progress FILE]`: judge a range of lines.

A run that was stopped goes on where it was, by its file. Exit code 1 if a line failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.shell_judge.court import Report
from tests.shell_judge.runs import run_seeds


def main() -> int:
    parser = argparse.ArgumentParser(description="run the lines that are called low in real shells")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--progress", type=Path, default=Path("shell-judge.jsonl"))
    asked = parser.parse_args()
    began, report = time.monotonic(), Report()
    for chunk in run_seeds(asked.first, asked.lines, asked.jobs, asked.progress):
        report.add(chunk.report)
        failed = "".join(f"{one}\n" for one in chunk.report.failures)
        sys.stdout.write(f"{failed}{report.lines:,} of {asked.lines:,}, {len(report.failures)} failed\n")
        sys.stdout.flush()
    sys.stdout.write(f"{report}\n{time.monotonic() - began:.0f} seconds\n")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
