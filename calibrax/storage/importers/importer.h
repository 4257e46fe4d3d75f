/*
 * What an importer is, and the calls that it makes runs with.
 *
 * An importer gets a source, whose document is in memory: a JSON tree, or text that is read line by
 * line.  It returns how sure it is that the source is of its format, and then walks through it:
 * begin a point, add tags and metrics, end the point.  A run is begun before read is called; the id
 * and the facts that the options give are added after it.
 *
 * The status of a job is sticky: after the first fault every call does nothing and getters return
 * NULL, NaN or 0, so that an importer reads as the format does.  What the job returns (text,
 * samples) lives as long as the job.
 */
#ifndef CALIBRAX_STORAGE_IMPORTER_H
#define CALIBRAX_STORAGE_IMPORTER_H

#include "calibrax/base/list.h"
#include "calibrax/core/owned.h"
#include "calibrax/storage/import.h"

typedef struct cbx__import_source {
    const char *what; /* names the source in messages */
    const char *path; /* of the file; NULL: text from elsewhere */
    char *text;       /* behind a byte-order mark, with a NUL behind its end; "" once it is in json */
    size_t len;
    char digest[CBX_HASH_SIZE];
    const cbx_json *json;      /* the document; NULL: it is not JSON */
    const cbx_json *line;      /* the first line that is not blank, or the document; NULL: that is not JSON either */
    int64_t modified_us;       /* 0: unknown */
    const cbx_json *companion; /* the files of asv beside this one, by their names without suffix; NULL: none */
} cbx__import_source;

typedef struct cbx__import_job cbx__import_job;

typedef struct cbx__importer {
    const char *name, *summary;
    const char *marks[2]; /* places of members that every file has, "results.0.command" */
    int (*detect)(
        const cbx__import_source *src); /* 0: another format ... 100: no other format; NULL: 95 with all of the marks */
    void (*read)(cbx__import_job *job);
    bool takes_text; /* sources that are not JSON, too: without it json is never NULL in read */
    const char *
        version; /* place of the file's version, "context.json_schema_version": a number, or a text that begins with one */
    int version_min, version_max; /* that is read, of its first number; 0: 1 */
} cbx__importer;

/* Every importer, in the order in which they are tried; of equal scores the first one wins. */
#define CBX__IMPORTERS(X)                                                                                              \
    X(run)                                                                                                             \
    X(result)                                                                                                          \
    X(nperf)                                                                                                           \
    X(google_benchmark)                                                                                                \
    X(hyperfine)                                                                                                       \
    X(pytest_benchmark)                                                                                                \
    X(pyperf)                                                                                                          \
    X(criterion)                                                                                                       \
    X(jmh)                                                                                                             \
    X(go)                                                                                                              \
    X(asv)                                                                                                             \
    X(nanobench)                                                                                                       \
    X(nvbench)                                                                                                         \
    X(benchmarktools)                                                                                                  \
    X(bmf)                                                                                                             \
    X(trace)
#define CBX__IMPORTER_DECLARE(name) extern const cbx__importer cbx__importer_##name;
CBX__IMPORTERS(CBX__IMPORTER_DECLARE)

/* --- the job --- */

const cbx__import_source *cbx__import_source_of(const cbx__import_job *job);
cbx_ctx *cbx__import_ctx(const cbx__import_job *job);
bool cbx__import_failed(const cbx__import_job *job);
cbx_allocator cbx__import_allocator(cbx__import_job *job); /* of what lives as long as the job */
/* The place that messages name: "benchmarks.3"; "" for the top. */
void cbx__import_at(cbx__import_job *job, const char *fmt, ...) CBX_PRINTF(2, 3);
/* The first fault counts. */
void cbx__import_fail(cbx__import_job *job, cbx_status status, const char *fmt, ...) CBX_PRINTF(3, 4);
/* The same with a message that names the source already; status CBX_OK is no fault. */
void cbx__import_check(cbx__import_job *job, cbx_status status, const cbx_err *err);
/* An entry that became no point, or not exactly what the file has. */
void cbx__import_note(cbx__import_job *job, const char *entry, const char *fmt, ...) CBX_PRINTF(3, 4);
/* Copies; NULL: the job has failed. */
char *cbx__import_strndup(cbx__import_job *job, const char *s, size_t n);
char *cbx__import_printf(cbx__import_job *job, const char *fmt, ...) CBX_PRINTF(2, 3);

