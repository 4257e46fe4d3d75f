/*
 * A case file in memory.  Everything lives in its arena.
 */
#ifndef CALIBRAX_PERF_CASE_DECLARED_INTERNAL_H
#define CALIBRAX_PERF_CASE_DECLARED_INTERNAL_H

#include "calibrax/base/arena.h"
#include "calibrax/base/json.h"
#include "calibrax/base/list.h"
#include "calibrax/perf/case/declared.h"
#include "calibrax/perf/case/expression.h"
#include "calibrax/perf/case/source.h"

/* --- members ---
 *
 * Members of the JSON objects in files of cases and of commands: each is known, of the right kind
 * and kept in its place, or a message names file, place and member.  What is kept lives in the
 * reader's arena.
 */

typedef struct cbx__reader {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const char *what, *folder; /* name of the file in messages; folder that its paths are relative to */
    cbx_err *err;
    cbx_status st;  /* the first failure: nothing is read after it */
    char where[96]; /* the object being read: "inputs[1]"; "": the document */
} cbx__reader;

typedef struct cbx__member {
    const char *name;
    void (*read)(cbx__reader *r, const char *name, const cbx_json *v, void *out); /* NULL: is read elsewhere */
    size_t place; /* of `out` in the struct that cbx__read_members fills */
    bool required;
} cbx__member;

/* Records CBX_EFORMAT, "'FILE': PLACE: TEXT", unless something failed before. */
void cbx__read_fault(cbx__reader *r, const char *fmt, ...) CBX_PRINTF(2, 3);
/* p; if it is NULL, CBX_ENOMEM is recorded. */
void *cbx__read_made(cbx__reader *r, const void *p);
/* Entry i of `list` is read next; list NULL: the document. */
void cbx__read_at(cbx__reader *r, const char *list, size_t i);

/* Fills `out` from an object that has no other members than these, no null among them. */
void cbx__read_members(cbx__reader *r, const cbx_json *o, const cbx__member *members, size_t n, void *out);
/* The member as an array of min to max entries; missing: NULL with *n = 0 if min is 0.  A failure:
 * *n = 0. */
const cbx_json *cbx__read_list(cbx__reader *r, const cbx_json *o, const char *name, size_t min, size_t max, size_t *n);

/* Kinds of members.  `out` is a const char * for text that is not empty and for names (letters,
 * digits, '.', '_', '-'), a double for finite numbers and for tolerances, which are not
 * negative. */
void cbx__read_text(cbx__reader *r, const char *name, const cbx_json *v, void *out);
void cbx__read_name(cbx__reader *r, const char *name, const cbx_json *v, void *out);
void cbx__read_number(cbx__reader *r, const char *name, const cbx_json *v, void *out);
void cbx__read_tolerance(cbx__reader *r, const char *name, const cbx_json *v, void *out);

#define CBX__DECLARED_MAX_GROUPS 8
#define CBX__DECLARED_MAX_CHECKS 16

typedef enum cbx__fill_kind {
    CBX__FILL_NORMAL,
    CBX__FILL_UNIFORM,
    CBX__FILL_INTEGERS,
    CBX__FILL_COUNT,
    CBX__FILL_CONSTANT
} cbx__fill_kind;

typedef struct cbx__declared_array {
    const char *name;
    cbx_dtype dtype;
    int ndim;
    const char *shape[CBX_MAX_RANK]; /* formulas */
    cbx__fill_kind fill;             /* of an input */
    double low, high;                /* uniform, integers: bounds; normal: mean and deviation; constant, count: first */
    double rtol, atol;               /* of an output; NaN: the reference's */
} cbx__declared_array;

/* Arrays whose axes are permuted together; axis -1: not in it. */
typedef struct cbx__declared_group {
    int input_axis[CBX_CASE_MAX_ARRAYS], output_axis[CBX_CASE_MAX_ARRAYS];
} cbx__declared_group;

/* The members of a baseline, or of the reference. */
typedef struct cbx__declared_entry {
    const char *name, *summary, *slow, *mutant, *must_fail, *provider, *python, *setup;
    double rtol, atol;
    /* of kind "commands": argv, setup ("prepare") and teardown ("conclude") before values are
     * put in */
    cbx_benchmark_command run;
} cbx__declared_entry;

struct cbx_declared {
    cbx_arena arena;
    cbx_declared_kind kind;
    cbx_case_ops ops;
    const char *what, *folder;
    cbx_param_def *params;
    cbx_baseline_ops *baselines;
    cbx_benchmark_command *commands; /* of each baseline, of kind "commands" */
    cbx__declared_array inputs[CBX_CASE_MAX_ARRAYS], outputs[CBX_CASE_MAX_ARRAYS];
    cbx__declared_group groups[CBX__DECLARED_MAX_GROUPS];
    size_t ngroups;
    const char *macs, *flop, *bytes; /* formulas */
    const char *setup, *prepare;
    const char *where; /* the folder that commands run in; NULL: a new one */
    double representative;
    cbx_command_check checks[CBX__DECLARED_MAX_CHECKS];
    size_t nchecks;
    CBX_LIST(const char *) files; /* that must exist */
};

/* The parameter whose name these `len` bytes are; else NULL. */
const cbx_param_def *cbx__declared_param(const cbx_declared *d, const char *name, size_t len);
/* The functions of the case (declared_case.c). */
void cbx__declared_fill_ops(cbx_declared *d);
/* The members of a baseline of kind "commands", in a cbx__declared_entry (commands.c). */
extern const cbx__member cbx__command_members[];
extern const size_t cbx__command_nmembers;

/* Texts of a case of commands with the values of a point in place of {NAME}; NULL: out of memory.
 * `line` is a command as the shell takes it. */
const char *cbx__declared_text(const cbx_declared *d, const cbx_params *point, const char *text, cbx_arena *arena);
const char *cbx__declared_line(const cbx_declared *d, const cbx_params *point, const char *const *argv,
                               cbx_arena *arena);
/* The lines before a run, each of which must succeed: the case's set-up if wanted, its preparation,
 * the baseline's own (NULL: it has none).  *out NULL: none.  @return false: out of memory */
bool cbx__declared_before(const cbx_declared *d, const cbx_params *point, bool setup, const char *const *own,
                          cbx_arena *arena, const char **out);
/* The checks at a point.  NULL: out of memory. */
const cbx_command_check *cbx__declared_checks(const cbx_declared *d, const cbx_params *point, cbx_arena *arena);
/* cbx_declared_read with memory from `al`. */
cbx_status cbx__declared_read(cbx_ctx *ctx, const char *path, const cbx_allocator *al, cbx_declared **out,
                              cbx_err *err);
/* The benchmarks of a case of commands, for as long as d and the arena live. */
cbx_status cbx__declared_benchmarks(cbx_ctx *ctx, const cbx_declared *d, cbx_arena *arena,
                                    const cbx_benchmark_command **out, size_t *count, cbx_err *err);

#endif
