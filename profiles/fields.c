/* Reads and writes one JSON object by a table of fields; a file's errors become sentences
 * with the place in the file. */
#include "profiles/fields.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH_TEXT = 160, MAX_WARNINGS = 64 * 1024 };

void mmt_json_warn(struct mmt_text *warnings, const char *format, ...)
{
    if (!warnings || warnings->length > MAX_WARNINGS)
        return;

    char line[1400];
    va_list list;
    va_start(list, format);
    mmt_text_print_list(line, sizeof line, format, list);
    va_end(list);
    mmt_text_addf(warnings, "%s\n", line);
    if (warnings->length > MAX_WARNINGS)
        mmt_text_add(warnings, "more was left out than is listed here\n");
}

/* ---- text ------------------------------------------------------------------------ */

static mmt_status read_string(const struct mmt_place *at, void *to)
{
    const char *string = json_string_value(at->value);
    if (!string)
        return mmt_place_wrong(at, "a string");

    size_t length = json_string_length(at->value);
    if (length >= at->field->size)
        return mmt_fail(at->err, MMT_ERROR_FORMAT,
                        "%s is %zu bytes long; it must be at most %zu", at->path, length,
                        at->field->size - 1);
    for (size_t i = 0; i < length; i++)
        if (mmt_text_is_control(string[i]))
            return mmt_place_wrong(at, "a string without control characters");
    memcpy(to, string, length + 1);
    return MMT_OK;
}

/* From bytes that a driver gave: what is not UTF-8 becomes '?'. */
static json_t *write_string(const struct mmt_place *at, const void *bytes)
{
    json_t *string = json_string(bytes);
    if (string)
        return string;

    char *copy = strdup(bytes);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char) *c >= 0x80)
            *c = '?';
    string = copy ? json_string(copy) : NULL;
    free(copy);
    return string;
}

static mmt_status read_digits(const struct mmt_place *at, void *to)
{
    static const char right[] = "a string of digits, at most \"18446744073709551615\"";
    const char *string = json_string_value(at->value);
    size_t length = json_string_length(at->value);
    if (!string || length < 1 || length > 20 || strspn(string, "0123456789") != length)
        return mmt_place_wrong(at, right);

    uint64_t sum = 0;
    for (const char *c = string; *c; c++) {
        uint64_t digit = *c - '0';
        if (sum > (UINT64_MAX - digit) / 10)
            return mmt_place_wrong(at, right);
        sum = sum * 10 + digit;
    }
    *(uint64_t *) to = sum;
    return MMT_OK;
}

static json_t *write_digits(const struct mmt_place *at, const void *from)
{
    return json_sprintf("%" PRIu64, *(const uint64_t *) from);
}

static mmt_status read_type(const struct mmt_place *at, void *to)
{
    const char *name = json_string_value(at->value);
    int type = name ? mmt_type_parse(name) : -1;
    if (type >= 0) {
        *(mmt_type *) to = type;
        return MMT_OK;
    }

    struct mmt_text right = { 0 };
    mmt_text_add(&right, "one of ");
    mmt_type_list(MMT_ALL_TYPES, &right);
    mmt_status status = mmt_place_wrong(at, mmt_text_string(&right));
    mmt_text_finish(&right);
    return status;
}

static json_t *write_type(const struct mmt_place *at, const void *from)
{
    return json_string(mmt_type_name(*(const mmt_type *) from));
}

static mmt_status read_out(const struct mmt_place *at, void *to)
{
    return read_type(at, &((mmt_problem *) to)->out);
}

static json_t *write_out(const struct mmt_place *at, const void *from)
{
    const mmt_problem *problem = from;
    return write_type(at, &problem->out);
}

static mmt_status read_word(const struct mmt_place *at, void *to)
{
    char right[128] = "one of";
    const char *string = json_string_value(at->value);
    for (const struct mmt_word *word = at->field->words; word->name; word++) {
        if (string && strcmp(string, word->name) == 0) {
            *(int *) to = word->value;
            return MMT_OK;
        }
        strcat(right, word == at->field->words ? " " : ", ");
        strcat(right, word->name);
    }
    return mmt_place_wrong(at, right);
}

static json_t *write_word(const struct mmt_place *at, const void *from)
{
    int value = *(const int *) from;
    for (const struct mmt_word *word = at->field->words; word->name; word++)
        if (word->value == value)
            return json_string(word->name);
    mmt_fail(at->err, MMT_ERROR_ARGUMENT, "%s is %d, which has no name", at->path, value);
    return NULL;
}

