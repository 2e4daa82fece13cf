/* Counts how many turns a warp takes to read a tile's elements from 32 banks of shared
 * memory; no device is asked. */
#include "banks.h"

#include <stdbool.h>
#include <string.h>

enum { BANKS = 32, WARP = 32 };

/* Where the element of a column lies at the first step, in elements. */
static int element_at(const char *layout, int tile, int column, size_t element)
{
    const bool odd = !strcmp(layout, "pad") || !strcmp(layout, "pad_both");
    const int spare = odd ? 1 : !strcmp(layout, "pad_aligned") ? 16 / (int) element : 0;

    if (!strcmp(layout, "swap"))
        return column;
    return column * (tile + spare) + (strcmp(layout, "swizzle") ? 0 : column);
}

/* A warp may be wider than the tile: its further threads then differ in the row of C, and
 * read the same columns again. */
static int turns_of(const char *layout, int tile, size_t element, int first, int count)
{
    int words[WARP * 2], num_words = 0, turns = 0;

    for (int thread = first; thread < first + count; thread++)
        for (size_t part = 0; part < element / 4; part++) {
            int word =
                element_at(layout, tile, thread % tile, element) * (int) (element / 4) +
                (int) part;
            bool seen = false;
            for (int i = 0; i < num_words; i++)
                seen |= words[i] == word;
            if (!seen)
                words[num_words++] = word;
        }
    for (int bank = 0; bank < BANKS; bank++) {
        int here = 0;
        for (int i = 0; i < num_words; i++)
            here += words[i] % BANKS == bank;
        turns = here > turns ? here : turns;
    }
    return turns;
}

int mmt_bank_turns(const char *layout, int tile, size_t element)
{
    int count = element > 4 ? WARP / 2 : WARP, most = 0;

    for (int first = 0; first < WARP; first += count) {
        int turns = turns_of(layout, tile, element, first, count);
        most = turns > most ? turns : most;
    }
    return most;
}