/* --- JSON --- */

/* Element i of an array; the place becomes "name.i", or "i" without a name.  false: there is no
 * such element, or the job has failed. */
bool cbx__import_element(cbx__import_job *job, const cbx_json *array, const char *name, size_t i,
                         const cbx_json **element);
/* The same of the members of an object: "name.key". */
bool cbx__import_member(cbx__import_job *job, const cbx_json *object, const char *name, size_t i, const char **key,
                        const cbx_json **value);
/* Members that must be there, of this type. */
const char *cbx__import_string(cbx__import_job *job, const cbx_json *object, const char *key);
double cbx__import_number(cbx__import_job *job, const cbx_json *object, const char *key);
const cbx_json *cbx__import_object(cbx__import_job *job, const cbx_json *object, const char *key);
const cbx_json *cbx__import_array(cbx__import_job *job, const cbx_json *object, const char *key);
/* Members that may be missing or null (NaN, NULL), but not of another type. */
double cbx__import_maybe_number(cbx__import_job *job, const cbx_json *object, const char *key);
const char *cbx__import_maybe_string(cbx__import_job *job, const cbx_json *object, const char *key);
/* Whether a value is a number, or a word for a number that is not finite ("NaN", "+INF"); such
 * words are numbers above, too. */
bool cbx__import_is_number(const cbx_json *v);
double cbx__import_double(const cbx_json *v);
/* Seconds in a unit of time ("ns", "us", "ms", "s", "sec", "min", ...); NaN for another word. */
double cbx__import_seconds(const char *unit);
/* Microseconds from milliseconds since 1970, for any number. */
int64_t cbx__import_milliseconds(double ms);

/* --- lines --- */

/* The next line of the source without its end, which the caller may change; the place becomes that
 * line.  NULL: the end. */
char *cbx__import_line(cbx__import_job *job);
/* Cells of a line of CSV (RFC 4180, without line breaks in cells), at most `max`, in place; further
 * cells are ignored. */
size_t cbx__import_cells(char *line, const char **cells, size_t max);
/* Whether a line of the source begins with this text; whether the text is anywhere in it. */
bool cbx__import_has_line(const cbx__import_source *src, const char *start);
bool cbx__import_mentions(const cbx__import_source *src, const char *part);

/* --- samples --- */

typedef CBX_LIST(double) cbx__samples; /* starts zeroed */

void cbx__import_sample(cbx__import_job *job, cbx__samples *s, double value);
/* Capacity for n more samples.  false: the job has failed. */
bool cbx__import_reserve(cbx__import_job *job, cbx__samples *s, size_t n);
/* Adds all of an array of numbers, times scale; null elements are NaN.  The second one takes a
 * member, which may be missing. */
void cbx__import_samples(cbx__import_job *job, const cbx_json *array, const char *key, double scale, cbx__samples *s);
void cbx__import_member_samples(cbx__import_job *job, const cbx_json *object, const char *key, double scale,
                                cbx__samples *s);
/*
 * Adds the numbers of a file of little-endian floats that the source names: beside it, or below its
 * folder.  None, with a note, where there is no such file, it is elsewhere, or it does not hold n
 * numbers.
 */
void cbx__import_floats(cbx__import_job *job, const char *entry, const char *name, size_t n, cbx__samples *out);
/* NaN without samples, or if a sample is NaN. */
double cbx__import_median(cbx__import_job *job, const cbx__samples *s);

/* --- runs --- */

/* For files of several runs: points go to the run of this key from now on; true: it is a new
 * run. */
