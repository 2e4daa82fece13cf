"""Run wgmma.cu, and simt.cl with COPY=tma, without their card: run_hopper.py [--sample N] MMTUNE LAUNCHES COMPILER... [SAMPLES SEED]

The words of the prelude and of hopper.h are replaced by those of tests/emulation/hopper, the text is
compiled for the host, and the product of small whole numbers must come out exactly. Threads
are coroutines in an order that lays races open; barriers, TMA and wgmma are done by
hand. Every template text is otherwise what ships. With --sample, N of the faults below are tried,
and N of the products: each type, and as many values of knobs as so many products can have. With SAMPLES, so
many configurations and shapes are drawn instead.
"""
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

SMALL = dict(TILE_M=64, TILE_N=32, STAGES=3, CONSUMERS=1, CLUSTER='1x1', EPILOGUE_STAGES=0)
WIDE = dict(TILE_M=128, TILE_N=64, STAGES=3, CONSUMERS=2, CLUSTER='1x1', EPILOGUE_STAGES=1)

# Of simt.cl, which is named.
LANES = dict(template='simt', COPY='tma', TILE_M=32, TILE_N=64, TILE_K=8, THREAD_TILE_M=4, THREAD_TILE_N=4, WARP_M=4,
             WARP_N=8, REGISTER_STAGES=2, STAGES=3, C_VECTOR=1, SPLIT_K=1)

# knobs, those that differ, problem, alpha, beta
RING = (LANES, dict(), 'gemm f32 nn 40x72x104', 2, -1)
IN_PASSES = (LANES, dict(TILE_K=32, PASSES=4, LOADS='in_order'), 'gemm f32 tn 40x72x200', 2, -1)
FLAT = (LANES, dict(), 'gemm f64 tn 40x72x104', 2, -1)
SLICED = (LANES, dict(TILE_SCHEDULER='stream_k', TILE_M=128, TILE_N=128, THREAD_TILE_M=8, THREAD_TILE_N=8, WARP_M=8, WARP_N=4),
          'gemm f32 nn 264x101x72 ldb=104 bias=row', 1, -1)
