"""The recipes of CONTRIBUTING.md against the tree: run_recipes.py SOURCE

Every file that a recipe lists is there and names the recipe's example. Every file that names
the example is listed, but for what EXCEPTED has."""
import pathlib
import re
import sys

from checks import check, end

SOURCE = pathlib.Path(sys.argv[1])
FOLDERS = ("base", "costmodel", "device", "examples", "generator", "include", "profiles", "python", "runtime",
           "studies", "templates", "tools", "tuner")
# News are history, and these programs measure what they name.
EXCEPTED = ("README.md", "NEWS.md", "studies/ladder.c", "tools/measure_card.sh", "tools/one_run.py")
KERNELS = "templates/kernels/"
RECIPE = re.compile(r"^### An? (\w+): `(\w+)`\n(.*?)(?=^##)", re.M | re.S)
ITEM = re.compile(r"^(\d+)\. `([\w./-]+)`: ", re.M)


def searched():
    """Files whose mention of an example counts, kernels apart: they share words."""
    files = [path for folder in FOLDERS for path in (SOURCE / folder).rglob("*") if path.is_file()]
    files += [path for path in SOURCE.iterdir() if path.is_file() and path.name != "CONTRIBUTING.md"]
    names = (path.relative_to(SOURCE).as_posix() for path in files)
    return [name for name in names if not name.startswith(KERNELS) and "__pycache__" not in name
            and not (name.startswith("profiles/") and name.endswith(".json"))]


def names(file, example):
    text = (SOURCE / file).read_text(encoding="utf-8", errors="replace")
    return re.search(rf"(?<![a-z0-9]){example}(?![a-z0-9])", text, re.I)


recipes = RECIPE.findall((SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8"))
check([kind for kind, _, _ in recipes] == ["template", "type", "operation"], "there are three recipes")
for kind, example, text in recipes:
    items = ITEM.findall(text)
    listed = [file for _, file in items]
    steps = re.findall(r"^\d+\.", text, re.M)
    check(len(steps) == len(items) and [int(number) for number, _ in items] == list(range(1, len(items) + 1)),
          f"the steps for a new {kind} are numbered, and each begins with one file")
    for file in listed:
        exists = (SOURCE / file).is_file()
        check(exists, f"{file}, of the recipe for a {kind}, is there")
        check(exists and names(file, example), f"{file}, of the recipe for a {kind}, names {example}")
    for file in searched():
        if file not in listed and file not in EXCEPTED:
            check(not names(file, example), f"the recipe for a {kind} lists {file}, which names {example}")
end("recipes")
