/* One JSON object and one struct, held together by a table: the reader and the writer
 * walk the same rows, so neither can know a key that the other does not. Inside
 * `profiles`. */
#ifndef MMT_PROFILES_FIELDS_H
#define MMT_PROFILES_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#include "profiles/profile.h"

/* How a member is spelled in JSON. */
enum mmt_field_kind {
    MMT_FIELD_END = 0,
    MMT_FIELD_ELSEWHERE, /* a key that the caller reads and writes itself */
    MMT_FIELD_STRING,    /* char[size]: a string without control characters */
    MMT_FIELD_BOOL,      /* bool: true or false */
    MMT_FIELD_FLAG,      /* int: true or false */
    MMT_FIELD_INT,       /* int: a whole number, not negative; so are the next three */
    MMT_FIELD_UNSIGNED,  /* unsigned */
    MMT_FIELD_SIZE,      /* size_t */
    MMT_FIELD_LONG,      /* int64_t */
    MMT_FIELD_DIGITS, /* uint64_t: a string of digits, since JSON's numbers end at 2^53 */
    MMT_FIELD_NUMBER, /* double: a number, not negative, times `scale` in the file */
    MMT_FIELD_POSITIVE, /* the same, above 0 */
    MMT_FIELD_THREE,    /* unsigned[3]: an array of three whole numbers */
    MMT_FIELD_KINDS,    /* uint64_t of mmt_kind_bit: an array of "bf16 nt" and the like */
    MMT_FIELD_TREES,    /* struct mmt_model: its trees (trees.c) */
    MMT_FIELD_WORD,     /* an enum: one of `words` */
    MMT_FIELD_TYPE,     /* mmt_type: "f32" */
    MMT_FIELD_OUT,      /* mmt_problem: its `out`, where the type has a choice */
    MMT_FIELD_TEMPLATE, /* struct mmt_config: its template, by name; before its knobs */
    MMT_FIELD_KNOBS, /* struct mmt_config: {"TILE_M": 128, "SHARED_LAYOUT": "pad", ...} */
    MMT_FIELD_OBJECT, /* a struct: `fields` */
    MMT_FIELD_LIST, /* an array of structs, `fields` of each, and an int that counts them
                     */
    MMT_NUM_FIELD_KINDS,
};

struct mmt_word {
    int value;
    const char *name;
};

struct mmt_field {
    const char *key;
    enum mmt_field_kind kind;
    size_t offset;                /* of the member in the struct */
    size_t size;                  /* of the member */
    double scale;                 /* the file's number for 1 in memory */
    const struct mmt_word *words; /* ends with a NULL name */
    const struct mmt_field *fields;
    /* MMT_FIELD_LIST: where its array is, bytes of an item, and where their number is. */
    size_t array, item, count;
    mmt_status (*finish)(void *object, mmt_error *err); /* optional, after reading */
    bool may_lack; /* a key that a file may lack: the member is 0 then, and where it is 0,
                    * it is not written */
};

/* Appends a copy of an item to an array of a profile, whose pointer and count these are.
 */
mmt_status mmt_profile_append(void *array, size_t *count, const void *item, size_t size,
                              mmt_error *err);

/* Names the file that a profile was read from, or "memory". */
mmt_status mmt_profile_name_layer(struct mmt_profile *profile, const char *path,
                                  mmt_error *err);

/* mmt_caps_foreign by multiprocessors and memory alone. */
const char *mmt_caps_differ(const struct mmt_caps *made_on, const struct mmt_caps *caps,
                            char buffer[512]);

/* Of life.c alone. NULL where memory is exhausted. */
struct mmt_learned *mmt_learned_create(void);
void mmt_learned_free(struct mmt_learned *learned);

/* The format (tables.c): a profile of our own, one from a paper, and their items. */
extern const struct mmt_field mmt_fields_own[], mmt_fields_paper[], mmt_fields_entry[],
    mmt_fields_range[], mmt_fields_verdict[], mmt_fields_unlisted[], mmt_fields_model[],
    mmt_fields_pruning[], mmt_fields_published[];

/* What a table cannot say of a range that was read: the order of its m. */
mmt_status mmt_range_check(void *range, mmt_error *err);

/* Leaves out verdicts whose kernel's template was not `now`, its hash, when it was timed;
 * says so in the warnings. */
void mmt_verdict_drop_changed(struct mmt_profile *profile,
                              const struct mmt_template *template, const char *now);

/* Adds the verdicts of a layer that is of this very device. */
mmt_status mmt_verdict_add_layer(struct mmt_profile *into, const struct mmt_profile *from,
                                 int layer, mmt_error *err);

#define MMT_MEMBER(type, member)                                                         \
    .offset = offsetof(type, member), .size = sizeof(((type *) 0)->member)

/* Reads an object into a struct. `path` names it for people ("entries[3]"). Every key
 * but for those that may lack must be there, and right; unknown ones are told in
 * `warnings`. */
mmt_status mmt_fields_read(const struct mmt_field *fields, const json_t *object,
                           const char *path, void *to, struct mmt_text *warnings,
                           mmt_error *err);

/* Adds the keys of a struct to an object, in the table's order. */
mmt_status mmt_fields_write(const struct mmt_field *fields, json_t *object,
                            const char *path, const void *from, mmt_error *err);

/* What one member is read into or written from; given to the functions of a kind. */
struct mmt_place {
    const struct mmt_field *field;
    const char *path;
    const json_t *value; /* reading: what the file has */
    struct mmt_text *warnings;
    mmt_error *err;
};

/* Fails with "PATH is VALUE; it must be RIGHT". */
mmt_status mmt_place_wrong(const struct mmt_place *at, const char *right);

/* A configuration's template and knobs (knobs.c). */
mmt_status mmt_read_template(const struct mmt_place *at, void *to);
mmt_status mmt_read_knobs(const struct mmt_place *at, void *to);
json_t *mmt_write_template(const struct mmt_place *at, const void *from);
json_t *mmt_write_knobs(const struct mmt_place *at, const void *from);

/* A model's trees (trees.c). */
mmt_status mmt_read_trees(const struct mmt_place *at, void *to);
json_t *mmt_write_trees(const struct mmt_place *at, const void *from);

/* A value as JSON on one line, shortened to fit and without control characters. */
void mmt_json_show(const json_t *value, char *out, size_t size);

/* Adds one sentence to the warnings, unless there are very many already. */
__attribute__((format(printf, 2, 3))) void mmt_json_warn(struct mmt_text *warnings,
                                                         const char *format, ...);

/* Refuses what would cost a parser too much: deep nesting, and very many values (scan.c).
 */
mmt_status mmt_json_scan(const char *json, size_t length, mmt_error *err);

/* Adds a value's JSON, laid out for review: containers of plain values on filled lines,
 * all others one item a line (layout.c). */
mmt_status mmt_json_layout(const json_t *value, struct mmt_text *text, mmt_error *err);

#endif
