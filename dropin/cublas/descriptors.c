#include "dropin/cublas/descriptors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "dropin/cublas/real.h"

/* ---- by getters ------------------------------------------------------------------ */

static bool ask_layout(void *layout, struct mmt_layout *out)
{
    __typeof__(&cublasLtMatrixLayoutGetAttribute) get =
        MMT_REAL(cublasLtMatrixLayoutGetAttribute);

#define GET(attribute, member)                                                           \
    get(layout, attribute, &out->member, sizeof out->member, NULL)
    memset(out, 0, sizeof *out);
    if (!get || GET(LT_LAYOUT_TYPE, type) || GET(LT_LAYOUT_ORDER, order) ||
        GET(LT_LAYOUT_ROWS, rows) || GET(LT_LAYOUT_COLUMNS, columns) ||
        GET(LT_LAYOUT_LD, ld) || GET(LT_LAYOUT_BATCH, batch) ||
        GET(LT_LAYOUT_STRIDE, stride))
        return false;
    if (GET(LT_LAYOUT_BATCH_MODE, batch_mode)) /* older versions have strides alone */
        out->batch_mode = 0;
    return true;
#undef GET
}

/* A pointer that older versions do not know is none. */
static bool has_pointer(void *desc, int attribute)
{
    __typeof__(&cublasLtMatmulDescGetAttribute) get =
        MMT_REAL(cublasLtMatmulDescGetAttribute);
    const void *pointer = NULL;
    return !get(desc, attribute, &pointer, sizeof pointer, NULL) && pointer;
}

static bool ask_desc(void *desc, struct mmt_desc *out)
{
    __typeof__(&cublasLtMatmulDescGetAttribute) get =
        MMT_REAL(cublasLtMatmulDescGetAttribute);

#define GET(attribute, member)                                                           \
    get(desc, attribute, &out->member, sizeof out->member, NULL)
    memset(out, 0, sizeof *out);
    if (!get || GET(LT_DESC_COMPUTE, compute) || GET(LT_DESC_SCALE, scale) ||
        GET(LT_DESC_POINTER_MODE, pointers) || GET(LT_DESC_TRANS_A, trans_a) ||
        GET(LT_DESC_TRANS_B, trans_b) || GET(LT_DESC_TRANS_C, trans_c) ||
        GET(LT_DESC_FILL, fill) || GET(LT_DESC_EPILOGUE, epilogue) ||
        GET(LT_DESC_BIAS, bias))
        return false;
    if (GET(LT_DESC_BIAS_STRIDE, bias_stride))
        out->bias_stride = 0;
    if (GET(LT_DESC_BIAS_TYPE, bias_type))
        out->bias_type = -1;
    for (int which = LT_DESC_SCALE_A; which <= LT_DESC_AMAX_D; which++)
        out->scales |= has_pointer(desc, which);
    out->emulation = has_pointer(desc, LT_DESC_EMULATION);
    return true;
#undef GET
}

/* ---- by memory ------------------------------------------------------------------- */

/* Words of 8 bytes that descriptors have; those of products have had fewer in versions
 * before 13. */
enum { LAYOUT_WORDS = 8, DESC_WORDS = 32, REMEMBERED = 64 };

/* What one thread remembers. It is no thread-local storage itself: of the static kind an
 * auditor leaves a kilobyte or two for all libraries, and the other kind is allocated on
 * first use. */
struct memory {
    atomic_bool taken;
    struct {
        uint64_t words[LAYOUT_WORDS];
        struct mmt_layout says;
        bool known;
    } layouts[REMEMBERED];
    struct {
        uint64_t words[DESC_WORDS];
        struct mmt_desc says;
        bool known;
    } descs[REMEMBERED];
};

enum { MOST_THREADS = 64 }; /* at once; further ones ask each time */
static struct memory memories[MOST_THREADS];
static _Thread_local struct memory *mine __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* whose destructor gives a thread's memory back */

/* Another thread may go on with what it knows: equal bytes say the same to all. */
static void give_back(void *memory)
{
    mine = NULL;
    atomic_store_explicit(&((struct memory *) memory)->taken, false,
                          memory_order_release);
}

static void make_key(void)
{
    if (pthread_key_create(&key, give_back)) /* then threads keep theirs for good */
        key = (pthread_key_t) -1;
}

static struct memory *take_memory(void)
{
    pthread_once(&once, make_key);
    for (int i = 0; i < MOST_THREADS && !mine; i++)
        if (!atomic_exchange_explicit(&memories[i].taken, true, memory_order_acquire))
            mine = &memories[i];
    if (mine)
        pthread_setspecific(key, mine);
    return mine;
}

static struct memory *find_memory(void)
{
    return mine ? mine : take_memory();
}

/* Four sums side by side, since each waits for itself alone. */
static unsigned place(const uint64_t *words, int count)
{
    uint64_t sums[4] = { 1, 2, 3, 4 };
    for (int i = 0; i < count; i += 4)
        for (int j = 0; j < 4; j++)
            sums[j] = (sums[j] ^ words[i + j]) * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t all = sums[0] ^ sums[1] >> 7 ^ sums[2] >> 13 ^ sums[3] >> 17;
    return (unsigned) (all >> 40) % REMEMBERED;
}

static bool has_long_descs(void)
{
    static atomic_int known; /* 0: not asked yet */
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (!is) {
        __typeof__(&cublasLtGetVersion) version = MMT_REAL(cublasLtGetVersion);
        is = version && version() >= 130000 ? 1 : -1;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is > 0;
}

bool mmt_layout_read(void *layout, struct mmt_layout *out)
{
    uint64_t words[LAYOUT_WORDS];

    if (!layout)
        return false;
    struct memory *memory = find_memory();
    if (!memory)
        return ask_layout(layout, out);
    memcpy(words, layout, sizeof words);
    __typeof__(&memory->layouts[0]) it = &memory->layouts[place(words, LAYOUT_WORDS)];
    if (!it->known || memcmp(it->words, words, sizeof words)) {
        it->known = ask_layout(layout, &it->says);
        memcpy(it->words, words, sizeof words);
    }
    *out = it->says;
    return it->known;
}

bool mmt_desc_read(void *desc, struct mmt_desc *out)
{
    uint64_t words[DESC_WORDS];

    struct memory *memory = find_memory();
    if (!desc || !memory || !has_long_descs())
        return desc && ask_desc(desc, out);
    memcpy(words, desc, sizeof words);
    __typeof__(&memory->descs[0]) it = &memory->descs[place(words, DESC_WORDS)];
    if (!it->known || memcmp(it->words, words, sizeof words)) {
        it->known = ask_desc(desc, &it->says);
        memcpy(it->words, words, sizeof words);
    }
    *out = it->says;
    return it->known;
}
