#!/usr/bin/env python3
"""Runs a test, and ends it where it hangs: watch.py COMMAND...

A test has no limit of time, which a busy machine would use up. One hangs that prints nothing while it
uses SILENT seconds of the processor, or in SILENT seconds of which it uses next to none. The last line
tells what it took."""
import os
import selectors
import signal
import subprocess
import sys
import time

SILENT = 900
LOOK = 5  # seconds between two looks at a test that is silent
TICK = os.sysconf("SC_CLK_TCK")


def processes():
    """Parent and seconds of the processor of each process, those of its dead children included."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                found[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
            except OSError:  # it has ended
                pass
    return found


def family(pid):
    """The process and what descends from it, with seconds of the processor each."""
    all_of_them, mine, size = processes(), {pid}, 0
    while len(mine) > size:
        size = len(mine)
        mine |= {child for child, (parent, _) in all_of_them.items() if parent in mine}
    return {member: all_of_them[member][1] for member in mine if member in all_of_them}


class Patience:
    """How long a test may be silent: since its last word, or while it is seldom at work."""

    def __init__(self):
        self.word = None  # seconds of the processor when it was heard last; None: just now
        self.used, self.since = 0, time.monotonic()

    def heard(self):
        self.word = None

    def is_over(self, used):
        now = time.monotonic()
        if self.word is None:
            self.word, self.used, self.since = used, used, now
        if now - self.since <= SILENT:
            return used - self.word > SILENT
        rests = used - self.used < SILENT / 100
        self.used, self.since = used, now
        return rests


def relay(process):
    """Passes on what the test prints until its end; False where it hangs."""
    patience, streams = Patience(), selectors.DefaultSelector()
    streams.register(process.stdout, selectors.EVENT_READ, sys.stdout.buffer)
    streams.register(process.stderr, selectors.EVENT_READ, sys.stderr.buffer)
    while True:
        ended = process.poll() is not None
        ready = streams.select(0 if ended else LOOK) if streams.get_map() else []
        for key, _ in ready:
            words = os.read(key.fd, 1 << 16)
            key.data.write(words)
            key.data.flush()
            patience.heard()
            if not words:
                streams.unregister(key.fileobj)
        if ended and not ready:
            return True
        if not streams.get_map():
            try:
                process.wait(LOOK)
            except subprocess.TimeoutExpired:
                pass
        if not ready and not ended and patience.is_over(sum(family(process.pid).values())):
            return False


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    began = time.monotonic()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not relay(process):
        print(f"hangs: no word for {SILENT} s of the processor, or of the clock while it used none",
              file=sys.stderr, flush=True)
        for member in family(process.pid):
            os.kill(member, signal.SIGKILL)
    process.wait()
    used = os.times()
    print(f"{time.monotonic() - began:.1f} s, {used.children_user + used.children_system:.1f} s of the processor")
    sys.exit(process.returncode if process.returncode >= 0 else 128 - process.returncode)


if __name__ == "__main__":
    main()
