/* For OpenCL texts on the host: their words are CUDA's, too. */
#include "../../../templates/kernels/prelude_cuda.h"
