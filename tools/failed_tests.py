#!/usr/bin/env python3
"""What failed in the last `meson test` of a build, and the last that each failure said.

    failed_tests.py BUILD
"""

import json
import pathlib
import sys

PASSED = {"OK", "SKIP", "EXPECTEDFAIL"}
LAST_LINES = 30


def main(build):
    log = pathlib.Path(build) / "meson-logs" / "testlog.json"
    if not log.exists():
        sys.exit(f"{log} is not there: no test was run in {build}")
    for line in log.read_text(errors="replace").splitlines():
        test = json.loads(line)
        if test["result"] in PASSED:
            continue
        print(f"\n{test['name']}: {test['result']}, exit status {test['returncode']}, "
              f"after {test['duration']:.1f} s")
        for stream in ("stdout", "stderr"):
            for said in (test.get(stream) or "").splitlines()[-LAST_LINES:]:
                print(f"    {said}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
