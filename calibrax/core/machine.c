/*
 * The machine from the kernel's files: /proc/cpuinfo, /proc/meminfo, /sys/devices/system,
 * /proc/driver/nvidia.
 *
 * Every file may be missing but cpuinfo, whose layout depends on the architecture: x86 names a
 * vendor, ARM an implementer and a part.
 */
#include "calibrax/core/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/cpu.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"

#define MAX_FILE (16u << 20) /* cpuinfo of a thousand CPUs is 2 MiB */
#define GIB      (1024.0 * 1024.0 * 1024.0)

/* What decides which kernels a CPU can run and how fast; sorted, as they are written. */
/* clang-format off */
static const char *const known_features[] = {
    "amx_bf16", "amx_fp16", "amx_int8", "amx_tile", "asimd", "asimddp", "asimdhp", "avx", "avx2", "avx512_bf16",
    "avx512_fp16", "avx512_vnni", "avx512_vpopcntdq", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl",
    "avx_vnni", "bf16", "bmi2", "f16c", "fma", "gfni", "i8mm", "popcnt", "sse2", "sse4_2", "sve", "sve2", "vaes",
};
/* clang-format on */

typedef struct reading {
    cbx_ctx *ctx;
    cbx_arena arena;
    const char *root;
    cbx_machine m;
    cbx_status st; /* CBX_ENOMEM stays; all that may be missing is no fault */
    cbx_err *err;
} reading;

static void reading_init(reading *r, cbx_ctx *ctx, const char *root, cbx_err *err)
{
    *r = (reading){ .ctx = ctx, .root = root ? root : "/", .err = err };
    cbx_arena_init(&r->arena, cbx_ctx_allocator(ctx));
}

static void reading_clear(reading *r) { cbx_arena_clear(&r->arena); }

/* --- files --- */

/* Content of a file below the root, in the arena; NULL if it cannot be read. */
static const char *content(reading *r, const char *path, cbx_status *why, cbx_err *err)
{
    CBX_SCOPED(cbx_text, data, cbx_ctx_allocator(r->ctx));
    const char *full = cbx_path_join(&r->arena, r->root, path), *copy;

    *why = full ? cbx__file_text(r->ctx, full, MAX_FILE, &data, err) : cbx_fail_nomem(err, path);
    copy = *why ? NULL : cbx_arena_strdup(&r->arena, data.data);
    if (!*why && !copy) *why = cbx_fail_nomem(err, path);
    return copy;
}

/* As content, for files that may be missing: "" then. */
static const char *optional(reading *r, const char *path)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status why;
    const char *text = r->st ? NULL : content(r, path, &why, &err);

    if (!r->st && !text && why == CBX_ENOMEM) r->st = cbx_fail(r->err, why, "%s", err.message);
    return text ? text : "";
}

/* Of a CPU: "topology/core_id". */
static const char *of_cpu(reading *r, int cpu, const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/%s", cpu, name);
    return optional(r, path);
}

/* Of a cache of the first CPU. */
static const char *of_cache(reading *r, int index, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "cache/index%d/%s", index, name);
    return of_cpu(r, 0, path);
}

