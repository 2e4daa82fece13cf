#include "tests/emulation/fake/card/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CARDS = 8 };

static int read_cards(struct card cards[MOST_CARDS], bool *down)
{
    const char *path = getenv("MMT_FAKE_CARDS");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[128];
    int count = 0;

    *down = !file;
    while (file && count < MOST_CARDS && fgets(line, sizeof line, file)) {
        struct card *card = &cards[count];
        int words = sscanf(line, "%31s %d %d %lli", card->pci, &card->celsius, &card->mhz,
                           &card->reasons);
        card->known = words == 4;
        if (words > 0 && !strcmp(card->pci, "down"))
            *down = true;
        else if (words > 0)
            count++;
    }
    if (file)
        fclose(file);
    return count;
}

int card_count(void)
{
    struct card cards[MOST_CARDS];
    bool down;
    return read_cards(cards, &down);
}

bool card_at(int ordinal, struct card *out)
{
    struct card cards[MOST_CARDS];
    bool down;
    if (ordinal < 0 || ordinal >= read_cards(cards, &down))
        return false;
    *out = cards[ordinal];
    return true;
}

bool card_of(const char *pci, struct card *out)
{
    for (int i = 0; card_at(i, out); i++)
        if (!strcmp(out->pci, pci))
            return true;
    return false;
}

bool card_is_down(void)
{
    struct card cards[MOST_CARDS];
    bool down;
    read_cards(cards, &down);
    return down;
}
