"""Prints a header with a hash of what emulated kernels are built with, beside their texts and flags:
built_with.py COMPILER FOLDER, that of the headers"""
import hashlib
import pathlib
import subprocess
import sys

compiler, folder = sys.argv[1:]
seen = hashlib.sha1(subprocess.getoutput(f"'{compiler}' --version").encode())
for header in sorted(pathlib.Path(folder).glob("**/*.h")):
    seen.update(header.read_bytes())
print(f'#define MMT_EMULATED_WITH "{seen.hexdigest()}"')
