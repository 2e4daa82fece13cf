/* Two products of matrices in device memory, C = A A and C = C + A A, in C++11.
 *
 *     c++ 05_cpp.cpp $(pkg-config --cflags --libs mmtune) && ./a.out [DEVICE]
 *
 * The second call finds the first one's plan. What fails throws, and all that was made is
 * freed. */
#include <cstdio>
#include <mmtune/mmtune.hpp>
#include <vector>

static const int size = 200, skip = 77;

static void multiply(const mmt::blas &blas, const mmt::buffer &a, double beta,
                     const mmt::buffer &c)
{
    mmt::gemm(blas, MMT_F32, MMT_ROW_MAJOR, MMT_NO_TRANSPOSE, MMT_NO_TRANSPOSE, size,
              size, size, 1, a, size, a, size, beta, c, size);
}

/* With A all ones, each element of C is the sum of two rows of ones. */
static int count_wrong(const std::vector<float> &c)
{
    int wrong = 0;
    for (float x : c)
        wrong += x != 2 * size;
    return wrong;
}

static int run(const char *name)
{
    const mmt::device device(name);
    const mmt::blas blas(device);
    const std::size_t bytes = sizeof(float) * size * size;
    mmt::buffer a(device, bytes), c(device, bytes);
    std::vector<float> numbers(size * size, 1);

    a.write(numbers.data(), bytes);
    multiply(blas, a, 0, c);
    multiply(blas, a, 1, c);
    c.read(numbers.data(), bytes);
    const int wrong = count_wrong(numbers);
    std::printf("%s: %d of %zu elements are wrong\n", device.name().c_str(), wrong,
                numbers.size());
    return wrong != 0;
}

int main(int argc, char **argv)
{
    try {
        return run(argc > 1 ? argv[1] : nullptr);
    } catch (const mmt::error &e) {
        std::printf("%s: %s\n", mmt_status_name(e.status()), e.what());
        return e.status() == MMT_ERROR_NOT_FOUND ? skip : 1;
    }
}