/* ---- numbers --------------------------------------------------------------------- */

static mmt_status read_bool(const struct mmt_place *at, void *to)
{
    if (!json_is_boolean(at->value))
        return mmt_place_wrong(at, "true or false");
    *(bool *) to = json_is_true(at->value);
    return MMT_OK;
}

static json_t *write_bool(const struct mmt_place *at, const void *from)
{
    return json_boolean(*(const bool *) from);
}

static mmt_status read_flag(const struct mmt_place *at, void *to)
{
    bool set = false;
    mmt_status status = read_bool(at, &set);
    *(int *) to = set;
    return status;
}

static json_t *write_flag(const struct mmt_place *at, const void *from)
{
    return json_boolean(*(const int *) from);
}

static mmt_status read_whole(const struct mmt_place *at, json_int_t most, json_int_t *out)
{
    json_int_t value = json_integer_value(at->value);
    if (json_is_integer(at->value) && value >= 0 && value <= most) {
        *out = value;
        return MMT_OK;
    }
    char right[64];
    snprintf(right, sizeof right, "a whole number from 0 to %lld", (long long) most);
    return mmt_place_wrong(at, right);
}

static mmt_status read_int(const struct mmt_place *at, void *to)
{
    json_int_t value = 0;
    mmt_status status = read_whole(at, INT_MAX, &value);
    *(int *) to = value;
    return status;
}

static json_t *write_int(const struct mmt_place *at, const void *from)
{
    return json_integer(*(const int *) from);
}

static mmt_status read_unsigned(const struct mmt_place *at, void *to)
{
    json_int_t value = 0;
    mmt_status status = read_whole(at, UINT_MAX, &value);
    *(unsigned *) to = value;
    return status;
}

static json_t *write_unsigned(const struct mmt_place *at, const void *from)
{
    return json_integer(*(const unsigned *) from);
}

static mmt_status read_size(const struct mmt_place *at, void *to)
{
    json_int_t value = 0;
    mmt_status status = read_whole(at, SIZE_MAX / 2, &value);
    *(size_t *) to = value;
    return status;
}

static json_t *write_size(const struct mmt_place *at, const void *from)
{
    return json_integer(*(const size_t *) from);
}

static mmt_status read_long(const struct mmt_place *at, void *to)
{
    json_int_t value = 0;
    mmt_status status = read_whole(at, INT64_MAX, &value);
    *(int64_t *) to = value;
    return status;
}

static json_t *write_long(const struct mmt_place *at, const void *from)
{
    return json_integer(*(const int64_t *) from);
}

static mmt_status read_number(const struct mmt_place *at, void *to)
{
    bool positive = at->field->kind == MMT_FIELD_POSITIVE;
    double value = json_number_value(at->value) / at->field->scale;
    if (!json_is_number(at->value) || !isfinite(value) || value < 0 ||
        (positive && value == 0))
        return mmt_place_wrong(at,
                               positive ? "a number above 0" : "a number, at least 0");
    *(double *) to = value;
    return MMT_OK;
}

static json_t *write_number(const struct mmt_place *at, const void *from)
{
    double value = *(const double *) from * at->field->scale;
    bool positive = at->field->kind == MMT_FIELD_POSITIVE;
    if (isfinite(value) && value >= 0 && !(positive && value == 0))
        return json_real(value);
    mmt_fail(at->err, MMT_ERROR_ARGUMENT, "%s is %g; it must be a number %s", at->path,
             value, positive ? "above 0" : "that is not negative");
    return NULL;
}

static mmt_status read_three(const struct mmt_place *at, void *to)
{
    if (!json_is_array(at->value) || json_array_size(at->value) != 3)
        return mmt_place_wrong(at, "an array of three whole numbers");

    for (int i = 0; i < 3; i++) {
        struct mmt_place item = *at;
        item.value = json_array_get(at->value, i);
        mmt_status status = read_unsigned(&item, (unsigned *) to + i);
        if (status)
            return status;
    }
    return MMT_OK;
}

static json_t *write_three(const struct mmt_place *at, const void *from)
{
    const unsigned *v = from;
    return json_pack("[I,I,I]", (json_int_t) v[0], (json_int_t) v[1], (json_int_t) v[2]);
}

/* The type and transposes of a bit. */
static mmt_problem kind_of(int bit)
{
    mmt_problem kind = mmt_gemm_problem((mmt_type) (bit / 4), 1, 1, 1);
    kind.trans_a = bit / 2 % 2, kind.trans_b = bit % 2;
    return kind;
}

