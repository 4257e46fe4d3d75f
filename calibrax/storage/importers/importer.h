/*
 * What an importer is, and what it builds runs with.
 *
 * An importer looks at a source (a sketch of its JSON where it is JSON, its lines where it is text), says how sure it is that the source
 * is of its format, and writes runs through the job: begin a run, begin a point, add tags and metrics, end both.  The job's status is
 * sticky: after the first fault every call does nothing and getters give NULL, NaN or 0, so that an importer reads as the format does
 * and checks where it loops.  Messages name the source and the path in it, which the importer sets as it goes (cbx__import_at).
 *
 * No file is held whole: what a format has many of, it names as its list, and takes element by element (cbx__import_next) or line by
 * line (cbx__import_line).  What the job hands out, text, samples and tags, lives until the next element or cbx__import_forget.
 */
#ifndef CALIBRAX_STORAGE_IMPORTER_H
#define CALIBRAX_STORAGE_IMPORTER_H

#include "calibrax/storage/import.h"

#define CBX_IMPORTER_ABI 3

struct cbx__bytes;
struct cbx__json_reader;
struct cbx__import_walk;

typedef struct cbx__import_source {
    const char *what;
    const char *path;               /* of the file; NULL: text that came otherwise */
    const struct cbx__bytes *bytes; /* lines.h walks through them */
    cbx_status *fault;              /* of those walks, while detecting */
    char digest[CBX_HASH_SIZE];
    const cbx_json *
        json; /* to detect: the first members and elements of each container; to read: the file, its list empty; NULL: no JSON */
    const char *json_fault; /* why it is none; "" if it is */
    uint64_t list_at;       /* where the importer's list begins */
    const cbx_json *line;   /* the first line that is not blank; NULL: that is no JSON value */
    int64_t modified_us;    /* 0: unknown */
    const cbx_json
        *companion; /* what stands beside the file and tells more of it, by its name without suffix; NULL: nothing */
} cbx__import_source;

typedef struct cbx__import_job cbx__import_job;

typedef struct cbx__importer {
    uint32_t struct_size, abi; /* CBX_IMPORTER_ABI */
    const char *name, *summary;
    int (*detect)(const cbx__import_source *src); /* 0: not mine ... 100: nobody else's */
    void (*read)(cbx__import_job *job);
    const char
        *list; /* member of the top level whose elements are taken one by one; "": the top level itself; NULL: none */
    const char *inner; /* member of such an element, whose elements are; NULL: none */
    bool
        apart; /* long arrays of an element stay in the file: cbx__import_length, cbx__import_each, cbx__import_samples */
    const char *
        version; /* where a file says its version, "context.json_schema_version": a number, or a text that begins with one */
    int version_least, version_most; /* that is read, of its first number; 0: 1 */
} cbx__importer;

/* --- reading --- */

const cbx__import_source *cbx__import_source_of(const cbx__import_job *job);
cbx_ctx *cbx__import_ctx(const cbx__import_job *job);
/* What lives as long as the import, and until the next element or cbx__import_forget. */
cbx_arena *cbx__import_arena(cbx__import_job *job);
cbx_arena *cbx__import_passing(cbx__import_job *job);
/* For what an importer cannot hold; NULL: it is to hold everything. */
struct cbx__scratch *cbx__import_scratch(cbx__import_job *job);
bool cbx__import_failed(const cbx__import_job *job);
/* Where the reader is: "benchmarks.3"; "" for the top. */
void cbx__import_at(cbx__import_job *job, const char *fmt, ...) CBX_PRINTF(2, 3);
/* The first fault stays. */
void cbx__import_fail(cbx__import_job *job, cbx_status status, const char *fmt, ...) CBX_PRINTF(3, 4);
/* With a message that names the source already. */
void cbx__import_fail_whole(cbx__import_job *job, cbx_status status, const char *message);
/* An entry that gave no point, or not as it stands. */
void cbx__import_note(cbx__import_job *job, const char *entry, const char *fmt, ...) CBX_PRINTF(3, 4);

