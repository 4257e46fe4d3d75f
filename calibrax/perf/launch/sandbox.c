/* Words of the sandbox, what of it can be had here, and this process's own guard. */
#include "calibrax/perf/launch/sandbox.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "calibrax/base/text.h"

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

void cbx_sandbox_guard_self(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
