#!/usr/bin/env python3
"""Finds what the verifier lets pass: makes mutants of the kernel texts, each of which changes
one place, and has the verifier judge each where it makes a difference.

A mutant that builds nowhere is discarded. One whose texts, or whose optimised code, are the
original's in all contexts is not counted. Of the others, those rejected anywhere are found;
survivors are excused by a line of equivalent.txt, which says why no result within the contract
changes. What is left is a hole; holes.txt says of those that are known what a check would take.
Exits 1 where holes that are not known are more than 2 % of those that change a result, or a line
of either file names no mutant."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading

import contexts as places
import rules

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
SHARE = 0.98
CONTEXTS_OF_NAMED = 2


# ---- which mutants --------------------------------------------------------------------------

def files_of(tools, contexts):
    """{kernel file: templates whose texts have it}"""
    files = collections.defaultdict(set)
    for context in contexts:
        word = context.problem.split()
        dialect = 'cuda' if context.device.startswith('emulated') else 'opencl'
        kind = 'gpu' if dialect == 'cuda' else 'cpu'
        transposes = ['--transposes', word[2]] if word[0] == 'gemm' else []
        text = subprocess.run([tools.mmtune, 'emit', context.configuration, '--type', word[1], '--dialect', dialect,
                               '--kind', kind, *transposes], capture_output=True, text=True, check=True,
                              env=dict(os.environ, MMTUNE_TEMPLATE_DIR=str(tools.templates))).stdout
        for file in places.sections(text):
            if dialect == 'opencl' or file not in ('ptx.h', 'hopper.h'):
                files[file].add(context.template)
    return files


def all_mutants(tools, files, only):
    """{file: mutants}, of one template's own file where `only` names it."""
    found = {}
    for file in sorted(files):
        if not only or file == only or file.split('.')[0] == only:
            found[file] = rules.mutants_of(file, (tools.templates / file).read_text())
    return found


def patches_of(tools, path):
    """{file: mutants} of a person's list: JSON objects of a kernel file, what stands there, and what is put there."""
    found = collections.defaultdict(list)
    for number, patch in enumerate(json.loads(path.read_text()), 1):
        source = (tools.templates / patch['file']).read_text()
        start = source.find(patch['from'])
        if start < 0:
            raise SystemExit(f'{path}: patch {number}: {patch["file"]} has no {patch["from"]!r}')
        line = source.count('\n', 0, start) + 1
        key = f'{patch["file"]}:1:patch({number}):{rules.short_hash(patch["from"], patch["to"])}'
        found[patch['file']].append(rules.Mutant(key.replace(':', f':{line}:', 1), key, patch['file'], line, 'patch', start,
                                                 start + len(patch['from']), patch['from'], patch['to']))
    return found


def in_turn(groups):
    """One of each group, then the next of each."""
    groups = [iter(group) for group in groups]
    while groups:
        left = []
        for group in groups:
            for one in group:
                yield one
                left.append(group)
                break
        groups = left


def spread(found, seed):
    """All mutants in an order in which files take turns, and within a file its rules do. What is
    added or taken away moves no other."""
    def drawn(words):
        return rules.short_hash(str(seed), words)

    orders = []
    for file, mutants in found.items():
        by_rule = collections.defaultdict(list)
        for mutant in sorted(mutants, key=lambda mutant: drawn(mutant.key)):
            by_rule[mutant.rule].append(mutant)
        orders.append(in_turn([by_rule[rule] for rule in sorted(by_rule, key=lambda rule: drawn(file + rule))]))
    return in_turn(orders)


# ---- judging one ----------------------------------------------------------------------------

def order_of_contexts(mutant, contexts, templates):
    """Templates take turns; which is first depends on the mutant alone."""
    draw = random.Random(mutant.key)
    by_template = collections.defaultdict(list)
    for context in contexts:
        if context.template in templates:
            by_template[context.template].append(context)
    groups = [by_template[name] for name in sorted(by_template)]
    draw.shuffle(groups)
    for group in groups:
        draw.shuffle(group)
    return in_turn(groups)


def is_refused(baseline):
    """Whether this machine has no such kernel: its vectors are narrower, say."""
    return 'it is refused' in baseline['reason']