/*
 * The next element of the list, as a tree that lives until the next call; null is NULL.  An inner list is empty in it.
 * key: of an object's member; may be NULL.  false: there is none, or the job has failed
 */
bool cbx__import_next(cbx__import_job *job, const char **key, const cbx_json **item);
/* The next element of the inner list of that element. */
bool cbx__import_next_inner(cbx__import_job *job, const cbx_json **item);
/*
 * The next value of a reader of the importer's own, whose long arrays stay in the file, until the next call; the caller owns it.  Not
 * while an element is looked at.
 */
cbx_status cbx__import_read(cbx__import_job *job, struct cbx__json_reader *r, cbx_json **out, cbx_err *err);
/* Elements of an array, and of one that stays in the file. */
size_t cbx__import_length(const cbx__import_job *job, const cbx_json *array);
/* A walk through them; starts zeroed, and must go on until there is no more. */
typedef struct cbx__import_elements {
    size_t i; /* elements given */
    struct cbx__import_walk *walk;
} cbx__import_elements;
/* The next element, which lives until the next call; null is NULL.  false: there is none, or the job has failed */
bool cbx__import_each(cbx__import_job *job, const cbx_json *array, cbx__import_elements *e, const cbx_json **element);
/* What the job handed out goes: for readers of lines, behind each point. */
void cbx__import_forget(cbx__import_job *job);

/* Copies; NULL: the job has failed. */
char *cbx__import_strndup(cbx__import_job *job, const char *s, size_t n);
char *cbx__import_printf(cbx__import_job *job, const char *fmt, ...) CBX_PRINTF(2, 3);

/* Numbers that grow; those that may wait on disk, in blocks, go there where the job has a scratch file, all but the last of them. */
typedef struct cbx__samples {
    bool may_wait;
    double *values; /* n numbers, behind those on disk */
    size_t n, room;
    uint64_t *places; /* of the blocks */
    size_t nplaces, places_room;
} cbx__samples;
/**
 * Numbers of a file of little-endian floats that the source names: beside it, or below its folder.  *out stays empty, with a note, where
 * there is none, it leads elsewhere, or does not hold n numbers.
 */
void cbx__import_floats(cbx__import_job *job, const char *entry, const char *name, size_t n, cbx__samples *out);

/* Members that must be there, of this type. */
const char *cbx__import_string(cbx__import_job *job, const cbx_json *object, const char *key);
double cbx__import_number(cbx__import_job *job, const cbx_json *object, const char *key);
const cbx_json *cbx__import_object(cbx__import_job *job, const cbx_json *object, const char *key);
const cbx_json *cbx__import_array(cbx__import_job *job, const cbx_json *object, const char *key);
/* Members that may be missing or null (NaN, NULL), but not of another type. */
double cbx__import_maybe_number(cbx__import_job *job, const cbx_json *object, const char *key);
const char *cbx__import_maybe_string(cbx__import_job *job, const cbx_json *object, const char *key);
/* Whether a value is a number, or one of the words for what is none ("NaN"); such words count as numbers above, too. */
bool cbx__import_is_number(const cbx_json *v);
double cbx__import_double(const cbx_json *v);

void cbx__import_sample(cbx__import_job *job, cbx__samples *s, double value);
/* Adds all of an array of numbers, times scale; null elements are NaN. */
void cbx__import_samples(cbx__import_job *job, const cbx_json *array, const char *key, double scale, cbx__samples *s);
double cbx__import_median(cbx__import_job *job, const cbx__samples *s);

/* --- writing --- */

