/*
 * The start of a launch: which program runs the baseline, with what environment, on which cores, under which limits.
 */
#include "calibrax/base/tools.h"
#include "calibrax/perf/environment.h"
#include "calibrax/perf/launch_run.h"

#include <stdio.h>
#include <string.h>

/* A failure that came before there was a worker. */
static cbx_status not_started(cbx__run *x, cbx_failure failure, const cbx_err *why)
{
    x->r->failure = failure;
    snprintf(x->r->message, sizeof x->r->message, "%s", why->message);
    return CBX_OK;
}

cbx_status cbx__run_start(cbx__run *x, cbx_arena *arena, cbx_err *err)
{
    const cbx_provider_ops *provider = cbx_provider_find(x->baseline->provider);
    bool python = provider ? provider->python : x->o.interpreter != NULL;
    const char *program[6] = { 0 };
    cbx__environment env;
    cbx_err why = CBX_ERR_INIT;
    const char *tool;

    if (python && !x->o.interpreter) {
        cbx_fail(&why, CBX_EUNAVAILABLE, "no Python was given for provider '%s'", x->baseline->provider);
        return not_started(x, CBX_FAILURE_INTERPRETER_MISSING, &why);
    }
    cbx_status st = cbx__tool_find(python ? CBX__TOOL_PYTHON_WORKER : CBX__TOOL_WORKER, arena, &tool, &why);
    if (st == CBX_ENOENT) return not_started(x, CBX_FAILURE_WORKER_MISSING, &why);
    if (st) return cbx_fail(err, st, "%s", why.message);
    if (python) {
        const char *command[] = { x->o.interpreter, "-u", tool, x->baseline->provider, x->o.platform };
        memcpy(program, command, sizeof command);
    } else {
        program[0] = tool;
    }
    cbx__environment_clean(&env, arena);
    cbx__environment_worker(&env, &x->o, x->baseline->provider);
    if (env.failed) return cbx_fail(err, CBX_ENOMEM, "no memory for the environment of '%s'", cbx__tool_base(tool));
    cbx__child_opts child = { .program = program,
                              .env = env.vars,
                              .sandbox = true,
                              .held = x->o.held,
                              .nheld = x->o.nheld,
                              .cores = x->o.cores,
                              .ncores = x->o.ncores,
                              .env_pad_bytes = x->o.env_pad_bytes,
                              .stack_pad_bytes = x->o.stack_pad_bytes };
    cbx__talk_opts talk = { .timeout_s = x->o.message_timeout_s,
                            .memory_limit_bytes = x->o.memory_limit_bytes,
                            .files = x->checker.fds,
                            .file_most = x->checker.most_bytes,
                            .nfiles = x->w->c->noutputs,
                            .stop = x->o.stop,
                            .python = python };
    st = cbx__talk_open(cbx_ctx_allocator(x->ctx), &child, &talk, &x->t, &why);
    if (st == CBX_ENOENT) return not_started(x, CBX_FAILURE_WORKER_MISSING, &why);
    if (!st) cbx__run_limit_memory(x);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}
