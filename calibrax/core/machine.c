/*
 * The machine from the kernel's files: /proc/cpuinfo, /proc/meminfo, /sys/devices/system, /proc/driver/nvidia.
 *
 * Every file may be missing but cpuinfo, whose layout depends on the architecture: x86 names a vendor, ARM an
 * implementer and a part.
 */
#include "calibrax/core/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/cpu.h"
#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"

#define FILE_MOST (16u << 20) /* cpuinfo of a thousand CPUs is 2 MiB */
#define GIB       (1024.0 * 1024.0 * 1024.0)

/* What decides which kernels a CPU can run and how fast; sorted, as they are written. */
static const char *const known_features[] = {
    "amx_bf16",
    "amx_fp16",
    "amx_int8",
    "amx_tile",
    "asimd",
    "asimddp",
    "asimdhp",
    "avx",
    "avx2",
    "avx512_bf16",
    "avx512_fp16",
    "avx512_vnni",
    "avx512_vpopcntdq",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512f",
    "avx512vl",
    "avx_vnni",
    "bf16",
    "bmi2",
    "f16c",
    "fma",
    "gfni",
    "i8mm",
    "popcnt",
    "sse2",
    "sse4_2",
    "sve",
    "sve2",
    "vaes",
};

typedef struct reading {
    cbx_ctx *ctx;
    cbx_arena arena;
    const char *root;
    cbx_machine m;
} reading;

/* --- files --- */

/* Content of a file below the root, in the arena; NULL if there is none that can be read. */
static const char *content(reading *r, const char *path, cbx_status *why, cbx_err *err)
{
    char *data = NULL, *copy;
    size_t len = 0;
    const char *full = cbx_path_join(&r->arena, r->root, path);

    *why = full ? cbx_file_read(r->ctx, full, FILE_MOST, &data, &len, err) : cbx_fail_nomem(err, path);
    if (*why) return NULL;
    copy = cbx_arena_strndup(&r->arena, data, len);
    if (!copy) *why = cbx_fail_nomem(err, path);
    cbx_mem_free(cbx_ctx_allocator(r->ctx), data, len + 1);
    return copy;
}

/* As content, for files that need not be there: "" then. */
static cbx_status optional(reading *r, const char *path, const char **text, cbx_err *err)
{
    cbx_status st;

    *text = content(r, path, &st, err);
    if (*text) return CBX_OK;
    *text = "";
    return st == CBX_ENOMEM ? st : CBX_OK;
}

static void copy_word(char *out, size_t size, const char *from, size_t n)
{
    while (n && strchr(" \t\r\n", from[n - 1])) n--;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), from);
}

/* --- "key : value" lines --- */

typedef struct entry {
    const char *key, *value;
    size_t key_len, value_len;
} entry;

/* Next line of *text that has a colon; false at the end.  A blank line gives an entry without a key. */
static bool next_entry(const char **text, entry *e)
{
    while (**text) {
        const char *line = *text, *end = strchrnul(line, '\n');
        const char *colon = memchr(line, ':', (size_t)(end - line));

        *text = *end ? end + 1 : end;
        if (!colon) continue;
        e->key = line;
        e->key_len = (size_t)(colon - line);
        while (e->key_len && strchr(" \t", line[e->key_len - 1])) e->key_len--;
        e->value = colon + 1 + strspn(colon + 1, " \t");
        if (e->value > end) e->value = end;
        e->value_len = (size_t)(end - e->value);
        return true;
    }
    return false;
}

static bool key_is(const entry *e, const char *key)
{
    return strlen(key) == e->key_len && memcmp(key, e->key, e->key_len) == 0;
}

static int number(const entry *e) { return (int)strtol(e->value, NULL, 0); }

/* --- the CPU --- */

static bool has_word(const char *list, size_t n, const char *word)
{
    size_t k = strlen(word);

    for (const char *p = list, *end = list + n; p < end;) {
        const char *stop = memchr(p, ' ', (size_t)(end - p));
        if (!stop) stop = end;
        if ((size_t)(stop - p) == k && memcmp(p, word, k) == 0) return true;
        p = stop + 1;
    }
    return false;
}

