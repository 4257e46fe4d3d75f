/*
 * The start of a launch: which program runs the baseline, with what environment, on which cores,
 * under which limits.
 */
#include "calibrax/base/idioms.h"
#include "calibrax/base/path.h"
#include "calibrax/base/programs.h"
#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/perf/launch/policy.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/* A failure that came before there was a worker. */
static cbx_status not_started(cbx__run *x, cbx_failure failure, const cbx_err *why)
{
    x->r->failure = failure;
    snprintf(x->r->message, sizeof x->r->message, "%s", why->message);
    return CBX_OK;
}

static cbx_sandbox_mode mode_of(const cbx__run *x) { return x->o.sandbox ? x->o.sandbox->mode : CBX_SANDBOX_AUTO; }

/* A folder of its own, and what may be read beside it. */
static cbx_status confine(cbx__run *x, const char *const *program, cbx__environment *env, cbx_arena *arena,
                          cbx__grants *grants, cbx_err *err)
{
    cbx__grants_for whom = { .policy = x->o.sandbox,
                             .oracle_dir = x->w->oracle_dir[0] ? x->w->oracle_dir : NULL,
                             .program = program,
                             .interpreter = x->o.interpreter,
                             .definitions = { x->baseline->definition, x->w->c->oracle_definition },
                             .platform = x->o.platform,
                             .scratch = x->scratch.path,
                             .jit_cache = x->o.jit_cache };

    if (mode_of(x) == CBX_SANDBOX_OFF) return CBX_OK;
    cbx_status st = cbx__scratch_folder_make(&x->scratch, err);
    if (st) return st;
    cbx__scratch_folder_environment(env, x->scratch.path);
    return cbx__grants_find(x->o.kept, &whom, arena, grants, err);
}

cbx_status cbx__run_start(cbx__run *x, cbx_arena *arena, cbx_err *err)
{
    const cbx_provider_ops *provider = cbx_provider_find(x->baseline->provider);
    bool python = provider ? provider->python : x->o.interpreter != NULL;
    const char *program[6] = { 0 };
    cbx__environment env;
    cbx__grants grants = { .count = 0 };
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
    st = confine(x, program, &env, arena, &grants, err);
    if (st) return st;
    cbx__environment_worker(&env, &x->o, x->baseline->provider);
    if (env.failed) return cbx_fail(err, CBX_ENOMEM, "no memory for the environment of '%s'", cbx_path_base(tool));
    cbx__child_opts child = { .program = program,
                              .env = env.vars,
                              .confine = mode_of(x) != CBX_SANDBOX_OFF,
                              .sandbox = mode_of(x),
                              .grants = grants.list,
                              .ngrants = grants.count,
                              .held = x->o.held,
                              .nheld = x->o.nheld,
                              .cores = x->o.cores,
                              .ncores = x->o.ncores,
                              .env_pad_bytes = x->o.env_pad_bytes,
                              .stack_pad_bytes = x->o.stack_pad_bytes };
    cbx__talk_opts talk = { .timeout_s = x->o.message_timeout_s,
                            .memory_limit_bytes = x->o.memory_limit_bytes,
                            .files = x->checker.fds,
                            .file_max = x->checker.max_bytes,
                            .nfiles = x->w->c->noutputs,
                            .stop = x->o.stop,
                            .python = python };
    st = cbx__talk_open(cbx_ctx_allocator(x->ctx), &child, &talk, &x->t, &why);
    if (st == CBX_ENOENT) return not_started(x, CBX_FAILURE_WORKER_MISSING, &why);
    if (!st) cbx__run_limit_memory(x);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* --- what a sandbox can enforce here --- */

/* The launcher reports what it has in force and becomes a program; which one does not matter, so it
 * is the launcher again, with nothing to do. */
cbx_status cbx_sandbox_probe(cbx_ctx *ctx, cbx_sandbox_facts *out, cbx_err *err)
{
    static const cbx__grant all[] = { { "--read", "/" } };
    const char *program[] = { NULL, NULL };
    cbx__child_opts child = { .program = program, .confine = true, .grants = all, .ngrants = CBX_LEN(all) };
    cbx__talk_opts opts = { .timeout_s = 60 };
    cbx_sandbox_facts facts;
    cbx__talk *t = NULL;

    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__tool_find(CBX__TOOL_LAUNCH, &arena, &program[0], err);
    if (!st) st = cbx__talk_open(cbx_ctx_allocator(ctx), &child, &opts, &t, err);
    if (!st && !cbx__talk_launched(t, &facts))
        st = cbx_fail(err, t->failure == CBX_FAILURE_WORKER_MISSING ? CBX_EVERSION : CBX_EIO, "%s", t->message);
    if (!st) *out = facts;
    cbx__talk_close(t);
    return st;
}

cbx_status cbx_sandbox_check(cbx_ctx *ctx, cbx_err *err)
{
    cbx_sandbox_facts f;
    cbx_status st = cbx_sandbox_probe(ctx, &f, err);

    if (st) return st;
#define CHECK_PART(member, word, lack, remedy)                                                                         \
    if (!f.member)                                                                                                     \
        return cbx_fail(err, CBX_EUNAVAILABLE,                                                                         \
                        "the sandbox is not completely available on this machine: %s; it needs: %s", lack, remedy);
    CBX_SANDBOX_PARTS(CHECK_PART)
#undef CHECK_PART
    return CBX_OK;
}

/* --- words of the sandbox, and this process's own guard --- */

const char *cbx_sandbox_mode_word(cbx_sandbox_mode mode)
{
    return mode == CBX_SANDBOX_OFF ? "off" : mode == CBX_SANDBOX_REQUIRE ? "require" : "auto";
}

void cbx_sandbox_guard_self(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
