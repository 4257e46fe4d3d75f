/* Words of the sandbox, what of it can be had here, and this process's own guard. */
#include "calibrax/perf/launch/sandbox.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>


const char *cbx_sandbox_mode_word(cbx_sandbox_mode mode)
{
    return mode == CBX_SANDBOX_OFF ? "off" : mode == CBX_SANDBOX_REQUIRE ? "require" : "auto";
}

bool cbx_sandbox_whole(const cbx_sandbox_facts *f)
{
#define AND(member, word, lack, remedy) &&f->member
    return true CBX_SANDBOX_PARTS(AND);
#undef AND
}

void cbx_sandbox_guard_self(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