bool cbx__import_run_for(cbx__import_job *job, const char *key);
/* Microseconds since 1970, UTC. */
void cbx__import_run_time(cbx__import_job *job, int64_t us);
/* An ISO time; one that cannot be read is noted, and the file's own time stays. */
void cbx__import_run_iso(cbx__import_job *job, const char *iso);
/* NULL: unknown; empty counts as unknown. */
void cbx__import_run_commit(cbx__import_job *job, const char *commit, const char *branch);
/* Copies; NULL values are left out. */
void cbx__import_run_metadata(cbx__import_job *job, const char *key, const cbx_json *value);
void cbx__import_run_environment(cbx__import_job *job, const char *key, const cbx_json *value);
/* The run of the job under construction, for what the calls here do not offer; NULL: the job has
 * failed. */
cbx_run_builder *cbx__import_builder(cbx__import_job *job);
/* A run with its own id and points; takes the reference. */
void cbx__import_run_whole(cbx__import_job *job, cbx_run *run);

/* --- points --- */

typedef struct cbx__import_def {
    const char *metric, *unit;
    cbx_direction direction;
    cbx_priority priority;
} cbx__import_def;

#define CBX__DEF(metric, unit, direction, priority)                                                                    \
    {                                                                                                                  \
        metric, unit, CBX_DIRECTION_##direction, CBX_PRIORITY_##priority                                               \
    }

/* The main metric of most formats: "time" [s], lower is better, primary. */
extern const cbx__import_def cbx__import_time;

/* Texts and samples of a point must stay until its end. */
void cbx__import_point_begin(cbx__import_job *job, const char *name, const char *scenario);
/* A value NULL is left out. */
void cbx__import_tag(cbx__import_job *job, const char *key, const char *value);
/* Text without quotes, everything else as compact JSON. */
void cbx__import_tag_json(cbx__import_job *job, const char *key, const cbx_json *value);
/* A tag for each member. */
void cbx__import_tags_of(cbx__import_job *job, const cbx_json *object);
void cbx__import_metric(cbx__import_job *job, const cbx__import_def *def, cbx_metric m);
/* The same with samples. */
void cbx__import_metric_with(cbx__import_job *job, const cbx__import_def *def, cbx_metric m, const cbx__samples *s);
/* The median of samples, with them; nothing without samples. */
void cbx__import_metric_samples(cbx__import_job *job, const cbx__import_def *def, const cbx__samples *s);
/* A member that may be missing, as a metric. */
typedef struct cbx__import_field {
    const char *key;
    cbx__import_def def;
    double scale;
} cbx__import_field;
/* The first of a key; NULL: it is missing. */
const cbx__import_field *cbx__import_find(const cbx__import_field *fields, size_t n, const char *key);
void cbx__import_fields(cbx__import_job *job, const cbx_json *object, const cbx__import_field *fields, size_t n);
/* The spread of times [s] in "mean", "stddev", "min", "max", "q1", "q3", of which some may be
 * missing, for information. */
void cbx__import_spread(cbx__import_job *job, const cbx_json *object);
/* Ends a point; without a metric it is left out.  The second one of a kind gets a tag "repeat", and
 * a note. */
void cbx__import_point_end(cbx__import_job *job);

/* --- between import.c, job.c and folder.c --- */

/* Runs an importer on a source; out has an arena, and gets runs and notes. */
cbx_status cbx__import_read(cbx_ctx *ctx, const cbx__importer *importer, cbx__import_source *src,
                            const cbx_import_opts *opts, cbx_import *out, cbx_err *err);

/* The member under which a folder of criterion.rs comes as one JSON text. */
#define CBX__CRITERION_KEY "criterion_folder"
/* A folder of criterion.rs as text: {CBX__CRITERION_KEY: [{"folder", "benchmark", "estimates",
 * "sample"}, ...]} */
cbx_status cbx__import_folder(cbx_ctx *ctx, const char *path, cbx_text *out, cbx_err *err);
/*
 * What asv keeps beside a file of results: {"benchmarks": ../benchmarks.json, "machine":
 * machine.json}; NULL: neither can be read.  The caller unrefs it.  @return CBX_OK or CBX_ENOMEM
 */
cbx_status cbx__import_companion(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err);

#endif
