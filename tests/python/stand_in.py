"""A device that executes nothing, which stands in for a card: what is checked before a launch can be checked without.
To be imported first: it says where checks.py is."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import skip  # noqa: E402

import mmtune  # noqa: E402
from mmtune import _device  # noqa: E402

try:
    device = _device._open[("cuda", 0)] = mmtune.device("null:sm_90")
except mmtune.UnsupportedError as error:
    skip(f"no null device: {error}")
