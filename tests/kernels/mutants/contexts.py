"""Where a mutant is tried: a device, a problem and a configuration, and the texts that
verifying it there compiles.

A mutant is live in a context where one of these texts differs from the original's after
preprocessing, and still does after optimising: code that a compiler makes the same computes
the same."""
import collections
import contextlib
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
EMULATION = HERE.parent.parent / 'emulation'
RIGHT, WRONG, NOT_BUILT, NOT_JUDGED = 0, 1, 3, 4
SECTION = re.compile(r'^#line 1 "([^"]*)"\n', re.M)
FUSES = '-D__FMA__=1' # as all CPUs do on which OpenCL is likely to be
CL = ['clang', '-x', 'cl', '-cl-std=CL1.2', FUSES, '-O2', '-S', '-emit-llvm', '-w', '-Xclang', '-fdeclare-opencl-builtins',
      '-Xclang', '-finclude-default-header', '-o', '-']

Context = collections.namedtuple('Context', 'device problem configuration template')
Result = collections.namedtuple('Result', 'outcome reason seconds')


class Tools:
    """Programs, folders, and how long what may hang may take."""

    def __init__(self, verify, mmtune, templates, folder, compiler='c++'):
        self.verify, self.mmtune, self.compiler = str(verify), str(mmtune), compiler
        self.templates, self.folder = pathlib.Path(templates), pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)


def read_contexts(path=HERE / 'contexts.txt'):
    contexts = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith('#'):
            device, problem, configuration = (part.strip() for part in line.split('|'))
            name, first = configuration.split()[:2] # a COPY has helpers of its own
            contexts.append(Context(device, problem, configuration, f'{name} {first}' if first.startswith('COPY=') else name))
    return contexts


def that_open(contexts, tools):
    """Those whose device is there, and says what its compiler makes of a text."""
    listed = subprocess.run([tools.mmtune, 'devices'], capture_output=True, text=True).stdout.split()
    here = shutil.which('clang') and any(word.startswith('opencl:') for word in listed)
    return [context for context in contexts if here or not context.device.startswith('opencl')]


