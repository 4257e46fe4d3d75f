/*
 * The played driver; see played.h.
 */
#include "played.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

played_calls shim;
char played_driver[4096];
static char images[4096];

int played_begin(void **state)
{
    const struct {
        const char *name;
        void *to;
    } calls[] = {
        { "shim_fail", &shim.spoil },
        { "shim_sticky", &shim.sticky },
        { "shim_open", &shim.open },
        { "shim_launches", &shim.launches },
        { "shim_math", &shim.math },
        { "shim_version", &shim.version },
        { "shim_capability", &shim.capability },
        { "shim_processors", &shim.processors },
        { "shim_turn", &shim.turn },
        { "shim_tick", &shim.tick },
        { "shim_drop", &shim.drop },
    };
    const char *root = getenv("CALIBRAX_BUILD_ROOT");
    void *library;

    (void)state;
    snprintf(played_driver, sizeof played_driver, "%s/tests/array/cuda/libshim_cuda.so", root ? root : "build/release");
    snprintf(images, sizeof images, "%s/tests/array/cuda", root ? root : "build/release");
    library = dlopen(played_driver, RTLD_NOW | RTLD_LOCAL); /* the library opens the very same */
    if (!library) fail_msg("%s", dlerror());
    for (size_t i = 0; i < CBX_LEN(calls); i++) {
        void *address = dlsym(library, calls[i].name);
        if (!address) fail_msg("no '%s'", calls[i].name);
        memcpy(calls[i].to, &address, sizeof address);
    }
    return 0;
}

cbx_cuda_opts played_options(bool blas)
{
    cbx_cuda_opts o = CBX_CUDA_OPTS_INIT;
    o.driver = played_driver;
    o.cublas = blas ? played_driver : "";
    o.images = images;
    return o;
}

cbx_ctx *played_ctx(void)
{
    cbx_ctx *ctx = cbx_test_context();
    return ctx;
}

played_device played_open(bool blas, int processors, int turned)
{
    const cbx_cuda_opts o = played_options(blas);
    cbx_err err = CBX_ERR_INIT;
    played_device d = { played_ctx(), NULL };

    shim.processors(processors);
    shim.turn(turned);
    CHECK_OK(cbx_cuda_open(d.ctx, &o, &d.g, &err), &err, "open");
    return d;
}

void played_close(played_device *d)
{
    cbx_cuda_close(d->g);
    cbx_ctx_free(d->ctx);
    CHECK_INT(shim.open(), 0, "all is given back");
}
