"""Profiles: what was learned about one device."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, Union

from . import _library
from ._device import Device, device as open_device
from ._library import call, lib


class Profile:
    """A profile, of one file or of all that are there for a device. Never freed: plans may be made of it.

    Its contents are those of the JSON files (docs/reference/profile.md): times are microseconds.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._read: Optional[list[dict[str, Any]]] = None

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Profile":
        """Reads a file. FormatError where it is no profile; what is left out of it is in `warnings`."""
        return cls(call("mmt_profile_load", os.fsencode(path)))

    @classmethod
    def find(cls, device: Union[None, int, str, Device] = None) -> "Profile":
        """All profiles of a device as one: its user's, a site's, and those that were installed with the library.
        NotFoundError where there is none."""
        return cls(call("mmt_profile_find", open_device(device).handle))

    @property
    def layers(self) -> list[str]:
        """The files that it stands in, the one that counts most first."""
        return _library.text_of("mmt_profile_files", self.handle).splitlines()

    @property
    def warnings(self) -> list[str]:
        """What was left out on reading, a sentence each."""
        text: str = lib.mmt_profile_warnings(self.handle).decode(errors="replace")
        return text.splitlines()

    def _files(self) -> list[dict[str, Any]]:
        if self._read is None:
            self._read = [_contents(path) for path in self.layers]
        return self._read

    @property
    def device(self) -> dict[str, Any]:
        """The device that it speaks of: backend, name, driver, limits …"""
        return dict(self._files()[0]["device"]) if self._files() else {}

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The problems that were tuned, each as in its file, with the file as `layer`. Of entries for one problem
        in several files the one that counts comes first."""
        return [dict(entry, layer=path) for path, file in zip(self.layers, self._files())
                for entry in file.get("entries", [])]

    def table(self) -> list[dict[str, Any]]:
        """The entries as rows of plain values, for a data frame: op, type, out, transposes, m, n, k, batch,
        template, knobs, median_us, spread_us, gflops (1e9 operations a second), roofline_fraction,
        layer."""
        return [_row(entry) for entry in self.entries]

    def store(self, device: Union[None, int, str, Device] = None) -> None:
        """Writes what plans of this profile measured (effort="measure") into the user's folder."""
        call("mmt_profile_store", self.handle, open_device(device).handle)

    def __repr__(self) -> str:
        return f"<mmtune.Profile {', '.join(self.layers) or 'of no file'}>"


def _contents(path: str) -> dict[str, Any]:
    text = Path(path).read_bytes()
    if not text.lstrip().startswith(b"{"):
        raise ValueError(f"'{path}' is a bundle, whose contents are not told here: `mmtune show {path} --json` prints them")
    contents: dict[str, Any] = json.loads(text)
    return contents


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    problem, time = entry["problem"], entry.get("time") or {}
    knobs = " ".join(f"{name}={value}" for name, value in entry.get("knobs", {}).items())
    return {"op": problem.get("op", "gemm"), "type": problem.get("type"), "out": problem.get("out"),
            "transposes": ("t" if problem.get("trans_a") else "n") + ("t" if problem.get("trans_b") else "n"),
            "m": problem.get("m", 1), "n": problem.get("n", 1), "k": problem.get("k", 1),
            "batch": problem.get("batch", 1), "template": entry.get("template"), "knobs": knobs,
            "median_us": time.get("median_us"), "spread_us": time.get("spread_us"),
            "gflops": entry.get("gflops"), "roofline_fraction": entry.get("roofline_fraction"),
            "layer": entry["layer"]}
