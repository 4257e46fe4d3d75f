/**
 * Import: files of other benchmark tools become runs.
 *
 * Times are in seconds (metric "time", lower is better, samples kept where the file has them),
 * everything else in the unit of the file, each with its definition.  What one file holds under one
 * set of facts (a commit, a machine) is one run; names become points, groups and modules scenarios,
 * parameters tags.  What the file has about place and time of the measurement is kept in
 * environment and metadata, unchanged.
 *
 * A file that is compressed with gzip is read as what it holds.  Samples that NVBench put into
 * files of their own are read, too, from below the folder of the file that names them.
 *
 * A file is read as a whole, at most 2 GiB of it; reading takes at most 8 times its (uncompressed)
 * size in memory.
 *
 * The id of an imported run is made from the file's content, so the same file gives the same run
 * again.  Our own runs keep theirs.  Since 0.1.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_H
#define CALIBRAX_STORAGE_IMPORT_H

#include "calibrax/base/arena.h"
#include "calibrax/core/run.h"
#include "calibrax/storage/store.h"

CBX_BEGIN_DECLS

typedef struct cbx_import_opts {
    uint32_t struct_size;        /* sizeof(cbx_import_opts) of the header compiled with */
    const char *format;          /* name of an importer; NULL: detected from the content */
    const char *commit, *branch; /* of files that name none; NULL: unknown */
    int64_t timestamp_us;        /* of files without a time; 0: the file's time of modification, of a text 1970 */
    size_t max_bytes;    /* refuse larger files, and more than this out of a compressed one; 0: 2 GiB, the maximum */
    const char *machine; /* of runs that name none; NULL: unknown */
} cbx_import_opts;

#define CBX_IMPORT_OPTS_INIT CBX_OPTS(cbx_import_opts, 0, 0, 0, 0, 0, 0)

/** An entry of a file that became no point, or was changed: a benchmark that failed, a name that is
 * listed twice. */
typedef struct cbx_import_note {
    const char *entry, *message;
} cbx_import_note;

typedef struct cbx_import {
    cbx_arena arena;
    const char *format; /* name of the importer; static text */
    cbx_run **runs;     /* in the order of the file; owned by this */
    size_t nruns;
    const cbx_import_note *notes;
    size_t nnotes, nnotes_left_out; /* of a file that gives more than ten thousand */
} cbx_import;

/**
 * Reads a text.  All or nothing: a file that is malformed anywhere gives no run.
 * @param what  names the source in messages
 * @return CBX_OK; CBX_EFORMAT (an unknown format, with the list of the known ones; malformed;
 *         without a measurement); CBX_EVERSION (a later version); CBX_EINVAL (opts); CBX_EOVERFLOW
 *         (too large); CBX_ENOMEM.  *out is written on success only
 */
CBX_API cbx_status cbx_import_text(cbx_ctx *ctx, const char *text, size_t len, const char *what,
                                   const cbx_import_opts *opts, cbx_import *out, cbx_err *err);
/**
 * The files of a path, each to be read by cbx_import_file: the file itself; of a folder that is a
 * store its runs, of results of asv those of all machines, of criterion.rs the folder itself, of
 * any other folder its rows (*.jsonl), or else its *.json and *.json.gz.
 * @param paths  in the arena, sorted by name within a folder
 * @return CBX_OK; CBX_EFORMAT (nothing of the kind is in the folder); as cbx_dir_list; paths and
 *   count are written on success only
 */
CBX_API cbx_status cbx_import_files(cbx_ctx *ctx, const char *path, cbx_arena *arena, const char *const **paths,
                                    size_t *count, cbx_err *err);
/**
 * Reads a file, or a folder of one format: target/criterion of criterion.rs.
 * @return as cbx_import_text and cbx_file_read
 */
CBX_API cbx_status cbx_import_file(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out,
                                   cbx_err *err);
/** Frees the runs, too. */
CBX_API void cbx_import_clear(cbx_import *import);

typedef struct cbx_importer_info {
    const char *name, *summary; /* static text */
} cbx_importer_info;

CBX_API size_t cbx_importers_count(void);
CBX_API cbx_importer_info cbx_importers_at(size_t i);

CBX_END_DECLS
#endif
