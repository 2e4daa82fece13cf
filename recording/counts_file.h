/* The file of a process's counts. Inside `recording`. */
#ifndef MMT_RECORDING_COUNTS_FILE_H
#define MMT_RECORDING_COUNTS_FILE_H

#include "base/process.h"
#include "recording/counts.h"

#define MMT_COUNTS_MAGIC  "mmtcnt1"
#define MMT_COUNTS_ENDING ".counts"

/* The first bytes. Numbers are in host order: the file belongs to one machine. */
struct mmt_counts_head {
    char magic[8];
    uint32_t row_size; /* bytes: that of another version differs */
    uint32_t fates;    /* how many there are */
    char version[32];  /* of mmtune */
    struct mmt_process owner;
    char stem[160], library[48], path[256], run[48];
    atomic_int number; /* rows that were given away, also those that found no room */
};

/* Rows begin here, in bytes. */
enum { MMT_COUNTS_HEAD = 1024 };
_Static_assert(sizeof(struct mmt_counts_head) <= MMT_COUNTS_HEAD, "the head has room");

/* What a row has that was not told yet; false: nothing. *now is what it has. */
bool mmt_counted_take(const struct mmt_counts_head *head, const struct mmt_counted *row,
                      struct mmt_recorded *out, struct mmt_tally *now);

#endif
