/*
 * Go's benchmark text (golang.org/design/14313-benchmark-format): "key: value" lines that hold for what follows, "Unit" lines that say
 * which way is better, and "BenchmarkName/k=v-P  N  value unit ...".
 *
 * "--- FAIL: BenchmarkName-P" gives its point the time NaN, so that no gate passes it; a package that failed ("FAIL  path") is noted, as what
 * it did not get to is missing.
 *
 * Lines of one name are samples of one point; its package is the scenario, /k=v parts are tags, -P is the tag gomaxprocs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/lines.h"
#include "calibrax/storage/importers/sorter.h"

#define MAX_VALUES 32

/* A value that the lines of a group have in common. */
typedef struct go_series {
    const char *unit;
    double scale;
    cbx__import_def def;
    cbx__samples samples;
} go_series;

/* What a "Unit" line says. */
typedef struct go_unit {
    const char *unit;
    cbx_direction better;
} go_unit;

/* Lines of one name; series in the order in which the lines show them. */
typedef struct go_group {
    const char *package, *name;
    bool begun;
    go_series series[MAX_VALUES];
    size_t n;
} go_group;

typedef struct go_file {
    cbx__sorter *lines;
    uint64_t nlines;
    cbx_text record;
    const char **names; /* of units, in the order in which they came */
    size_t nnames, names_room;
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

static void read_unit_line(cbx__import_job *job, go_file *f, char *line)
{
    char *at = line, *unit, *fact;

    word(&at);
    unit = word(&at);
    if (unit) unit = cbx_arena_strdup(cbx__import_arena(job), unit);
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
        f->package = cbx_arena_strdup(cbx__import_arena(job), colon + 2 + strspn(colon + 2, " "));
    else if (key)
        cbx_json_set_string(f->facts, key, colon + 2 + strspn(colon + 2, " "));
    if (!key || !f->package) cbx__import_fail(job, CBX_ENOMEM, "out of memory");
}

/* The number of a unit, which it gets when it comes first. */
static uint32_t number_of(cbx__import_job *job, go_file *f, const char *unit)
{
    for (size_t i = 0; i < f->nnames; i++)
        if (!strcmp(f->names[i], unit)) return (uint32_t)i;
    if (f->nnames == f->names_room) {
        size_t room = f->names_room ? 2 * f->names_room : 16;
        const char **more = cbx_arena_calloc(cbx__import_arena(job), room, sizeof(*more));
        if (more && f->nnames) memcpy(more, f->names, f->nnames * sizeof(*more));
        f->names = more ? more : f->names;
        f->names_room = more ? room : f->names_room;
    }
    if (f->nnames < f->names_room) f->names[f->nnames] = cbx_arena_strdup(cbx__import_arena(job), unit);
    if (f->nnames == f->names_room || !f->names[f->nnames]) {
        cbx__import_fail(job, CBX_ENOMEM, "out of memory");
        return 0;
    }
    return (uint32_t)f->nnames++;
}

/* A value in a record. */
typedef struct packed {
    double value;
    uint32_t unit;
} packed;

/* package, name, number of the line: what lines sort by; then the values */
static void begin_record(go_file *f, const char *name)
{
    unsigned char order[8];

    for (int i = 0; i < 8; i++) order[i] = (unsigned char)(f->nlines >> (56 - 8 * i));
    cbx_text_reset(&f->record);
    cbx_text_add(&f->record, f->package, strlen(f->package) + 1);
    cbx_text_add(&f->record, name, strlen(name) + 1);
    cbx_text_add(&f->record, (const char *)order, sizeof order);
    f->nlines++;
}

static void end_record(cbx__import_job *job, go_file *f)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_text_check(&f->record, &err);

    if (!st) st = cbx__sorter_add(f->lines, f->record.data, f->record.len, &err);
    if (st) cbx__import_fail(job, st, "%s", err.message);
}

static void read_result(cbx__import_job *job, go_file *f, char *line)
{
    char *at = line, *name = word(&at), *count = word(&at), *number, *unit, *end;
    size_t n = 0;
    bool measured;

    if (!count || !count[0] || count[strspn(count, "0123456789")]) return; /* its name alone, before what it prints */
    measured = count[strspn(count, "0")];
    if (!measured) cbx__import_note(job, name, "it made no iteration, so its values are not numbers");
    begin_record(f, name + strlen("Benchmark"));
    for (; n < MAX_VALUES && (number = word(&at)) != NULL; n++) {
        packed p;
        memset(&p, 0, sizeof p);
        p.value = strtod(number, &end);
        unit = word(&at);
        if (end == number || *end || !unit) {
            cbx__import_fail(job, CBX_EFORMAT, "'%.60s': expected a number and its unit, found '%.40s'", name, number);
            return;
        }
        if (!measured) p.value = NAN;
        p.unit = number_of(job, f, unit);
        cbx_text_add(&f->record, (const char *)&p, sizeof p);
    }
    end_record(job, f);
}