SHARED = (SMALL, dict(CLUSTER_K=4), 'gemm bf16 nn 72x40x840', 2, -1)   # ends in the first stage of the ring
IN_TURN = (WIDE, dict(CLUSTER='1x2', SCHEDULE='pingpong'), 'gemm bf16 tt 600x200x456', 1, 0)
IN_RUNS = (SMALL, dict(TILE_SCHEDULER='stream_k'), 'gemm bf16 nn 136x136x1000', 2, -1)
PACKED = (SMALL, dict(PACK_A=1, PACK_B=1), 'gemm bf16 nn 72x41x137', 1, 0)
WHOLE = (SMALL, dict(PACK_A=1, PACK_B=1), 'gemm bf16 nn 136x72x137', 1, 0)
LATE = (WIDE, dict(OVERLAP_EPILOGUE=1, TILE_N=128, EPILOGUE_STAGES=2), 'gemm bf16 nn 840x600x456', 2, -1)
PROMOTED = (WIDE, dict(TILE_M=256, TILE_N=128, PROMOTE=2), 'gemm f8e4m3 nt 600x272x1936', 1, 1)
UNITS = (WIDE, dict(TILE_M=256, PROMOTE=1, STAGES=2), 'gemm f8e4m3 nt 600x272x640', 1, 1)
TURNED = (WIDE, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, TILE_M=256), 'gemm i8 nn 136x608x464', 2, 0)
APART = dict(PACK_A=1, PACK_B=1, EPILOGUE_STAGES=0, STAGES=2, PROMOTE=1)   # f32 as three bf16
SLICES_OF_F32 = (WIDE, APART, 'gemm f32 nn 136x136x200 lda=203', 2, -1)
MANY_PARTS = (SMALL, dict(SPLIT_K=12), 'gemm bf16 nn 72x40x1000', 1, 0)
BYTES = dict(PACK_A=1, PACK_B=1, EPILOGUE_STAGES=0, STAGES=2)   # i32 as four of them, with a sum for each weight
ONE = dict(BYTES, TILE_N=112, STAGES=3)   # or with one, in passes
WEIGHTS = (WIDE, BYTES, 'gemm i32 nn 136x136x200 lda=203', 3, -2)
MORE_WEIGHTS = (WIDE, BYTES, 'gemm i32 nn 136x136x840', 1, 0)
PASSES = (WIDE, ONE, 'gemm i32 nn 136x136x200 lda=203', 3, -2)
CUT_PASSES = (SMALL, dict(ONE, TILE_SCHEDULER='stream_k'), 'gemm i32 nt 264x216x457', 1, 1)
TO_SUM_UP = (SMALL, dict(APART, SPLIT_K=2), 'gemm f32 tt 71x40x200', 1, 1)
BY_ROWS = (WIDE, dict(PACK_A=1, PACK_B=1, EPILOGUE_STAGES=0, TILE_N=80), 'gemm bf16 nn 200x243x72', 2, -1)
BY_COLUMNS = (WIDE, dict(APART, SWAP=1, TILE_N=48), 'gemm f32 nt 101x200x72 ldc=202', 1, 0)
THREE_PIECES = (WIDE, dict(TILE_N=96, EPILOGUE_STAGES=2), 'gemm f16 nt 840x600x200', 1, 0)
FLOATS = (SMALL, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1), 'gemm tf32 nn 40x72x100 bias=column', 2, -1)
TOGETHER = (WIDE, dict(CLUSTER='2x1'), 'gemm bf16 nn 600x200x200 lda=208 ldc=208', 2, -1)
NOTHING = (SMALL, dict(TILE_SCHEDULER='stream_k'), 'gemm bf16 nn 264x264x0', 1, 2)
CASES = [
    SLICES_OF_F32, WEIGHTS, PASSES, CUT_PASSES, TO_SUM_UP, MANY_PARTS, BY_ROWS, BY_COLUMNS, THREE_PIECES, SHARED, IN_TURN, IN_RUNS, PACKED, WHOLE, LATE, PROMOTED, UNITS, TURNED,
    (SMALL, dict(), 'gemm bf16 nn 72x40x136', 1, 0),
    (SMALL, dict(CLUSTER='2x1', CLUSTER_K=2), 'gemm bf16 nt 200x72x456', 1, 0),
    (SMALL, dict(CLUSTER='4x1', CLUSTER_K=2, SPLIT_K=2), 'gemm bf16 nn 200x72x456', 2, 1),
    (SMALL, dict(CLUSTER='4x1', TILE_N=48), 'gemm bf16 nn 300x200x456', 1, 0),
    (SMALL, dict(CLUSTER='2x2'), 'gemm bf16 nt 300x200x456', 1, 0),
    (WIDE, dict(CLUSTER='2x4', SCHEDULE='pingpong'), 'gemm bf16 nn 600x600x328', 2, -1),
    (SMALL, dict(CLUSTER='4x2', TILE_N=96, SWAP=1), 'gemm f16 tn 600x400x328', 1, 0),
    (SMALL, dict(CLUSTER='1x4', SPLIT_K=4), 'gemm bf16 tt 72x203x456 ldc=205', 2, 1),
    (SMALL, dict(TILE_N=16, SWAP=1, CLUSTER='2x1', CLUSTER_K=2, SPLIT_K=2),
     'gemm bf16 nt 21x135x456 ldc=136', 1, -1),
    (WIDE, dict(EPILOGUE_STAGES=0, SWAP=1, TILE_N=16, CLUSTER='1x4', CLUSTER_K=2),
     'gemm bf16 tt 16x136x456', 1, -1),
    (WIDE, dict(CLUSTER='2x1'), 'gemm bf16 nn 600x200x200 lda=208 ldc=208', 2, -1),
    (WIDE, dict(TILE_M=64, TILE_N=96, CONSUMERS=3, CLUSTER='4x1', EPILOGUE_STAGES=2,
                SCHEDULE='pingpong'), 'gemm f16 nt 600x200x456', 1, 0),
    (WIDE, dict(TILE_M=192, TILE_N=48, CONSUMERS=3, STAGES=2, TILE_K_BYTES=256),
     'gemm bf16 tn 600x200x300', 1, 1),
    (WIDE, dict(CLUSTER='2x1', RASTER_ORDER='columns', RASTER_GROUP=2, WGMMA_PENDING=0),
     'gemm bf16 nn 600x456x72 batch=2 stride_b=0', 1, 0),
    (WIDE, dict(TILE_SCHEDULER='balanced'), 'gemm bf16 nn 600x200x200 lda=208 ldc=208', 2, -1),
    (WIDE, dict(OVERLAP_EPILOGUE=1, TILE_N=192, CLUSTER='2x1'), 'gemm bf16 nt 1100x600x128 bias=row', 1, 1),
    (WIDE, dict(OVERLAP_EPILOGUE=1, TILE_N=128, TILE_SCHEDULER='balanced', WGMMA_PENDING=0), 'gemm f16 tn 840x600x200', 1, 0),
    (WIDE, dict(OVERLAP_EPILOGUE=1, TILE_N=128, EPILOGUE_STAGES=2), 'gemm bf16 nn 840x600x40', 1, 0),
    (WIDE, dict(OVERLAP_EPILOGUE=1, TILE_N=192, EPILOGUE_STAGES=2), 'gemm bf16 nt 840x600x264', 1, 0),
    (WIDE, dict(OVERLAP_EPILOGUE=1, TILE_N=128, EPILOGUE_STAGES=2), 'gemm bf16 nn 840x600x200', 0, 2),
    (SMALL, dict(OVERLAP_EPILOGUE=1, TILE_N=128, EPILOGUE_STAGES=1), 'gemm bf16 nn 264x264x200 batch=2', 1, 1),
    (SMALL, dict(TILE_SCHEDULER='data_parallel', CLUSTER='2x1'), 'gemm bf16 nt 200x72x456', 1, 0),
    (SMALL, dict(SWAP=1, TILE_N=48, EPILOGUE_STAGES=1), 'gemm bf16 nn 200x136x456', 2, 1),
    (SMALL, dict(SWAP=1, TILE_N=8, EPILOGUE_STAGES=1), 'gemm f16 nt 21x136x72 batch=2', 1, 0),
    (WIDE, dict(SWAP=1, TILE_N=80, CLUSTER='2x1', SCHEDULE='pingpong', EPILOGUE_STAGES=2),
     'gemm f16 nn 200x600x200 ldc=608', 1, 0),
    (WIDE, dict(SWAP=1, OVERLAP_EPILOGUE=1, TILE_N=192, EPILOGUE_STAGES=2, CLUSTER='1x2'),
     'gemm bf16 tn 600x840x264 bias=row', 1, 1),
    (WIDE, dict(SWAP=1, TILE_SCHEDULER='stream_k', EPILOGUE_STAGES=1), 'gemm bf16 nn 200x600x712', 2, -1),
    (WIDE, dict(SWAP=1, PROMOTE=2), 'gemm f8e4m3 nt 264x200x640', 1, 0),
    (SMALL, dict(TILE_SCHEDULER='stream_k'), 'gemm f16 tn 264x104x1000 bias=row', 1, 1),
    (SMALL, dict(TILE_SCHEDULER='stream_k'), 'gemm bf16 nn 72x40x64 activation=relu', -1, 1),
    (SMALL, dict(TILE_SCHEDULER='stream_k'), 'gemm bf16 nn 72x104x0', 1, 2),
    (SMALL, dict(TILE_SCHEDULER='stream_k'), 'gemm bf16 nn 72x104x200', 0, 2),
    (WIDE, dict(TILE_SCHEDULER='stream_k', CLUSTER='2x1'), 'gemm bf16 nn 600x200x712', 2, -1),
    (WIDE, dict(TILE_SCHEDULER='stream_k', CLUSTER='1x2', SCHEDULE='pingpong', EPILOGUE_STAGES=2),
     'gemm bf16 tt 600x264x712 bias=column', 1, 0),
    (WIDE, dict(TILE_SCHEDULER='stream_k', EPILOGUE_STAGES=0, SWAP=1, TILE_N=16, RASTER_ORDER='hilbert', RASTER_GROUP=1),
     'gemm f16 nt 21x456x520', 1, -1),
    (SMALL, dict(TILE_SCHEDULER='stream_k', PROMOTE=2), 'gemm f8e4m3 tn 144x112x1296', 1, 1),
    (SMALL, dict(TILE_SCHEDULER='stream_k', CLUSTER='2x1'), 'gemm i8 nn 336x112x1301 lda=1312', 3, -2),
    (WIDE, dict(TILE_SCHEDULER='stream_k', TILE_N=32), 'gemm tf32 nn 144x108x356', 2, 1),
    (SMALL, dict(RASTER_ORDER='hilbert', RASTER_GROUP=1), 'gemm bf16 nn 456x232x72', 1, 0),
    (WIDE, dict(RASTER_ORDER='hilbert', RASTER_GROUP=1, CLUSTER='1x2', SCHEDULE='pingpong'),
     'gemm bf16 nn 400x840x136', 1, 0),
    (SMALL, dict(PACK_A=1, PACK_B=1, SPLIT_K=4), 'gemm f16 tt 71x40x137 batch=2', 2, -1),
    (SMALL, dict(PACK_A=1, PACK_B=1), 'gemm i8 nt 71x112x453 lda=455', 3, -2),
    (SMALL, dict(PACK_A=1, PACK_B=1), 'gemm tf32 tn 73x41x101 ldc=43 bias=row', 1, 0),
    (SMALL, dict(PACK_A=1, PACK_B=1), 'gemm bf16 nn 72x41x0', 1, 2),
    (SMALL, dict(PACK_A=1, PACK_B=1), 'gemm bf16 nn 72x41x137 batch=3 stride_b=0 stride_c=3200', 1, 2),
    (SMALL, dict(PACK_B=1), 'gemm f16 nn 72x41x136 batch=2 stride_b=0 stride_c=3200', 1, 0),
    (SMALL, dict(APART), 'gemm f32 nn 72x41x137 batch=2 stride_b=0 stride_c=3200', 2, -1),
    (LANES, dict(PACK_A=1, PACK_B=1), 'gemm f32 nt 71x72x103 batch=2 stride_b=0 stride_c=6000', 2, -1),
    (WIDE, dict(PACK_B=1, EPILOGUE_STAGES=0, CLUSTER='2x1'), 'gemm bf16 nn 600x203x136', 2, 1),
    (WIDE, dict(PACK_A=1, EPILOGUE_STAGES=0, SWAP=1, TILE_N=16), 'gemm bf16 nn 16x136x455', 1, -1),
    (WIDE, dict(PACK_A=1, PACK_B=1, EPILOGUE_STAGES=0, TILE_SCHEDULER='stream_k', TILE_N=32, PROMOTE=2,
                WGMMA_PENDING=0), 'gemm f8e4m3 nn 143x47x657', 1, 1),
    (SMALL, dict(CLUSTER_K=2), 'gemm i8 nn 70x112x453 lda=464 ldc=113', 3, -2),
    (SMALL, dict(EPILOGUE_STAGES=1),
     'gemm i8 tt 80x112x453 ldb=464 bias=row activation=relu', 1, 0),
    (SMALL, dict(SPLIT_K=4), 'gemm bf16 nn 72x40x72', 1, 1),
    (SMALL, dict(SPLIT_K=4), 'gemm tf32 tn 72x36x100 bias=column batch=2', 2, -1),
    (SMALL, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1), 'gemm tf32 nn 40x72x100 bias=column', 2, -1),
    (WIDE, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, TILE_M=256, TILE_K_BYTES=256, STAGES=2),
     'gemm tf32 nn 100x600x356', 1, 0),
    (WIDE, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, SCHEDULE='pingpong', CLUSTER='2x1'),
     'gemm tf32 nn 136x300x356 batch=2', 1, 1),
    (WIDE, dict(TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, CLUSTER='1x2'), 'gemm tf32 tt 300x136x356', 1, -1),
    (WIDE, dict(TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, TILE_SCHEDULER='stream_k'), 'gemm tf32 tn 300x136x676', 1, 0),
    (SMALL, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, SPLIT_K=4), 'gemm tf32 nn 40x72x36', 1, 1),
    (SMALL, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1), 'gemm tf32 nn 40x72x0', 1, 2),
    (WIDE, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, TILE_M=256, TILE_N=32, CLUSTER='2x1'),
     'gemm i8 nn 72x603x336 ldb=608 bias=column', 1, 1),
    (WIDE, dict(TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, TILE_M=256, TILE_N=32, TILE_SCHEDULER='stream_k'),
     'gemm i8 tt 304x72x592', 1, 0),
    (SMALL, dict(TILE_M=128, SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, SPLIT_K=2), 'gemm i8 nn 40x160x400', 3, -2),
    (SMALL, dict(TILE_M=256, SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, TILE_N=16, TILE_K_BYTES=256), 'gemm i8 nn 40x272x560', 1, 0),
    (WIDE, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, CLUSTER='1x2', SCHEDULE='pingpong'),
     'gemm i8 nn 136x304x336 ldc=305 batch=2', 1, 0),
    (WIDE, dict(SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, TILE_M=256, PROMOTE=1),
     'gemm f8e4m3 nn 136x608x464', 2, 0),
    (SMALL, dict(TILE_M=128, SWAP=1, TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, PROMOTE=1),
     'gemm f8e5m2 nn 40x160x400 out=f32 bias=row', 1, 0),
    (WIDE, dict(TRANSPOSE_IN_REGISTERS=1, WGMMA_PENDING=1, EPILOGUE_STAGES=0, TILE_M=256, TILE_N=32, PROMOTE=1, CLUSTER='1x2'),
     'gemm f8e4m3 tt 304x72x592 ldb=592', 1, 1),
    (SMALL, dict(SWAP=1, SPLIT_K=2), 'gemm tf32 nt 20x72x0', 2, -1),
    (WIDE, dict(TILE_N=32, PROMOTE=2, WGMMA_PENDING=0), 'gemm f8e4m3 nn 144x48x656', 1, 1),
    (SMALL, dict(PROMOTE=4), 'gemm f8e5m2 nt 144x48x1056 out=f32', 1, 1),
    (WIDE, dict(TILE_M=256, TILE_N=32, PROMOTE=4, STAGES=4, CLUSTER='2x1', TILE_SCHEDULER='stream_k'),
     'gemm f8e4m3 nt 528x160x1424', 1, 0),
    (WIDE, dict(TILE_M=128, TILE_N=48, PROMOTE=1, STAGES=2, SCHEDULE='pingpong', WGMMA_PENDING=0),
     'gemm f8e5m2 nt 400x160x912', 2, -1),
    (WIDE, dict(PROMOTE=1), 'gemm f8e4m3 nt 400x136x640', 2, -1),
    (WIDE, dict(PROMOTE=1, CLUSTER='2x1'), 'gemm f8e4m3 nt 600x136x720 out=f32', 1, 1),
    (WIDE, dict(PROMOTE=1, CLUSTER='1x2', STAGES=2), 'gemm f8e5m2 nt 600x200x128', 1, 0),
    (WIDE, dict(PROMOTE=1, TILE_N=112), 'gemm f8e4m3 nt 600x232x256', 1, 1),
    (WIDE, dict(TILE_M=256, PROMOTE=1, CLUSTER='2x1'), 'gemm f8e4m3 nt 1100x200x128', 1, 0),
    (WIDE, dict(TILE_M=256, TILE_N=32, PROMOTE=1, TILE_SCHEDULER='stream_k'), 'gemm f8e4m3 nt 528x160x912', 2, 1),
    (WIDE, dict(TILE_N=32, PROMOTE=1, TILE_SCHEDULER='stream_k', CLUSTER='2x1'),
     'gemm f8e5m2 nt 600x104x912', 1, 0),
    (WIDE, dict(PROMOTE=1), 'gemm f8e4m3 nt 600x200x0', 1, 2),
    (SMALL, dict(PROMOTE=1, TILE_N=128, SPLIT_K=4), 'gemm f8e4m3 nt 144x112x272', 1, 1),
    (WIDE, dict(TILE_M=64, PROMOTE=1, SCHEDULE='pingpong', CLUSTER='2x1'),
     'gemm f8e4m3 nt 400x160x656', 1, 1),
    (WIDE, dict(APART, WGMMA_PENDING=0, TILE_N=160), 'gemm f32 nt 300x203x72 batch=2 bias=row', 1, 0),
    (WIDE, dict(APART, TILE_M=128, TILE_N=32, SCHEDULE='pingpong'), 'gemm f32 tn 400x160x329 activation=relu', 1, 1),
    (WIDE, dict(APART, CLUSTER='2x1', TILE_SCHEDULER='stream_k'), 'gemm f32 nn 600x136x457', 1, 0),
    (SMALL, dict(APART, SWAP=1, TILE_N=16, TILE_SCHEDULER='stream_k'), 'gemm f32 nn 21x136x457 bias=column', 2, 1),
    (SMALL, dict(APART, CLUSTER_K=4), 'gemm f32 nn 72x41x457', 1, -1),
    (SMALL, dict(APART, CLUSTER_K=2, SPLIT_K=2, SWAP=1), 'gemm f32 tt 72x104x457', 1, 0),
    (SMALL, APART, 'gemm f32 nt 73x40x300', -1, 0),
    (SMALL, dict(APART, SPLIT_K=3), 'gemm f32 nn 72x41x457 bias=row', 2, 1),
    (SMALL, dict(SPLIT_K=12, CLUSTER='2x1', CLUSTER_K=2), 'gemm bf16 nn 200x72x3000', 1, 0),
    (SMALL, APART, 'gemm f32 tn 72x41x40 ldc=42 bias=row', 1, 0),
    (WIDE, dict(APART, TILE_M=256, TILE_N=32), 'gemm f32 tn 520x67x40 batch=2', 1, 0),
    (SMALL, dict(PACK_A=1, PACK_B=1, SWAP=1, TILE_N=8), 'gemm f16 tt 21x135x72 bias=column out=f32', 1, 1),
    (SMALL, APART, 'gemm f32 nn 72x40x72', 0, 2),
    (WIDE, dict(ONE, TILE_M=256, CLUSTER='2x1'), 'gemm i32 tn 600x203x329 activation=relu', 1, 1),
    (WIDE, dict(ONE, TILE_N=64, SCHEDULE='pingpong', CLUSTER='1x2'), 'gemm i32 nt 400x160x72 batch=2 bias=row', 1, 0),
    (WIDE, dict(ONE, CLUSTER='2x1', TILE_SCHEDULER='stream_k'), 'gemm i32 nn 600x240x329', 1, 0),
    (SMALL, dict(ONE, CLUSTER_K=4), 'gemm i32 nn 72x41x457', 1, -1),
    (SMALL, dict(ONE, CLUSTER_K=2, SPLIT_K=2, SWAP=1), 'gemm i32 tt 72x104x457', 1, 0),
    (SMALL, dict(ONE, SPLIT_K=64), 'gemm i32 tt 71x40x300', 1, 1),
    (SMALL, dict(ONE, TILE_K_BYTES=256), 'gemm i32 nt 73x40x300 ldc=43', -1, 0),
    (SMALL, ONE, 'gemm i32 nn 72x40x0', 1, 2),
    (SMALL, ONE, 'gemm i32 nn 72x40x72', 0, 2),
    (WIDE, dict(BYTES, TILE_N=96, CLUSTER='1x2'), 'gemm i32 tn 264x203x329 activation=relu', 1, 1),
    (WIDE, dict(BYTES, TILE_N=32, SCHEDULE='pingpong'), 'gemm i32 nt 400x72x200 batch=2 bias=row', 1, 0),
    (SMALL, dict(BYTES, TILE_M=128, SWAP=1, TILE_N=16, TILE_SCHEDULER='stream_k'), 'gemm i32 nn 21x136x457 bias=column', 2, 1),
    (SMALL, dict(BYTES, CLUSTER_K=4, STAGES=3), 'gemm i32 nn 72x41x457', 1, -1),
    (SMALL, dict(BYTES, CLUSTER='2x1', TILE_SCHEDULER='stream_k', TILE_K_BYTES=256), 'gemm i32 tt 264x136x457', 1, 0),
    (SMALL, dict(BYTES, SPLIT_K=4, CLUSTER='4x1'), 'gemm i32 tt 71x40x300', 1, 1),
    (SMALL, BYTES, 'gemm i32 nn 72x40x0', 1, 2),
    RING, FLAT, IN_PASSES, SLICED,
    (LANES, dict(TILE_K=16, PASSES=2, LOADS='in_order', TILE_SCHEDULER='stream_k', PACK_A=1), 'gemm f32 nn 136x200x203 lda=205', 1, 1),
    (LANES, dict(TILE_K=16, LOADS='in_order'), 'gemm f64 nt 72x72x102', 2, -1),
    (LANES, dict(TILE_K=32), 'gemm f32 tt 40x72x200 ldb=204 bias=row', 1, 1),
    (LANES, dict(TILE_K=16), 'gemm f64 nn 40x72x50 batch=2', 2, 1),
    (LANES, dict(TILE_K=16, REGISTER_STAGES=1), 'gemm f64 tt 40x72x102', 1, -1),
    (LANES, dict(REGISTER_STAGES=1, STAGES=2, THREAD_TILE_N=8, C_VECTOR=4), 'gemm i32 nn 72x136x104', 3, -2),
    (LANES, dict(TILE_M=64, THREAD_TILE_M=8, WARP_M=8, WARP_N=4, LANES='columns'),
     'gemm f32 nn 72x72x104 lda=108', 1, 0),
    (LANES, dict(TILE_M=96, THREAD_TILE_M=6, LANES='pairs'), 'gemm f32 tn 100x72x40', 1, 1),
    (LANES, dict(SPLIT_K=4), 'gemm f32 nn 40x72x104 bias=column', 2, -1),
    (LANES, dict(TILE_SCHEDULER='persistent', STAGES=4), 'gemm f32 nn 136x200x72 batch=2', 1, 1),
    (LANES, dict(TILE_SCHEDULER='stream_k'), 'gemm f32 tn 136x200x200 activation=relu', 1, 1),
    (LANES, dict(TILE_SCHEDULER='stream_k', STAGES=5), 'gemm f64 nt 72x72x104', 2, -1),
    (LANES, dict(TILE_SCHEDULER='stream_k'), 'gemm i32 nn 72x136x0', 1, 2),
    (LANES, dict(PACK_A=1), 'gemm f32 nn 40x72x103 lda=105 bias=row', 2, -1),
    (LANES, dict(PACK_A=1, PACK_B=1, TILE_SCHEDULER='stream_k'), 'gemm f32 nt 135x71x107', 1, 1),
    (LANES, dict(PACK_A=1, PACK_B=1, SPLIT_K=4), 'gemm f64 tt 71x72x103 batch=2', 2, -1),
    (LANES, dict(PACK_A=1, TILE_SCHEDULER='stream_k'), 'gemm i32 nn 72x136x0', 1, 2),
    (WIDE, dict(TILE_N=96, PROMOTE=1, SCHEDULE='pingpong', TILE_SCHEDULER='stream_k'),
     'gemm f8e4m3 nt 400x200x656', 2, -1),
]