static void take_features(cbx_machine *m, const entry *e)
{
    size_t used = 0;

    for (size_t i = 0; i < CBX_LEN(known_features); i++) {
        if (!has_word(e->value, e->value_len, known_features[i])) continue;
        if (used + strlen(known_features[i]) + 2 > sizeof m->features) return;
        used += (size_t)sprintf(m->features + used, "%s%s", used ? " " : "", known_features[i]);
    }
}

/* Which entry of cpuinfo is which member; the first CPU speaks for all. */
static const struct {
    const char *key;
    size_t offset, size;
} word_keys[] = {
    { "vendor_id", offsetof(cbx_machine, vendor), sizeof((cbx_machine *)0)->vendor },
    { "CPU implementer", offsetof(cbx_machine, vendor), sizeof((cbx_machine *)0)->vendor },
    { "model name", offsetof(cbx_machine, model_name), sizeof((cbx_machine *)0)->model_name },
};
static const struct {
    const char *key;
    size_t offset;
} number_keys[] = {
    { "cpu family", offsetof(cbx_machine, family) }, { "CPU architecture", offsetof(cbx_machine, family) },
    { "model", offsetof(cbx_machine, model) },       { "CPU part", offsetof(cbx_machine, model) },
    { "stepping", offsetof(cbx_machine, stepping) }, { "CPU revision", offsetof(cbx_machine, stepping) },
};

static void take_cpu_entry(cbx_machine *m, const entry *e)
{
    for (size_t i = 0; i < CBX_LEN(word_keys); i++) {
        char *slot = (char *)m + word_keys[i].offset;
        if (!*slot && key_is(e, word_keys[i].key)) copy_word(slot, word_keys[i].size, e->value, e->value_len);
    }
    for (size_t i = 0; i < CBX_LEN(number_keys); i++) {
        int *slot = (int *)(void *)((char *)m + number_keys[i].offset);
        if (*slot < 0 && key_is(e, number_keys[i].key)) *slot = number(e);
    }
    if (!*m->features && (key_is(e, "flags") || key_is(e, "Features"))) take_features(m, e);
}

static int by_value(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

static int distinct(long *v, int n)
{
    int count = 0;

    if (n) qsort(v, (size_t)n, sizeof *v, by_value);
    for (int i = 0; i < n; i++) count += i == 0 || v[i] != v[i - 1];
    return count;
}

/* Cores and sockets: distinct pairs of package and core, from cpuinfo, else from sysfs; where nobody tells, a CPU is a
 * core. */
static cbx_status count_cores(reading *r, long *core, long *package, int told, cbx_err *err)
{
    cbx_machine *m = &r->m;
    cbx_status st = CBX_OK;

    for (int i = 0; i < m->threads && !told && !st; i++) {
        const char *text;
        char path[96];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", i);
        st = optional(r, path, &text, err);
        package[i] = *text ? atoi(text) : 0;
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/core_id", i);
        if (!st) st = optional(r, path, &text, err);
        core[i] = *text ? atoi(text) : i;
    }
    for (int i = 0; i < m->threads; i++) core[i] += package[i] * 100000;
    m->cores = distinct(core, m->threads);
    m->sockets = distinct(package, m->threads);
    return st;
}

static cbx_status read_cpu(reading *r, cbx_err *err)
{
    cbx_machine *m = &r->m;
    int most = 0, told = 0;
    long *core, *package;
    entry e;
    cbx_status st;
    const char *text = content(r, "proc/cpuinfo", &st, err);

    if (!text) return st;
    for (const char *p = text; next_entry(&p, &e);) most += key_is(&e, "processor");
    if (!most)
        return cbx_fail(err, CBX_EFORMAT, "'%s/proc/cpuinfo' names no processor", strcmp(r->root, "/") ? r->root : "");
    core = cbx_arena_calloc(&r->arena, (size_t)most, sizeof *core);
    package = cbx_arena_calloc(&r->arena, (size_t)most, sizeof *package);
    if (!core || !package) return cbx_fail(err, CBX_ENOMEM, "out of memory to count %d CPUs", most);
    m->family = m->model = m->stepping = -1;
    for (const char *p = text; next_entry(&p, &e);) {
        if (key_is(&e, "processor")) m->threads++;
        take_cpu_entry(m, &e);
        if (!m->threads) continue;
        if (key_is(&e, "physical id")) package[m->threads - 1] = number(&e);
        if (key_is(&e, "core id")) {
            core[m->threads - 1] = number(&e);
            told = 1;
        }
    }
    return count_cores(r, core, package, told, err);
}

/* --- caches, memory, nodes --- */

/* "48K", "2048K", "32M" */
static uint64_t size_of(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);

    if (*end == 'K') return n << 10;
    if (*end == 'M') return n << 20;
    return *end == 'G' ? n << 30 : n;
}

