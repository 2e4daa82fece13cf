/* Parts of a library's own workspace: each is of one handle and one of its streams. */
#include "dropin/cublas/pool.h"

#include "tests/support/test.h"

enum { PART = 300, WHOLE = 512, PARTS = 3, MOST = PARTS * WHOLE + 100 };

static const int handles[2], streams[4];

static void test_parts(struct mmt_pool *pool)
{
    const uint64_t first = mmt_pool_take(pool, &handles[0], &streams[0], PART);
    const uint64_t second = mmt_pool_take(pool, &handles[0], &streams[1], PART);
    const uint64_t third = mmt_pool_take(pool, &handles[1], &streams[0], WHOLE);

    CHECK(first && first == pool->memory.handle);
    CHECK(second == first + WHOLE && third == second + WHOLE);
    CHECK(mmt_pool_take(pool, &handles[0], &streams[0], 1) == first);
    CHECK(mmt_pool_take(pool, &handles[0], &streams[1], PART) == second);
    CHECK(!mmt_pool_take(pool, &handles[0], &streams[0], WHOLE + 1));
    CHECK(!mmt_pool_take(pool, &handles[1], &streams[1], PART));
    CHECK(!mmt_pool_take(pool, &handles[1], &streams[2], PART));
}

/* What is withdrawn is nobody's until it is given. */
static void test_hands(struct mmt_pool *pool)
{
    const unsigned both = mmt_pool_withdraw(pool, &handles[0]);

    CHECK_EQ_INT(both, 3);
    CHECK(!mmt_pool_withdraw(pool, &handles[0]));
    CHECK(!mmt_pool_take(pool, &handles[0], &streams[0], PART));
    CHECK(!mmt_pool_take(pool, &handles[1], &streams[2], PART));
    mmt_pool_give(pool, 2, &handles[0]);
    CHECK(mmt_pool_take(pool, &handles[0], &streams[1], PART) ==
          pool->memory.handle + WHOLE);
    mmt_pool_give(pool, 1, NULL);
    CHECK(mmt_pool_take(pool, &handles[1], &streams[2], PART) == pool->memory.handle);
    CHECK(mmt_pool_take(pool, &handles[1], &streams[0], PART) ==
          pool->memory.handle + 2 * WHOLE);
}

/* A name for many streams has no part; nor has anybody where one does not fit. */
static void test_none(mmt_device *device)
{
    struct mmt_pool pool = { 0 };

    mmt_pool_make(&pool, device, PART, WHOLE - 1);
    CHECK(!mmt_pool_take(&pool, &handles[0], &streams[0], 1));
    mmt_pool_make(&pool, device, PART, WHOLE);
    CHECK(!mmt_pool_take(&pool, &handles[0], (const void *) 2, 1));
    CHECK(mmt_pool_take(&pool, &handles[0], (const void *) 1, 1));
    mmt_buffer_free(device, pool.memory);
}

int main(void)
{
    struct mmt_pool pool = { 0 };
    mmt_error err;
    mmt_device *device = mmt_device_open("null", &err);

    if (CHECK(device)) {
        mmt_pool_make(&pool, device, PART, MOST);
        test_parts(&pool);
        test_hands(&pool);
        test_none(device);
        mmt_buffer_free(device, pool.memory);
    }
    mmt_device_close(device);
    return test_end("pool");
}
