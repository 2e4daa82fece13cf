/* How the options of the table (table.c) read their values: options.c. What a reader
 * writes to `out` stands in front of it. */
#ifndef MMT_TUNER_COMMON_READERS_H
#define MMT_TUNER_COMMON_READERS_H

#include "tuner/common/options.h"

/* ---- readers --------------------------------------------------------------------- */

/* bool; takes no value. */
mmt_reader mmt_option_read_flag;

/* const char *, which points to the value. */
mmt_reader mmt_option_read_word;

/* const char *, which points to one of the option's words. */
mmt_reader mmt_option_read_choice;

/* int64_t, and int64_t of bytes. */
mmt_reader mmt_option_read_count, mmt_option_read_bytes;

/* double, in seconds. */
mmt_reader mmt_option_read_seconds;

/* struct mmt_budget. */
mmt_reader mmt_option_read_budget;

/* struct mmt_shard. */
mmt_reader mmt_option_read_shard;

/* A list: struct mmt_words, which grows. */
mmt_reader mmt_option_read_words;

/* A list: bool[MMT_NUM_TYPES]. */
mmt_reader mmt_option_read_types;

/* A list: unsigned, of MMT_NN and so on. */
mmt_reader mmt_option_read_transposes;

/* mmt_op. */
mmt_reader mmt_option_read_op;

/* A member of a struct mmt_epilogue. */
mmt_reader mmt_option_read_out, mmt_option_read_bias, mmt_option_read_activation,
    mmt_option_read_batch_by;

/* ---- closed sets, which end with NULL -------------------------------------------- */

const char *const *mmt_type_words(void);
const char *const *mmt_transposes_words(void);

#endif
