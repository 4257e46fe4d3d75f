/* Words of the sandbox, what of it can be had here, and this process's own guard. */
#include "calibrax/perf/launch/sandbox.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "calibrax/base/text.h"
#include "calibrax/base/tools.h"
#include "calibrax/perf/launch/talk.h"

static const char *const modes[] = {
    [CBX_SANDBOX_AUTO] = "auto", [CBX_SANDBOX_OFF] = "off", [CBX_SANDBOX_REQUIRE] = "require"
};

cbx_status cbx_sandbox_parse(const char *word, cbx_sandbox_mode *out, cbx_err *err)
{
    const char *near;

    for (size_t i = 0; i < CBX_LEN(modes); i++) {
        if (strcmp(word, modes[i]) != 0) continue;
        *out = (cbx_sandbox_mode)i;
        return CBX_OK;
    }
    near = cbx_nearest_word(word, modes, CBX_LEN(modes));
    return cbx_fail(err, CBX_EINVAL, "unknown word '%s'%s%s%s; known: off, auto, require", word,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const char *cbx_sandbox_mode_word(cbx_sandbox_mode mode)
{
    return modes[(unsigned)mode < CBX_LEN(modes) ? mode : CBX_SANDBOX_AUTO];
}

bool cbx_sandbox_whole(const cbx_sandbox_facts *f)
{
#define AND(member, word, lack, remedy) &&f->member
    return true CBX_SANDBOX_PARTS(AND);
#undef AND
}

void cbx__sandbox_facts_read(const cbx_json *o, cbx_sandbox_facts *out)
{
#define READ_PART(member, word, lack, remedy) out->member = cbx_json_get_bool(o, word, false);
    CBX_SANDBOX_PARTS(READ_PART)
#undef READ_PART
    out->landlock = (int)cbx_json_get_int(o, "landlock", 0);
}

/* The launcher says what it has in force and becomes a program; which one does not matter, so it is the launcher again, with nothing to do. */
cbx_status cbx_sandbox_probe(cbx_ctx *ctx, cbx_sandbox_facts *out, cbx_err *err)
{
    static const cbx__grant all[] = { { "--read", "/" } };
    const char *program[] = { NULL, NULL };
    cbx__child_opts child = { .program = program, .confine = true, .grants = all, .ngrants = CBX_LEN(all) };
    cbx__talk_opts opts = { .timeout_s = 60 };
    cbx_sandbox_facts facts;
    cbx__talk *t = NULL;
    cbx_arena arena;
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx__tool_find(CBX__TOOL_LAUNCH, &arena, &program[0], err);
    if (!st) st = cbx__talk_open(cbx_ctx_allocator(ctx), &child, &opts, &t, err);
    if (!st && !cbx__talk_launched(t, &facts))
        st = cbx_fail(err, t->failure == CBX_FAILURE_WORKER_MISSING ? CBX_EVERSION : CBX_EIO, "%s", t->message);
    if (!st) *out = facts;
    cbx__talk_close(t);
    cbx_arena_clear(&arena);
    return st;
}

cbx_status cbx_sandbox_check(cbx_ctx *ctx, cbx_err *err)
{
    cbx_sandbox_facts f;
    cbx_status st = cbx_sandbox_probe(ctx, &f, err);

    if (st) return st;
#define CHECK_PART(member, word, lack, remedy)                                                                         \
    if (!f.member)                                                                                                     \
        return cbx_fail(err, CBX_EUNAVAILABLE, "the sandbox cannot be had whole here: %s; it needs: %s", lack, remedy);
    CBX_SANDBOX_PARTS(CHECK_PART)
#undef CHECK_PART
    return CBX_OK;
}

void cbx_sandbox_guard_self(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
