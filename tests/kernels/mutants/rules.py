"""Mutants of a kernel text: each changes one place, by a rule that has a name.

`mutants_of(file, source)` gives all of them. Comments, strings and preprocessor lines are
left alone, but for what a #define says of derived sizes and of expressions; a knob's default
(#ifndef, #define) is none of these, because every emitted text sets the knob."""
import collections
import hashlib
import re

Token = collections.namedtuple('Token', 'kind text start end line')
Mutant = collections.namedtuple('Mutant', 'id key file line rule start end before after')

TOKEN = re.compile(r'''
    (?P<space>\s+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|\#\#|.)
''', re.S | re.X)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.M | re.S)
DEFINE = re.compile(r'[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?')

TYPES = {'int', 'unsigned', 'char', 'short', 'long', 'float', 'double', 'bool', 'void', 'wide', 'real',
         'real2', 'real4', 'element', 'result', 'uint', 'vector', 'size_t', 'half', 'ushort', 'uchar'}
QUALIFIERS = {'const', 'GLOBAL', 'SHARED', 'SHARED_PTR', 'RESTRICT', 'static', 'struct', 'enum', 'DEVICE_FN',
              'KERNEL', 'volatile', 'extern', 'union', 'typedef', 'template', 'asm', '__attribute__'}
WHOLE = {'int', 'unsigned', 'wide', 'uint', 'long'}
CONTROL = {'if', 'for', 'while', 'else', 'do', 'switch', 'case', 'default', 'goto', 'UNROLL', 'NO_UNROLL'}
BARRIERS = {'BARRIER', 'WARP_BARRIER', 'MEET', '__syncthreads', '__syncwarp', 'AWAIT_COPIES', 'barrier_wait',
            'barrier_arrive', 'arrive_when_copied', 'barrier_init', 'barrier_end', 'numbered_sync',
            'COMMIT_COPIES', 'commit_copies'}
FLAGS = {'TRANS_A', 'TRANS_B', 'ALIGNED', 'TRANSPOSE_A', 'TRANSPOSE_B', 'aligned', 'turn', 'transposed', 'last', 'whole',
         'of_b', 'of_a', 'SIDE_BY_SIDE', 'DEVICE_IS_CPU'}
COMPARE = {'<': ['<=', '>'], '<=': ['<', '>='], '>': ['>=', '<'], '>=': ['>', '<='], '==': ['!='],
           '!=': ['==']}
ARITHMETIC = {'+': ['-'], '-': ['+'], '*': ['+', '/'], '/': ['*'], '%': ['/'], '<<': ['>>'], '>>': ['<<'],
              '&': ['|'], '|': ['&'], '^': ['|'], '&&': ['||'], '||': ['&&']}
ASSIGN = {'+=': ['=', '-='], '-=': ['+='], '*=': ['='], '/=': ['='], '^=': ['='], '|=': ['='],
          '=': ['+=']}
COMMUTATIVE = {'MULTIPLY_ADD', 'fma', 'min', 'max', 'smaller', 'larger', 'product'}
OPEN, CLOSE = {'(': ')', '[': ']', '{': '}'}, {')': '(', ']': '[', '}': '{'}

# What is taken for something else of its kind; each way.
PAIRS = [('row', 'column'), ('rows', 'columns'), ('m', 'n'), ('n', 'k'), ('m', 'k'), ('lda', 'ldb'),
         ('ldb', 'ldc'), ('lda', 'ldc'), ('a', 'b'), ('alpha', 'beta'), ('i', 'j'), ('x', 'y'), ('M', 'N'),
         ('A', 'B'), ('X', 'Y'), ('N', 'K'), ('begin', 'end'), ('first', 'last'), ('SHORT', 'LONG'),
         ('short', 'long'), ('start', 'stride'), ('above', 'below'), ('left', 'right'), ('stride', 'ld')]


