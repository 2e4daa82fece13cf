/* mmtune for C++11: the objects of mmtune.h and blas.h with owners, and exceptions.
 *
 *     mmt::device device("0");
 *     mmt::blas blas(device);
 *     mmt::gemm(blas, MMT_ROW_MAJOR, MMT_NO_TRANSPOSE, MMT_NO_TRANSPOSE, m, n, k,
 *               1, a, lda, b, ldb, 0, c, ldc); // float *, double * or int32_t *
 *
 * Each class owns one object of the C API, which get() lends to its functions. Owners
 * move and are not copied; one that was moved from owns nothing, and serves to be
 * assigned to and destroyed. A device outlives what was made from it: declare it first.
 *
 * What fails throws mmt::error; nothing else is thrown but what std::string throws.
 * Threads may share objects as far as mmtune.h says. All of it is inline, and needs no
 * run-time types.
 */
#ifndef MMTUNE_MMTUNE_HPP
#define MMTUNE_MMTUNE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <mmtune/blas.h>

namespace mmt
{

/* what() is the sentence of an mmt_error. */
class error : public std::runtime_error
{
  public:
    explicit error(const mmt_error &from)
        : std::runtime_error(from.text), status_(from.status), native_(from.native),
          argument_(mmt_blas_argument(&from))
    {
    }

    mmt_status status() const noexcept
    {
        return status_;
    }

    /* The driver's or the system's own code, 0 where there is none. */
    int native() const noexcept
    {
        return native_;
    }

    /* Of a wrong argument its number among a product's, an mmt_blas_number; else 0. */
    int argument() const noexcept
    {
        return argument_;
    }

  private:
    mmt_status status_;
    int native_, argument_;
};

namespace detail
{

inline void check(mmt_status status, const mmt_error &err)
{
    if (status != MMT_OK)
        throw error(err);
}

template <class T> T *check(T *made, const mmt_error &err)
{
    if (!made)
        throw error(err);
    return made;
}

template <class T, void (*Free)(T *)> struct release {
    void operator()(T *object) const noexcept
    {
        Free(object);
    }
};

template <class T, void (*Free)(T *)> using owner = std::unique_ptr<T, release<T, Free>>;

} // namespace detail

/* ---- devices ----------------------------------------------------------------------- */

class device
{
  public:
    /* mmt_device_open; NULL opens "0". */
    explicit device(const char *name = nullptr)
    {
        mmt_error err;
        own_.reset(detail::check(mmt_device_open(name, &err), err));
    }

    /* Becomes the owner of one that was opened otherwise, by mmt_cuda_device or
     * mmt_opencl_device. */
    static device adopt(mmt_device *opened) noexcept
    {
        return device(taken{ opened });
    }

    mmt_device *get() const noexcept
    {
        return own_.get();
    }
    std::string name() const
    {
        return mmt_device_name(get());
    }

    /* Waits until all that was put on the queue is done. */
    void finish(mmt_queue queue = nullptr) const
    {
        mmt_error err;
        detail::check(mmt_finish(get(), queue, &err), err);
    }

  private:
    struct taken {
        mmt_device *opened;
    };
    explicit device(taken from) noexcept : own_(from.opened) {}

    detail::owner<mmt_device, mmt_device_close> own_;
};

/* ---- memory ------------------------------------------------------------------------ */

/* Device memory: at least 1 byte. */
class buffer
{
  public:
    buffer(const device &on, std::size_t bytes) : device_(on.get()), bytes_(bytes)
    {
        mmt_error err;
        detail::check(mmt_buffer_create(device_, bytes, &operand_, &err), err);
    }

    buffer(buffer &&other) noexcept
        : device_(other.device_), operand_(other.operand_), bytes_(other.bytes_)
    {
        other.operand_ = mmt_operand();
        other.bytes_ = 0;
    }

