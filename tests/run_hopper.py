"""Run wgmma.cu without its card: run_hopper.py MMTUNE LAUNCHES COMPILER...

The words of the prelude and of hopper.h are replaced by those of tests/hopper, the text is
compiled for the host, and the product of small whole numbers must come out exactly. Threads
are fibers in an order that lays races open; barriers, the copy engine and wgmma are done by
hand. Every template text is otherwise what ships.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SMALL = dict(TILE_M=64, TILE_N=32, STAGES=3, CONSUMERS=1, CLUSTER='1x1', STORE_SLOTS=0)
WIDE = dict(TILE_M=128, TILE_N=64, STAGES=3, CONSUMERS=2, CLUSTER='1x1', STORE_SLOTS=1)

# knobs, those that differ, problem, alpha, beta
CASES = [
    (SMALL, dict(), 'gemm bf16 nn 72x40x136', 1, 0),
    (SMALL, dict(CLUSTER_K=4), 'gemm bf16 nn 72x40x456', 2, -1),
    (SMALL, dict(CLUSTER='2x1', CLUSTER_K=2), 'gemm bf16 nt 200x72x456', 1, 0),
    (SMALL, dict(CLUSTER='4x1', CLUSTER_K=2, SPLIT_K=2), 'gemm bf16 nn 200x72x456', 2, 1),
    (SMALL, dict(CLUSTER='1x4', SPLIT_K=4), 'gemm bf16 tt 72x203x456 ldc=205', 2, 1),
    (SMALL, dict(TILE_N=16, SWAP=1, CLUSTER='2x1', CLUSTER_K=2, SPLIT_K=2),
     'gemm bf16 nt 21x135x456 ldc=136', 1, -1),
    (WIDE, dict(STORE_SLOTS=0, SWAP=1, TILE_N=16, CLUSTER='1x4', CLUSTER_K=2),
     'gemm bf16 tt 16x136x456', 1, -1),
    (WIDE, dict(CLUSTER='2x1'), 'gemm bf16 nn 600x200x200 lda=208 ldc=208', 2, -1),
    (WIDE, dict(CLUSTER='1x2', SCHEDULE='pingpong'), 'gemm bf16 tt 600x200x456', 1, 0),
    (WIDE, dict(TILE_M=64, TILE_N=96, CONSUMERS=3, CLUSTER='4x1', STORE_SLOTS=2,
                SCHEDULE='pingpong'), 'gemm f16 nt 600x200x456', 1, 0),
    (WIDE, dict(TILE_M=192, TILE_N=48, CONSUMERS=3, STAGES=2, DEPTH=2),
     'gemm bf16 tn 600x200x300', 1, 1),
    (WIDE, dict(CLUSTER='2x1', WALK='columns', GROUP=2, IN_FLIGHT=0),
     'gemm bf16 nn 600x456x72 batch=2 stride_b=0', 1, 0),
    (SMALL, dict(CLUSTER_K=2), 'gemm i8 nn 70x112x453 lda=464 ldc=113', 3, -2),
    (SMALL, dict(STORE_SLOTS=1),
     'gemm i8 tt 80x112x453 ldb=464 bias=row activation=relu', 1, 0),
    (SMALL, dict(SPLIT_K=4), 'gemm tf32 tn 72x36x100 bias=column batch=2', 2, -1),
    (SMALL, dict(SWAP=1, SPLIT_K=2), 'gemm tf32 nt 20x72x0', 2, -1),
    (WIDE, dict(TILE_N=32, PROMOTE=2, IN_FLIGHT=0), 'gemm f8e4m3 nn 144x48x656', 1, 1),
    (SMALL, dict(PROMOTE=4, IN_FLIGHT=0), 'gemm f8e5m2 nt 144x48x1056 out=f32', 1, 1),
]

# Lines without which a case must come out wrong.
FAULTS = [
    ('            consumers_sync();', 1),   # sums overwrite what others still multiply
    ('                await_turn(group);', 8),   # a tile takes another's slots for its own
]


def check(arguments, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f'{arguments[0]}: {done.stdout}{done.stderr}')
    return done.stdout


def emit_options(problem):
    words = problem.split()
    options = ['--type', words[1], '--transposes', words[2]]
    for word in words[4:]:
        name, _, value = word.partition('=')
        if name in ('out', 'bias', 'activation'):
            options += ['--' + name, value]
    return options


def name_of(case):
    knobs = dict(case[0], **case[1])
    return 'wgmma ' + ' '.join(f'{name}={value}' for name, value in knobs.items())


def run(case, mmtune, launches, compiler, folder, fault=None):
    configuration, problem = name_of(case), case[2]
    environment = dict(os.environ, MMTUNE_TEMPLATE_DIR=str(folder))
    here = pathlib.Path(__file__).resolve().parent / 'hopper'
    text = check([mmtune, 'emit', configuration, *emit_options(problem)], env=environment)
    if fault and fault not in text:
        raise ValueError(f'the kernel has no line {fault.strip()}')
    (folder / 'kernel.h').write_text(text.replace(fault, '') if fault else text)
    check([*compiler, '-std=c++17', '-O1', '-w', f'-I{here}', f'-I{folder}',
           '-DKERNEL="kernel.h"', str(here / 'emulate.cpp'), '-o', str(folder / 'kernel')])
    plan = check([launches, configuration, problem])
    check([str(folder / 'kernel'), str(case[3]), str(case[4])], input=plan)


def is_right(case, *where, fault=None):
    try:
        run(case, *where, fault=fault)
    except RuntimeError as error:
        if not fault:
            print(f'{case[2]}, alpha {case[3]}, beta {case[4]}: {name_of(case)}\n    {error}')
        return False
    return True


def main():
    mmtune, launches, *compiler = sys.argv[1:]
    source = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in [*(source.parent / 'templates').glob('*.[ch]*'),
                     *(source / 'hopper').glob('*.h')]:
            shutil.copy(file, folder)
        where = mmtune, launches, compiler, folder
        wrong = sum(not is_right(case, *where) for case in CASES)
        missed = sum(is_right(CASES[number], *where, fault=fault)
                     for fault, number in FAULTS)
    print(f'emulated: {len(CASES)} products, {wrong} wrong; '
          f'{len(FAULTS)} faults, {missed} missed')
    return wrong + missed > 0


sys.exit(main())