# knobs, those that differ, problem: of operands of all kinds in tests/support/near.h, C must be near the
# exact product.
NEAR = [
    (WIDE, dict(APART, WGMMA_PENDING=0, TILE_N=112), 'gemm f32 nn 140x140x200', 'near'),
    (SMALL, dict(APART, TILE_M=128, STAGES=2), 'gemm f32 tt 140x75x130 batch=2', 'near'),
    (SMALL, dict(APART, SWAP=1, TILE_N=16, TILE_SCHEDULER='stream_k'), 'gemm f32 nt 56x139x457', 'near'),
    (SMALL, dict(APART, CLUSTER_K=4), 'gemm f32 tn 72x70x457', 'near'),
    (SMALL, dict(APART, SPLIT_K=2), 'gemm f32 nn 72x70x300', 'near'),
    (SMALL, APART, 'gemm f32 nn 72x70x16', 'near'),
]
KINDS = 7

# What a case must not come out right with.
FAULTS = [
    ('of small numbers a bit is lost', NEAR[0], '0x1p23f', '0x1p15f'),
    ('sums stay as large as numbers were made', NEAR[0], '1 / (SCALE * SCALE)', '1 / SCALE'),
    ('two more products of slices are left out', NEAR[5], 'l >= 0; l--, r++', 'l >= both / 2; l--, r++'),
    ('sums overwrite what others still multiply', SHARED,
     '        numbered_sync(1, CONSUMERS * 128);', ''),
    ("a tile takes another's stages for its own", IN_TURN, '            await_turn(group);', ''),
    ('nobody says where a tile begins', IN_TURN,
     '        tell(pipe, number, job);', ''),
    ('a run goes on where the last tile began', IN_RUNS, 'j > 0 ? 0 : begin % p.depth',
     'begin % p.depth'),
    ('parts of neighbouring tiles are in one place', IN_RUNS, 'w.part = p.cluster + w.tile;',
     'w.part = p.cluster;'),
    ('stages are released before the rows below have read them', PROMOTED,
     'again = i < BLOCKS_M - 1', 'again = false'),
    ('a stage is released before its last rows are multiplied', UNITS,
     '    AWAIT_WGMMA(1);\n    if (block == BLOCKS_M - 1)\n'
     '        release(p, pipe, number + unit / BLOCKS_M, lane);',
     '    if (block == BLOCKS_M - 1)\n'
     '        release(p, pipe, number + unit / BLOCKS_M, lane);\n    AWAIT_WGMMA(1);'),
    ('a part is added while it is under way', UNITS, '    AWAIT_WGMMA(1);', '    AWAIT_WGMMA(2);'),
    ('units multiply to where the one before them did', UNITS,
     'pass_unit(acc, odd, even,', 'pass_unit(acc, odd, odd,'),
    ('a stage is released while it is multiplied', LATE, '        AWAIT_WGMMA(WGMMA_PENDING);',
     '        AWAIT_WGMMA(WGMMA_PENDING + 1);'),
    ('a piece takes the place of one that has not gone out', LATE,
     'AWAIT_COPIES_OUT(EPILOGUE_STAGES - 1)', 'AWAIT_COPIES_OUT(EPILOGUE_STAGES)'),
    ("a tile's first piece takes the place of the last one's", THREE_PIECES,
     'BLOCKS_M * PIECES % EPILOGUE_STAGES != 0', 'false'),
    ('the last line is not packed', PACKED, 'line + i * LINES_APART < lines && first',
     'line + i * LINES_APART < lines - 1 && first'),
    ('columns are packed before all rows are read', PACKED, '    __syncthreads();\n    UNROLL',
     '    UNROLL'),
    ("whole blocks' words are a row apart", WHOLE, 'row * WORD) * ld + line', 'row) * ld + line'),
    ('of many parts all but the first few are left out', MANY_PARTS, 'part < count; part', 'part < min(count, PARTS_EACH); part'),
    ('one part too few is added up', IN_RUNS, '- run + 1;', '- run;'),
    ('of a slice all but the first round are left out', SLICED, 'smaller(first + each, rounds)', 'first + 1'),
    ('a stage is filled before all have read it', RING,
     '    shared_ready();\n    BARRIER();\n', ''),
    ('a stage is filled with what it held', RING, 'STEPS + STAGES * TILE_K);',
     'STEPS + (STAGES - 1) * TILE_K);'),
    ('pieces stay where they are', RING, 'return line * TILE_K / BANKS % PIECES;', 'return 0;'),
    ("a stage's last step has the first operands of it again", FLAT, 'a == STEPS / SPAN_A ? on_m', 'false ? on_m'),
    ('a pass begins where the stage does', IN_PASSES, 'int on_m = PASS_M', 'int on_m = 0'),
    ('nobody waits for all threads to have read', IN_PASSES,
     '    numbered_sync(0, THREADS | (all & (unsigned) ld >> 31));', '    (void) all;'),
    ('words that came in another order are turned as the others are', TURNED,
     'turn(x, THREAD_X % 4 / 2);', 'turn(x);'),
    ('a half of a stage has the words of the other', TURNED, 'take_words(back, tile, HALF, at);',
     'take_words(back, tile, 0, at);'),
    ("a block's last tile stays in registers", LATE,
     'store_parcel(last, map_c, pieces, thread, group);', '(void) last;'),
    ('a product of slices is left out', SLICES_OF_F32, 'l >= 0; l--, r++', 'l >= both / 2; l--, r++'),
    ('slices are multiplied with the wrong ones', SLICES_OF_F32, ' r * (BYTES(TILE_N', ' l * (BYTES(TILE_N'),
    ('a slice is what the one above it was', SLICES_OF_F32, '        low -= FLOAT_OF_BITS(words[slice_of_f32] << 16);', ''),
    ('slices are packed to one place', SLICES_OF_F32, 'tile[slice], lines', 'tile[0], lines'),
    ('what is not finite stays as it is', SLICES_OF_F32, '!all_finite(sum[0], ALL_ACCUMULATORS)', 'false'),
    ('a patch is stored before all have written it', BY_ROWS,
     '            WARP_BARRIER();\n            store_patch', '            store_patch'),
    ('a patch is written before all have stored it', BY_ROWS,
     '            WARP_BARRIER();\n            write_patch', '            write_patch'),
    ('lower rows are stored over the upper ones', BY_ROWS, 'p % 2 * 8),', '0),'),
    ('a patch at the edge of a tile reaches into the next', BY_ROWS,
     'min(out.columns, tile.column + TILE_N)', 'out.columns'),
    ("a patch's lower rows are written over its upper ones", BY_COLUMNS, '(SWAP ? i % 4 * 4 : 0)', '0'),
    ('nor is it summed up anew from parts', TO_SUM_UP, '        if (!all_finite(x, 2))',
     '        if (false)'),
    ('a stage is released while its last products are under way', MORE_WEIGHTS, '        AWAIT_WGMMA(WGMMA_PENDING);',
     '        AWAIT_WGMMA(WGMMA_PENDING + 1);'),
    ('bytes stand as they were', WEIGHTS, '    turn(words);', ''),
    ('bytes are multiplied with the wrong ones', PASSES, '{ both - pass, pass }', '{ both - pass, both }'),
    ('weights are added up where they were', WEIGHTS, ' << s / ALL_ACCUMULATORS * 8;', ';'),
    ("a product is added to the sums of another weight", WEIGHTS, 'both * AT_ONCE : 0', 'l * AT_ONCE : 0'),
    ('all products have one weight', PASSES, '        shift(acc);', ''),
    ('a pass goes on where the one before it ended', PASSES, 'stage % stages_of_pass(p)', 'stage'),
    ("a piece's first pass is the tile's", CUT_PASSES, 'end = -begin;', 'end = 0;'),
    ('nobody waits for a stage', RING, '    barrier_wait(full(pipe, at.stage), at.odd);', ''),
    ('nobody waits for the stage of the next pass', FLAT, '                    await_stage(pipe, next);', '                    ;'),
    ('half of a stage is waited for', LATE, 'barrier_expect(full, BYTES_STAGE)', 'barrier_expect(full, BYTES_STAGE / 2)'),
    ('a stage is waited for by the wrong parity', LATE, 'number / STAGES % 2);', 'number / STAGES % 2 ^ 1);'),
    ('barriers are not shown to TMA', TOGETHER, '    barriers_ready();', ''),
    ('a block sends before its neighbour has barriers', TOGETHER, '    cluster_sync(BLOCKS);\n    PDL_WAIT();',
     '    __syncthreads();\n    PDL_WAIT();'),
    ('a block ends that others send to', TOGETHER, '    cluster_sync(BLOCKS);   // nothing', '    // nothing'),
    ('TMA does not see what it stores', LATE, '    shared_ready();\n    group_sync(group);\n', '    group_sync(group);\n'),
    ('where a tile begins is heard when its stage is free', IN_TURN, '        const job job = hear(pipe, number - 1);\n'
     '        release(p, pipe, number - 1, lane);', '        release(p, pipe, number - 1, lane);\n'
     '        const job job = hear(pipe, number - 1);'),
    ('a stage of nothing is told of before it is free', NOTHING, '        await_free(pipe, number);\n        tell(pipe, number, job);\n'
     '        barrier_arrive', '        tell(pipe, number, job);\n        barrier_arrive'),
    ('registers are filled that are still multiplied', FLOATS, '        AWAIT_WGMMA(1);\n        fence_words(back);', ''),
    ('registers are not fenced', LATE, '    wgmma_begin();\n    UNROLL\n    for (int both', '    UNROLL\n    for (int both'),
    ('a piece takes the sums of another', LATE, '[p % PIECES * (PIECE_N / 4)]',
     '[(p + 1) % PIECES * (PIECE_N / 4)]'),
]


