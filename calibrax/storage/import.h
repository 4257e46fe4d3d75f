/**
 * Import: files of other benchmark tools become runs.
 *
 * Times come in seconds (metric "time", lower is better, samples kept where the file has them), everything else in the unit of the
 * file, each with its definition.  What one file holds under one set of facts (a commit, a machine) is one run; names become points,
 * groups and modules scenarios, parameters tags.  What the file says of where and when it was measured is kept in environment and
 * metadata as it stands there.
 *
 * What was compressed with gzip is taken as what it holds.  Samples that NVBench put into files of their own are taken with it, from
 * below the folder of the file that names them.
 *
 * A file is read piece by piece, in memory that does not grow with it where opts.scratch is given; what grows is 11 to 22 bytes a point, to see
 * that it stands twice, 16 bytes a process where values come from many, and, in the few formats of which importers/README.md says so, a point.
 *
 * The id of an imported run is made from the file's content, so the same file gives the same run again.  Runs of our own keep theirs.
 * Since 0.1.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_H
#define CALIBRAX_STORAGE_IMPORT_H

#include "calibrax/base/arena.h"
#include "calibrax/core/run.h"
#include "calibrax/storage/store.h"

CBX_BEGIN_DECLS

typedef struct cbx_import_opts {
    uint32_t struct_size;        /* sizeof(cbx_import_opts) of the header compiled with */
    const char *format;          /* name of an importer; NULL: found out from the content */
    const char *commit, *branch; /* of files that name none; NULL: unknown */
    int64_t timestamp_us;        /* of files that tell no time; 0: the file's time of modification, of a text 1970 */
    size_t max_bytes;            /* refuse larger files, and more than this out of a compressed one; 0: 512 MiB */
    const char *machine;         /* of runs that name none; NULL: unknown */
    /**
     * Folder for what is large: the points of runs then wait there, in files without a name, and cbx_import_save alone brings them out;
     * `runs` tell all but their points.  NULL: everything is held in memory
     */
    const char *scratch;
} cbx_import_opts;

#define CBX_IMPORT_OPTS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(cbx_import_opts), 0, 0, 0, 0, 0, 0, 0                                                                   \
    }

/** An entry of a file that became no point, or not as it stands: a benchmark that failed, a name that stands twice. */
typedef struct cbx_import_note {
    const char *entry, *message;
} cbx_import_note;

typedef struct cbx_import_disk cbx_import_disk;

typedef struct cbx_import {
    cbx_arena arena;
    const char *format; /* name of the importer; static text */
    cbx_run **runs;     /* in the order of the file; owned by this */
    size_t nruns;
    size_t *npoints; /* of each run */
    const cbx_import_note *notes;
    size_t nnotes, nnotes_left_out; /* of a file that gives more than ten thousand */
    cbx_import_disk *disk;          /* NULL: the runs have their points */
} cbx_import;

/**
 * Reads a text.  All or nothing: a file that is malformed anywhere gives no run.
 * @param what  names the source in messages
 * @return CBX_OK; CBX_EFORMAT (no known format, with the list of them; malformed; nothing in it); CBX_EVERSION (of a later version);
 *         CBX_EINVAL (opts); CBX_EOVERFLOW (too large); CBX_ENOMEM.  *out is written on success only
 */
CBX_API cbx_status cbx_import_text(cbx_ctx *ctx, const char *text, size_t len, const char *what,
                                   const cbx_import_opts *opts, cbx_import *out, cbx_err *err);
/**
 * The files that a path stands for, each to be read by cbx_import_file: itself; of a folder that is a store of ours its runs, of results of
 * asv those of all machines, of criterion.rs the folder itself, of any other its rows (*.jsonl), or else its *.json and *.json.gz.
 * @param paths  in the arena, sorted by name within a folder
 * @return CBX_OK; CBX_EFORMAT (nothing of the kind is in the folder); as cbx_dir_list; paths and count are written on success only
 */
CBX_API cbx_status cbx_import_files(cbx_ctx *ctx, const char *path, cbx_arena *arena, const char *const **paths,
                                    size_t *count, cbx_err *err);
/**
 * Reads a file, or a folder of one format: target/criterion of criterion.rs.
 * @return as cbx_import_text and cbx_file_read
 */
CBX_API cbx_status cbx_import_file(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out,
                                   cbx_err *err);
/**
 * Keeps the i-th run in a store, as cbx_store_save does, wherever its points are.
 * @return as cbx_store_save
 */
CBX_API cbx_status cbx_import_save(cbx_import *import, size_t i, cbx_store *store, bool replace, cbx_err *err);
/** Gives back the runs, too. */
CBX_API void cbx_import_clear(cbx_import *import);

typedef struct cbx_importer_info {
    const char *name, *summary; /* static text */
} cbx_importer_info;

CBX_API size_t cbx_importers_count(void);
CBX_API cbx_importer_info cbx_importers_at(size_t i);

CBX_END_DECLS
#endif
