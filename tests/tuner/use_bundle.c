/* A program that ships a bundle: use_bundle DEVICE FILE M N K [M N K]... It plans an f32
 * product of each shape, executes it and checks the result; "none" is no file. With
 * -DEMBEDDED the bundle is compiled in, as app.c, and FILE is not read. Exits with 0
 * where the result is right, with 3 where the library refuses, and says why. */
#include <mmtune/mmtune.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EMBEDDED
extern const uint64_t app[];
extern const size_t app_size;
#endif

static int refuse(const char *what, const mmt_error *err)
{
    printf("%s: %s: %s\n", what, mmt_status_name(err->status), err->text);
    return 3;
}

static mmt_profile *load(const char *path, mmt_error *err)
{
#ifdef EMBEDDED
    return mmt_profile_parse((const char *) app, app_size, err);
#else
    return mmt_profile_load(path, err);
#endif
}

/* Small whole numbers: every sum is exact. */
static void fill(float *a, int count, int seed)
{
    for (int i = 0; i < count; i++)
        a[i] = (float) ((i * 7 + seed) % 11 - 5);
}

static int count_wrong(const float *a, const float *b, const float *c, int m, int n,
                       int k)
{
    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * b[l * n + j];
            wrong += c[i * n + j] != sum;
        }
    return wrong;
}

/* Plans the product, executes it and checks the result; 0 where it is right. */
static int multiply(mmt_device *device, const mmt_profile *profile, int m, int n, int k)
{
    const size_t sizes[] = { (size_t) (m * k) * 4, (size_t) (k * n) * 4,
                             (size_t) (m * n) * 4 };
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, m, n, k);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_error err;
    char text[1024];
    options.own_workspace = 1;
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, &err);
    if (!plan)
        return refuse("plan", &err);
    mmt_plan_describe(plan, text, sizeof text);
    printf("%s\n", text);

    float *host[3];
    mmt_operand on_device[3];
    for (int i = 0; i < 3; i++) {
        host[i] = malloc(sizes[i]);
        fill(host[i], (int) (sizes[i] / 4), i);
        if (mmt_buffer_create(device, sizes[i], &on_device[i], &err) ||
            mmt_buffer_write(device, on_device[i], host[i], sizes[i], &err))
            return refuse("memory", &err);
    }
    mmt_args args = mmt_args_defaults();
    args.a = on_device[0], args.b = on_device[1], args.c = on_device[2];
    if (mmt_execute(plan, &args, NULL, &err) ||
        mmt_buffer_read(device, host[2], on_device[2], sizes[2], &err))
        return refuse("execute", &err);
    const int wrong = count_wrong(host[0], host[1], host[2], m, n, k);
    printf("%d of %d elements are wrong\n", wrong, m * n);
    for (int i = 0; i < 3; i++) {
        mmt_buffer_free(device, on_device[i]);
        free(host[i]);
    }
    mmt_plan_free(plan);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    mmt_error err;
    int code = 0;
    if (argc < 6 || argc % 3) {
        printf("usage: use_bundle DEVICE FILE M N K [M N K]...\n");
        return 2;
    }
    mmt_device *device = mmt_device_open(argv[1], &err);
    if (!device)
        return refuse("device", &err);
    const bool none = !strcmp(argv[2], "none");
    mmt_profile *profile = none ? NULL : load(argv[2], &err);
    if (!profile && !none)
        return refuse("bundle", &err);
    for (int i = 3; i < argc && !code; i += 3)
        code = multiply(device, profile, atoi(argv[i]), atoi(argv[i + 1]),
                        atoi(argv[i + 2]));
    mmt_profile_free(profile);
    mmt_device_close(device);
    return code;
}
