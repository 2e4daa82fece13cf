#!/usr/bin/env python3
"""Each rule on made-up texts: the mutants that it makes are those, and no others."""
import sys

import rules

KERNEL = '''DEVICE_FN int place(int row, int column, int ld)
{
    return ROW;
}
'''

# rule, a statement, what it may become: all of them.
CASES = [
    ('compare', 'if (row < ld) column = 1;', ['if (row <= ld) column = 1;', 'if (row > ld) column = 1;']),
    ('compare', 'x = row == 1 ? 2 : 3;', ['x = row != 1 ? 2 : 3;']),
    ('constant', 'x = row + 4u;', ['x = row + 5u;', 'x = row + 3u;']),
    ('constant', 'x = 0.5f;', []),
    ('arithmetic', 'x = row * ld;', ['x = row + ld;', 'x = row / ld;']),
    ('arithmetic', 'x = -row;', []),
    ('arithmetic', 'x = *row;', []),
    ('operand', 'x = row;', ['x = column;']),
    ('index', 'x = ld;', ['x = row;']),
    ('barrier', 'BARRIER();', [';']),
    ('negate', 'if (row < ld) return;', ['if (!(row < ld)) return;']),
    ('conjunct', 'x = row < 1 && ld == 2;', ['x = row < 1;', 'x = ld == 2;']),
    ('skip', 'row += 1;', [';']),
    ('skip', 'int x = 1;', []),
    ('skip', 'for (x = 0; x < ld; x++) row += 1;', ['for (x = 0; x < ld; x++) ;']),
    ('narrow', 'x = (wide) row;', ['x = (int) row;']),
    ('narrow', 'real x;', ['float x;', 'element x;']),
    ('few', 'x = BLOCK_Z + row * ld;', ['x = (BLOCK_Z & 31) + row * ld;', 'x = BLOCK_Z + (row & 0xffff) * ld;']),
    ('far', 'x = row * lda;', ['x = row * (lda > 1000000 ? lda + 1 : lda);']),
    ('scalar', 'x = alpha * row;', ['x = (alpha == -1 ? (real) 1 : alpha) * row;',
                                    'x = (alpha != alpha ? (real) 0 : alpha) * row;']),
    ('twice', 'real x = row * ld;', ['real x = from_result(to_result(row * ld));']),
    ('assign', 'row += ld;', ['row = ld;', 'row -= ld;']),
    ('assign', 'int x = ld;', []),
    ('bound', 'for (x = 0; x < ld; x++) ;',
     ['for (x = (0) + 1; x < ld; x++) ;', 'for (x = 0; x < (ld) + 1; x++) ;', 'for (x = 0; x < (ld) - 1; x++) ;',
      'for (x = 0; x < ld; x += 2) ;']),
    ('flag', 'if (TRANS_A) return;', ['if (!TRANS_A) return;']),
    ('component', 'x = y.z;', ['x = y.w;']),
    ('component', 'LOAD4(GLOBAL, real, x, y);', ['LOAD2(GLOBAL, real, x, y);']),
    ('branches', 'x = row ? 1 : ld;', ['x = row ? (ld) : (1);']),
    ('arguments', 'x = place(row, 2, 2);', ['x = place(2, row, 2);']),
    ('compare', 'x = 1; // row < ld', []),
    ('constant', 'asm("1");', []),
]

# A knob's default is no place for a mutant; a derived size is.
DEFINES = '#ifndef KNOB\n#define KNOB 4 // 1\n#endif\n#if KNOB < 3\n#error "3"\n#endif\n#define SIZE (KNOB + 8)\n'


def made(source, rule):
    return {rules.apply(mutant, source) for mutant in rules.mutants_of('synthetic.cl', source) if mutant.rule == rule}


def main():
    wrong = 0
    for rule, statement, expected in CASES:
        whole = KERNEL.replace('return ROW;', statement)
        found, right = made(whole, rule), {KERNEL.replace('return ROW;', after) for after in expected}
        if found != right:
            wrong += 1
            print(f'{rule} of {statement!r} gives:\n' + '\n'.join(sorted(found)))
    tried = {rule for rule, _, expected in CASES if expected}
    for rule in rules.RULES:
        if rule.__name__ not in tried:
            wrong += 1
            print(f'{rule.__name__} has no case here')
    if made(DEFINES, 'constant') != {DEFINES.replace('+ 8', f'+ {n}') for n in (7, 9)}:
        wrong += 1
        print('constants of #define are not changed as they should be')
    first, moved = (rules.mutants_of('synthetic.cl', text) for text in (KERNEL, '\n' + KERNEL))
    if [m.key for m in first] != [m.key for m in moved] or [m.key for m in first] != [rules.key_of(m.id) for m in moved]:
        wrong += 1
        print('a mutant is another one where its line stands further down')
    print(f'{len(CASES)} cases, {wrong} wrong')
    return wrong > 0


sys.exit(main())