FLAGS = ['-std=c++17', '-O1', '-w', '-U_FORTIFY_SOURCE']


class Wrong(Exception):
    """The kernel was built, and ran, and what it computed is not right."""


def check(arguments, failure=RuntimeError, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, **more)
    if done.returncode:
        raise failure(f'{arguments[0]}: {done.stdout}{done.stderr}')
    return done.stdout


def emit_options(problem):
    words = problem.split()
    options = ['--type', words[1], '--transposes', words[2]]
    for word in words[4:]:
        name, _, value = word.partition('=')
        if name in ('out', 'bias', 'activation'):
            options += ['--' + name, value]
    return options


def name_of(case):
    knobs = dict(case[0], **case[1])
    template = knobs.pop('template', 'wgmma')
    return template + ''.join(f' {name}={value}' for name, value in knobs.items())


def built_with(compiler, files):
    """A hash of all but the kernel that a program is made of."""
    version = check([*compiler, '--version'])
    return hashlib.sha1(b''.join([repr((FLAGS, version)).encode(), *(file.read_bytes() for file in files)]))


def build(text, compiler, folder):
    (folder / 'kernel.h').write_text(text)
    check([*compiler, *FLAGS, '-DKERNEL="kernel.h"', str(folder / 'emulate.cpp'), '-o', str(folder / 'kernel')])
    return folder / 'kernel'


