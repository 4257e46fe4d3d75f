/* Providers, their variants, and the Python that runs a foreign one. */
#include "check.h"
#include "fail_alloc.h"
#include "launch_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/openblas.h"

TEST(table)
{
    size_t n = 0;
    const cbx_provider_ops *const *all = cbx_providers(&n);
    CHECK_INT(n, 11, "native, cuda, numpy, jax, torch, pyg, scipy, graphblas, metrics, torchmetrics, calibrax");
    for (size_t i = 0; i < n; i++) {
        const cbx_variant *v = NULL;
        CHECK(cbx_provider_find(all[i]->name) == all[i], all[i]->name);
        CHECK(all[i]->python == (all[i]->setup != NULL), "what runs in Python has a command that adds it");
        size_t nv = all[i]->variants(NULL, &v);
        CHECK(nv >= 1 && strcmp(v[0].name, "default") == 0 && v[0].nenv == 0, "the default first, as installed");
        CHECK_INT(nv, all[i]->python ? 2 : 1, "Python ones have an allocator to tune");
        for (size_t k = 0; k < nv; k++) CHECK(v[k].why && *v[k].why, "a reason");
    }
    CHECK(cbx_provider_find("fortran") == NULL && cbx_provider_find(NULL) == NULL, "unknown");
}

TEST(openblas_variant_follows_the_cpu)
{
    const cbx_provider_ops *native = cbx_provider_find("native");
    cbx_baseline_ops openblas = { .name = "openblas" }, tiled = { .name = "tiled" };
    const cbx_variant *v = NULL;
    CHECK_INT(native->variants(&tiled, &v), 1, "our own kernels choose for themselves");
    size_t n = native->variants(&openblas, &v);
    CHECK_INT(n, cbx_openblas_misjudges_cpu() ? 2 : 1, "only where it is needed");
    if (n == 2) CHECK_STR(v[1].env[0].name, "OPENBLAS_CORETYPE", "what it repairs");
}

static void make_program(const char *path)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL, path);
    fputs("#!/bin/sh\n", f);
    fclose(f);
    CHECK(chmod(path, 0755) == 0, path);
}

TEST(interpreter_order)
{
    static const struct {
        const char *variable;
        const char *why;
    } order[] = {
        /* the last one wins over those before it */
        { "NPERF_WORKER_PYTHON", "for all" },
        { "NPERF_PYTHON_CUDA12", "for a platform" },
        { "NPERF_PYTHON_MY_FW", "for a framework, with - as _" },
        { "NPERF_PYTHON_MY_FW_CUDA12", "for both" },
    };
    fixture *f = *test_state;
    char program[256], folder[256];
    const char *path = NULL, *origin = NULL;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena_init(&arena, cbx_ctx_allocator(f->ctx));

    setenv("NPERF_REFS_ENV_DIR", f->cache, 1);
    snprintf(program, sizeof program, "%s/python3", f->cache);
    make_program(program);
    setenv("PATH", f->cache, 1);
    CHECK_OK(cbx_provider_interpreter(f->ctx, "my-fw", "cuda12", &arena, &path, &origin, &err), &err, "on PATH");
    CHECK_STR(path, program, "on PATH");
    CHECK_STR(origin, "PATH", "on PATH");

    snprintf(folder, sizeof folder, "%s/my-fw", f->cache);
    mkdir(folder, 0755);
    snprintf(folder, sizeof folder, "%s/my-fw/bin", f->cache);
    mkdir(folder, 0755);
    snprintf(program, sizeof program, "%s/my-fw/bin/python", f->cache);
    make_program(program);
    CHECK_OK(cbx_provider_interpreter(f->ctx, "my-fw", "cuda12", &arena, &path, &origin, &err), &err, "an environment");
    CHECK_STR(path, program, "the environment that was set up");
    CHECK_STR(origin, "scripts/setup-refs.sh", "the environment that was set up");

    for (size_t i = 0; i < CBX_LEN(order); i++) {
        snprintf(program, sizeof program, "%s/program%zu", f->cache, i);
        setenv(order[i].variable, program, 1);
        CHECK_STATUS(cbx_provider_interpreter(f->ctx, "my-fw", "cuda12", &arena, &path, &origin, &err), CBX_ENOENT,
                     order[i].why);
        CHECK(strstr(err.message, order[i].variable) && strstr(err.message, program), "names both");
        make_program(program);
        CHECK_OK(cbx_provider_interpreter(f->ctx, "my-fw", "cuda12", &arena, &path, &origin, &err), &err, order[i].why);
        CHECK_STR(path, program, order[i].why);
        CHECK_STR(origin, order[i].variable, order[i].why);
    }
    setenv("NPERF_PYTHON_MY_FW_CUDA12", "", 1);
    CHECK_OK(cbx_provider_interpreter(f->ctx, "my-fw", "cuda12", &arena, &path, &origin, &err), &err,
             "an empty variable is unset");
    CHECK_STR(origin, "NPERF_PYTHON_MY_FW", "an empty variable is unset");
    setenv("NPERF_PYTHON_MY_FW", "python3", 1);
    CHECK_OK(cbx_provider_interpreter(f->ctx, "my-fw", "cpu", &arena, &path, &origin, &err), &err,
             "a name without a path");
    snprintf(program, sizeof program, "%s/python3", f->cache);
    CHECK_STR(path, program, "is looked for on PATH");

    for (size_t i = 0; i < CBX_LEN(order); i++) unsetenv(order[i].variable);
    setenv("PATH", "/nonexistent", 1);
    CHECK_STATUS(cbx_provider_interpreter(f->ctx, "other", "cpu", &arena, &path, NULL, &err), CBX_EUNAVAILABLE,
                 "no Python at all");
    CHECK(strstr(err.message, "scripts/setup-refs.sh other") != NULL, "names the remedy");
    unsetenv("NPERF_REFS_ENV_DIR");
    cbx_arena_clear(&arena);
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
