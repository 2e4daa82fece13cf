"""The package's types by mypy --strict, with a client that is right and calls that are not; skipped without mypy or NumPy."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end, skip  # noqa: E402

if not all(importlib.util.find_spec(name) for name in ("mypy", "numpy")):
    skip("mypy or NumPy is not here")

CLIENT = pathlib.Path(__file__).with_name("typed_client.py").read_text(encoding="utf-8")


def said(folder, text):
    client = pathlib.Path(folder, "client.py")
    client.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.join(folder, "cache"), str(client)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


with tempfile.TemporaryDirectory(prefix="mmtune-test-") as folder:
    right = said(folder, CLIENT)
    wrong = said(folder, CLIENT + """
mmtune.matmul(np.ones(3), np.ones(3), device=1.5)
mmtune.Plan(4, 4, 4, effort=3)
mmtune.tune([4.5])
""")
check(right.returncode == 0, right.stdout + right.stderr)
for words in ('No overload variant of "matmul"', 'Argument "effort" to "Plan"', "List item 0 has incompatible type"):
    check(words in wrong.stdout, f"{words!r} is said: {wrong.stdout}{wrong.stderr}")
end("python types")