def find_or_build(text, compiler, folder, known):
    """Where the folder MMT_FAKE_OBJECTS is named, a program stays there."""
    objects = os.environ.get('MMT_FAKE_OBJECTS')
    if not objects:
        return build(text, compiler, folder)
    name = known.copy()
    name.update(text.encode())
    kept = pathlib.Path(objects, name.hexdigest())
    if not kept.exists():
        os.makedirs(objects, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=objects) as own:
            shutil.copy(build(text, compiler, folder), own)
            os.rename(own + '/kernel', kept)
    return kept


def run(case, mmtune, launches, compiler, folder, known, old='', new=''):
    configuration, problem = name_of(case), case[2]
    print(f'{problem}: {configuration}', flush=True)
    environment = dict(os.environ, MMTUNE_TEMPLATE_DIR=str(folder))
    text = check([mmtune, 'emit', configuration, *emit_options(problem)], env=environment)
    if old not in text:
        raise ValueError(f'the kernel has no {old.strip()}')
    program = build(text.replace(old, new), compiler, folder) if old else find_or_build(text, compiler, folder, known)
    plan = check([launches, configuration, problem])
    calls = [['near', kind] for kind in range(KINDS)] if case[3] == 'near' else [case[3:]]
    for arguments in calls:
        check([str(program), *map(str, arguments)], Wrong, input=plan)


