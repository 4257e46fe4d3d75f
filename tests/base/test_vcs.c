/* Version-control facts, on repositories made with git. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/vcs.h"
#include "fail_alloc.h"

static char folder[64];
static cbx_ctx *ctx;

/* Runs a shell command in the folder, away from the user's configuration. */
static int run(const char *command)
{
    char line[1024];
    snprintf(line, sizeof line,
             "cd '%s' && export HOME=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 && unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; { "
             "%s; } >/dev/null 2>&1",
             folder, command);
    return system(line);
}

#define COMMIT "git -c user.name=A -c user.email=a@example.org -c commit.gpgsign=false commit -q -m 'a: b'"

static void facts_of(const char *below, cbx_vcs_facts *f)
{
    char path[128];
    cbx_err err = CBX_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", folder, below);
    cbx_status st = cbx_vcs_read(ctx, path, f, &err);
    CHECK_OK(st, &err, below);
}

TEST(no_repository)
{
    cbx_vcs_facts f;
    memset(&f, 0xFF, sizeof f);
    setenv("GIT_CEILING_DIRECTORIES", "/", 1);
    facts_of("", &f);
    CHECK(!f.known && !f.dirty && f.commit[0] == 0 && f.branch[0] == 0, "all empty");
    facts_of("not/there", &f);
    CHECK(!f.known, "a path that does not exist");
}

TEST(life_of_a_work_tree)
{
    cbx_vcs_facts f;
    CHECK_INT(run("mkdir -p w/sub && cd w && git init -q -b topic/one . && echo 1 > f"), 0, "init");
    facts_of("w", &f);
    CHECK(!f.known, "no commit yet");
    CHECK_INT(run("cd w && git add f && " COMMIT), 0, "commit");
    facts_of("w/sub", &f);
    CHECK(f.known && !f.dirty, "clean, from a folder below");
    CHECK_STR(f.branch, "topic/one", "short name of the branch");
    CHECK_INT(strlen(f.commit), 40, "full hash");
    char check[200];
    snprintf(check, sizeof check, "cd w && test $(git rev-parse HEAD) = %s", f.commit);
    CHECK_INT(run(check), 0, "the hash git tells");
    CHECK_INT(run("echo 2 > w/untracked"), 0, "untracked file");
    facts_of("w", &f);
    CHECK(!f.dirty, "untracked files do not count");
    CHECK_INT(run("echo 22 > w/f"), 0, "change");
    facts_of("w", &f);
    CHECK(f.dirty, "changed in the work tree");
    CHECK_INT(run("cd w && git add f"), 0, "stage");
    facts_of("w", &f);
    CHECK(f.dirty, "changed in the index");
    CHECK_INT(run("cd w && " COMMIT " && git checkout -q --detach"), 0, "detach");
    facts_of("w", &f);
    CHECK(f.known && !f.dirty, "clean again");
    CHECK_STR(f.branch, "", "no branch");
    CHECK_INT(run("rm w/f"), 0, "remove");
    facts_of("w", &f);
    CHECK(f.dirty, "a removed file counts");
}

TEST(another_users_work_tree)
{
    cbx_vcs_facts f;
    if (geteuid() != 0) SKIP("permission: only root can give a folder away");
    CHECK_INT(run("mkdir o && cd o && git init -q -b m . && echo 1 > f && git add f && " COMMIT " && chown -R 65534 ."),
              0, "init");
    facts_of("o", &f);
    CHECK(f.known && !f.dirty, "read all the same");
}

TEST(broken_repository)
{
    cbx_vcs_facts f;
    CHECK_INT(
        run("mkdir b && cd b && git init -q -b m . && echo 1 > f && git add f && " COMMIT " && rm -rf .git/objects"), 0,
        "init");
    facts_of("b", &f);
    CHECK(!f.known || f.dirty, "never known and clean");
    CHECK_INT(run("echo rubbish > b/.git/HEAD"), 0, "break more");
    facts_of("b", &f);
    CHECK(!f.known, "no head");
}

static cbx_status read_facts(cbx_ctx *c, void *path)
{
    cbx_vcs_facts f;
    return cbx_vcs_read(c, path, &f, NULL);
}

TEST(every_allocation_can_fail)
{
    cbx_vcs_facts f;
    facts_of("", &f);
    CHECK_GT(cbx_test_fail_each(read_facts, folder, "facts"), 0, "the library's handle");
}

static int setup(void **state)
{
    return (void)state, cbx_test_folder(folder) == NULL || cbx_ctx_create(NULL, &ctx, NULL) != CBX_OK;
}
static int teardown(void **state) { return (void)state, cbx_ctx_free(ctx), cbx_test_folder_remove(folder), 0; }

TESTS(.before = setup, .after = teardown)
