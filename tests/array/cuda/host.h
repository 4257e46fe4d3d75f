/* Products of arrays in the host's memory: copied to the device, computed, and copied back. */
#ifndef TESTS_ARRAY_CUDA_HOST_H
#define TESTS_ARRAY_CUDA_HOST_H

#include "calibrax/array/cuda/cuda.h"

/* As cbx_matmul_run; workspace, isa and threads are ignored. */
cbx_status host_matmul(cbx_cuda *g, const cbx_matmul *p, cbx_err *err);
/* As cbx_ell_product_run. */
cbx_status host_ell_product(cbx_cuda *g, const cbx_ell_product *p, cbx_err *err);

#endif