class Text:
    """The tokens of a source with what rules ask of them."""

    def __init__(self, source):
        self.source = source
        self.tokens = list(self._read())
        self.partner = self._match()
        self.body = self._bodies()
        self.names = {token.text for token in self.tokens if token.kind == 'name'}

    def _read(self):
        """Of code and of the bodies of #define; one of kind `line` stands between directives."""
        at, defaults = 0, set()
        for directive in DIRECTIVE.finditer(self._blank_comments()):
            yield from self._scan(at, directive.start())
            word = directive.group().split()
            define = DEFINE.match(directive.group())
            if word[0] == '#ifndef':
                defaults.add(word[1])
            yield Token('line', '', directive.start(), directive.start(), 0)
            if define and define.group(1) not in defaults:
                yield from self._scan(directive.start() + define.end(), directive.end())
            yield Token('line', '', directive.end(), directive.end(), 0)
            at = directive.end()
        yield from self._scan(at, len(self.source))

    def _blank_comments(self):
        def blank(match):
            return re.sub(r'[^\n]', ' ', match.group()) if match.lastgroup == 'comment' else match.group()
        return TOKEN.sub(blank, self.source)

    def _scan(self, start, end):
        line = self.source.count('\n', 0, start) + 1
        for match in TOKEN.finditer(self.source, start, end):
            kind = match.lastgroup
            if kind not in ('comment', 'space') and match.group() != '\\':
                yield Token(kind, match.group(), match.start(), match.end(), line)
            line += match.group().count('\n')

    def _match(self):
        partner, stack = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == 'op' and token.text in OPEN:
                stack.append(i)
            elif token.kind == 'op' and token.text in CLOSE:
                if stack and self.tokens[stack[-1]].text == CLOSE[token.text]:
                    partner[i] = stack.pop()
                    partner[partner[i]] = i
        return partner

    def _bodies(self):
        """The function's range of tokens for each token in one: from its parameters to its end."""
        body, i = {}, 0
        while i < len(self.tokens):
            if self.text(i) == '{' and self.text(i - 1) == ')' and i in self.partner and i - 1 in self.partner:
                span = self.partner[i - 1], self.partner[i]
                body.update((j, span) for j in range(*span))
                i = self.partner[i]
            i += 1
        return body

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ''

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else 'line'

    def of(self, first, last):
        """The source from token `first` to `last`, both included."""
        return self.source[self.tokens[first].start:self.tokens[last].end]

    def is_binary(self, i):
        before = self.tokens[i - 1] if i else None
        return bool(before) and before.text not in TYPES | QUALIFIERS | {'return'} and (
            before.kind in ('name', 'number') or before.text in (')', ']')) and not (
            before.text == ')' and self.text(i - 2) in TYPES | {'*'})

    def edge(self, i, step, stops):
        """From i, the last token on the way before one of `stops` or the end of the bracket."""
        at = i + step
        while 0 <= at < len(self.tokens):
            text = self.text(at)
            if self.kind(at) == 'line' or text in stops or text in (CLOSE if step > 0 else OPEN):
                break
            if at in self.partner and text in (OPEN if step > 0 else CLOSE):
                at = self.partner[at]
            at += step
        return at - step

    def statement(self, i):
        """The last token of an expression statement that begins at i, or None."""
        if i not in self.body or self.kind(i) == 'line' or self.text(i) in TYPES | QUALIFIERS | CONTROL | {'{', '}', ';'}:
            return None
        before = self.text(i - 1)
        after_control = before == ')' and i - 1 in self.partner and self.text(self.partner[i - 1] - 1) in CONTROL
        begins = before in (';', '{', '}', 'else', 'UNROLL', 'NO_UNROLL') or after_control
        inside_for = self.enclosing_for(i) is not None
        if not begins or inside_for or self.kind(i + 1) == 'name':
            return None
        end = self.edge(i, 1, {';'}) + 1
        return end if self.text(end) == ';' else None

    def enclosing_for(self, i):
        at = self.edge(i, -1, set()) - 1
        return at if self.text(at) == '(' and self.text(at - 1) == 'for' else None


def other_names(name):
    """What a name is after one of PAIRS was exchanged in it: in all of it or a part."""
    parts = re.split(r'(_|(?<=[a-z])(?=[A-Z]))', name)
    for one, other in PAIRS:
        for old, new in ((one, other), (other, one)):
            if old in parts:
                at = len(parts) - 1 - parts[::-1].index(old)
                yield ''.join(parts[:at] + [new] + parts[at + 1:])


# ---- rules: each gives (first token, last token, what stands there instead, a word) -------------

def compare(text, i):
    for new in COMPARE.get(text.text(i), []):
        if text.is_binary(i) and text.text(i - 1) != 'template':
            yield i, i, new, new


def constant(text, i):
    number = re.fullmatch(r'(\d+|0[xX][0-9a-fA-F]+)([uUlL]*)', text.text(i))
    if text.kind(i) == 'number' and number:
        value = int(number[1], 0)
        for new in [value + 1] + [value - 1] * (value > 0):
            yield i, i, f'{new}{number[2]}', f'{new - value:+d}'


def arithmetic(text, i):
    for new in ARITHMETIC.get(text.text(i), []):
        if text.is_binary(i):
            yield i, i, new, new


