"""The program `mmtune`, which a wheel has in this package."""
from __future__ import annotations

import os
import shutil
import sys


def path() -> str:
    """Its file: MMTUNE_PROGRAM, else the one in this package, else PATH's."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "mmtune")
    found = os.environ.get("MMTUNE_PROGRAM") or (inside if os.path.exists(inside) else shutil.which("mmtune"))
    if not found:
        raise FileNotFoundError("the program mmtune is neither in this package nor in PATH; name its file in "
                                "MMTUNE_PROGRAM")
    return found


def main() -> None:
    """Becomes the program: what pip installs as `mmtune`."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "mmtune")
    os.execv(inside, ["mmtune", *sys.argv[1:]])