/* Names in a folder below the root; none if it is missing. */
static const char *const *names_in(reading *r, const char *folder, size_t *n)
{
    const char *path = cbx_path_join(&r->arena, r->root, folder), *const *names = NULL;
    cbx_status st = path ? cbx_dir_list(r->ctx, path, NULL, &r->arena, &names, n, NULL) : CBX_ENOMEM;

    if (st) *n = 0;
    if (st == CBX_ENOMEM) r->st = cbx_fail(r->err, st, "out of memory to list '%s'", folder);
    return names;
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

/* Next line of *text that has a colon; false at the end.  A blank line gives an entry without a
 * key. */
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

bool cbx_machine_has(const cbx_machine *m, const char *feature)
{
    return has_word(m->features, strlen(m->features), feature);
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

/* Members by their key in cpuinfo; the first CPU represents all. */
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

CBX_BY_VALUE(by_value, long)

static int distinct(long *v, int n)
{
    int count = 0;

    if (n) qsort(v, (size_t)n, sizeof *v, by_value);
    for (int i = 0; i < n; i++) count += i == 0 || v[i] != v[i - 1];
    return count;
}

static cbx_status read_cpu(reading *r)
{
    cbx_machine *m = &r->m;
    int count = 0;
    bool has_cores = false;
    long *core, *package;
    entry e;
    cbx_status st;
    const char *text = content(r, "proc/cpuinfo", &st, r->err);

    if (!text) return st;
    for (const char *p = text; next_entry(&p, &e);) count += key_is(&e, "processor");
    if (!count)
        return cbx_fail(r->err, CBX_EFORMAT, "'%s/proc/cpuinfo' names no processor",
                        strcmp(r->root, "/") ? r->root : "");
    core = cbx_arena_calloc(&r->arena, (size_t)count, sizeof *core);
    package = cbx_arena_calloc(&r->arena, (size_t)count, sizeof *package);
    if (!core || !package) return cbx_fail(r->err, CBX_ENOMEM, "out of memory to count %d CPUs", count);
    m->family = m->model = m->stepping = -1;
    for (const char *p = text; next_entry(&p, &e);) {
        if (key_is(&e, "processor")) m->threads++;
        for (size_t i = 0; i < CBX_LEN(word_keys); i++) {
            char *slot = (char *)m + word_keys[i].offset;
            if (!*slot && key_is(&e, word_keys[i].key)) copy_word(slot, word_keys[i].size, e.value, e.value_len);
        }
        for (size_t i = 0; i < CBX_LEN(number_keys); i++) {
            int *slot = (int *)(void *)((char *)m + number_keys[i].offset);
            if (*slot < 0 && key_is(&e, number_keys[i].key)) *slot = number(&e);
        }
        if (!*m->features && (key_is(&e, "flags") || key_is(&e, "Features"))) take_features(m, &e);
        if (!m->threads) continue;
        if (key_is(&e, "physical id")) package[m->threads - 1] = number(&e);
        if (key_is(&e, "core id")) {
            core[m->threads - 1] = number(&e);
            has_cores = true;
        }
    }
    /* Cores and sockets: distinct pairs of package and core, from cpuinfo, else from sysfs; else
     * each CPU is a core. */
    for (int i = 0; i < m->threads; i++) {
        if (!has_cores) {
            text = of_cpu(r, i, "topology/physical_package_id");
            package[i] = *text ? atoi(text) : 0;
            text = of_cpu(r, i, "topology/core_id");
            core[i] = *text ? atoi(text) : i;
        }
        core[i] += package[i] * 100000;
    }
    m->cores = distinct(core, m->threads);
    m->sockets = distinct(package, m->threads);
    return r->st;
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

static void read_memory(reading *r, uint64_t *total, uint64_t *available)
{
    const char *text = optional(r, "proc/meminfo");
    entry e;

    *total = *available = 0;
    while (next_entry(&text, &e)) {
        if (key_is(&e, "MemTotal")) *total = strtoull(e.value, NULL, 10) * 1024;
        if (key_is(&e, "MemAvailable")) *available = strtoull(e.value, NULL, 10) * 1024;
    }
}

cbx_status cbx_machine_read_memory(cbx_ctx *ctx, const char *root, uint64_t *total_bytes, uint64_t *available_bytes,
                                   cbx_err *err)
{
    CBX_SCOPED(reading, r, ctx, root, err);
    uint64_t total, available, limit, in_use;
    const char *max;

    read_memory(&r, &total, &available);
    if (!r.st && !total) r.st = cbx_fail(err, CBX_ENOENT, "'proc/meminfo' does not list the memory of this machine");
    /* The limit of the control group that a container sees as its root; a host's root has no such
     * file, "max" is no limit. */
    max = optional(&r, "sys/fs/cgroup/memory.max");
    if (*max >= '0' && *max <= '9') {
        limit = strtoull(max, NULL, 10);
        in_use = strtoull(optional(&r, "sys/fs/cgroup/memory.current"), NULL, 10);
        if (in_use > limit) in_use = limit;
        if (limit < total) total = limit;
        if (limit - in_use < available) available = limit - in_use;
    }
    if (r.st) return r.st;
    *total_bytes = total;
    *available_bytes = available;
    return CBX_OK;
}

/* --- nodes, accelerators and settings --- */

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static void read_devices(reading *r)
{
    cbx_machine *m = &r->m;
    size_t n = 0;
    const char *const *names = names_in(r, "sys/devices/system/node", &n), *text, *open;

    for (size_t i = 0; i < n; i++)
        m->numa_nodes += !strncmp(names[i], "node", 4) && names[i][4] >= '0' && names[i][4] <= '9';
    if (!m->numa_nodes) m->numa_nodes = 1;
    names = names_in(r, "proc/driver/nvidia/gpus", &n);
    for (size_t i = 0; i < n && !r->st && m->naccelerators < CBX_MACHINE_MAX_ACCELERATORS; i++) {
        const char *path = cbx_arena_printf(&r->arena, "proc/driver/nvidia/gpus/%s/information", names[i]);
        entry e;
        if (!path) r->st = cbx_fail_nomem(r->err, "a GPU");
        text = path ? optional(r, path) : "";
        while (next_entry(&text, &e)) {
            if (!key_is(&e, "Model")) continue;
            copy_word(m->accelerator[m->naccelerators++], sizeof m->accelerator[0], e.value, e.value_len);
            break;
        }
    }
    qsort(m->accelerator, (size_t)m->naccelerators, sizeof m->accelerator[0], by_text);
    open = strchr(optional(r, "sys/kernel/mm/transparent_hugepage/enabled"), '['); /* "always [madvise] never" */
    if (open) copy_word(m->huge_pages, sizeof m->huge_pages, open + 1, strcspn(open + 1, "]\n"));
    text = optional(r, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    copy_word(m->governor, sizeof m->governor, text, strcspn(text, "\n"));
}

/* --- the fingerprint --- */

static cbx_status make_id(cbx_ctx *ctx, cbx_machine *m, cbx_err *err)
{
    CBX_SCOPED(cbx_text, t, cbx_ctx_allocator(ctx));
    char hash[CBX_HASH_SIZE];

    cbx_text_printf(&t, "%s|%s|%d.%d|%s|%d|%.0f|", m->vendor, m->model_name, m->family, m->model, m->features, m->cores,
                    (double)m->memory_bytes / GIB);
    for (int i = 0; i < m->naccelerators; i++) cbx_text_printf(&t, "%s%s", i ? "," : "", m->accelerator[i]);
    cbx_hash_bytes(cbx_text_str(&t), t.len, hash);
    memcpy(m->id, hash, CBX_MACHINE_ID_SIZE - 1);
    return cbx_text_check(&t, err);
}

static void read_caches(reading *r)
{
    cbx_machine *m = &r->m;

    for (int i = 0; m->ncaches < CBX_MACHINE_MAX_CACHES; i++) {
        const char *level = of_cache(r, i, "level"), *type, *size;
        cbx_machine_cache *c = &m->cache[m->ncaches];
        if (!*level) break;
        type = of_cache(r, i, "type");
        size = of_cache(r, i, "size");
        if (!*size) continue;
        c->level = atoi(level);
        copy_word(c->type, sizeof c->type, type, strcspn(type, "\n"));
        c->bytes = size_of(size);
        c->shared_by = count_list(of_cache(r, i, "shared_cpu_list"));
        m->ncaches++;
    }
    qsort(m->cache, (size_t)m->ncaches, sizeof m->cache[0], by_level);
}

cbx_status cbx_machine_read(cbx_ctx *ctx, const char *root, cbx_machine *out, cbx_err *err)
{
    CBX_SCOPED(reading, r, ctx, root, err);
    uint64_t available;
    cbx_status st = read_cpu(&r);

    if (st) return st;
    read_caches(&r);
    read_memory(&r, &r.m.memory_bytes, &available);
    read_devices(&r);
    st = r.st ? r.st : make_id(ctx, &r.m, err);
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

static const char *known(const char *s) { return *s ? s : NULL; }

#define COUNT(key, n) ((n) < 0 ? J_TEXT(key, NULL) : J_INT(key, n))

cbx_json *cbx_machine_to_json(const cbx_machine *m)
{
    cbx_json *features = cbx_json_new_array(), *caches = cbx_json_new_array(), *accelerators = cbx_json_new_array();

    for (const char *p = m->features; *p;) {
        char word[32];
        size_t n = strcspn(p, " ");
        copy_word(word, sizeof word, p, n);
        cbx_json_push_string(features, word);
        p += n + (p[n] == ' ');
    }
    for (int i = 0; i < m->ncaches; i++) {
        const cbx_machine_cache *c = &m->cache[i];
        cbx_json_push(caches, cbx_json_object(J_INT("level", c->level), J_TEXT("type", known(c->type)),
                                              J_INT("bytes", c->bytes), J_INT("shared_by", c->shared_by)));
    }
    for (int i = 0; i < m->naccelerators; i++) cbx_json_push_string(accelerators, m->accelerator[i]);
    return cbx_json_finish(cbx_json_object(
        J_TEXT("id", known(m->id)), J_TEXT("cpu_vendor", known(m->vendor)), J_TEXT("cpu_model", known(m->model_name)),
        COUNT("cpu_family", m->family), COUNT("cpu_model_number", m->model), COUNT("cpu_stepping", m->stepping),
        J_JSON("cpu_features", features), COUNT("cpu_count", m->threads), COUNT("cores", m->cores),
        COUNT("sockets", m->sockets), J_JSON("caches", caches), J_INT("memory_bytes", m->memory_bytes),
        COUNT("numa_nodes", m->numa_nodes), J_JSON("accelerators", accelerators),
        J_TEXT("huge_pages", known(m->huge_pages)), J_TEXT("cpu_governor", known(m->governor))));
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
