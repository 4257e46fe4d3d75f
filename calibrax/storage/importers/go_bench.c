/*
 * Go's benchmark text (golang.org/design/14313-benchmark-format): "key: value" lines for what
 * follows, "Unit" lines that state which direction is better, and "BenchmarkName/k=v-P  N  value
 * unit ...".
 *
 * "--- FAIL: BenchmarkName-P" gives its point the time NaN, so that no gate passes it; a package
 * that failed ("FAIL  path") is noted, since benchmarks that did not run are missing.
 *
 * Lines of one name are samples of one point; its package is the scenario, /k=v parts are tags, -P
 * is the tag gomaxprocs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

#define MAX_VALUES 32

/* What a "Unit" line says. */
typedef struct go_unit {
    const char *unit;
    cbx_direction better;
} go_unit;

/* A line of results; texts are those of the source. */
typedef struct go_line {
    const char *package;
    char *name, *values; /* "12 ns/op 3 B/op"; NULL: the benchmark failed */
    uint32_t number;
    bool measured;
} go_line;

/* A value that the lines of a group have in common; its samples are used again for the next
 * group. */
typedef struct go_series {
    const char *unit;
    double scale;
    cbx__import_def def;
    cbx__samples samples;
} go_series;

typedef struct go_file {
    cbx_allocator al;
    CBX_LIST(go_line) lines;
    go_series series[MAX_VALUES];
    go_unit units[16];
    size_t nunits;
    const char *package;
    cbx_json *facts;
} go_file;

static const cbx__import_field known[] = {
    { "ns/op", CBX__DEF("time", "s", LOWER, PRIMARY), 1e-9 },
    { "sec/op", CBX__DEF("time", "s", LOWER, PRIMARY), 1 },
    { "MB/s", CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY), 1e6 },
    { "B/s", CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY), 1 },
    { "B/op", CBX__DEF("bytes_per_op", "B", LOWER, SECONDARY), 1 },
    { "allocs/op", CBX__DEF("allocs_per_op", "", LOWER, SECONDARY), 1 },
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

static void read_fact(go_file *f, char *line)
{
    char *colon = strstr(line, ": ");

    if (!colon || *line < 'a' || *line > 'z' || strcspn(line, " \t") < (size_t)(colon - line)) return;
    *colon = '\0';
    const char *value = colon + 2 + strspn(colon + 2, " ");
    if (!strcmp(line, "pkg"))
        f->package = value;
    else
        cbx_json_set_string(f->facts, line, value);
}

static void add_line(cbx__import_job *job, go_file *f, char *name, char *values, size_t number, bool measured)
{
    const go_line line = { f->package, name + strlen("Benchmark"), values, (uint32_t)number, measured };

    if (!cbx_list_push(&f->al, &f->lines, line)) cbx__import_fail(job, CBX_ENOMEM, "out of memory");
}

static void read_result(cbx__import_job *job, go_file *f, char *line, size_t number)
{
    char *at = line, *name = word(&at), *count = word(&at);
    bool measured;

    if (!count || !count[0] || count[strspn(count, "0123456789")]) return; /* a name alone, before what it prints */
    measured = count[strspn(count, "0")];
    if (!measured) cbx__import_note(job, name, "it made no iteration, so its values are not numbers");
    add_line(job, f, name, at, number, measured);
}

static void read_failure(cbx__import_job *job, go_file *f, char *name, size_t number)
{
    name[strcspn(name, " \t\r")] = 0;
    if (!is_result(name)) return; /* a test */
    cbx__import_note(job, name, "it failed, so its time is not a number");
    add_line(job, f, name, NULL, number, false);
}

/* --- points --- */

static cbx__import_def definition(const go_file *f, const char *unit, double *scale)
{
    cbx__import_def def = CBX__DEF(unit, "", INFO, SECONDARY);
    const cbx__import_field *field = cbx__import_find(known, CBX_LEN(known), unit);
    size_t n = strlen(unit);

    *scale = field ? field->scale : 1;
    if (field) return field->def;
    def.unit = unit;
    if (n > 2 && !strcmp(unit + n - 2, "/s")) def.direction = CBX_DIRECTION_HIGHER;
    if (n > 3 && !strcmp(unit + n - 3, "/op")) def.direction = CBX_DIRECTION_LOWER;
    for (size_t i = 0; i < f->nunits; i++)
        if (!strcmp(f->units[i].unit, unit)) def.direction = f->units[i].better;
    return def;
}

static void add_value(cbx__import_job *job, go_file *f, size_t *n, const char *unit, double value)
{
    size_t s = 0;

    while (s < *n && strcmp(f->series[s].unit, unit) != 0) s++;
    if (s == MAX_VALUES) return;
    if (s == *n) {
        f->series[s].unit = unit;
        f->series[s].def = definition(f, unit, &f->series[s].scale);
        f->series[s].samples.n = 0;
        ++*n;
    }
    cbx__import_sample(job, &f->series[s].samples, value * f->series[s].scale);
}