    buffer &operator=(buffer &&other) noexcept
    {
        std::swap(device_, other.device_);
        std::swap(operand_, other.operand_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    ~buffer()
    {
        mmt_buffer_free(device_, operand_);
    }

    std::size_t size() const noexcept
    {
        return bytes_;
    }

    /* As an operand, from an offset in bytes. */
    mmt_operand at(std::size_t offset = 0) const noexcept
    {
        mmt_operand operand = operand_;
        operand.offset += offset;
        return operand;
    }

    /* A buffer is an operand. */
    operator mmt_operand() const noexcept
    {
        return operand_;
    }

    /* Copies between host and device, from an offset in bytes; both wait for the device's
     * own queue and for the copy. */
    void write(const void *from, std::size_t bytes, std::size_t offset = 0)
    {
        mmt_error err;
        detail::check(mmt_buffer_write(device_, at(offset), from, bytes, &err), err);
    }

    void read(void *to, std::size_t bytes, std::size_t offset = 0) const
    {
        mmt_error err;
        detail::check(mmt_buffer_read(device_, to, at(offset), bytes, &err), err);
    }

  private:
    mmt_device *device_;
    mmt_operand operand_;
    std::size_t bytes_;
};

/* ---- profiles and plans ------------------------------------------------------------ */

class profile
{
  public:
    /* None: defaults serve. */
    profile() noexcept {}

    static profile load(const std::string &path)
    {
        mmt_error err;
        return profile(detail::check(mmt_profile_load(path.c_str(), &err), err));
    }

    /* All profiles of the device as one, or none. */
    static profile find(const device &of)
    {
        mmt_error err;
        mmt_profile *found = mmt_profile_find(of.get(), &err);
        if (!found && err.status != MMT_ERROR_NOT_FOUND)
            throw error(err);
        return profile(found);
    }

    explicit operator bool() const noexcept
    {
        return own_ != nullptr;
    }
    mmt_profile *get() const noexcept
    {
        return own_.get();
    }

    /* What was left out while reading, one sentence a line. */
    std::string warnings() const
    {
        return mmt_profile_warnings(get());
    }

    /* Writes what plans measured into the user's folder. */
    void store(const device &of) const
    {
        mmt_error err;
        detail::check(mmt_profile_store(get(), of.get(), &err), err);
    }

  private:
    explicit profile(mmt_profile *made) noexcept : own_(made) {}

    detail::owner<mmt_profile, mmt_profile_free> own_;
};

class plan
{
  public:
    /* The profile and the options need only live until this returns. */
    plan(const device &on, const mmt_problem &problem, const profile &known = profile(),
         const mmt_plan_options &options = mmt_plan_defaults())
    {
        mmt_error err;
        own_.reset(detail::check(
            mmt_plan_create(on.get(), known.get(), &problem, &options, &err), err));
    }

    mmt_plan *get() const noexcept
    {
        return own_.get();
    }

    /* Bytes that each execution in flight needs. */
    std::size_t workspace() const noexcept
    {
        return mmt_plan_workspace(get());
    }

    std::string describe() const
    {
        std::string text(mmt_plan_describe(get(), nullptr, 0), '\0');
        if (!text.empty())
            mmt_plan_describe(get(), &text[0], text.size() + 1);
        return text;
    }

    /* Puts one execution on the queue and returns. */
    void execute(const mmt_args &args, mmt_queue queue = nullptr) const
    {
        mmt_error err;
        detail::check(mmt_execute(get(), &args, queue, &err), err);
    }

  private:
    detail::owner<mmt_plan, mmt_plan_free> own_;
};

/* ---- products in the manner of BLAS ------------------------------------------------ */

class blas
{
  public:
    explicit blas(const device &on, const mmt_blas_options &options = mmt_blas_defaults())
    {
        mmt_error err;
        own_.reset(detail::check(mmt_blas_create(on.get(), &options, &err), err));
    }

    mmt_blas *get() const noexcept
    {
        return own_.get();
    }

    /* Waits for a queue and frees what is kept for it. */
    void forget(mmt_queue queue) const
    {
        mmt_error err;
        detail::check(mmt_blas_forget(get(), queue, &err), err);
    }

  private:
    detail::owner<mmt_blas, mmt_blas_free> own_;
};

/* mmt_gemm: puts one product of matrices in device memory on the queue. */
inline void gemm(const blas &with, mmt_type type, mmt_layout layout,
                 mmt_blas_transpose trans_a, mmt_blas_transpose trans_b, std::int64_t m,
                 std::int64_t n, std::int64_t k, double alpha, mmt_operand a,
                 std::int64_t lda, mmt_operand b, std::int64_t ldb, double beta,
                 mmt_operand c, std::int64_t ldc, mmt_queue queue = nullptr)
{
    mmt_error err;
    detail::check(mmt_gemm(with.get(), type, layout, trans_a, trans_b, m, n, k, alpha, a,
                           lda, b, ldb, beta, c, ldc, queue, &err),
                  err);
}

/* mmt_gemm_batched: `batch` of them at once. */
inline void gemm_batched(const blas &with, mmt_type type, mmt_layout layout,
                         mmt_blas_transpose trans_a, mmt_blas_transpose trans_b,
                         std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                         mmt_operand a, std::int64_t lda, std::int64_t stride_a,
                         mmt_operand b, std::int64_t ldb, std::int64_t stride_b,
                         double beta, mmt_operand c, std::int64_t ldc,
                         std::int64_t stride_c, std::int64_t batch,
                         mmt_queue queue = nullptr)
{
    mmt_error err;
    detail::check(mmt_gemm_batched(with.get(), type, layout, trans_a, trans_b, m, n, k,
                                   alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,
                                   ldc, stride_c, batch, queue, &err),
                  err);
}

/* The mmt_type of a C++ type, of those that have one. */
template <class T> struct type_of;
template <> struct type_of<float> {
    static constexpr mmt_type value = MMT_F32;
};
template <> struct type_of<double> {
    static constexpr mmt_type value = MMT_F64;
};
template <> struct type_of<std::int32_t> {
    static constexpr mmt_type value = MMT_I32;
};

/* mmt_gemm_host: one product of matrices in host memory, of float, double or int32_t.
 * Returns when C is there. */
template <class T>
void gemm(const blas &with, mmt_layout layout, mmt_blas_transpose trans_a,
          mmt_blas_transpose trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
          double alpha, const T *a, std::int64_t lda, const T *b, std::int64_t ldb,
          double beta, T *c, std::int64_t ldc)
{
    const mmt_type type = type_of<T>::value;
    mmt_error err;
    detail::check(mmt_gemm_host(with.get(), type, layout, trans_a, trans_b, m, n, k,
                                alpha, a, lda, b, ldb, beta, c, ldc, &err),
                  err);
}

} // namespace mmt

#endif
