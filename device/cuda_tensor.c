/* What TMA is told of a matrix, for the CUDA backend. */
#include <string.h>

#include "device/cuda_internal.h"

static CUtensorMapDataType data_type(mmt_type type)
{
    switch (type) {
    case MMT_F64:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case MMT_BF16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case MMT_F16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case MMT_I32:
        return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case MMT_F8E4M3:
    case MMT_F8E5M2:
    case MMT_I8:
        return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case MMT_TF32: /* rounded as it is fetched: tensor cores drop the last 13 bits */
        return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case MMT_F32:
        break;
    }
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

static CUtensorMapSwizzle swizzle(const struct mmt_box *box)
{
    return box->swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : box->swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : box->swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static CUtensorMapL2promotion promotion(const struct mmt_box *box)
{
    return box->promotion == 256   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
           : box->promotion == 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
           : box->promotion == 64  ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
                                   : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

/* Drivers up to CUDA 13.1 set a bit that makes the engine read small matrices wrongly. */
static void repair(CUtensorMap *map, uint64_t bytes)
{
    enum { LAST_BROKEN = 13010, SMALL = 128 * 1024 };
    if (mmt_cuda_driver_version() <= LAST_BROKEN && bytes < SMALL)
        map->opaque[1] &= ~(1ull << 21);
}

static uint64_t at_least_one(int64_t size)
{
    return size > 0 ? (uint64_t) size : 1;
}

mmt_status mmt_cuda_tensor_map_encode(mmt_device *device, const struct mmt_tensor *tensor,
                                      struct mmt_tensor_map *out, mmt_error *err)
{
    const uint64_t size[] = { at_least_one(tensor->inner), at_least_one(tensor->outer),
                              at_least_one(tensor->batch) };
    const uint64_t step[] = { (uint64_t) tensor->ld, (uint64_t) tensor->stride };
    const uint32_t box[] = { tensor->box.inner, tensor->box.outer, 1 };
    const uint32_t every[] = { 1, 1, 1 };
    CUtensorMap map;
    bool pushed;

    memset(out, 0, sizeof(*out));
    if (!tensor->address)
        return MMT_OK;
    if (!mmt_cu.cuTensorMapEncodeTiled)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "this driver cannot describe a matrix to TMA; one for "
                        "CUDA 12.0 or newer can");
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuTensorMapEncodeTiled(
            &map, data_type(tensor->type), 3, (void *) (uintptr_t) tensor->address, size,
            step, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle(&tensor->box),
            promotion(&tensor->box), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "describe a matrix to TMA", result);
    repair(&map, step[1] * size[2]);
    memcpy(out, &map, sizeof(*out));
    return MMT_OK;
}