static void print_kind(int bit, char out[16])
{
    const mmt_problem kind = kind_of(bit);
    snprintf(out, 16, "%s %c%c", mmt_type_name(kind.type), kind.trans_a ? 't' : 'n',
             kind.trans_b ? 't' : 'n');
}

/* -1 where it names none. */
static int find_kind(const char *word)
{
    char name[16];
    for (int bit = 0; bit < 4 * MMT_NUM_TYPES; bit++) {
        print_kind(bit, name);
        if (!strcmp(word, name))
            return bit;
    }
    return -1;
}

static mmt_status read_kinds(const struct mmt_place *at, void *to)
{
    uint64_t kinds = 0;
    if (!json_is_array(at->value))
        return mmt_place_wrong(at, "an array of types and transposes");
    for (size_t i = 0; i < json_array_size(at->value); i++) {
        struct mmt_place item = *at;
        item.value = json_array_get(at->value, i);
        const char *word = json_string_value(item.value);
        const int bit = word ? find_kind(word) : -1;
        if (bit < 0)
            return mmt_place_wrong(&item, "a type and transposes, as \"bf16 nt\"");
        kinds |= UINT64_C(1) << bit;
    }
    memcpy(to, &kinds, sizeof kinds);
    return MMT_OK;
}

static json_t *write_kinds(const struct mmt_place *at, const void *from)
{
    json_t *array = json_array();
    uint64_t kinds;
    (void) at;
    memcpy(&kinds, from, sizeof kinds);
    for (int bit = 0; bit < 4 * MMT_NUM_TYPES; bit++) {
        char name[16];
        print_kind(bit, name);
        if (kinds >> bit & 1)
            json_array_append_new(array, json_string(name));
    }
    return array;
}

/* ---- objects --------------------------------------------------------------------- */

static mmt_status read_object(const struct mmt_place *at, void *to)
{
    mmt_status status = mmt_fields_read(at->field->fields, at->value, at->path, to,
                                        at->warnings, at->err);
    if (status || !at->field->finish)
        return status;

    mmt_error why = { 0 };
    status = at->field->finish(to, &why);
    if (status)
        return mmt_fail(at->err, MMT_ERROR_FORMAT, "%s: %.800s", at->path, why.text);
    return MMT_OK;
}

