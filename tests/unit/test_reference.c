/* cuBLASLt's calls, on a machine that need have no GPU: a device in host memory, and a
 * fake cuBLASLt that does what the documentation of the real one says. Time passes while
 * the fake multiplies, and else never. */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>

#include "base/clock.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/bench/reference.h"
#include "tuner/verify/session_internal.h"

static struct mmt_backend backend;
static const double *fake_seconds; /* of the stand-in driver */

double mmt_now(void)
{
    return *fake_seconds;
}

/* The null device, which keeps its memory on the host, under CUDA's name. */
static mmt_device *open_device(void)
{
    mmt_device *device = mmt_device_open("null:", &err);

    if (!CHECK_MADE(device))
        exit(test_end("reference"));
    backend = *device->backend;
    backend.name = "cuda";
    device->backend = &backend;
    snprintf(device->id, sizeof device->id, "cuda:0");
    snprintf(device->caps.backend, sizeof device->caps.backend, "cuda");
    device->caps.cache = 1 << 16;
    return device;
}

static bool agrees(const struct mmt_session *session, const void *c)
{
    const mmt_problem *p = &session->problem;
    for (int i = 0; i < session->num_samples; i++) {
        const struct mmt_sample *s = &session->samples[i];
        size_t place = (size_t) (s->batch * p->stride_c + s->i * p->ldc + s->j);
        if (!mmt_oracle_agrees(p->out, (const char *) c + place * mmt_type_size(p->out),
                               s->answer))
            return false;
    }
    return true;
}

static void check_way(void *self, struct mmt_session *session, int way)
{
    const struct mmt_reference *cublas = &mmt_reference_cublas;
    const mmt_problem *p = &session->problem;
    size_t size = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->out);
    unsigned char *c = malloc(size);
    double seconds = 0;

    memset(c, 0xff, size);
    CHECK_OK(
        mmt_buffer_write(session->device, mmt_session_args(session, 0).c, c, size, &err),
        err);
    CHECK_OK(mmt_reference_run(cublas, self, session, way, 0, 1, &seconds, &err), err);
    CHECK(fabs(seconds - (way ? 0.5e-3 : 2e-3)) < 1e-9);
    CHECK_OK(mmt_reference_result(cublas, self, session, c, &err), err);
    CHECK(agrees(session, c));
    free(c);
}

static void check_problem(mmt_device *device, void *self, const mmt_problem *problem)
{
    const struct mmt_reference *cublas = &mmt_reference_cublas;
    struct mmt_text first = { 0 }, best = { 0 };
    struct mmt_session *session = mmt_session_create(device, problem, 7, &err);

    if (!CHECK_MADE(session))
        return;
    CHECK(cublas->refuse(self, &session->problem) == NULL);
    if (CHECK_OK(cublas->prepare(self, session, INFINITY, &err), err)) {
        check_way(self, session, 0);
        check_way(self, session, 1);
        cublas->describe(self, 0, &first);
        cublas->describe(self, 1, &best);
        CHECK_EQ_STR(mmt_text_string(&first), "algorithm 1 of 4");
        CHECK_EQ_STR(mmt_text_string(&best), "algorithm 3 of 4");
    }
    cublas->forget(self);
    mmt_text_finish(&first);
    mmt_text_finish(&best);
    mmt_session_free(session);
}

static mmt_problem make_problem(mmt_type type, int transposes, bool odd, int64_t batch)
{
    mmt_problem p = mmt_gemm_problem(type, 19, 34, 27);
    p.trans_a = transposes & 1;
    p.trans_b = transposes >> 1;
    p.lda = odd ? 41 : 0;
    p.ldb = odd ? 43 : 0;
    p.ldc = odd ? 35 : 0;
    p.batch = batch;
    p.stride_a = batch > 1 ? 41 * 27 + 5 : 0;
    p.stride_b = batch > 1 ? 43 * 34 + 1 : 0;
    return p;
}

/* Every layout in f32, and for the other types one that has everything. */
static void check_all(mmt_device *device, void *self)
{
    for (int transposes = 0; transposes < 4; transposes++) {
        mmt_problem p = make_problem(MMT_F64, transposes, true, 3);
        check_problem(device, self, &p);
        for (int variant = 0; variant < 4; variant++) {
            p = make_problem(MMT_F32, transposes, variant & 1, variant & 2 ? 3 : 1);
            check_problem(device, self, &p);
        }
    }
    for (mmt_type type = MMT_BF16; type <= MMT_I8; type++)
        for (mmt_type out = MMT_F32; out <= MMT_I8; out++) {
            mmt_problem p = make_problem(type, 2, true, 1); /* nt, which f8 needs */
            p.out = out;
            if (type != MMT_F8E5M2 && mmt_type_in(out, mmt_type_outputs(type)))
                check_problem(device, self, &p);
        }
}

static void check_refused(void *self, const char *spelled, const char *words)
{
    mmt_problem p = problem_of(spelled);
    const char *why = mmt_reference_cublas.refuse(self, &p);
    CHECK(why && strstr(why, words));
}

static void check_all_refused(void *self)
{
    check_refused(self, "gemm i32 nn 4x4x4", "32-bit whole numbers");
    check_refused(self, "gemm f8e5m2 nt 4x4x4", "f8e5m2");
    check_refused(self, "gemm f8e4m3 nn 4x4x4", "transposes nt alone");
    check_refused(self, "gemm f8e4m3 tt 4x4x4", "transposes nt alone");
    check_refused(self, "gemm bf16 nn 4x4x4 bias=row", "not compared");
}

int main(void)
{
    void *self = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    fake_seconds = driver ? dlsym(driver, "fake_seconds") : NULL;
    if (!CHECK(fake_seconds))
        return test_end("reference");
    SCOPED_DEVICE *device = open_device();
    struct mmt_text text = { 0 };

    if (CHECK_OK(mmt_reference_cublas.open(device, &self, &err), err)) {
        mmt_reference_cublas.describe(self, 0, &text);
        CHECK_EQ_STR(mmt_text_string(&text), "cuBLASLt 13.1.0");
        check_all(device, self);
        check_all_refused(self);
        mmt_reference_cublas.close(self);
    }
    mmt_text_finish(&text);
    CHECK_FAILS(mmt_reference_clblast.open(device, &self, &err), err,
                MMT_ERROR_UNSUPPORTED, "CLBlast runs on OpenCL devices");
    CHECK_FAILS(mmt_reference_openblas.open(device, &self, &err), err,
                MMT_ERROR_UNSUPPORTED, "OpenBLAS runs on CPUs");
    CHECK(mmt_reference_find("cublas", &err) == &mmt_reference_cublas);
    CHECK(!mmt_reference_find("mkl", &err));
    CHECK(strstr(err.text, "'mkl'") && strstr(err.text, "openblas"));
    return test_end("reference");
}
