/* Control groups, on folders that look like them: where one can be made, what is written there,
 * what is read as evidence. */
#include "check.h"
#include "fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/perf/launch/memory_group.h"
#include "calibrax/profiling/procfs.h"

static char folder[64];

static const char *get(const char *group, const char *file)
{
    static char text[256];
    char path[CBX__GROUP_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", group, file);
    cbx__proc_read(path, text, sizeof(text));
    return text;
}

TEST(bases)
{
    static const struct {
        const char *name, *own, *controllers, *own_tree,
            *upper_tree; /* subtree_control of our group and of the one above; NULL: none */
        const char *base, *why;
    } cases[] = {
        { "v1", "4:memory:/a\n", NULL, NULL, NULL, "", "no control groups of version 2" },
        { "bare", "0::/a/b\n", "memory", "", "", "", "is delegated" },
        { "own", "0::/a/b\n", "memory", "cpu memory pids\n", "", "/a/b", "" },
        { "upper", "0::/a/b\n", "memory", "", "memory\n", "/a", "" },
        { "other", "0::/a/b\n", "memory", "memory_x cpu\n", "", "", "is delegated" },
        { "hybrid", "5:cpu:/z\n0::/a/b\n", "memory", "memory", "", "/a/b", "" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char root[128], base[CBX__GROUP_PATH], why[160], wanted[CBX__GROUP_PATH];
        snprintf(root, sizeof(root), "%s/%s", folder, cases[i].name);
        cbx_test_put(cases[i].own, "%s/proc/self/cgroup", root);
        if (cases[i].controllers) cbx_test_put(cases[i].controllers, "%s/sys/fs/cgroup/cgroup.controllers", root);
        if (cases[i].own_tree) {
            cbx_test_put("", "%s/sys/fs/cgroup/a/b/cgroup.procs", root);
            cbx_test_put(cases[i].own_tree, "%s/sys/fs/cgroup/a/b/cgroup.subtree_control", root);
        }
        if (cases[i].upper_tree) {
            cbx_test_put("", "%s/sys/fs/cgroup/a/cgroup.procs", root);
            cbx_test_put(cases[i].upper_tree, "%s/sys/fs/cgroup/a/cgroup.subtree_control", root);
        }
        snprintf(wanted, sizeof(wanted), "%s/sys/fs/cgroup%s", root, cases[i].base);
        CHECK(cbx__memory_group_base(root, base, why) == (cases[i].base[0] != 0), cases[i].name);
        CHECK_STR(base, cases[i].base[0] ? wanted : "", cases[i].name);
        CHECK(strstr(why, cases[i].why) != NULL, why);
    }
}

TEST(named)
{
    char root[128], base[CBX__GROUP_PATH], why[160];
    snprintf(root, sizeof(root), "%s/named", folder);
    cbx_test_put("", "%s/cgroup.procs", root);
    cbx_test_put("memory\n", "%s/cgroup.subtree_control", root);
    setenv("CALIBRAX_CGROUP", root, 1);
    CHECK(cbx__memory_group_base("", base, why), why);
    CHECK_STR(base, root, "the one that is named");
    setenv("CALIBRAX_CGROUP", "/nowhere", 1);
    CHECK(!cbx__memory_group_base("", base, why) && strstr(why, "CALIBRAX_CGROUP"), why);
    unsetenv("CALIBRAX_CGROUP");
}

TEST(evidence)
{
    cbx__memory_group g, none = { "" };
    char root[128], path[CBX__GROUP_PATH];
    snprintf(root, sizeof(root), "%s/made", folder);
    cbx_test_put("", "%s/cgroup.procs", root);
    CHECK(cbx__memory_group_open(root, 4711, 1000000, &g), "made");
    CHECK_STR(get(g.path, "memory.max"), "1000000", "the limit");
    CHECK_STR(get(g.path, "memory.swap.max"), "0", "no paging");
    CHECK_STR(get(g.path, "memory.oom.group"), "1", "all of them or none");
    CHECK_STR(get(g.path, "cgroup.procs"), "4711", "the worker is in it");
    CHECK_INT(cbx__memory_group_kills(&g), 0, "nobody says so");
    cbx_test_put("low 0\nhigh 0\nmax 31\noom 2\noom_kill 0\noom_group_kill 0\n", "%s/memory.events", g.path);
    CHECK_INT(cbx__memory_group_kills(&g), 0, "at the limit, and nobody was killed");
    cbx_test_put("low 0\nhigh 0\nmax 31\noom 2\noom_kill 3\noom_group_kill 1\n", "%s/memory.events", g.path);
    CHECK_INT(cbx__memory_group_kills(&g), 3, "killed for want of memory");
    CHECK_INT(cbx__memory_group_peak(&g), 0, "an older kernel");
    cbx_test_put("987654\n", "%s/memory.peak", g.path);
    CHECK_INT(cbx__memory_group_peak(&g), 987654, "the most it had");
    memcpy(path, g.path, sizeof(path));
    cbx__memory_group_close(&g);
    CHECK_STR(get(path, "cgroup.kill"), "1", "all in it are ended");
    CHECK_STR(g.path, "", "closed");
    cbx__memory_group_close(&g);
    CHECK(cbx__memory_group_kills(&none) == 0 && cbx__memory_group_peak(&none) == 0, "no group, no evidence");
    CHECK(!cbx__memory_group_open("", 1, 1, &g) && !g.path[0], "no base");
    CHECK(!cbx__memory_group_open("/nowhere", 1, 1, &g) && !g.path[0], "no such base");
}

static int setup(void **state) { return (void)state, cbx_test_folder(folder) ? 0 : 1; }
static int teardown(void **state) { return (void)state, cbx_test_folder_remove(folder), 0; }

TESTS(.before = setup, .after = teardown)
