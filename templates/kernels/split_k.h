// How many parts k has, for kernels whose text is the same for any SPLIT_K above 1. Stands
// before grid.h.

#define PARTS (SPLIT_K > 1 ? GRID_Y / CLUSTER : 1)   // with accumulators in the workspace