def judge(tools, baselines, mutant, candidates, most):
    """The record of a mutant: rejected, survived, or why it does not count."""
    source = rules.apply(mutant, (tools.templates / mutant.file).read_text())
    record = {'id': mutant.id, 'rule': mutant.rule, 'before': mutant.before, 'after': mutant.after, 'passed': []}
    seen, looked_at = set(), 0
    with places.mutated(tools, mutant.file, source) as folder:
        for context in candidates:
            if len(record['passed']) == most or looked_at == 2 * most:
                break
            baseline = baselines.of(context)
            if is_refused(baseline):
                continue
            if baseline['outcome'] != 'right':
                raise SystemExit(f'without a mutant {" | ".join(context[:3])} is {baseline["outcome"]}: '
                                 f'{baseline["reason"]}')
            if not places.differs(baseline, context, mutant.file, source):
                seen.add('same text')
                continue
            looked_at += 1
            # What is rejected is live; compiling twice tells of what is not.
            if record['passed'] or 'same code' in seen:
                code = places.compare_code(tools, context, baseline, mutant.file, source)
                seen.add(code)
                if code != 'live':
                    continue
            result = places.verify(tools, context, folder, int(10 + 8 * baseline['seconds']))
            if result.outcome == 'not built':
                seen.add('not built')
            elif result.outcome == 'right':
                code = places.compare_code(tools, context, baseline, mutant.file, source)
                seen.add(code)
                if code == 'live':
                    record['passed'].append(' | '.join(context[:3]))
            else:
                return dict(record, outcome='rejected', how=result.outcome, reason=result.reason,
                            context=' | '.join(context[:3]))
    if record['passed']:
        return dict(record, outcome='survived')
    for outcome in ('not built', 'same code'):
        if outcome in seen:
            return dict(record, outcome=outcome)
    return dict(record, outcome='same text')


def read_results(path):
    if not path or not path.exists():
        return {}
    return {record['id']: record for record in map(json.loads, path.read_text().splitlines())}


def campaign(tools, drawn, contexts, files, named, options):
    """Judges those without a result yet; each result is a line of the file as soon as it is there."""
    known = read_results(options.results)
    baselines, lock = places.Baseline(tools), threading.Lock()
    left = [mutant for mutant in drawn if mutant.id not in known or
            (options.again and known[mutant.id]['outcome'] == 'survived' and mutant.key not in named)]

    def work(mutant):
        candidates = order_of_contexts(mutant, contexts, files[mutant.file])
        most = min(options.contexts, CONTEXTS_OF_NAMED) if mutant.key in named else options.contexts
        record = judge(tools, baselines, mutant, candidates, most)
        with lock:
            known[mutant.id] = record
            if options.results:
                with options.results.open('a') as file:
                    file.write(json.dumps(record) + '\n')
            if options.verbose:
                print(f'{record["outcome"]:9} {mutant.id}', flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(work, mutant) for mutant in left]:
            try:
                future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    return [known[mutant.id] for mutant in drawn]


# ---- what survived --------------------------------------------------------------------------

def read_reasons(path):
    """{key: reason}"""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith('#')]
    return {rules.key_of(line.split(None, 1)[0]): line.split(None, 1)[1] for line in lines}


def show(record, tools):
    file, line = record['id'].split(':')[:2]
    source = (tools.templates / file).read_text().split('\n')[int(line) - 1].strip()
    before, after = (re.sub(r'\s+', ' ', record[side]) for side in ('before', 'after'))
    print(f'{record["id"]}\n    {source}\n    {before}  ->  {after}')
    for context in record['passed']:
        print(f'    passed {context}')


def summarise(records, equivalent, known, tools):
    """The exit status."""
    count = collections.Counter(record['outcome'] for record in records)
    survived = [record for record in records if record['outcome'] == 'survived']
    holes = [record for record in survived if rules.key_of(record['id']) not in equivalent]
    for record in holes:
        show(record, tools)
    changing = count['rejected'] + len(holes)
    share = count['rejected'] / changing if changing else 1
    new = [record for record in holes if rules.key_of(record['id']) not in known]
    how = collections.Counter(record['how'] for record in records if record['outcome'] == 'rejected')
    print(f'{len(records)} mutants: {count["not built"]} do not build, {count["same text"]} are in no text, '
          f'{count["same code"]} give the same code, {len(survived) - len(holes)} are equivalent by reason,\n'
          f'{count["rejected"]} rejected ({", ".join(f"{n} {name}" for name, n in how.most_common())}), '
          f'{len(holes)} holes, of which {len(holes) - len(new)} are known: '
          f'{100 * share:.1f} % of those that change a result are rejected')
    return len(new) > (1 - SHARE) * changing