def operand(text, i):
    if text.kind(i) != 'name' or text.text(i - 1) in TYPES | {'.', '->', '*', '&'} and i not in text.body:
        return
    for new in other_names(text.text(i)):
        if new in text.names and text.text(i - 1) not in TYPES:
            yield i, i, new, new


def index(text, i):
    """A whole number is taken for the next one that is in scope."""
    if i not in text.body or text.kind(i) != 'name' or text.text(i + 1) == '(' or text.text(i - 1) in TYPES | {'.', '->', '*'}:
        return
    begin, end = text.body[i]
    known = []
    for j in range(begin, i):
        if text.text(j) in WHOLE and text.kind(j + 1) == 'name' and text.text(j + 2) in ('=', ',', ')', ';'):
            known.append(text.text(j + 1))
    name = text.text(i)
    if name in known and len(set(known)) > 1:
        known = sorted(set(known))
        new = known[(known.index(name) + 1) % len(known)]
        if new not in other_names(name):
            yield i, i, new, new


def barrier(text, i):
    end = text.statement(i)
    if end and text.text(i) in BARRIERS:
        yield i, end, ';', text.text(i)


def negate(text, i):
    if text.text(i) in ('if', 'while') and text.text(i + 1) == '(' and i + 1 in text.partner and i in text.body:
        end = text.partner[i + 1]
        yield i + 1, end, f'(!{text.of(i + 1, end)})', ''


def conjunct(text, i):
    if text.text(i) not in ('&&', '||') or not text.is_binary(i):
        return
    stops = {'&&', '||', '?', ':', ',', ';', '=', 'return', '}', '{'}
    left, right = text.edge(i, -1, stops), text.edge(i, 1, stops)
    yield left, right, text.of(left, i - 1), 'left'
    yield left, right, text.of(i + 1, right), 'right'


def skip(text, i):
    end = text.statement(i)
    if end and text.text(i) not in BARRIERS:
        yield i, end, ';', ''


def narrow(text, i):
    if i in text.body and i < text.partner[text.body[i][0]] and text.text(text.body[i][0] - 1).startswith('mmt_'):
        return # parameters of a kernel are as the host hands them over
    if text.text(i) == 'wide':
        yield i, i, 'int', 'int'
    if text.text(i) == 'real' and i in text.body and text.text(i - 1) != '(' and text.text(i + 1) != '*':
        yield i, i, 'float', 'float'
        yield i, i, 'element', 'element'


def twice(text, i):
    """A sum is rounded to the type of C before the last step."""
    if text.text(i) != 'real' or text.text(i + 2) != '=' or i not in text.body or text.text(i + 3) == '{':
        return
    end = text.edge(i + 2, 1, {',', ';'})
    yield i + 3, end, f'from_result(to_result({text.of(i + 3, end)}))', ''


def assign(text, i):
    declares = text.text(i) == '=' and (text.kind(i - 2) == 'name' or text.text(i - 2) in ('*', ',')
                                        or i not in text.body)
    for new in ASSIGN.get(text.text(i), []):
        if i in text.body and not declares:
            yield i, i, new, new


def bound(text, i):
    """The first, the last and the step of a loop."""
    if text.text(i) != 'for' or i + 1 not in text.partner:
        return
    one = text.edge(i + 1, 1, {';'}) + 1
    two = text.edge(one, 1, {';'}) + 1
    end = text.partner[i + 1]
    first = next((j for j in range(i + 2, one) if text.text(j) == '='), None)
    limit = next((j for j in range(one + 1, two) if text.text(j) in COMPARE), None)
    if first:
        last = text.edge(first, 1, {',', ';'})
        yield first + 1, last, f'({text.of(first + 1, last)}) + 1', 'first+1'
    if limit:
        last = text.edge(limit, 1, {'&&', '||', ';'})
        for by in ('+ 1', '- 1'):
            yield limit + 1, last, f'({text.of(limit + 1, last)}) {by}', 'end' + by.replace(' ', '')
    for j in range(two + 1, end):
        if text.text(j) in ('++', '--'):
            yield j, j, ' += 2' if text.text(j) == '++' else ' -= 2', f'{text.text(j - 1)}*2'
        elif text.text(j) in ('+=', '-='):
            last = text.edge(j, 1, {',', ')'})
            yield j + 1, last, f'2 * ({text.of(j + 1, last)})', f'{text.text(j - 1)}*2'


def flag(text, i):
    if text.text(i) in FLAGS and text.text(i - 1) not in TYPES | {'.', '->'} and text.text(i + 1) not in ('=', '('):
        yield i, i, f'!{text.text(i)}', ''


