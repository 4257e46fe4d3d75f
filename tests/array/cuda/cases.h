/*
 * What a device must get right, whether it is played on this CPU or real: each call runs a table of
 * products and fails the test with the first that is wrong.
 */
#ifndef TESTS_ARRAY_CUDA_CASES_H
#define TESTS_ARRAY_CUDA_CASES_H

#include "problem.h"

/* Every algebra, dtype and layout at shapes with tails, one product and stacks. */
void cases_shapes(cbx_cuda *g, cbx_cuda_gemm gemm);
/* NaN, infinities, masked rows, values spread over 700 nats. */
void cases_contents(cbx_cuda *g, cbx_cuda_gemm gemm);
/* D, masks, raw. */
void cases_epilogues(cbx_cuda *g, cbx_cuda_gemm gemm);
void cases_parts(cbx_cuda *g, cbx_cuda_gemm gemm);
/* Sparse products, gathers, softmax. */
void cases_sparse(cbx_cuda *g);
/* The host's own arrays. */
void cases_host(cbx_cuda *g);
/* A faulty product comes out as one. */
void cases_faulty(cbx_cuda *g);

#endif
