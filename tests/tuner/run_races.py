#!/usr/bin/env python3
"""Data races: run_races.py MMTUNE ROOT

A barrier is taken out of kernels that a CPU's driver runs right all the same. `mmtune verify --races` must
reject one of them, and name its lines; of the others only the part that runs in oclgrind is tried, with the
barrier and without. Exits with 77 where there is no oclgrind, or no OpenCL CPU."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, cpu_device, failures, skip

MMTUNE, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
ENVIRONMENT = dict(os.environ)
SHAPE = ["--type", "f32", "--transposes", "nn", "--shape", "40x36x50"]
TILED = "tiled TILE=8 SHARED_LAYOUT=pad WORK=2 WORK_ALONG=rows UNROLL_K=8"
SMALL = ("small TILE_M=8 TILE_N=8 TILE_K=8 THREAD_TILE_M=2 THREAD_TILE_N=4 MATRICES=2 TURNS=1 VECTOR=1 AHEAD=0"
         " K_UNROLL=2 MIN_BLOCKS=1")
SIMT = ("simt TILE_M=16 TILE_N=16 TILE_K=8 THREAD_TILE_M=2 THREAD_TILE_N=2 WARP_M=4 WARP_N=8 LANES=rows C_VECTOR=1"
        " REGISTER_STAGES=1 FMA_ORDER=rows RASTER_GROUP=1 MIN_BLOCKS=1 SPLIT_K=1 TILE_SCHEDULER=data_parallel"
        " A_VECTOR=1 B_VECTOR=1 SHARED_LAYOUT=pad STAGES=1 K_UNROLL=4")
# kernel file, which of its barriers, configuration, problem
BARRIERS = [
    ("tiled.cl", 1, TILED, "gemm f32 nn 40x36x50"),
    ("row_cached.cl", 1, "row_cached THREADS=64 CHUNK=64", "gemm f32 nn 40x36x50"),
    ("col_cached.cl", 1, "col_cached THREADS=64 CHUNK=64", "gemm f64 tt 40x36x50"),
    ("small.cl", 0, SMALL, "gemm f32 nn 24x20x28 batch=6"),
    ("simt_registers.h", 2, SIMT, "gemm f32 nt 40x36x50"),
    ("syrk.cl", 1, "syrk TILE=8 WORK=2 UNROLL_K=8", "syrk f32 40x36"),
    ("block_dot.cl", 0, "block_dot THREADS=32", "gemm f32 nn 40x36x50"),
    ("dot.cl", 1, "dot THREADS=32 ROWS=2 VECTOR=8 WORK=2 PARTS=4", "dot f32 5x3001"),
    ("heat2d.cl", 0, "heat2d THREADS_M=8 THREADS_N=8 THREAD_TILE_M=2 VECTOR=8 SIDES=shared", "heat2d f32 40x70"),
]

def plant(folder, file, which):
    """A copy of the kernels in which that file lacks a barrier."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "templates/kernels", folder)
    source = (folder / file).read_text()
    place = list(re.finditer(r"\bBARRIER\(\);", source))[which]
    (folder / file).write_text(source[:place.start()] + ";" + source[place.end():])


def simulate(templates, configuration, problem):
    command = ["oclgrind", "--data-races", "--max-errors", "1", "--max-wgsize", "4096", "--local-mem-size", "524288",
               MMTUNE, "--races", configuration, problem, "2", "32", "600"]
    return subprocess.run(command, capture_output=True, text=True, env=dict(ENVIRONMENT, MMTUNE_TEMPLATE_DIR=str(templates)))


def verify(device, templates, path, *words):
    command = [MMTUNE, "verify", "--device", device, *SHAPE, "--limit", "600", *words, *TILED.split()]
    done = subprocess.run(command, capture_output=True, text=True,
                          env=dict(ENVIRONMENT, MMTUNE_TEMPLATE_DIR=str(templates), PATH=path))
    return done.returncode, done.stdout + done.stderr


def checks_of(said):
    found = re.search(r"; (\d+) checks\n", said)
    return int(found.group(1)) if found else 0


def path_without_oclgrind(folder):
    """Links to all that PATH has but that."""
    folder.mkdir()
    for there in os.environ["PATH"].split(os.pathsep):
        for file in pathlib.Path(there).glob("*"):
            if file.name != "oclgrind" and not (folder / file.name).is_symlink():
                (folder / file.name).symlink_to(file)
    return str(folder)


def main():
    device = cpu_device(MMTUNE, ENVIRONMENT)
    if not device or not shutil.which("oclgrind"):
        skip("there is no OpenCL CPU" if not device else "oclgrind is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kernels = ROOT / "templates/kernels"
        for file, which, configuration, problem in BARRIERS:
            right = simulate(kernels, configuration, problem)
            check(right.returncode == 0 and "race" not in right.stderr,
                  f"{configuration} is without races: {right.stdout}{right.stderr}")
            plant(folder / "planted", file, which)
            wrong = simulate(folder / "planted", configuration, problem)
            check(" data race " in wrong.stderr, f"{file} lacks barrier {which}, and nobody sees it: {wrong.stderr}")
        plant(folder / "planted", "tiled.cl", 1)
        without = path_without_oclgrind(folder / "path")
        status, said = verify(device, folder / "planted", os.environ["PATH"], "--races")
        check(status == 1 and re.search(r"WRONG.*\n +races: .* data race .*: tiled.cl line \d+ and tiled.cl line \d+", said),
              f"the loop's last barrier is missed: {said}")
        status, said = verify(device, folder / "planted", without, "--races")
        check(status == 0 and "data races were not looked for: install oclgrind" in said, f"nobody has looked: {said}")
        few = checks_of(said)
        status, said = verify(device, kernels, os.environ["PATH"], "--races")
        check(status == 0 and "not looked" not in said and checks_of(said) == few + 1, f"it is one check more than {few}: {said}")
    print(f"races: {len(BARRIERS)} barriers, {len(failures)} failed")
    return bool(failures)


sys.exit(main())
