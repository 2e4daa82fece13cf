// Turning blocks of four by four bytes, for mma.cl and wgmma.cu: tensor cores take 8-bit operands
// in words of four depths, and those that do not run along k are stored in words of four lines.

// The i-th byte of word j becomes the j-th of word i. `later`: the third and the fourth word
// come first.
DEVICE_FN void turn(unsigned x[4], bool later)
{
    const unsigned lower = later ? 0x1054 : 0x5410, upper = later ? 0x3276 : 0x7632;
    const unsigned low0 = __byte_perm(x[0], x[1], 0x5140);
    const unsigned low1 = __byte_perm(x[2], x[3], 0x5140);
    const unsigned high0 = __byte_perm(x[0], x[1], 0x7362);
    const unsigned high1 = __byte_perm(x[2], x[3], 0x7362);
    x[0] = __byte_perm(low0, low1, lower);
    x[1] = __byte_perm(low0, low1, upper);
    x[2] = __byte_perm(high0, high1, lower);
    x[3] = __byte_perm(high0, high1, upper);
}
