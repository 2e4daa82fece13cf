/* What device/cubin.c changes in machine code: the operands of double-precision
 * FMAs that it marks to be kept. The instructions are written out here, bit by
 * bit; what NVRTC makes is looked at, too, where it is. */
#include "device/cubin.h"
#include "tests/support/test.h"

#include <elf.h>

struct word {
    uint64_t lower, upper;
};

enum { DFMA = 0x22b, LDS = 0x984, IADD3 = 0x210, ZERO = 255 };

/* One that stalls for two cycles and then lets another warp go. */
static struct word instruction(unsigned opcode, unsigned to, unsigned a, unsigned b,
                               unsigned c)
{
    return (struct word){
        opcode | 7u << 12 | to << 16 | (uint64_t) a << 24 | (uint64_t) b << 32,
        c | (uint64_t) 2 << 41 | (uint64_t) 7 << 46 | (uint64_t) 7 << 49,
    };
}

static unsigned kept(struct word w)
{
    return w.upper >> 58 & 7;
}

static bool yields(struct word w)
{
    return !(w.upper >> 45 & 1);
}

/* ---- a file of one section ------------------------------------------------------- */

enum { MOST = 8 };

struct image {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
    char names[16];
    struct word code[MOST];
};

/* Keeps the operands of `count` instructions, in place. */
static void keep(struct word *code, int count)
{
    struct image image = { .names = "" };
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_shoff = offsetof(struct image, sections);
    image.header.e_shentsize = sizeof(Elf64_Shdr);
    image.header.e_shnum = 2;
    image.sections[0].sh_type = SHT_STRTAB;
    image.sections[0].sh_offset = offsetof(struct image, names);
    image.sections[0].sh_size = sizeof(image.names);
    image.sections[1].sh_type = SHT_PROGBITS;
    image.sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    image.sections[1].sh_offset = offsetof(struct image, code);
    image.sections[1].sh_size = (size_t) count * sizeof(struct word);
    memcpy(image.code, code, (size_t) count * sizeof(struct word));
    mmt_cubin_keep_operands(&image, sizeof(image));
    memcpy(code, image.code, (size_t) count * sizeof(struct word));
}

static void test_neighbours(void)
{
    struct word code[] = {
        instruction(DFMA, 40, 8, 20, 40),  /* shares its first operand */
        instruction(DFMA, 42, 8, 22, 42),  /* shares its second */
        instruction(DFMA, 44, 10, 22, 44), /* shares nothing */
        instruction(DFMA, 46, 12, 24, 46), /* the last of the run */
        instruction(IADD3, 2, 12, 24, ZERO), instruction(DFMA, 48, 12, 24, 48),
    };
    const struct word before[] = { code[3], code[4], code[5] };
    keep(code, 6);
    CHECK_EQ_INT(kept(code[0]), 1);
    CHECK_EQ_INT(kept(code[1]), 2);
    CHECK_EQ_INT(kept(code[2]), 0);
    for (int i = 0; i < 3; i++)
        CHECK(!yields(code[i]));
    CHECK(!memcmp(&code[3], before, sizeof(before)));
}

static void test_loads_between(void)
{
    struct word code[] = {
        instruction(DFMA, 40, 8, 22, 40), /* another register is loaded */
        instruction(LDS, 32, 4, ZERO, 0),
        instruction(DFMA, 42, 10, 22, 42), /* the second operand is, as one of four */
        instruction(LDS, 20, 4, ZERO, 0),
        instruction(DFMA, 44, 10, 22, 44),
    };
    keep(code, 5);
    CHECK_EQ_INT(kept(code[0]), 2);
    CHECK_EQ_INT(kept(code[1]), 0);
    CHECK_EQ_INT(kept(code[2]), 1);
}

