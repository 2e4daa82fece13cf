#include "tests/support/noting.h"

#include "tests/support/test.h"

struct noted noted;
mmt_device *noting_device;
mmt_error noting_error;

/* ---- a backend that notes --------------------------------------------------------- */

static void note(char what)
{
    const size_t length = strlen(noted.trace);
    if (CHECK(length + 1 < sizeof noted.trace))
        noted.trace[length] = what;
}

static mmt_status buffer_create(mmt_device *on, size_t bytes, mmt_operand *out,
                                mmt_error *why)
{
    if (noted.no_memory)
        return mmt_fail(why, MMT_ERROR_MEMORY, "no memory");
    note('c');
    noted.made = bytes;
    return mmt_backend_null.buffer_create(on, bytes, out, why);
}

static void buffer_free(mmt_device *on, mmt_operand buffer)
{
    note('f');
    mmt_backend_null.buffer_free(on, buffer);
}

static mmt_status buffer_write(mmt_device *on, mmt_operand to, const void *from,
                               size_t bytes, mmt_error *why)
{
    note('u');
    return mmt_backend_null.buffer_write(on, to, from, bytes, why);
}

static mmt_status matrix_write(mmt_device *on, mmt_operand to, const void *from,
                               const struct mmt_pitched *rows, mmt_error *why)
{
    note('u');
    noted.rows[noted.num_rows++ % 4] = *rows;
    return mmt_backend_null.matrix_write(on, to, from, rows, why);
}

static mmt_status buffer_read(mmt_device *on, void *to, mmt_operand from, size_t bytes,
                              mmt_error *why)
{
    note('r');
    return mmt_backend_null.buffer_read(on, to, from, bytes, why);
}

static mmt_status matrix_read(mmt_device *on, void *to, mmt_operand from,
                              const struct mmt_pitched *rows, mmt_error *why)
{
    note('r');
    return mmt_backend_null.matrix_read(on, to, from, rows, why);
}

static mmt_status finish(mmt_device *on, mmt_queue queue, mmt_error *why)
{
    note('w');
    noted.finished = queue;
    return MMT_OK;
}

static mmt_status buffer_check(mmt_device *on, mmt_operand operand, mmt_argument which,
                               uint64_t bytes, mmt_error *why)
{
    if (CHECK((int) which < MOST))
        noted.needed[which] = bytes;
    return MMT_OK;
}

static mmt_status tensor_map_encode(mmt_device *on, const struct mmt_tensor *tensor,
                                    struct mmt_tensor_map *out, mmt_error *why)
{
    noted.tensors[noted.num_tensors++ % MOST] = *tensor;
    return mmt_backend_null.tensor_map_encode(on, tensor, out, why);
}

static void note_value(struct launch *to, const struct mmt_value *value)
{
    if (value->kind == MMT_VALUE_BUFFER && to->num_buffers < MOST_BUFFERS)
        to->buffers[to->num_buffers++] = value->buffer;
    if (value->kind == MMT_VALUE_I32 && to->num_ints < MOST_INTS)
        to->ints[to->num_ints++] = value->i32;
    if (value->kind == MMT_VALUE_F32 && to->num_scalars < 2)
        to->scalars[to->num_scalars++] = value->f32;
}

static mmt_status launch(struct mmt_function *function, const unsigned grid[3],
                         const struct mmt_value *values, int count, enum mmt_order order,
                         mmt_queue queue, struct mmt_events *events, mmt_error *why)
{
    void (*const meanwhile)(void) = noted.meanwhile;
    struct launch *to = &noted.launches[noted.count % MOST];

    note('l');
    *to = (struct launch){
        .function = function, .queue = queue, .order = order, .batch = grid[2]
    };
    for (int i = 0; i < count; i++)
        note_value(to, &values[i]);
    noted.count++;
    noted.meanwhile = NULL;
    if (meanwhile)
        meanwhile();
    return MMT_OK;
}

void noted_forget(void)
{
    memset(&noted, 0, sizeof noted);
}

uint64_t noted_workspace(int number)
{
    const struct launch *it = &noted.launches[number];
    return it->buffers[it->num_buffers - 1];
}

mmt_plan *noting_plan(mmt_problem problem, const char *configuration, bool own)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.configuration = configuration;
    options.own_workspace = own;
    mmt_plan *plan =
        mmt_plan_create(noting_device, NULL, &problem, &options, &noting_error);
    if (!CHECK(plan))
        fprintf(stderr, "%s\n", noting_error.text);
    return plan;
}

mmt_plan *noting_small_plan(bool own)
{
    return noting_plan(mmt_gemm_problem(MMT_F32, 8, 8, 8), SPLIT, own);
}

float noting_numbers[3][256];

mmt_operand noting_operand(const void *at)
{
    return (mmt_operand){ (uint64_t) (uintptr_t) at, 0 };
}

mmt_args noting_args(void)
{
    mmt_args args = mmt_args_defaults();
    args.a = noting_operand(noting_numbers[0]);
    args.b = noting_operand(noting_numbers[1]);
    args.c = noting_operand(noting_numbers[2]);
    return args;
}

/* ---- the device -------------------------------------------------------------------- */

static struct mmt_backend noting_backend;

bool noting_open(void)
{
    noting_backend = mmt_backend_null;
    noting_backend.buffer_create = buffer_create;
    noting_backend.buffer_free = buffer_free;
    noting_backend.buffer_write = buffer_write;
    noting_backend.buffer_read = buffer_read;
    noting_backend.matrix_write = matrix_write;
    noting_backend.matrix_read = matrix_read;
    noting_backend.finish = finish;
    noting_backend.buffer_check = buffer_check;
    noting_backend.launch = launch;
    noting_backend.tensor_map_encode = tensor_map_encode;
    noting_device = mmt_device_open("null", &noting_error);
    if (noting_device)
        noting_device->backend = &noting_backend;
    return noting_device;
}

void noting_close(void)
{
    mmt_device_close(noting_device);
}