def run(arguments, seconds, environment=None, text=None):
    """(status, output, seconds); a status below 0 is a signal's. It may take so many seconds of a
    processor."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        pathlib.Path('/proc/self/oom_score_adj').write_text('1000') # the first to go when memory runs out
    before = time.monotonic()
    done = subprocess.run(arguments, input=text and text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, preexec_fn=limit)
    return done.returncode, done.stdout.decode(errors='replace'), time.monotonic() - before


def verify(tools, context, templates, seconds, texts=None):
    """What the verifier says of a candidate made of the kernel files in `templates`."""
    with tempfile.TemporaryDirectory(dir=tools.folder) as cache:
        environment = dict(os.environ, MMTUNE_TEMPLATE_DIR=str(templates), XDG_CACHE_HOME=cache)
        if templates != tools.templates:
            environment.pop('MMT_FAKE_OBJECTS', None) # no mutant is built twice
        status, output, took = run([tools.verify, context.device, context.problem, context.configuration]
                                   + ([str(texts)] if texts else []), seconds, environment)
    last = output.strip().split('\n')[-1][:300]
    if status < 0 or status > NOT_JUDGED:
        hung = status in (-signal.SIGXCPU, -signal.SIGKILL)
        return Result('hung' if hung else 'crashed', f'signal {-status} {last}', took)
    return Result({RIGHT: 'right', WRONG: 'wrong', NOT_BUILT: 'not built'}.get(status, 'failed'), last, took)


# ---- texts ------------------------------------------------------------------------------------

def emulated(text):
    """As tests/emulation/cuda/sources.c changes it: these files are put for those of the host."""
    for file in ('ptx.h', 'hopper.h'):
        begin = text.find(f'#line 1 "{file}"\n')
        end = text.find('#line 1 "', begin + 1)
        if begin >= 0 and end >= 0:
            text = f'{text[:begin]}#include "cuda/{file}"\n{text[end:]}'
    return text


def sections(text):
    """{file: (start, end)} of what each kernel file put into a text."""
    found = list(SECTION.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match.group(1): (match.end(), end) for match, end in zip(found, ends)}


def preprocess(text):
    done = subprocess.run(['cpp', '-P', '-undef', '-w', '-D__OPENCL_VERSION__=120', FUSES], input=re.sub(r'(?m)^#include.*', '', text),
                          capture_output=True, text=True)
    return done.stdout + str(done.returncode)


def compile_text(tools, context, text):
    """The optimised code of a text; None where it does not build."""
    if context.device.startswith('emulated'):
        command = [tools.compiler, '-x', 'c++', '-std=c++17', '-O2', '-S', '-w', '-I', str(EMULATION), '-include',
                   'cuda/cuda.h', f'-D__CUDA_ARCH__={context.device.split(":")[1]}0', '-o', '-', '-']
        text = emulated(text)
    else:
        command = [*CL, '-']
    status, output, _ = run(command, 60, text=text)
    names = r'(?m)^(\s*\.(file|ident|loc)|!).*\n|![a-z_.]+ ![0-9]+' # of files, and of types as they were written
    return re.sub(names, '', output) if status == 0 else None


class Baseline:
    """What each context is without a mutant, found out once. Kept in a folder between runs, as
    long as the kernel files and the verifier are the same."""

    def __init__(self, tools):
        self.tools, self.locks, self.lock, self.known = tools, {}, threading.Lock(), {}
        files = [pathlib.Path(tools.verify), *sorted(tools.templates.glob('*.[ch]*')),
                 *sorted((EMULATION / 'cuda').glob('*.h')), EMULATION / 'cuda_host_shim.h']
        digest = hashlib.sha1(b''.join(file.read_bytes() for file in files)).hexdigest()[:12]
        self.folder = tools.folder / f'baseline-{digest}'
        self.folder.mkdir(exist_ok=True)

    def of(self, context):
        """{'outcome', 'reason', 'seconds', 'texts': [(text, preprocessed, code)]}"""
        with self.lock:
            mine = self.locks.setdefault(context, threading.Lock())
        with mine:
            if context not in self.known:
                self.known[context] = self._read(context)
        return self.known[context]

    def _read(self, context):
        path = self.folder / (hashlib.sha1(repr(context).encode()).hexdigest()[:16] + '.json')
        if path.exists():
            return json.loads(path.read_text())
        with tempfile.TemporaryDirectory(dir=self.tools.folder) as folder:
            result = verify(self.tools, context, self.tools.templates, 120, folder)
            texts = sorted({file.read_text() for file in pathlib.Path(folder).iterdir()})
        known = result._asdict()
        known['texts'] = [(text, preprocess(text), compile_text(self.tools, context, text)) for text in texts]
        path.write_text(json.dumps(known))
        return known


def changed_texts(baseline, context, file, source):
    """(text, the original's code) with `source` in the place of a file,
    of those that differ."""
    if context.device.startswith('emulated') and file in ('ptx.h', 'hopper.h'):
        return
    for text, preprocessed, code in baseline['texts']:
        place = sections(text).get(file)
        changed = place and text[:place[0]] + source + text[place[1]:]
        if changed and preprocess(changed) != preprocessed:
            yield changed, code


def differs(baseline, context, file, source):
    return any(True for _ in changed_texts(baseline, context, file, source))


def compare_code(tools, context, baseline, file, source):
    """'live', 'same code' or 'not built'."""
    answer = 'same code'
    for text, code in changed_texts(baseline, context, file, source):
        now = compile_text(tools, context, text)
        if now is None:
            return 'not built'
        if now != code:
            answer = 'live'
    return answer


@contextlib.contextmanager
def mutated(tools, file, source):
    """A folder of kernel files of which one is another."""
    with tempfile.TemporaryDirectory(dir=tools.folder) as name:
        folder = pathlib.Path(name)
        for path in tools.templates.glob('*.[ch]*'):
            if path.suffix in ('.h', '.cl', '.cu'):
                (folder / path.name).symlink_to(path.resolve())
        (folder / file).unlink()
        (folder / file).write_text(source)
        yield folder
