/* Finds which word of a closed set was meant, by Levenshtein's distance, for the sentence
 * of an error. */
#include "base/near.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LETTERS = 31, MOST_EDITS = 2 };

int mmt_near_place(const char *word, const char *const names[], int count)
{
    for (int i = 0; word && i < count && names[i]; i++)
        if (!strcmp(names[i], word))
            return i;
    return -1;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    return mmt_text_lower(a) == mmt_text_lower(b);
}

/* Letters to insert, to delete and to replace, row by row of Levenshtein's table. */
static int count_edits(const char *a, const char *b)
{
    int row[MOST_LETTERS + 1];
    const int width = (int) strlen(b);
    for (int j = 0; j <= width; j++)
        row[j] = j;
    for (int i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < width; j++) {
            const int replaced = diagonal + !same_letter(a[i], b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, 1 + least(row[j], row[j + 1]));
        }
    }
    return row[width];
}

static const char *behind_hyphens(const char *word)
{
    return word + strspn(word, "-");
}

static bool begins(const char *word, const char *name)
{
    while (*word && same_letter(*word, *name))
        word++, name++;
    return !*word;
}

/* NULL where it begins none, or several. */
static const char *find_begun(const char *word, const char *const names[])
{
    const char *found = NULL;
    for (; *names; names++) {
        if (!begins(word, behind_hyphens(*names)))
            continue;
        if (found)
            return NULL;
        found = *names;
    }
    return found;
}

/* A word of which no letter would stay is like none. */
static const char *find_alike(const char *word, const char *const names[])
{
    const char *found = NULL;
    int fewest = least(MOST_EDITS, (int) strlen(word) - 1) + 1;
    for (; *names; names++) {
        const char *name = behind_hyphens(*names);
        const int edits = strlen(name) <= MOST_LETTERS ? count_edits(word, name) : fewest;
        if (edits < fewest)
            fewest = edits, found = *names;
    }
    return found;
}

const char *mmt_near_find(const char *word, const char *const names[])
{
    word = behind_hyphens(word);
    if (!*word || strlen(word) > MOST_LETTERS)
        return NULL;
    const char *begun = find_begun(word, names);
    return begun ? begun : find_alike(word, names);
}

void mmt_near_list(const char *const names[], const char *conjunction,
                   struct mmt_text *text)
{
    if (!names[0])
        mmt_text_add(text, "none");
    for (int i = 0; names[i]; i++)
        if (i && !names[i + 1])
            mmt_text_addf(text, " %s %s", conjunction, names[i]);
        else
            mmt_text_addf(text, "%s%s", i ? ", " : "", names[i]);
}

mmt_status mmt_near_fail(mmt_error *err, const char *word, const char *const names[],
                         const char *right, const char *format, ...)
{
    const char *near = mmt_near_find(word, names);
    char said[512];
    struct mmt_text rest = { 0 };
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    if (near)
        mmt_text_addf(&rest, " (did you mean '%s'?)", near);
    mmt_text_addf(&rest, "; %s ", right);
    mmt_near_list(names, "and", &rest);
    mmt_fail(err, MMT_ERROR_ARGUMENT, "%s%s", said, mmt_text_string(&rest));
    mmt_text_finish(&rest);
    return MMT_ERROR_ARGUMENT;
}