static json_t *write_object(const struct mmt_place *at, const void *from)
{
    json_t *object = json_object();
    if (object && mmt_fields_write(at->field->fields, object, at->path, from, at->err)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* `at->field` says where the items are, and where their number is, in `to`. */
static mmt_status read_items(const struct mmt_place *at, void *to)
{
    const struct mmt_field *field = at->field;
    const size_t count = json_array_size(at->value), most = field->size / field->item;
    mmt_status status = MMT_OK;
    char right[48];
    snprintf(right, sizeof right, "an array of at most %zu items", most);
    if (!json_is_array(at->value) || count > most)
        return mmt_place_wrong(at, right);
    for (size_t i = 0; i < count && !status; i++) {
        char path[MAX_PATH_TEXT];
        snprintf(path, sizeof path, "%.*s[%zu]", MAX_PATH_TEXT - 24, at->path, i);
        status = mmt_fields_read(field->fields, json_array_get(at->value, i), path,
                                 (char *) to + field->array + i * field->item,
                                 at->warnings, at->err);
    }
    *(int *) ((char *) to + field->count) = (int) count;
    return status;
}

static json_t *write_items(const struct mmt_place *at, const void *from)
{
    const struct mmt_field *field = at->field;
    const int count = *(const int *) ((const char *) from + field->count);
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const char *item = (const char *) from + field->array + (size_t) i * field->item;
        json_t *object = json_object();
        json_array_append_new(array, object);
        if (!mmt_fields_write(field->fields, object, at->path, item, at->err))
            continue;
        json_decref(array);
        return NULL;
    }
    return array;
}

/* ---- the kinds ------------------------------------------------------------------- */

static const struct {
    mmt_status (*read)(const struct mmt_place *at, void *to);
    json_t *(*write)(const struct mmt_place *at, const void *from);
} kinds[MMT_NUM_FIELD_KINDS] = {
    [MMT_FIELD_STRING] = { read_string, write_string },
    [MMT_FIELD_BOOL] = { read_bool, write_bool },
    [MMT_FIELD_FLAG] = { read_flag, write_flag },
    [MMT_FIELD_INT] = { read_int, write_int },
    [MMT_FIELD_UNSIGNED] = { read_unsigned, write_unsigned },
    [MMT_FIELD_SIZE] = { read_size, write_size },
    [MMT_FIELD_LONG] = { read_long, write_long },
    [MMT_FIELD_DIGITS] = { read_digits, write_digits },
    [MMT_FIELD_NUMBER] = { read_number, write_number },
    [MMT_FIELD_POSITIVE] = { read_number, write_number },
    [MMT_FIELD_THREE] = { read_three, write_three },
    [MMT_FIELD_KINDS] = { read_kinds, write_kinds },
    [MMT_FIELD_TREES] = { mmt_read_trees, mmt_write_trees },
    [MMT_FIELD_WORD] = { read_word, write_word },
    [MMT_FIELD_TYPE] = { read_type, write_type },
    [MMT_FIELD_OUT] = { read_out, write_out },
    [MMT_FIELD_TEMPLATE] = { mmt_read_template, mmt_write_template },
    [MMT_FIELD_KNOBS] = { mmt_read_knobs, mmt_write_knobs },
    [MMT_FIELD_OBJECT] = { read_object, write_object },
    [MMT_FIELD_LIST] = { read_items, write_items },
};

static void join_path(char out[MAX_PATH_TEXT], const char *path, const char *key)
{
    snprintf(out, MAX_PATH_TEXT, "%s%s%s", path, *path ? "." : "", key);
}

static mmt_status read_field(struct mmt_place *at, const json_t *object, void *to)
{
    at->value = json_object_get(object, at->field->key);
    if (!at->value && at->field->may_lack)
        return MMT_OK;
    if (!at->value)
        return mmt_fail(at->err, MMT_ERROR_FORMAT, "%s is missing", at->path);
    if (at->field->kind == MMT_FIELD_ELSEWHERE)
        return MMT_OK;
    return kinds[at->field->kind].read(at, (char *) to + at->field->offset);
}

/* Whether a member that may lack does: all its bytes are 0. */
static bool lacks_field(const struct mmt_field *field, const void *from)
{
    const char *bytes = (const char *) from + field->offset;
    if (field->kind == MMT_FIELD_OUT)
        return !mmt_type_has_choice(((const mmt_problem *) from)->type);
    return field->may_lack && !bytes[0] && !memcmp(bytes, bytes + 1, field->size - 1);
}

static void tell_unknown(const struct mmt_field *fields, const json_t *object,
                         const char *path, struct mmt_text *warnings)
{
    void *iter = json_object_iter((json_t *) object);
    for (; iter; iter = json_object_iter_next((json_t *) object, iter)) {
        const struct mmt_field *field = fields;
        while (field->key && strcmp(field->key, json_object_iter_key(iter)) != 0)
            field++;
        if (field->key)
            continue;

        char shown[64];
        json_t *key = json_string(json_object_iter_key(iter));
        mmt_json_show(key, shown, sizeof shown);
        json_decref(key);
        mmt_json_warn(warnings, "%s has an unknown key %s, which is ignored",
                      *path ? path : "the profile", shown);
    }
}

mmt_status mmt_fields_read(const struct mmt_field *fields, const json_t *object,
                           const char *path, void *to, struct mmt_text *warnings,
                           mmt_error *err)
{
    if (!json_is_object(object)) {
        struct mmt_place whole = { NULL, *path ? path : "the file", object, warnings,
                                   err };
        return mmt_place_wrong(&whole, "an object");
    }
    for (const struct mmt_field *field = fields; field->key; field++) {
        char name[MAX_PATH_TEXT];
        join_path(name, path, field->key);
        struct mmt_place at = { field, name, NULL, warnings, err };
        mmt_status status = read_field(&at, object, to);
        if (status)
            return status;
    }
    tell_unknown(fields, object, path, warnings);
    return MMT_OK;
}

mmt_status mmt_fields_write(const struct mmt_field *fields, json_t *object,
                            const char *path, const void *from, mmt_error *err)
{
    for (const struct mmt_field *field = fields; field->key; field++) {
        if (field->kind == MMT_FIELD_ELSEWHERE || lacks_field(field, from))
            continue;

        char name[MAX_PATH_TEXT];
        join_path(name, path, field->key);
        mmt_error why = { 0 };
        struct mmt_place at = { field, name, NULL, NULL, &why };
        json_t *value =
            kinds[field->kind].write(&at, (const char *) from + field->offset);
        if (json_object_set_new(object, field->key, value))
            return mmt_fail(err, why.status ? why.status : MMT_ERROR_MEMORY, "%s",
                            why.status ? why.text : "out of memory writing a profile");
    }
    return MMT_OK;
}