/* A benchmark that failed: a sample that is no number. */
static void read_failure(cbx__import_job *job, go_file *f, char *name)
{
    packed p;

    name[strcspn(name, " \t\r")] = 0;
    if (!is_result(name)) return; /* a test */
    memset(&p, 0, sizeof p);
    p.value = NAN;
    p.unit = number_of(job, f, "ns/op");
    cbx__import_note(job, name, "it failed, so its time is not a number");
    begin_record(f, name + strlen("Benchmark"));
    cbx_text_add(&f->record, (const char *)&p, sizeof p);
    end_record(job, f);
}

/* The word FAIL alone sums up what was said before. */
static void note_package(cbx__import_job *job, const char *line)
{
    const char *at = line + 4 + strspn(line + 4, " \t");
    size_t len = strcspn(at, " \t\r");
    const char *package = len && at > line + 4 ? cbx__import_strndup(job, at, len) : NULL;

    if (package) cbx__import_note(job, package, "the package failed; what it did not get to is missing");
}

static void read_lines(cbx__import_job *job, go_file *f)
{
    static const char failed[] = "--- FAIL: ";
    char *line;

    while ((line = cbx__import_line(job)) != NULL) {
        if (is_result(line))
            read_result(job, f, line);
        else if (!strncmp(line + strspn(line, " \t"), failed, strlen(failed)))
            read_failure(job, f, line + strspn(line, " \t") + strlen(failed));
        else if (!strncmp(line, "FAIL", 4))
            note_package(job, line);
        else if (!strncmp(line, "Unit ", 5))
            read_unit_line(job, f, line);
        else
            read_fact(job, f, line);
    }
    cbx__import_at(job, "%s", "");
}

/* --- points --- */

/* "Sort/n=10/fast-8": the point Sort/fast with n=10 and gomaxprocs=8. */
static void begin_point(cbx__import_job *job, const go_group *l)
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

static void end_group(cbx__import_job *job, go_group *g)
{
    if (g->begun) {
        begin_point(job, g);
        for (size_t i = 0; i < g->n; i++) cbx__import_metric_samples(job, &g->series[i].def, &g->series[i].samples);
        cbx__import_point_end(job);
    }
    cbx__import_forget(job);
    g->begun = false;
    g->n = 0;
}

/* The series of a unit, begun if it is new; NULL: there are too many. */
static go_series *series_of(const go_file *f, go_group *g, const char *unit)
{
    go_series *s = &g->series[g->n];

    for (size_t i = 0; i < g->n; i++)
        if (g->series[i].unit == unit) return &g->series[i];
    if (g->n == MAX_VALUES) return NULL;
    *s = (go_series){ .unit = unit, .samples.may_wait = true };
    s->def = definition(f, unit, &s->scale);
    g->n++;
    return s;
}

static void add_line(cbx__import_job *job, const go_file *f, go_group *g, const char *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        packed p;
        go_series *s;
        memcpy(&p, values + i * sizeof p, sizeof p);
        s = series_of(f, g, f->names[p.unit]);
        if (s) cbx__import_sample(job, &s->samples, p.value * s->scale);
    }
}

/* A line joins its group, or ends the one before. */
static void take_record(cbx__import_job *job, const go_file *f, go_group *g, const char *record, size_t len)
{
    const char *package = record, *name = package + strlen(package) + 1, *order = name + strlen(name) + 1;
    const char *values = order + 8;

    if (!g->begun || strcmp(g->package, package) != 0 || strcmp(g->name, name) != 0) {
        end_group(job, g);
        g->package = cbx__import_strndup(job, package, strlen(package));
        g->name = cbx__import_strndup(job, name, strlen(name));
        g->begun = true;
    }
    if (!cbx__import_failed(job)) add_line(job, f, g, values, (len - (size_t)(values - record)) / sizeof(packed));
}

static void read_sorted(cbx__import_job *job, const go_file *f)
{
    cbx_err err = CBX_ERR_INIT;
    go_group g = { .begun = false };
    const char *record = NULL;
    size_t len = 0;
    cbx_status st = cbx__sorter_sort(f->lines, &err);

    while (!st && !cbx__import_failed(job) && !(st = cbx__sorter_next(f->lines, &record, &len, &err)) && record)
        take_record(job, f, &g, record, len);
    if (st) cbx__import_fail(job, st, "%s", err.message);
    if (!cbx__import_failed(job)) end_group(job, &g);
}

static void read_file(cbx__import_job *job)
{
    const cbx_allocator *al = &cbx__import_arena(job)->al;
    go_file f = { .package = "", .facts = cbx_json_new_object() };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx__sorter_create(al, cbx__import_scratch(job), &f.lines, &err);

    if (st) cbx__import_fail(job, st, "%s", err.message);
    cbx_text_init(&f.record, al);
    cbx__import_run_begin(job);
    read_lines(job, &f);
    if (!cbx__import_failed(job)) read_sorted(job, &f);
    if (cbx_json_length(f.facts)) cbx__import_run_environment(job, "go", f.facts);
    cbx__import_run_commit(job, cbx_json_get_string(f.facts, "commit", NULL),
                           cbx_json_get_string(f.facts, "branch", NULL));
    cbx_json_unref(f.facts);
    cbx_text_clear(&f.record);
    cbx__sorter_free(f.lines);
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
