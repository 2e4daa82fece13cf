#!/usr/bin/env python3
"""What a machine of 32 bits is told at configure time: run_machine.py MESON SOURCE_ROOT COMPILER...

The machine is the compiler's -m32; exits 77 where it has none. Nothing is linked or run."""
import subprocess
import sys
import tempfile

from checks import check, end, skip, write

MESON, ROOT, *COMPILER = sys.argv[1:]
folder = tempfile.mkdtemp(prefix="mmtune-test-")
source = write(folder, "size.c", "_Static_assert(sizeof(void *) == 4, \"\");\n")
if subprocess.run([*COMPILER, "-m32", "-c", source, "-o", folder + "/size.o"], capture_output=True).returncode:
    skip("the compiler has no -m32")
cross = write(folder, "cross.ini", f"""[binaries]
c = {[*COMPILER, "-m32"]}
[host_machine]
system = 'linux'
cpu_family = 'x86'
cpu = 'i686'
endian = 'little'
[properties]
needs_exe_wrapper = true
""")
done = subprocess.run([MESON, "setup", "--cross-file", cross, folder + "/build", ROOT], capture_output=True, text=True)
check(done.returncode and "pointers of this machine (x86) have not 64 bits, which mmtune needs" in done.stdout,
      f"it is refused: {done.returncode}, {done.stdout}{done.stderr}")
end("machine", folder)
