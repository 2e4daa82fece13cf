#!/usr/bin/env python3
"""Make completions for shells from the program's own help: make_completions.py MMTUNE FOLDER

Writes into FOLDER `mmtune.bash`, `_mmtune` for zsh and `mmtune.fish`: the verbs, each verb's options
by what `mmtune VERB --help` lists, and file names where a value is a FILE or a LIST."""
import os
import re
import subprocess
import sys

OPTION = re.compile(r"^  (?:-(?P<letter>\S), |    )(?P<name>--[a-z0-9-]+)(?: (?P<value>[A-Z]+))?  +(?P<what>.*)$")
STUDY = re.compile(r"^  (?P<name>[a-z]\S*)  +\S")
VERB = re.compile(r"^  (?P<name>[a-z]+) +(?P<what>\S.*)$")


def ask(mmtune, *words):
    return subprocess.run([mmtune, *words], check=True, capture_output=True, text=True).stdout.splitlines()


def matches(pattern, lines):
    return [m.groupdict() for m in map(pattern.match, lines) if m]


def read_options(mmtune, verb):
    """A verb's options; those of `study` stand on the pages of the studies, where that program is built."""
    if verb == "study" and subprocess.run([mmtune, verb], capture_output=True).returncode:
        return []
    page = ask(mmtune, verb, "--help")
    found = matches(OPTION, page)
    if not found:
        found = [o for s in matches(STUDY, page) for o in matches(OPTION, ask(mmtune, verb, s["name"], "--help"))]
    return list({o["name"]: o for o in found}.values())


def read_table(mmtune):
    """[(verb, what, options)], as --help tells them."""
    return [(v["name"], v["what"], read_options(mmtune, v["name"])) for v in matches(VERB, ask(mmtune, "--help"))]


def quote(text):
    return text.replace("\\", "").replace("'", "").replace("[", "(").replace("]", ")").replace(":", " -")


def bash(table):
    cases = "\n".join(f"    {verb}) words='{' '.join(o['name'] for o in options)}' ;;" for verb, _, options in table)
    verbs = " ".join(verb for verb, _, _ in table)
    return f"""# Completion of mmtune for bash; made by tools/make_completions.py.
_mmtune() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}} words
    case $verb in
{cases}
    *) words='{' '.join(o['name'] for o in table[0][2])}' ;;
    esac
    if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{verbs}' -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}}
complete -o filenames -F _mmtune mmtune
"""


def zsh_option(option):
    value = f":{option['value'].lower()}:_files" if option["value"] else ""
    names = f"'{option['name']}[{quote(option['what'])}]{value}'"
    return names if not option["letter"] else f"{names} '-{option['letter']}[{quote(option['what'])}]{value}'"


def zsh(table):
    verbs = "\n".join(f"    '{verb}:{quote(what)}'" for verb, what, _ in table)
    cases = "\n".join(f"    {verb}) _arguments {' '.join(map(zsh_option, options))} '*:file:_files' ;;"
                      for verb, _, options in table)
    return f"""#compdef mmtune
# Completion of mmtune for zsh; made by tools/make_completions.py.
local -a verbs
verbs=(
{verbs}
)
if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe verb verbs
else
    local verb=$words[2]
    [[ $verb == -* ]] && verb={table[0][0]} || {{ shift words; (( CURRENT-- )) }}
    case $verb in
{cases}
    esac
fi
"""


def fish(table):
    lines = ["# Completion of mmtune for fish; made by tools/make_completions.py.",
             "# Options without a verb are the first verb's.",
             "function __mmtune_verb",
             "    set -l words (commandline -opc)",
             "    if test (count $words) -lt 2; or string match -q -- '-*' $words[2]",
             f"        echo {table[0][0]}",
             "    else",
             "        echo $words[2]",
             "    end",
             "end"]
    for verb, what, _ in table:
        lines.append(f"complete -c mmtune -n __fish_use_subcommand -f -a {verb} -d '{quote(what)}'")
    for verb, _, options in table:
        for o in options:
            letter = f" -s {o['letter']}" if o["letter"] else ""
            value = " -r" if o["value"] else ""
            lines.append(f"complete -c mmtune -n 'test (__mmtune_verb) = {verb}' -l {o['name'][2:]}{letter}{value} "
                         f"-d '{quote(o['what'])}'")
    return "\n".join(lines) + "\n"


def main(mmtune, folder):
    table = read_table(mmtune)
    for name, make in (("mmtune.bash", bash), ("_mmtune", zsh), ("mmtune.fish", fish)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(make(table))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