void cbx__import_run_begin(cbx__import_job *job);
/* For files of several runs: makes the run that was begun for a key the one that is written; true: it is begun now. */
bool cbx__import_run_for(cbx__import_job *job, const char *key);
/* Microseconds since 1970, UTC. */
void cbx__import_run_time(cbx__import_job *job, int64_t us);
/* An ISO time; one that cannot be read is noted, and the file's own time stands. */
void cbx__import_run_iso(cbx__import_job *job, const char *iso);
/* NULL: unknown; empty counts as unknown. */
void cbx__import_run_commit(cbx__import_job *job, const char *commit, const char *branch);
/* Copies; NULL values are left out. */
void cbx__import_run_metadata(cbx__import_job *job, const char *key, const cbx_json *value);
void cbx__import_run_environment(cbx__import_job *job, const char *key, const cbx_json *value);
/* Runs without points are left out. */
void cbx__import_run_end(cbx__import_job *job);
/* A run as it stands, its id kept; takes the reference. */
void cbx__import_run_whole(cbx__import_job *job, cbx_run *run);
/* True: points go to the disk, and a whole run may come without them, which then follow one by one as its file has them. */
bool cbx__import_is_on_disk(const cbx__import_job *job);
/* The element of the list that is looked at, a point of a run file, as it stands. */
void cbx__import_point_json(cbx__import_job *job, const cbx_json *point, const char *path);

void cbx__import_point_begin(cbx__import_job *job, const char *name, const char *scenario);
/* Another name, for a reader that learns it behind its tags; lives as long as the point. */
void cbx__import_point_name(cbx__import_job *job, const char *name);
/* NULL is left out. */
void cbx__import_tag(cbx__import_job *job, const char *key, const char *value);
/* Text as it is, all else as compact JSON. */
void cbx__import_tag_json(cbx__import_job *job, const char *key, const cbx_json *value);
/* A tag for each member. */
void cbx__import_tags_of(cbx__import_job *job, const cbx_json *object);

typedef struct cbx__import_def {
    const char *metric, *unit;
    cbx_direction direction;
    cbx_priority priority;
} cbx__import_def;

/* The headline of most formats: "time" [s], lower is better, primary. */
extern const cbx__import_def cbx__import_time;

void cbx__import_metric(cbx__import_job *job, const cbx__import_def *def, cbx_metric m);
/* With samples, which may wait on disk. */
void cbx__import_metric_with(cbx__import_job *job, const cbx__import_def *def, cbx_metric m, const cbx__samples *s);
/* The median of samples, with them. */
void cbx__import_metric_samples(cbx__import_job *job, const cbx__import_def *def, const cbx__samples *s);
/* Ends a point; without a metric it is left out.  One that stands already gets a tag "repeat", and a note. */
void cbx__import_point_end(cbx__import_job *job);

/* A member that may be missing, as a metric of its own. */
typedef struct cbx__import_field {
    const char *key;
    cbx__import_def def;
    double scale;
} cbx__import_field;
void cbx__import_fields(cbx__import_job *job, const cbx_json *object, const cbx__import_field *fields, size_t n);

/* Seconds in a unit of time ("ns", "us", "ms", "s", "sec", "min", ...); NaN for a word that is none. */
double cbx__import_seconds(const char *unit);
/* Microseconds from milliseconds since 1970, whatever number a file holds. */
int64_t cbx__import_milliseconds(double ms);

/* The member under which a folder of criterion.rs comes as one JSON text. */
#define CBX__CRITERION_KEY "criterion_folder"

/* --- the list --- */

extern const cbx__importer cbx__importer_run;
extern const cbx__importer cbx__importer_result;
extern const cbx__importer cbx__importer_nperf;
extern const cbx__importer cbx__importer_google_benchmark;
extern const cbx__importer cbx__importer_hyperfine;
extern const cbx__importer cbx__importer_pytest_benchmark;
extern const cbx__importer cbx__importer_pyperf;
extern const cbx__importer cbx__importer_criterion;
extern const cbx__importer cbx__importer_jmh;
extern const cbx__importer cbx__importer_go;
extern const cbx__importer cbx__importer_asv;
extern const cbx__importer cbx__importer_nanobench;
extern const cbx__importer cbx__importer_nvbench;
extern const cbx__importer cbx__importer_benchmarktools;
extern const cbx__importer cbx__importer_bmf;

#endif