def is_right(case, *where):
    try:
        run(case, *where)
    except (RuntimeError, Wrong) as error:
        print(f'wrong: {case[3:]}: {error}')
        return False
    return True


def is_found(fault, *where):
    name, case, old, new = fault
    try:
        run(case, *where, old, new)
    except Wrong:
        return True
    print(f'not found: {name}')
    return False


def draw_problem(draw):
    kind = draw.choice(['bf16', 'f16', 'tf32', 'f8e4m3', 'f8e5m2', 'i8', 'i32'])
    m, n = draw.choice([1, 8, 40, 72, 136, 264, 600]), draw.choice([8, 16, 40, 112, 203, 456])
    words = [f'gemm {kind}', draw.choice(['nn', 'nt', 'tn', 'tt']),
             f'{m}x{n}x{draw.choice([0, 16, 72, 328, 712, 1304])}']
    step = 16 if kind in ('f8e4m3', 'f8e5m2', 'i8') else 8
    k = int(words[-1].split('x')[2])
    if words[1][0] == 't' or k % step:
        words.append(f'lda={-(-max(m, k) // step) * step}')
    if words[1][1] == 't' or n % step:
        words.append(f'ldb={-(-max(n, k) // step) * step}')
    if kind not in ('i8', 'i32'):
        words.append(draw.choice(['out=f32', '']))
    words += [draw.choice(['', 'batch=2']), draw.choice(['', 'bias=row', 'bias=column']),
              draw.choice(['', 'activation=relu'])]
    return ' '.join(word for word in words if word)


