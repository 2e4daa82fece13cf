"""The program and the output of docs/howto/blas.md: run_blas_page.py SOURCE PROGRAM

The page has the text of examples/04_blas.c, of which PROGRAM is made, and what it prints."""
import pathlib
import re
import subprocess
import sys

from checks import check, end, skip

SOURCE, PROGRAM = sys.argv[1:]
page = pathlib.Path(SOURCE, "docs/howto/blas.md").read_text(encoding="utf-8")
example = pathlib.Path(SOURCE, "examples/04_blas.c").read_text(encoding="utf-8")
text, told = re.findall(r"^```\w*\n(.*?)^```$", page, re.M | re.S)

check(text == example[example.index("#include"):], "the page has the program's text")
done = subprocess.run([PROGRAM], capture_output=True, text=True)
if done.returncode == 77:
    skip(done.stdout)
check(done.returncode == 0 and done.stdout == told, f"the program prints: {done.stdout}")
end("page")
