// Intel's matrix units in OpenCL C: cl_intel_subgroup_matrix_multiply_accumulate. All threads of
// a subgroup of SUBGROUP call these together; a thread's lane is its number in it.
//
//   part      of a row of A what one lane holds: PART elements, depths from lane * PART on
//   word      of a column of B, the lane's, WORD depths; eight words are DEPTH
//
// A fragment of A is eight rows, a part each; one of B eight words; eight rows of C, an element
// of the lane's column each.

#define WORD  (4 / (int) sizeof(element))
#define DEPTH (8 * WORD)
#define PART  (DEPTH / SUBGROUP)

#if SUBGROUP == 16
typedef ushort part;
#define PARTS       short8
#define BLOCK_PART  intel_sub_group_block_read_us
#elif SUBGROUP == 8
typedef uint part;
#define PARTS       int8
#define BLOCK_PART  intel_sub_group_block_read
#else
#error "SUBGROUP must be 8 or 16"
#endif

#if defined(TYPE_BF16)
#define MULTIPLY_MATRICES intel_sub_group_bf16_bf16_matrix_mad_k16
#define SUMS              float8
#elif defined(TYPE_F16)
#define MULTIPLY_MATRICES intel_sub_group_f16_f16_matrix_mad_k16
#define SUMS              float8
#else
#define MULTIPLY_MATRICES intel_sub_group_i8_i8_matrix_mad_k32
#define SUMS              int8
#endif

// Neighbouring parts of a row from there on, one a lane; it stands at a multiple of 4 bytes.
DEVICE_FN part read_parts(const GLOBAL element *from)
{
    return BLOCK_PART((const GLOBAL part *) from);
}

// Add the product of the fragments a and b to c.
#define EIGHT(x) x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
DEVICE_FN void multiply_matrices(real c[8], const part a[8], const unsigned int b[8])
{
    const SUMS sums = MULTIPLY_MATRICES((PARTS) (EIGHT(a)), (int8) (EIGHT(b)), (SUMS) (EIGHT(c)));
    c[0] = sums.s0, c[1] = sums.s1, c[2] = sums.s2, c[3] = sums.s3;
    c[4] = sums.s4, c[5] = sums.s5, c[6] = sums.s6, c[7] = sums.s7;
}