# Each knob as it is in one of those above, or anything.
def draw_knobs(draw, values):
    base = draw.choice([SMALL, WIDE, SMALL, WIDE] + [dict(c[0], **c[1]) for c in CASES])
    return {name: base[name] if name in base and draw.random() < 0.6 else draw.choice(all)
            for name, all in values.items()}


def draw_case(draw, values, launches):
    while True:
        case = (draw_knobs(draw, values), {}, draw_problem(draw), draw.choice([1, 0, 2]),
                draw.choice([0, 1, -1]))
        if not subprocess.run([launches, name_of(case), case[2]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
            return case


def sample(count, seed, mmtune, launches, *where):
    knobs = json.loads(check([mmtune, 'templates', 'wgmma', '--json']))[0]['knobs']
    values = {knob['name']: knob['values'] for knob in knobs}
    draw = random.Random(seed)
    wrong = sum(not is_right(draw_case(draw, values, launches), mmtune, launches, *where) for _ in range(count))
    print(f'emulated: {count} drawn, {wrong} wrong')
    return wrong > 0


def kinds_of(case):
    """Of its template: the type, and all else that is said of the problem and the knobs."""
    template, *knobs = name_of(case).split()
    _, kind, transposes, sizes, *more = case[2].split()
    words = [*knobs, transposes, 'k=0' * sizes.endswith('x0'), 'near' * (case[3] == 'near'),
             *(word.split('=')[0] for word in more)]
    return {(template, kind)}, {(template, word) for word in words}


def most_kinds(cases, count):
    """So many of them, each with a type that those before it have not, and with most else."""
    chosen, types, others = [], set(), set()
    for _ in range(count):
        chosen.append(max(cases, key=lambda case: (len(kinds_of(case)[0] - types), len(kinds_of(case)[1] - others))))
        types |= kinds_of(chosen[-1])[0]
        others |= kinds_of(chosen[-1])[1]
    return chosen


def examine(count, *where):
    products, faults = CASES + NEAR, FAULTS
    if count:
        products, faults = most_kinds(products, count), faults[::len(faults) // count][:count]
    wrong = sum(not is_right(case, *where) for case in products)
    missed = sum(not is_found(fault, *where) for fault in faults)
    print(f'emulated: {len(products)} products, {wrong} wrong; {len(faults)} faults, {missed} missed')
    return wrong + missed > 0


def main():
    words, count = sys.argv[1:], 0
    if words[0] == '--sample':
        count, words = int(words[1]), words[2:]
    mmtune, launches, *compiler = words
    numbers = [int(compiler.pop()) for word in compiler[1:] if word.isdigit()][::-1]
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    emulation = root / 'tests/emulation'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        own = sorted([*(emulation / 'hopper').glob('*.[ch]*'), *emulation.glob('*.h'), root / 'tests/support/near.h'])
        for file in [*(root / 'templates/kernels').glob('*.[ch]*'), *own]:
            shutil.copy(file, folder)
        # What all kernels include first is read once; a compiler that keeps no such file reads it again.
        check([*compiler, *FLAGS, '-x', 'c++-header', str(folder / 'machine.h'),
               '-o', str(folder / 'machine.h.gch')])
        where = mmtune, launches, compiler, folder, built_with(compiler, own)
        return sample(*numbers, *where) if numbers else examine(count, *where)


sys.exit(main())
