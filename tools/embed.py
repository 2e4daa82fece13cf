#!/usr/bin/env python3
"""Write text files as C strings, looked up by name in an array: embed.py OUT.c ARRAY FILE..."""
import os
import sys

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "?": "\\?"}


def c_string(line):
    return '"%s"' % "".join(ESCAPES.get(c, c) for c in line)


def main(out, array, paths):
    with open(out, "w", encoding="utf-8") as c:
        c.write('#include "templates/embedded.h"\n\n')
        c.write("extern const struct mmt_embedded %s[];\nconst struct mmt_embedded %s[] = {\n" % (array, array))
        for path in paths:
            c.write('    { "%s",\n' % os.path.basename(path))
            with open(path, encoding="utf-8", newline="") as text:
                for line in text:
                    c.write("      %s\n" % c_string(line))
            c.write('      "" },\n')
        c.write("    { 0, 0 }\n};\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
