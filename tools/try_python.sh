#!/usr/bin/env bash
# The package of Python as a user has it: try_python.sh [WHEEL]
#
# In a virtual environment of its own it installs the wheel, or this tree where none is named, runs the
# program, multiplies arrays of NumPy on device 0, tunes for seconds, and removes it again. Home and data are
# in a scratch folder. pip fetches NumPy, and to build the tree meson-python.
set -euo pipefail
what=${1:-$(cd "$(dirname "$0")/.." && pwd)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset PYTHONPATH MMTUNE_LIBRARY MMTUNE_PROGRAM
export HOME=$scratch XDG_DATA_HOME=$scratch/data XDG_CACHE_HOME=$scratch/cache

python3 -m venv "$scratch/venv"
bin=$scratch/venv/bin
"$bin/pip" install --quiet "$what" numpy
cd "$scratch"
"$bin/mmtune" --version
"$bin/mmtune" devices
"$bin/mmtune" study cards --help >/dev/null
"$bin/python" - <<'PYTHON'
import mmtune
import numpy as np

a, b = (np.random.default_rng(1).standard_normal((200, 200), dtype=np.float32) for _ in "ab")
c = mmtune.matmul(a, b, bias=b[0], activation="relu")
assert np.allclose(c, np.maximum(a @ b + b[0], 0), rtol=1e-4, atol=1e-3)
profile = mmtune.tune([(200, 200, 200)], budget="4c", quiet=True, options=["--limit", "60s"])
assert any(row["m"] == 200 and row["median_us"] > 0 for row in profile.table())
assert "tuned for this very problem" in mmtune.Plan(200, 200, 200).describe()
print("multiplied, tuned and planned:", *profile.layers, sep="\n  ")
PYTHON
"$bin/pip" uninstall --quiet --yes mmtune
! "$bin/python" -c "import mmtune" 2>/dev/null
[ ! -e "$bin/mmtune" ]
echo "installed, used and removed"