def find_stale(name, reasons, found):
    keys = {mutant.key for mutants in found.values() for mutant in mutants}
    stale = [key for key in reasons if key not in keys and key.split(':')[0] in found]
    for key in stale:
        print(f'{name}: there is no mutant {key}; its line was changed, so look at it again')
    return bool(stale)


# ---- the command line -----------------------------------------------------------------------

def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build', help='default: build')
    parser.add_argument('--verify', type=pathlib.Path, help='default: BUILD/tests/kernels/verify_mutant')
    parser.add_argument('--mmtune', type=pathlib.Path, help='default: BUILD/tuner/mmtune')
    parser.add_argument('--folder', type=pathlib.Path, default=pathlib.Path('/tmp/mutants'), help='for what it writes')
    parser.add_argument('--template', help="a template or a file: its mutants alone")
    parser.add_argument('--device', help='contexts of devices that begin so; default: all')
    parser.add_argument('--sample', type=int, help='so many, spread over files and rules; default: all')
    parser.add_argument('--seed', type=int, default=1, help='of the sample; default: 1')
    parser.add_argument('--patches', type=pathlib.Path,
                        help='a JSON list of {"file": ..., "from": ..., "to": ...}: these instead of what rules make')
    parser.add_argument('--only', help='mutants whose id has this in it')
    parser.add_argument('--contexts', type=int, default=8,
                        help='live ones that a mutant must pass; twice as many are looked at; default: 8')
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--results', type=pathlib.Path, help='a file of JSON lines; what it has is not done again')
    parser.add_argument('--again', action='store_true', help='but for those that survived and are in neither file')
    parser.add_argument('--list', action='store_true', help='print the mutants, judge none')
    parser.add_argument('--check-contexts', action='store_true', help='only verify the unchanged kernels')
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    options.verify = options.verify or options.build / 'tests/kernels/verify_mutant'
    options.mmtune = options.mmtune or options.build / 'tuner/mmtune'
    return options


def check_contexts(tools, contexts, jobs):
    baselines = places.Baseline(tools)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(baselines.of, contexts))
    for context, result in zip(contexts, results):
        print(f'{result["outcome"]:6} {result["seconds"]:5.1f} s {" | ".join(context[:3])} {result["reason"][:120]}')
    return any(result['outcome'] != 'right' and not is_refused(result) for result in results)


def main():
    options = read_options()
    tools = places.Tools(options.verify, options.mmtune, ROOT / 'templates/kernels', options.folder)
    contexts = [context for context in places.read_contexts()
                if context.device.startswith(options.device or '')]
    open_here = places.that_open(contexts, tools)
    if len(open_here) < len(contexts):
        print(f'{len(contexts) - len(open_here)} contexts are left out: they need clang and an OpenCL device')
    contexts = open_here
    if options.check_contexts:
        return check_contexts(tools, contexts, options.jobs)
    files = files_of(tools, contexts)
    found = patches_of(tools, options.patches) if options.patches else all_mutants(tools, files, options.template)
    equivalent, holes = (read_reasons(HERE / name) for name in ('equivalent.txt', 'holes.txt'))
    stale = not options.template and not options.patches and (find_stale('equivalent.txt', equivalent, found) |
                                      find_stale('holes.txt', holes, found))
    drawn = [mutant for mutant in spread(found, options.seed) if not options.only or options.only in mutant.id]
    drawn = drawn[:options.sample]
    if options.list:
        for mutant in drawn:
            print(f'{mutant.id}  {mutant.before!r} -> {mutant.after!r}')
        return 0
    records = campaign(tools, drawn, contexts, files, equivalent.keys() | holes.keys(), options)
    return summarise(records, equivalent, holes, tools) or stale


if __name__ == '__main__':
    sys.exit(main())