def component(text, i):
    if text.text(i - 1) == '.' and text.text(i) in ('x', 'y', 'z', 'w'):
        new = {'x': 'y', 'y': 'x', 'z': 'w', 'w': 'z'}[text.text(i)]
        yield i, i, new, new
    if re.fullmatch(r'(LOAD|STORE)4', text.text(i)):
        yield i, i, text.text(i)[:-1] + '2', '2'


def branches(text, i):
    """The two results of a condition are exchanged."""
    if text.text(i) != '?':
        return
    depth, at = 0, i + 1
    while at < len(text.tokens) and text.kind(at) != 'line' and (depth or text.text(at) != ':'):
        if text.text(at) in OPEN and at in text.partner:
            at = text.partner[at]
        elif text.text(at) in CLOSE | {';': ''}:
            return
        depth += (text.text(at) == '?') - (text.text(at) == ':')
        at += 1
    last = text.edge(at, 1, {',', ';'})
    if text.text(at) == ':' and last > at:
        yield i + 1, last, f'({text.of(at + 1, last)}) : ({text.of(i + 1, at - 1)})', ''


def arguments(text, i):
    """Two neighbouring arguments of a call are exchanged."""
    if text.text(i) != '(' or text.kind(i - 1) != 'name' or i not in text.partner or i not in text.body:
        return
    if text.text(i - 1) in CONTROL | TYPES or i == text.body[i][0]:
        return
    end, first, place = text.partner[i], i + 1, 1
    while first < end:
        last = text.edge(first - 1, 1, {','})
        following = text.edge(last + 1, 1, {','})
        if last + 1 >= end or following < last + 2:
            return
        one, other = text.of(first, last), text.of(last + 2, following)
        if one != other and not (place == 1 and text.text(i - 1) in COMMUTATIVE):
            yield first, following, f'{other}, {one}', str(place)
        first, place = last + 2, place + 1


def few(text, i):
    """What counts matrices, rows or columns has too few bits."""
    if text.text(i) == 'BLOCK_Z' and i in text.body:
        yield i, i, '(BLOCK_Z & 31)', '31'
    if text.text(i) in ('row', 'column') and text.text(i + 1) == '*' and i in text.body and text.text(i - 1) != '*':
        yield i, i, f'({text.text(i)} & 0xffff)', '0xffff'


def far(text, i):
    """A leading dimension that is large is another one."""
    if text.text(i) in ('lda', 'ldb', 'ldc') and i in text.body and text.text(i - 1) == '*':
        yield i, i, f'({text.text(i)} > 1000000 ? {text.text(i)} + 1 : {text.text(i)})', text.text(i)


def scalar(text, i):
    """A scalar that is unusual counts as a usual one."""
    if text.text(i) == 'alpha' and text.text(i + 1) == '*' and i in text.body:
        yield i, i, '(alpha == -1 ? (real) 1 : alpha)', '-1'
        yield i, i, '(alpha != alpha ? (real) 0 : alpha)', 'nan'


RULES = [compare, constant, arithmetic, operand, index, barrier, negate, conjunct, skip, narrow, twice, assign,
         bound, flag, component, branches, arguments, few, far, scalar]


# ---- all of them ----------------------------------------------------------------------------

def short_hash(*words):
    return hashlib.sha1('\0'.join(words).encode()).hexdigest()[:8]


def line_hashes(file, source):
    """One for each line: of what it says, and of how many above it say the same."""
    seen = collections.Counter()
    hashes = []
    for line in source.split('\n'):
        hashes.append(short_hash(file, line.strip(), str(seen[line.strip()])))
        seen[line.strip()] += 1
    return hashes


def mutants_of(file, source):
    text, hashes = Text(source), line_hashes(file, source)
    found = {}
    for i, token in enumerate(text.tokens):
        for rule in RULES:
            for first, last, after, word in rule(text, i):
                start, end = text.tokens[first].start, text.tokens[last].end
                before = source[start:end]
                column = token.start - source.rfind('\n', 0, token.start)
                name = rule.__name__ + (f'({word})' if word else '')
                if after == before or (start, end, after) in found:
                    continue
                key = f'{file}:{column}:{name}:{hashes[token.line - 1]}'.replace(' ', '')
                found[start, end, after] = Mutant(
                    f'{file}:{token.line}:{column}:{name}:{hashes[token.line - 1]}'.replace(' ', ''), key, file,
                    token.line, rule.__name__, start, end, before, after)
    return list(found.values())


def key_of(name):
    """An id without its line, which other changes of the file move."""
    file, _, rest = name.split(':', 2)
    return f'{file}:{rest}'


def apply(mutant, source):
    return source[:mutant.start] + mutant.after + source[mutant.end:]
