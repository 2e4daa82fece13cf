/* What is asked of NVML, and what is made of its answers: cards that are not there
 * (tests/emulation/fake/card), and NVML as the program's word says.
 *
 *     test_health whole|old|late|poor|none */
#include <math.h>
#include <unistd.h>

#include "device/device.h"
#include "tests/support/test.h"

static char cards[] = "/tmp/mmtune-cards-XXXXXX";

/* The cards from now on. */
static void deal(const char *lines)
{
    FILE *file = fopen(cards, "w");
    if (!CHECK(file != NULL))
        return;
    fputs(lines, file);
    fclose(file);
}

static mmt_device *open_card(const char *name)
{
    mmt_device *device = mmt_device_open(name, &err);
    if (!CHECK(device != NULL)) {
        fprintf(stderr, "    %s: %s\n", name, err.text);
        exit(1);
    }
    return device;
}

/* Health as the device tells it; something else stands there before. */
static struct mmt_health ask(mmt_device *device, bool told)
{
    struct mmt_health health;
    memset(&health, 0x55, sizeof health);
    CHECK(mmt_device_health(device, &health) == told);
    return health;
}

static bool is_nothing(const struct mmt_health *health)
{
    return health->celsius == 0 && health->clock_mhz == 0 && !health->throttled &&
           !health->why[0];
}

/* MHz and degrees, as they change. */
static void test_figures(void)
{
    deal("0000:65:00.0 50 1980 0\n");
    SCOPED_DEVICE *device = open_card("cuda:0");
    struct mmt_health now = ask(device, true);
    CHECK(now.celsius == 50 && now.clock_mhz == 1980 && !now.throttled && !now.why[0]);
    deal("0000:65:00.0 91 705 0x20\n");
    now = ask(device, true);
    CHECK(now.celsius == 91 && now.clock_mhz == 705 && now.throttled);
    CHECK_EQ_STR(now.why, "thermal");
    deal("0000:65:00.0 60 1755 0\n");
    now = ask(device, true);
    CHECK(now.celsius == 60 && now.clock_mhz == 1755 && !now.throttled && !now.why[0]);
}

/* Which of NVML's reasons slow a kernel down, and which is told of several. Rest, clocks
 * that somebody set, boosting in step, display clocks, and bits of the future do not. */
static void test_reasons(void)
{
    static const struct {
        unsigned bits;
        const char *why;
    } known[] = {
        { 0x4, "power cap" },
        { 0x8, "hardware slowdown" },
        { 0x80, "power brake" },
        { 0x20, "thermal" },
        { 0x40, "thermal (hardware)" },
        { 0x80 | 0x8, "power brake" },
        { 0x4 | 0x20 | 0x1, "thermal" },
        { 0x40 | 0x8 | 0x4, "thermal (hardware)" },
    };
    deal("0000:65:00.0 50 1980 0\n");
    SCOPED_DEVICE *device = open_card("cuda:0");
    int gravest = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char line[64];
        snprintf(line, sizeof line, "0000:65:00.0 50 1980 %#x\n", known[i].bits);
        deal(line);
        struct mmt_health now = ask(device, true);
        CHECK_EQ_STR(now.why, known[i].why);
        if (i < 5)
            CHECK(now.throttled > gravest);
        gravest = now.throttled;
    }
    deal("0000:65:00.0 50 1980 0xe13\n");
    struct mmt_health now = ask(device, true);
    CHECK(!now.throttled && !now.why[0]);
}

/* NVML is asked for the card that CUDA names, whatever their order. */
static void test_several(void)
{
    deal("0000:b3:00.0 31 1001 0\n"
         "0000:17:00.0 92 502 0x20\n"
         "0001:17:00.0 33 1003 0x4\n");
    for (int i = 0; i < 3; i++) {
        static const double celsius[] = { 31, 92, 33 }, mhz[] = { 1001, 502, 1003 };
        static const char *const why[] = { "", "thermal", "power cap" };
        char name[16];
        snprintf(name, sizeof name, "cuda:%d", i);
        SCOPED_DEVICE *device = open_card(name);
        struct mmt_health now = ask(device, true);
        CHECK(now.celsius == celsius[i] && now.clock_mhz == mhz[i]);
        CHECK_EQ_STR(now.why, why[i]);
    }
}

