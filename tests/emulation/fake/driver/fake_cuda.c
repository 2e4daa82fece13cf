/* The driver's context functions, for a device that needs none: contexts are counted, and
 * the fake cuBLASLt asks whether one is current, and says what its products take. */
extern double fake_seconds;
double fake_seconds;
void fake_work(double seconds);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);

static int primary, retained;
static void *current;

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? 0 : 101;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    retained++;
    *context = &primary;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return retained-- > 0 ? 0 : 201;
}

int cuCtxGetCurrent(void **context)
{
    *context = current;
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    current = context;
    return 0;
}

void fake_work(double seconds)
{
    fake_seconds += seconds;
}
