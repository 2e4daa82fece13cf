/* mmtune.hpp, built as C++11 without run-time types: exceptions, moves, and that each
 * class does what the functions behind it do. On the null device, and where there is
 * OpenCL, on its first one. */
#include <mmtune/mmtune.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/test.h"

template <class T> constexpr bool moves_alone()
{
    return std::is_nothrow_move_constructible<T>::value &&
           std::is_nothrow_move_assignable<T>::value &&
           !std::is_copy_constructible<T>::value && !std::is_copy_assignable<T>::value;
}

static_assert(moves_alone<mmt::device>(), "a device moves");
static_assert(moves_alone<mmt::buffer>(), "a buffer moves");
static_assert(moves_alone<mmt::profile>(), "a profile moves");
static_assert(moves_alone<mmt::plan>(), "a plan moves");
static_assert(moves_alone<mmt::blas>(), "a handle moves");

static const mmt_blas_transpose no = MMT_NO_TRANSPOSE;

/* ---- exceptions ----------------------------------------------------------------------
 */

template <class F>
static void check_throws(F call, mmt_status status, int argument, const char *words)
{
    try {
        call();
    } catch (const mmt::error &e) {
        CHECK_EQ_INT(e.status(), status);
        CHECK_EQ_INT(e.argument(), argument);
        if (!CHECK(std::strstr(e.what(), words)))
            std::fprintf(stderr, "    %s\n", e.what());
        return;
    }
    CHECK(!"nothing was thrown");
}

static void test_exceptions(const mmt::device &device)
{
    const mmt::blas blas(device);
    float x[4] = {};

    check_throws([] { mmt::device none("cuda:x"); }, MMT_ERROR_ARGUMENT, 0, "cuda:x");
    check_throws([&] { mmt::buffer none(device, 0); }, MMT_ERROR_ARGUMENT, 0,
                 "at least 1 byte");
    check_throws([] { mmt::profile::load("/nowhere/p.json"); }, MMT_ERROR_NOT_FOUND, 0,
                 "/nowhere/p.json");
    check_throws([&] { mmt::plan none(device, mmt_gemm_problem(MMT_F32, -1, 1, 1)); },
                 MMT_ERROR_ARGUMENT, MMT_BLAS_M, "m is -1");
    check_throws(
        [&] { mmt::gemm(blas, MMT_ROW_MAJOR, no, no, 2, 2, 2, 1, x, 1, x, 2, 0, x, 2); },
        MMT_ERROR_ARGUMENT, MMT_BLAS_LDA, "argument 9, lda, is 1");
    try {
        mmt::profile::load("/nowhere/p.json");
    } catch (const std::exception &e) {
        CHECK(*e.what());
    }
}

/* ---- moves ---------------------------------------------------------------------------
 */

static void test_moves(const mmt::device &device)
{
    mmt::device first("null"), second(std::move(first));
    CHECK(!first.get() && second.get());
    first = std::move(second);
    CHECK(first.get() && !second.get());
    CHECK_EQ_STR(first.name().c_str(), "Null device (null)");
    const mmt::device adopted = mmt::device::adopt(mmt_device_open("null", nullptr));
    CHECK(adopted.get());

    mmt::buffer a(device, 16), b(device, 32);
    const std::uint64_t was = a.at().handle;
    mmt::buffer c(std::move(a));
    CHECK(c.at().handle == was && c.size() == 16 && !a.at().handle && !a.size());
    b = std::move(c);
    CHECK(b.at().handle == was && b.size() == 16);
    CHECK(b.at(8).offset == 8);
    std::vector<mmt::buffer> many;
    for (std::size_t i = 1; i < 10; i++)
        many.emplace_back(device, i);
    CHECK(many[8].size() == 9);

    mmt::blas handle(device), taken(std::move(handle));
    CHECK(!handle.get() && taken.get());
    check_throws(
        [&] {
            float x = 1;
            mmt::gemm(handle, MMT_ROW_MAJOR, no, no, 1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1);
        },
        MMT_ERROR_ARGUMENT, MMT_BLAS_HANDLE, "mmt_blas_create");
}

/* ---- what the classes do -------------------------------------------------------------
 */

static void test_profile(const mmt::device &device)
{
    const mmt::profile none, found = mmt::profile::find(device);
    CHECK(!none && !none.get() && none.warnings().empty());
    const std::string path =
        std::string(test_source_root()) + "/tests/data/profiles/good/small.json";
    const mmt::profile loaded = mmt::profile::load(path);
    CHECK(static_cast<bool>(loaded));
}

static void test_plan(const mmt::device &device)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.configuration = "split_naive";
    const mmt::plan plan(device, mmt_gemm_problem(MMT_F32, 8, 8, 64), mmt::profile(),
                         options);
    CHECK(plan.describe().find("split_naive") != std::string::npos);
    CHECK(plan.describe().back() != '\0');
    CHECK(plan.workspace() > 0);

    const mmt::buffer x(device, 4096), workspace(device, plan.workspace());
    mmt_args args = mmt_args_defaults();
    args.a = args.b = x, args.c = x.at(2048);
    check_throws([&] { plan.execute(args); }, MMT_ERROR_ARGUMENT, 0, "workspace is null");
    args.workspace = workspace;
    plan.execute(args);
    device.finish();
}

template <class T> static void test_host(const mmt::blas &blas)
{
    const T a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 1, 0, 0, 1, 2, 3 };
    T c[4] = { 1, 1, 1, 1 };
    const T right[4] = { 17, 25, 35, 49 };
    mmt::gemm(blas, MMT_ROW_MAJOR, no, no, 2, 2, 3, 2, a, 3, b, 2, 3, c, 2);
    CHECK(!std::memcmp(c, right, sizeof right));
}

static void test_device(const mmt::device &device)
{
    const mmt::blas blas(device);
    const float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    mmt::buffer a(device, sizeof ones), c(device, sizeof ones);
    float got[8];

    a.write(ones, sizeof ones);
    c.write(ones, sizeof ones);
    mmt::gemm(blas, MMT_F32, MMT_COLUMN_MAJOR, no, no, 2, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    c.read(got, sizeof got);
    CHECK(got[0] == 3 && got[3] == 3 && got[4] == 1);
    mmt::gemm_batched(blas, MMT_F32, MMT_COLUMN_MAJOR, no, no, 2, 2, 2, 1, a, 2, 4, a, 2,
                      0, 0, c, 2, 4, 2);
    c.read(got, 4 * sizeof(float), 4 * sizeof(float));
    CHECK(got[0] == 2 && got[3] == 2);
    blas.forget(nullptr);
    test_host<float>(blas);
    test_host<std::int32_t>(blas);
}

int main()
{
    const mmt::device null("null");
    test_exceptions(null);
    test_moves(null);
    test_profile(null);
    test_plan(null);
    try {
        test_device(mmt::device("opencl:0"));
    } catch (const mmt::error &e) {
        if (!CHECK(e.status() == MMT_ERROR_NOT_FOUND))
            std::fprintf(stderr, "%s\n", e.what());
    }
    return test_end("C++");
}