/* The lines of one name: series in the order in which the lines have them. */
static void read_group(cbx__import_job *job, go_file *f, const go_line *lines, size_t nlines)
{
    size_t n = 0;

    for (size_t i = 0; i < nlines; i++) {
        char *at = lines[i].values, *number, *end;
        cbx__import_at(job, "line %lu", (unsigned long)lines[i].number);
        if (!at) add_value(job, f, &n, "ns/op", NAN);
        for (size_t k = 0; at && k < MAX_VALUES && !cbx__import_failed(job) && (number = word(&at)) != NULL; k++) {
            double v = strtod(number, &end);
            const char *unit = word(&at);
            if (end == number || *end || !unit)
                cbx__import_fail(job, CBX_EFORMAT, "'Benchmark%.60s': expected a number and its unit, found '%.40s'",
                                 lines[i].name, number);
            else
                add_value(job, f, &n, unit, lines[i].measured ? v : NAN);
        }
    }
    /* "Sort/n=10/fast-8": the point Sort/fast with n=10 and gomaxprocs=8.  Splits the name in
     * place. */
    char *dash = strrchr(lines->name, '-'), *next = strchr(lines->name, '/'), *part, *equals;
    cbx_allocator al = cbx__import_allocator(job);
    const char *procs = NULL;
    cbx_tag tags[64];
    size_t ntags = 0;
    cbx_text name;

    if (dash && dash[1] && !dash[1 + strspn(dash + 1, "0123456789")]) {
        procs = dash + 1;
        *dash = '\0';
    }
    cbx_text_init(&name, &al);
    while (next && *next && !cbx__import_failed(job)) {
        *next = '\0';
        part = next + 1;
        next = strchr(part, '/');
        if (next) *next = '\0';
        equals = strchr(part, '=');
        if (equals && equals > part && ntags < CBX_LEN(tags)) {
            *equals = '\0';
            tags[ntags++] = (cbx_tag){ part, equals + 1 };
        } else {
            if (!name.len) cbx_text_puts(&name, lines->name);
            cbx_text_putc(&name, '/');
            cbx_text_puts(&name, part);
        }
        if (next) *next = '/';
    }
    if (name.status) cbx__import_fail(job, name.status, "out of memory");
    cbx__import_point_begin(job, name.len ? cbx_text_str(&name) : lines->name, lines->package);
    for (size_t i = 0; i < ntags; i++) cbx__import_tag(job, tags[i].key, tags[i].value);
    cbx__import_tag(job, "gomaxprocs", procs);
    for (size_t i = 0; i < n; i++) cbx__import_metric_samples(job, &f->series[i].def, &f->series[i].samples);
    cbx__import_point_end(job);
}

static int by_name(const void *a, const void *b)
{
    const go_line *x = a, *y = b;
    int order = strcmp(x->package, y->package);

    if (!order) order = strcmp(x->name, y->name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static void read_file(cbx__import_job *job)
{
    go_file f = { .package = "", .facts = cbx_json_new_object(), .al = *cbx_ctx_allocator(cbx__import_ctx(job)) };

    static const char failed[] = "--- FAIL: ";
    char *line;

    for (size_t number = 1; (line = cbx__import_line(job)) != NULL; number++) {
        if (is_result(line))
            read_result(job, &f, line, number);
        else if (!strncmp(line + strspn(line, " \t"), failed, strlen(failed)))
            read_failure(job, &f, line + strspn(line, " \t") + strlen(failed), number);
        else if (!strncmp(line, "FAIL", 4)) {
            /* The word FAIL alone only repeats that something failed. */
            const char *at = line + 4 + strspn(line + 4, " \t");
            size_t len = strcspn(at, " \t\r");
            const char *package = len && at > line + 4 ? cbx__import_strndup(job, at, len) : NULL;
            if (package) cbx__import_note(job, package, "the package failed: benchmarks that did not run are missing");
        } else if (!strncmp(line, "Unit ", 5)) {
            char *at = line, *unit, *fact;
            word(&at);
            unit = word(&at);
            while (unit && (fact = word(&at)) != NULL) {
                bool higher = !strcmp(fact, "better=higher");
                if ((higher || !strcmp(fact, "better=lower")) && f.nunits < CBX_LEN(f.units))
                    f.units[f.nunits++] = (go_unit){ unit, higher ? CBX_DIRECTION_HIGHER : CBX_DIRECTION_LOWER };
            }
        } else
            read_fact(&f, line);
    }
    cbx__import_at(job, "%s", "");
    go_line *lines = f.lines.items;
    if (f.lines.n) qsort(lines, f.lines.n, sizeof *lines, by_name);
    for (size_t i = 0, n; i < f.lines.n && !cbx__import_failed(job); i += n) {
        for (n = 1; i + n < f.lines.n && !strcmp(lines[i].package, lines[i + n].package) &&
                    !strcmp(lines[i].name, lines[i + n].name);)
            n++;
        read_group(job, &f, lines + i, n);
    }
    if (cbx_json_length(f.facts)) cbx__import_run_environment(job, "go", f.facts);
    cbx__import_run_commit(job, cbx_json_get_string(f.facts, "commit", NULL),
                           cbx_json_get_string(f.facts, "branch", NULL));
    cbx_json_unref(f.facts);
    cbx_list_clear(&f.al, &f.lines);
}

const cbx__importer cbx__importer_go = {
    .name = "go",
    .summary = "text of go test -bench",
    .detect = detect,
    .read = read_file,
    .takes_text = true,
};
