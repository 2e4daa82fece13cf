/* Counts how many turns a warp takes to read a tile's elements from 32 banks of shared
 * memory; no device is asked. */
#include "banks.h"

#include <stdbool.h>

enum { BANKS = 32, WARP = 32 };

/* Where the element of a step k and of a column lies, in elements. */
static int element_at(enum mmt_tile_layout layout, int tile, int k, int column)
{
    if (layout == MMT_TILE_SWAP)
        return k * tile + column;
    return column * (tile + (layout == MMT_TILE_PAD)) + k;
}

/* A warp may be wider than the tile: its further threads then differ in the row of C, and
 * read the same columns again. */
static int turns_of(enum mmt_tile_layout layout, int tile, size_t element, int first,
                    int count)
{
    int words[WARP * 2], num_words = 0, turns = 0;

    for (int thread = first; thread < first + count; thread++)
        for (size_t part = 0; part < element / 4; part++) {
            int word = element_at(layout, tile, 0, thread % tile) * (int) (element / 4) +
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

int mmt_bank_turns(enum mmt_tile_layout layout, int tile, size_t element)
{
    int count = element > 4 ? WARP / 2 : WARP, most = 0;

    for (int first = 0; first < WARP; first += count) {
        int turns = turns_of(layout, tile, element, first, count);
        most = turns > most ? turns : most;
    }
    return most;
}
