/*
 * Go's benchmark text (golang.org/design/14313-benchmark-format): "key: value" lines that hold for what follows, "Unit" lines that say
 * which way is better, and "BenchmarkName/k=v-P  N  value unit ...".
 *
 * Lines of one name are samples of one point; its package is the scenario, /k=v parts are tags, -P is the tag gomaxprocs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/lines.h"

#define MAX_VALUES 32

typedef struct go_value {
    double value;
    const char *unit;
} go_value;

typedef struct go_line {
    const char *package, *name;
    size_t order, nvalues;
    go_value *values;
} go_line;

/* What a "Unit" line says. */
typedef struct go_unit {
    const char *unit;
    cbx_direction better;
} go_unit;

typedef struct go_file {
    go_line *lines;
    size_t n, room;
    go_unit units[16];
    size_t nunits;
    const char *package;
    cbx_json *facts;
} go_file;

static const struct {
    const char *unit;
    cbx__import_def def;
    double scale;
} known[] = {
    { "ns/op", { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1e-9 },
    { "sec/op", { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1 },
    { "MB/s", { "bytes_per_second", "B/s", CBX_DIRECTION_HIGHER, CBX_PRIORITY_SECONDARY }, 1e6 },
    { "B/s", { "bytes_per_second", "B/s", CBX_DIRECTION_HIGHER, CBX_PRIORITY_SECONDARY }, 1 },
    { "B/op", { "bytes_per_op", "B", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "allocs/op", { "allocs_per_op", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
};

static bool is_result(const char *line) { return !strncmp(line, "Benchmark", 9) && (line[9] < 'a' || line[9] > 'z'); }

static int detect(const cbx__import_source *src)
{
    if (src->json || src->line) return 0;
    if (!cbx__import_has_line(src, "Benchmark")) return 0;
    return cbx__import_has_line(src, "pkg: ") || cbx__import_has_line(src, "goos: ") ? 90
           : cbx__import_mentions(src, "/op")                                        ? 70
                                                                                     : 0;
}

/* --- lines --- */

/* The next word of a line, ended in place; NULL: none is left. */
static char *word(char **at)
{
    char *start = *at + strspn(*at, " \t"), *end = start + strcspn(start, " \t");

    if (!*start) return NULL;
    *at = *end ? end + 1 : end;
    *end = 0;
    return start;
}

static void read_unit_line(go_file *f, char *line)
{
    char *at = line, *unit, *fact;

    word(&at);
    unit = word(&at);
    while (unit && (fact = word(&at)) != NULL) {
        bool higher = !strcmp(fact, "better=higher");
        if ((higher || !strcmp(fact, "better=lower")) && f->nunits < CBX_LEN(f->units))
            f->units[f->nunits++] = (go_unit){ unit, higher ? CBX_DIRECTION_HIGHER : CBX_DIRECTION_LOWER };
    }
}

static void read_fact(cbx__import_job *job, go_file *f, const char *line)
{
    const char *colon = strstr(line, ": ");
    char *key;

    if (!colon || *line < 'a' || *line > 'z' || strcspn(line, " \t") < (size_t)(colon - line)) return;
    key = cbx_arena_strndup(cbx__import_arena(job), line, (size_t)(colon - line));
    if (key && !strcmp(key, "pkg"))
        f->package = colon + 2 + strspn(colon + 2, " ");
    else if (key)
        cbx_json_set_string(f->facts, key, colon + 2 + strspn(colon + 2, " "));
}

static go_line *new_line(cbx__import_job *job, go_file *f)
{
    if (f->n == f->room) {
        size_t room = f->room ? f->room * 2 : 32;
        go_line *more = cbx_arena_calloc(cbx__import_arena(job), room, sizeof(*more));
        if (!more) {
            cbx__import_fail(job, CBX_ENOMEM, "out of memory");
            return NULL;
        }
        if (f->n) memcpy(more, f->lines, f->n * sizeof(*more));
        f->lines = more;
        f->room = room;
    }
    return &f->lines[f->n];
}

static void read_result(cbx__import_job *job, go_file *f, char *line)
{
    go_value values[MAX_VALUES];
    char *at = line, *name = word(&at), *count = word(&at), *number, *unit, *end;
    go_line *l = new_line(job, f);
    size_t n = 0;

    if (!l || !count || !count[0] || count[strspn(count, "0123456789")])
        return; /* its name alone, before what it prints */
    while (n < MAX_VALUES && (number = word(&at)) != NULL) {
        double v = strtod(number, &end);
        unit = word(&at);
        if (end == number || *end || !unit) {
            cbx__import_fail(job, CBX_EFORMAT, "'%.60s': expected a number and its unit, found '%.40s'", name, number);
            return;
        }
        values[n++] = (go_value){ v, unit };
    }
    *l = (go_line){ f->package, name + strlen("Benchmark"), f->n, n,
                    cbx_arena_calloc(cbx__import_arena(job), n, sizeof(*values)) };
    if (!l->values)
        cbx__import_fail(job, CBX_ENOMEM, "out of memory");
    else if (n)
        memcpy(l->values, values, n * sizeof(*values));
    f->n++;
}

static void read_lines(cbx__import_job *job, go_file *f)
{
    const char *line;

    while ((line = cbx__import_line(job)) != NULL) {
        char *own = cbx_arena_strdup(cbx__import_arena(job), line);
        if (!own)
            cbx__import_fail(job, CBX_ENOMEM, "out of memory");
        else if (is_result(own))
            read_result(job, f, own);
        else if (!strncmp(own, "Unit ", 5))
            read_unit_line(f, own);
        else
            read_fact(job, f, own);
    }
    cbx__import_at(job, "%s", "");
}

/* --- points --- */

static int by_name(const void *a, const void *b)
{
    const go_line *x = a, *y = b;
    int c = strcmp(x->package, y->package);

    if (!c) c = strcmp(x->name, y->name);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* "Sort/n=10/fast-8": the point Sort/fast with n=10 and gomaxprocs=8. */
static void begin_point(cbx__import_job *job, const go_line *l)
{
    const char *dash = strrchr(l->name, '-');
    size_t len = dash && dash[1] && !dash[1 + strspn(dash + 1, "0123456789")] ? (size_t)(dash - l->name)
                                                                              : strlen(l->name);
    char *rest = cbx__import_strndup(job, l->name, len), *part, *equals;
    const char *name = NULL;

    cbx__import_point_begin(job, "", l->package);
    for (part = rest; part && *part && !cbx__import_failed(job);) {
        size_t n = strcspn(part, "/");
        char *next = part[n] ? part + n + 1 : part + n;
        part[n] = 0;
        equals = name ? strchr(part, '=') : NULL;
        if (equals && equals > part) {
            *equals = 0;
            cbx__import_tag(job, part, equals + 1);
        } else {
            name = cbx__import_printf(job, "%s%s%s", name ? name : "", name ? "/" : "", part);
        }
        part = next;
    }
    cbx__import_point_name(job, name ? name : "");
    if (len < strlen(l->name)) cbx__import_tag(job, "gomaxprocs", dash + 1);
}

static cbx__import_def definition(const go_file *f, const char *unit, double *scale)
{
    cbx__import_def def = { unit, "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY };
    size_t n = strlen(unit);

    *scale = 1;
    for (size_t i = 0; i < CBX_LEN(known); i++) {
        if (strcmp(unit, known[i].unit) != 0) continue;
        *scale = known[i].scale;
        return known[i].def;
    }
    def.unit = unit;
    if (n > 2 && !strcmp(unit + n - 2, "/s")) def.direction = CBX_DIRECTION_HIGHER;
    if (n > 3 && !strcmp(unit + n - 3, "/op")) def.direction = CBX_DIRECTION_LOWER;
    for (size_t i = 0; i < f->nunits; i++) {
        if (!strcmp(f->units[i].unit, unit)) def.direction = f->units[i].better;
    }
    return def;
}

/* All values of a unit in n lines. */
static void add_unit(cbx__import_job *job, const go_file *f, const go_line *lines, size_t n, const char *unit)
{
    double scale;
    cbx__import_def def = definition(f, unit, &scale);
    cbx__samples s = { 0 };

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < lines[i].nvalues; k++) {
            if (!strcmp(lines[i].values[k].unit, unit)) cbx__import_sample(job, &s, lines[i].values[k].value * scale);
        }
    }
    cbx__import_metric_samples(job, &def, &s);
}

/* Units in the order in which the lines show them, each once. */
static void add_units(cbx__import_job *job, const go_file *f, const go_line *lines, size_t n)
{
    const char *seen[MAX_VALUES];
    size_t nseen = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < lines[i].nvalues; k++) {
            bool known_unit = false;
            for (size_t j = 0; j < nseen; j++) known_unit = known_unit || !strcmp(seen[j], lines[i].values[k].unit);
            if (known_unit || nseen == MAX_VALUES) continue;
            seen[nseen++] = lines[i].values[k].unit;
            add_unit(job, f, lines, n, lines[i].values[k].unit);
        }
    }
}

static void read_file(cbx__import_job *job)
{
    go_file f = { .package = "", .facts = cbx_json_new_object() };

    cbx__import_run_begin(job);
    read_lines(job, &f);
    if (f.n) qsort(f.lines, f.n, sizeof(*f.lines), by_name);
    for (size_t i = 0, n; i < f.n && !cbx__import_failed(job); i += n) {
        const go_line *l = &f.lines[i];
        for (n = 1; i + n < f.n && !strcmp(l->package, l[n].package) && !strcmp(l->name, l[n].name);) n++;
        begin_point(job, l);
        add_units(job, &f, l, n);
        cbx__import_point_end(job);
        cbx__import_forget(job);
    }
    if (cbx_json_length(f.facts)) cbx__import_run_environment(job, "go", f.facts);
    cbx__import_run_commit(job, cbx_json_get_string(f.facts, "commit", NULL),
                           cbx_json_get_string(f.facts, "branch", NULL));
    cbx_json_unref(f.facts);
    cbx__import_run_end(job);
}

const cbx__importer cbx__importer_go = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "go",
    .summary = "text of go test -bench",
    .detect = detect,
    .read = read_file,
};
