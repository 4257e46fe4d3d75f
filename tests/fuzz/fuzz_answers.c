/*
 * Any bytes as what call.py writes of a Python function; the first one is left out.  What is
 * accepted is a measurement: times that are times.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/profiling/python_call.h"
#include "fuzz.h"

static void require(bool good)
{
    if (!good) abort();
}

static bool is_told(const cbx_err *err) { return err->message[0] && !strchr(err->message, '\n'); }

static void python(cbx_ctx *ctx, const char *text, size_t len)
{
    cbx_python_call_opts opts = CBX_PYTHON_CALL_OPTS_INIT;
    cbx_python_call c = { .timing = { .al = *cbx_ctx_allocator(ctx) } };
    cbx_err err = CBX_ERR_INIT;

    opts.module = "m";
    opts.function = "f";
    opts.flops = true;
    if (cbx__python_answer_read(ctx, &opts, text, len, &c, &err)) {
        require(is_told(&err));
    } else {
        require(c.timing.nsamples > 0 && c.timing.calls_per_sample > 0);
        for (size_t i = 0; i < c.timing.nsamples; i++)
            require(isfinite(c.timing.samples[i]) && c.timing.samples[i] > 0);
        require(!(c.work.flop < 0) && !(c.work.bytes < 0) && memchr(c.work.why, 0, sizeof c.work.why));
    }
    cbx_python_call_clear(&c);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    char *text;

    if (size < 1) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    text = malloc(size); /* NUL-terminated, as files are read */
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    python(ctx, text, size - 1);
    free(text);
    return 0;
}
