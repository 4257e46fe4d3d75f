/*
 * Any bytes as what the kernel says of processes, CPUs and memory groups: the first byte chooses
 * the reader, the rest is text.
 *
 * Members of files of lines are held against a reader that goes line by line; readers of the same
 * file must agree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/openblas.h"
#include "calibrax/profiling/procfs.h"
#include "fuzz.h"

#define TEXT_MOST 16384

static void require(bool good)
{
    if (!good) abort();
}

/* The rest of the first line that begins with the key and what follows it; NULL: there is none. */
static const char *member(const char *text, const char *key, char follows)
{
    size_t n = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (!strncmp(line, key, n) && line[n] == follows) return line + n + 1;
    return NULL;
}

/* Where strtoull reads a number, as sscanf's %llu does; a line's number may stand on a later one,
 * for blanks are passed over. */
static bool number(const char *at, unsigned long long *out)
{
    char *end = NULL;

    *out = at ? strtoull(at, &end, 10) : 0;
    return at && end != at;
}

static void lines(const char *text)
{
    static const char *const keys[] = { "VmHWM", "VmRSS", "Threads", "Seccomp", "read_bytes", "oom_kill", "ctxt" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned long long wanted = 0;
        uint64_t found = 0;
        bool there = number(member(text, keys[i], ':'), &wanted);
        require(cbx__proc_field(text, keys[i], &found) == there && (!there || found == wanted));
        there = number(member(text, keys[i], ' '), &wanted);
        require(cbx__proc_counter(text, keys[i], &found) == there && (!there || found == wanted));
        if (cbx__proc_status_bytes(text, keys[i], &found)) require(found % 1024 == 0);
    }
}

static void stat_line(const char *text)
{
    cbx__proc_stat s;

    if (cbx__proc_stat_parse(text, &s)) require((unsigned char)s.state > ' ');
}

static void cpu_list(const char *text)
{
    static const int cores[] = { 0, 1, 2, 3, 64 };
    int cpu = cbx__proc_cpu_outside(text, cores, 5), alone = cbx__proc_cpu_outside(text, NULL, 0);

    require(cpu >= -1 && (cpu < 0 || cpu > 3) && cpu != 64);
    require(cpu < 0 || alone >= 0); /* what lies outside of some lies outside of none */
}

static void group(const char *text)
{
    char path[256], small[16];

    if (cbx__proc_cgroup_memory(text, path, sizeof path)) {
        require(strlen(path) < sizeof path && !strchr(path, '\n') && !strncmp(path, "/sys/fs/cgroup", 14));
        require(strstr(path, "/memory.oom_control") || strstr(path, "/memory.events"));
    }
    if (cbx__proc_cgroup_memory(text, small, sizeof small)) abort(); /* nothing fits into that */
}

static void shares(const char *text)
{
    cbx__proc_sched sched;
    uint64_t ticks = 0;
    double share = 0;

    if (cbx__proc_sched_parse(text, &sched)) require(strpbrk(text, "0123456789") != NULL);
    if (cbx__proc_steal(text, &ticks)) require(!strncmp(text, "cpu ", 4) || strstr(text, "\ncpu ") != NULL);
    if (cbx__proc_pressure_parse(text, &share)) require(strstr(text, "some") != NULL && strstr(text, "avg10=") != NULL);
}

FUZZ_ENTRY()
{
    static void (*const readers[])(const char *text) = { lines, stat_line, cpu_list, group, shares };
    char *text;

    if (size < 1 || size > TEXT_MOST) return 0;
    text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    readers[data[0] % 5](text);
    free(text);
    return 0;
}