/* What a card does not tell leaves the rest as it is; a lost one tells nothing. */
static void test_refusals(void)
{
    deal("0000:65:00.0 50 1980 0x4\n");
    SCOPED_DEVICE *device = open_card("cuda:0");
    ask(device, true);
    deal("0000:65:00.0 -3 1980 0x4\n");
    struct mmt_health now = ask(device, true);
    CHECK(now.celsius == 0 && now.clock_mhz == 1980 && now.throttled);
    deal("0000:65:00.0 50 -3 0x4\n");
    now = ask(device, true);
    CHECK(now.celsius == 50 && now.clock_mhz == 0 && now.throttled);
    deal("0000:65:00.0 50 1980 -3\n");
    now = ask(device, true);
    CHECK(now.celsius == 50 && now.clock_mhz == 1980 && !now.throttled && !now.why[0]);
    deal("0000:65:00.0 -15 -15 -15\n");
    now = ask(device, false);
    CHECK(is_nothing(&now));
    deal("0000:65:00.0 50 1980 0\n"); /* found again */
    now = ask(device, true);
    CHECK(now.celsius == 50 && now.clock_mhz == 1980);
}

static void check_silent(const char *lines)
{
    deal(lines);
    SCOPED_DEVICE *device = open_card("cuda:0");
    for (int i = 0; i < 2; i++) {
        struct mmt_health now = ask(device, false);
        CHECK(is_nothing(&now));
    }
}

/* NVML does not start, or does not know the card. */
static void test_absent(void)
{
    check_silent("0000:65:00.0 50 1980 0x4\ndown\n");
    check_silent("0000:65:00.0\n0000:66:00.0 50 1980 0x4\n");
}

/* The gravest of several answers, and who does not tell hides nothing. */
static void test_adding(void)
{
    const struct mmt_health silent = { 0 }, capped = { 70, 1500, 1, "power cap" };
    const struct mmt_health hot = { 90, 1600, 4, "thermal" }, cool = { 40, 1900, 0, "" };
    struct mmt_health all = { 0 };
    mmt_health_add(&all, &cool);
    mmt_health_add(&all, &silent);
    CHECK(all.celsius == 40 && all.clock_mhz == 1900 && !all.throttled);
    mmt_health_add(&all, &capped);
    CHECK_EQ_STR(all.why, "power cap");
    mmt_health_add(&all, &hot);
    mmt_health_add(&all, &capped);
    CHECK_EQ_STR(all.why, "thermal");
    CHECK(all.celsius == 90 && all.clock_mhz == 1500 && all.throttled == 4);
}

/* Joules by the counter, which begins at 5000 there, or by the power since the host's
 * clock began. */
static void test_energy(bool has_counter)
{
    struct mmt_energy first, next;
    deal("0000:65:00.0 50 1980 0\n");
    SCOPED_DEVICE *device = open_card("cuda:0");
    CHECK(!mmt_device_energy(device, &first) && first.joules == 0);
    setenv("MMT_FAKE_WATTS", "250 0", 1);
    CHECK(mmt_device_energy(device, &first));
    CHECK(fabs(first.joules - (has_counter ? 5000 : 250 * first.at)) < 1e-3);
    do
        CHECK(mmt_device_energy(device, &next));
    while (next.joules == first.joules && !test_failures);
    CHECK(next.joules > first.joules && next.at > first.at);
    deal("0000:66:00.0 50 1980 0\n");
    CHECK(!mmt_device_energy(device, &next));
    unsetenv("MMT_FAKE_WATTS");
}

/* NVML before drivers 535, and one without what is deprecated. */
static void test_version(bool has_temperature)
{
    deal("0000:65:00.0 50 1980 0x20\n");
    SCOPED_DEVICE *device = open_card("cuda:0");
    struct mmt_health now = ask(device, true);
    CHECK_EQ_INT((int) now.celsius, has_temperature ? 50 : 0);
    CHECK(now.clock_mhz == 1980 && now.throttled);
    CHECK_EQ_STR(now.why, "thermal");
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "none";
    int file = mkstemp(cards);
    if (!CHECK(file >= 0))
        return test_end("health");
    close(file);
    setenv("MMT_FAKE_CARDS", cards, 1);
    if (!strcmp(which, "whole")) {
        test_figures();
        test_reasons();
        test_several();
        test_refusals();
        test_absent();
        test_adding();
        test_energy(true);
    } else if (!strcmp(which, "old") || !strcmp(which, "late")) {
        test_version(!strcmp(which, "old"));
        test_energy(!strcmp(which, "late"));
    } else {
        check_silent("fffe:65:00.0 50 1980 0x20\n"); /* no machine's own NVML knows it */
    }
    unlink(cards);
    return test_end(which);
}
