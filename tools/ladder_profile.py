#!/usr/bin/env python3
"""Makes a profile of a card's ladder, to stand beside the papers' cards by the same kernels.

    tools/ladder_profile.py LADDER.json NAME ARCHITECTURE PROFILE.json

    tools/ladder_profile.py h200/ladder-semenenko/ladder-semenenko.json 'NVIDIA H200' sm_90 h200.json
    mmtune diff profiles/papers/geforce-gtx-1060.json profiles/papers/quadro-k5000.json h200.json

LADDER.json is what `mmtune study ladder --paper semenenko` wrote of a card through CUDA. Its times
have copying in them, as the papers' have, and its kernels the papers' names."""
import json
import sys

import make_papers

NAMES = {"naive": "naive", "tiles with bank conflicts": "shared", "an extra column": "extra column",
         "indices exchanged": "index swap", "ILP 2": "ILPx2", "ILP 4": "ILPx4"}


def figure(row):
    problem = make_papers.problem({"n": int(row["n"]), "dtype": "int"})
    problem["type"] = row["type"]
    return {"problem": problem, "kernel": NAMES.get(row["kernel"], row["kernel"]),
            "configuration": row["configuration"], "time_us": row["total"] * 1e3, "where": row["table"] or "ladder",
            "suspect": bool(row["our figure is in doubt"]), "with_copying": True,
            "note": row["our figure is in doubt"] or ""}


def main(argv):
    if len(argv) != 5:
        sys.exit(__doc__)
    with open(argv[1], encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    figures = [figure(row) for row in rows if row["api"] == "cuda" and row["configuration"] and not row["left out"]]
    if not figures:
        sys.exit(f"{argv[1]} has no row of CUDA's")
    profile = {"format": 1, "citation": "mmtune study ladder --paper semenenko, with copying",
               "device": {"backend": "cuda", "name": argv[2], "vendor": "NVIDIA", "architecture": argv[3],
                          "driver": "", "compiler": ""}, "published": figures}
    with open(argv[4], "w", encoding="utf-8") as file:
        file.write(make_papers.layout(profile) + "\n")


if __name__ == "__main__":
    main(sys.argv)