static void test_left_alone(void)
{
    struct word code[] = {
        instruction(DFMA, 8, 8, ZERO,
                    40), /* overwrites the operand; zero is no register */
        instruction(DFMA, 42, 8, ZERO, 42),
        instruction(DFMA, 44, 8, 20, 44), /* under a predicate */
        instruction(DFMA, 46, 8, 20, 46), /* waits for long */
        instruction(DFMA, 48, 8, 20, 48),
    };
    code[2].lower &= ~((uint64_t) 7 << 12);
    code[3].upper |= (uint64_t) 15 << 41;
    struct word predicated = code[2];
    keep(code, 5);
    CHECK_EQ_INT(kept(code[0]), 0);
    CHECK_EQ_INT(kept(code[1]), 0);
    CHECK(yields(code[1]));
    CHECK(!memcmp(&code[2], &predicated, sizeof(predicated)));
    CHECK_EQ_INT(kept(code[3]), 3);
    CHECK(yields(code[3]));
}

/* ---- what NVRTC makes ------------------------------------------------------------ */

static const char products_text[] =
    "extern \"C\" __global__ void __launch_bounds__(128)\n"
    "products(double *out, const double *in, int n)\n"
    "{\n"
    "    double sum[6][6] = { 0 };\n"
    "    for (int k = 0; k < n; k++)\n"
    "        for (int i = 0; i < 6; i++)\n"
    "            for (int j = 0; j < 6; j++)\n"
    "                sum[i][j] += in[12 * k + i] * in[12 * k + 6 + j];\n"
    "    for (int i = 0; i < 36; i++)\n"
    "        out[36 * threadIdx.x + i] = sum[i / 6][i % 6];\n"
    "}\n";

/* FMAs that another one follows at once, and those of them that yield. A cubin's
 * code begins at a multiple of 128 bytes. */
static void count_runs(const struct mmt_binary *binary, int *runs, int *yielding)
{
    *runs = *yielding = 0;
    for (size_t at = 0; at + 2 * sizeof(struct word) <= binary->size;
         at += sizeof(struct word)) {
        struct word two[2];
        memcpy(two, (const char *) binary->data + at, sizeof(two));
        if ((two[0].lower & 0xffff) != (DFMA | 7 << 12) ||
            (two[1].lower & 0xffff) != (DFMA | 7 << 12))
            continue;
        *runs += 1;
        *yielding += yields(two[0]);
    }
}

/* A damaged file is written past nowhere; sanitizers watch. */
static void test_damage(const struct mmt_binary *binary)
{
    unsigned char *copy = malloc(binary->size);
    unsigned random = 12345;
    if (!CHECK(copy != NULL))
        return;
    for (size_t size = 0; size < binary->size; size += 37) {
        memcpy(copy, binary->data, size);
        mmt_cubin_keep_operands(copy, size);
    }
    for (int i = 0; i < 5000; i++) {
        memcpy(copy, binary->data, binary->size);
        for (int j = 0; j < 8; j++) {
            random = random * 1664525 + 1013904223;
            copy[(random >> 8) % binary->size] = (unsigned char) (random >> 3);
        }
        mmt_cubin_keep_operands(copy, binary->size);
    }
    free(copy);
}

static void test_compiled(const char *name, bool keeps)
{
    mmt_error err = { 0 };
    struct mmt_binary binary;
    struct mmt_text key = { 0 };
    int runs, yielding;
    mmt_device *device = mmt_device_open(name, &err);
    if (!device) {
        CHECK_EQ_INT(err.status, MMT_ERROR_UNSUPPORTED);
        printf("%s left out: %s\n", name, err.text);
        return;
    }
    mmt_device_compiler_key(device, &key);
    CHECK(!strstr(mmt_text_string(&key), "operands kept") == !keeps);
    if (CHECK_OK(mmt_device_compile(device, products_text, &binary, &err), err)) {
        count_runs(&binary, &runs, &yielding);
        CHECK(runs >= 30);
        CHECK(keeps ? yielding == 0 : yielding > 0);
        test_damage(&binary);
        mmt_binary_finish(&binary);
    }
    mmt_text_finish(&key);
    mmt_device_close(device);
}

int main(void)
{
    test_neighbours();
    test_loads_between();
    test_left_alone();
    test_compiled("null:sm_90", true);
    test_compiled("null:sm_80", false);
    setenv("MMTUNE_AS_COMPILED", "1", 1);
    test_compiled("null:sm_90", false);
    return test_end("cubin");
}