/* CPUs in "0-3,8,10-11" */
static int count_list(const char *text)
{
    int count = 0;

    while (*text >= '0' && *text <= '9') {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        if (last < first || last - first > 100000 || count > 1000000) return 0;
        count += (int)(last - first) + 1;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

static int by_level(const void *a, const void *b)
{
    const cbx_machine_cache *x = a, *y = b;

    return x->level != y->level ? x->level - y->level : strcmp(x->type, y->type);
}

static cbx_status read_cache(reading *r, int index, bool *there, cbx_err *err)
{
    static const char *const names[] = { "level", "type", "size", "shared_cpu_list" };
    const char *text[CBX_LEN(names)];
    cbx_machine_cache *c = &r->m.cache[r->m.ncaches];

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        char path[96];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu0/cache/index%d/%s", index, names[i]);
        cbx_status st = optional(r, path, &text[i], err);
        if (st) return st;
    }
    *there = *text[0] != '\0';
    if (!*there || !*text[2]) return CBX_OK;
    c->level = atoi(text[0]);
    copy_word(c->type, sizeof c->type, text[1], strcspn(text[1], "\n"));
    c->bytes = size_of(text[2]);
    c->shared_by = count_list(text[3]);
    r->m.ncaches++;
    return CBX_OK;
}

static cbx_status read_caches(reading *r, cbx_err *err)
{
    bool there = true;
    cbx_status st = CBX_OK;

    for (int i = 0; there && !st && r->m.ncaches < CBX_MACHINE_MAX_CACHES; i++) st = read_cache(r, i, &there, err);
    qsort(r->m.cache, (size_t)r->m.ncaches, sizeof r->m.cache[0], by_level);
    return st;
}

static cbx_status read_meminfo(reading *r, uint64_t *total, uint64_t *available, cbx_err *err)
{
    const char *text;
    entry e;
    cbx_status st = optional(r, "proc/meminfo", &text, err);

    *total = *available = 0;
    while (next_entry(&text, &e)) {
        if (key_is(&e, "MemTotal")) *total = strtoull(e.value, NULL, 10) * 1024;
        if (key_is(&e, "MemAvailable")) *available = strtoull(e.value, NULL, 10) * 1024;
    }
    return st;
}

static cbx_status read_memory(reading *r, cbx_err *err)
{
    uint64_t available;
    return read_meminfo(r, &r->m.memory_bytes, &available, err);
}

/* The limit of the control group that a container sees as its root; a host's root has no such file, and "max" is none. */
static cbx_status apply_limit(reading *r, uint64_t *total, uint64_t *available, cbx_err *err)
{
    const char *most, *used;
    uint64_t limit, in_use;
    cbx_status st = optional(r, "sys/fs/cgroup/memory.max", &most, err);

    if (!st) st = optional(r, "sys/fs/cgroup/memory.current", &used, err);
    if (st || *most < '0' || *most > '9') return st;
    limit = strtoull(most, NULL, 10);
    in_use = strtoull(used, NULL, 10);
    if (limit < *total) *total = limit;
    if (limit - (in_use < limit ? in_use : limit) < *available) *available = limit - (in_use < limit ? in_use : limit);
    return CBX_OK;
}

cbx_status cbx_machine_read_memory(cbx_ctx *ctx, const char *root, uint64_t *total_bytes, uint64_t *available_bytes,
                                   cbx_err *err)
{
    reading r = { .ctx = ctx, .root = root ? root : "/" };
    uint64_t total, available;
    cbx_status st;

    cbx_arena_init(&r.arena, cbx_ctx_allocator(ctx));
    st = read_meminfo(&r, &total, &available, err);
    if (!st && !total) st = cbx_fail(err, CBX_ENOENT, "no 'proc/meminfo' that tells the memory of this machine");
    if (!st) st = apply_limit(&r, &total, &available, err);
    cbx_arena_clear(&r.arena);
    if (st) return st;
    *total_bytes = total;
    *available_bytes = available;
    return CBX_OK;
}

/* Names in a folder below the root; none if it is not there. */
static cbx_status names_in(reading *r, const char *folder, const char *const **names, size_t *n, cbx_err *err)
{
    const char *path = cbx_path_join(&r->arena, r->root, folder);
    cbx_status st = path ? cbx_dir_list(r->ctx, path, NULL, &r->arena, names, n, err) : CBX_ENOMEM;

    if (!st) return CBX_OK;
    *n = 0;
    return st == CBX_ENOMEM ? cbx_fail(err, st, "out of memory to list '%s'", folder) : CBX_OK;
}

static cbx_status read_nodes(reading *r, cbx_err *err)
{
    const char *const *names = NULL;
    size_t n = 0;
    cbx_status st = names_in(r, "sys/devices/system/node", &names, &n, err);

    for (size_t i = 0; i < n; i++)
        r->m.numa_nodes += !strncmp(names[i], "node", 4) && names[i][4] >= '0' && names[i][4] <= '9';
    if (!r->m.numa_nodes) r->m.numa_nodes = 1;
    return st;
}

/* --- accelerators and settings --- */

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static cbx_status read_accelerators(reading *r, cbx_err *err)
{
    cbx_machine *m = &r->m;
    const char *const *names = NULL;
    size_t n = 0;
    cbx_status st = names_in(r, "proc/driver/nvidia/gpus", &names, &n, err);

    for (size_t i = 0; i < n && !st && m->naccelerators < CBX_MACHINE_MAX_ACCELERATORS; i++) {
        const char *path = cbx_arena_printf(&r->arena, "proc/driver/nvidia/gpus/%s/information", names[i]);
        const char *text = "";
        entry e;
        st = path ? optional(r, path, &text, err) : cbx_fail_nomem(err, "a GPU");
        while (next_entry(&text, &e)) {
            if (!key_is(&e, "Model")) continue;
            copy_word(m->accelerator[m->naccelerators++], sizeof m->accelerator[0], e.value, e.value_len);
            break;
        }
    }
    qsort(m->accelerator, (size_t)m->naccelerators, sizeof m->accelerator[0], by_text);
    return st;
}

static cbx_status read_settings(reading *r, cbx_err *err)
{
    const char *text, *open;
    cbx_status st = optional(r, "sys/kernel/mm/transparent_hugepage/enabled", &text, err);

    open = strchr(text, '['); /* "always [madvise] never" */
    if (open) copy_word(r->m.huge_pages, sizeof r->m.huge_pages, open + 1, strcspn(open + 1, "]\n"));
    if (!st) st = optional(r, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", &text, err);
    if (!st) copy_word(r->m.governor, sizeof r->m.governor, text, strcspn(text, "\n"));
    return st;
}

/* --- the fingerprint --- */

static cbx_status make_id(reading *r, cbx_err *err)
{
    cbx_machine *m = &r->m;
    cbx_text t;
    char hash[CBX_HASH_SIZE];
    cbx_status st;

    cbx_text_init(&t, cbx_ctx_allocator(r->ctx));
    cbx_text_printf(&t, "%s|%s|%d.%d|%s|%d|%.0f|", m->vendor, m->model_name, m->family, m->model, m->features, m->cores,
                    (double)m->memory_bytes / GIB);
    for (int i = 0; i < m->naccelerators; i++) cbx_text_printf(&t, "%s%s", i ? "," : "", m->accelerator[i]);
    st = cbx_text_check(&t, err);
    if (!st) {
        cbx_hash_bytes(cbx_text_str(&t), t.len, hash);
        memcpy(m->id, hash, CBX_MACHINE_ID_SIZE - 1);
    }
    cbx_text_clear(&t);
    return st;
}

cbx_status cbx_machine_read(cbx_ctx *ctx, const char *root, cbx_machine *out, cbx_err *err)
{
    static cbx_status (*const steps[])(reading *, cbx_err *) = { read_cpu,   read_caches,       read_memory,
                                                                 read_nodes, read_accelerators, read_settings,
                                                                 make_id };
    reading r = { .ctx = ctx, .root = root ? root : "/" };
    cbx_status st = CBX_OK;

    cbx_arena_init(&r.arena, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < CBX_LEN(steps) && !st; i++) st = steps[i](&r, err);
    cbx_arena_clear(&r.arena);
    if (!st) *out = r.m;
    return st;
}

int cbx_machine_usable_threads(void)
{
    cpu_set_t set[8]; /* 8192 CPUs, the most that Linux is built for */
    return sched_getaffinity(0, sizeof set, set) ? 0 : CPU_COUNT_S(sizeof set, set);
}

uint64_t cbx_machine_cache_bytes(const cbx_machine *m, int level)
{
    for (int i = 0; i < m->ncaches; i++) {
        if (m->cache[i].level == level && strcmp(m->cache[i].type, "Instruction") != 0) return m->cache[i].bytes;
    }
    return 0;
}

/* --- JSON --- */

static void put_count(cbx_json *object, const char *key, int v)
{
    if (v < 0)
        cbx_json_set_null(object, key);
    else
        cbx_json_set_int(object, key, v);
}

static void put_word(cbx_json *object, const char *key, const char *s)
{
    cbx_json_set_string(object, key, *s ? s : NULL);
}

cbx_json *cbx_machine_to_json(const cbx_machine *m)
{
    cbx_json *v = cbx_json_new_object(), *list;

    put_word(v, "id", m->id);
    put_word(v, "cpu_vendor", m->vendor);
    put_word(v, "cpu_model", m->model_name);
    put_count(v, "cpu_family", m->family);
    put_count(v, "cpu_model_number", m->model);
    put_count(v, "cpu_stepping", m->stepping);
    list = cbx_json_set_array(v, "cpu_features");
    for (const char *p = m->features; *p;) {
        char word[32];
        size_t n = strcspn(p, " ");
        copy_word(word, sizeof word, p, n);
        cbx_json_push_string(list, word);
        p += n + (p[n] == ' ');
    }
    put_count(v, "cpu_count", m->threads);
    put_count(v, "cores", m->cores);
    put_count(v, "sockets", m->sockets);
    list = cbx_json_set_array(v, "caches");
    for (int i = 0; i < m->ncaches; i++) {
        cbx_json *cache = cbx_json_push_object(list);
        put_count(cache, "level", m->cache[i].level);
        put_word(cache, "type", m->cache[i].type);
        cbx_json_set_int(cache, "bytes", (int64_t)m->cache[i].bytes);
        put_count(cache, "shared_by", m->cache[i].shared_by);
    }
    cbx_json_set_int(v, "memory_bytes", (int64_t)m->memory_bytes);
    put_count(v, "numa_nodes", m->numa_nodes);
    list = cbx_json_set_array(v, "accelerators");
    for (int i = 0; i < m->naccelerators; i++) cbx_json_push_string(list, m->accelerator[i]);
    put_word(v, "huge_pages", m->huge_pages);
    put_word(v, "cpu_governor", m->governor);
    return cbx_json_finish(v);
}

/* --- instruction set --- */

cbx_same_machine cbx_machine_compare(const char *a, const char *b)
{
    if (!a || !*a || !b || !*b) return CBX_MACHINE_UNKNOWN;
    return strcmp(a, b) ? CBX_MACHINE_OTHER : CBX_MACHINE_SAME;
}

const char *cbx_machine_isa(void)
{
#if defined(__aarch64__)
    return "neon";
#else
    return cbx_isa_name(cbx_isa_of_cpu());
#endif
}
