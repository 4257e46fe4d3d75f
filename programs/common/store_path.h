/*
 * The store that a command uses: --data, else CALIBRAX_DATA, else .calibrax at the top of the repository around the working folder,
 * or in the working folder where there is no repository.
 */
#ifndef CALIBRAX_PROGRAMS_STORE_PATH_H
#define CALIBRAX_PROGRAMS_STORE_PATH_H

#include "calibrax/storage/store.h"
#include "programs/common/options.h"

/*
 * The path of the store, in the arena of the run.
 * @param data  the argument of --data; NULL: the option is absent
 * @return NULL after a message on standard error: the working folder cannot be found
 */
const char *store_path(const opt_run *run, const char *data);
/*
 * Opens that store, and names it on standard error unless --data does.
 * @param opts  as of cbx_store_open, may be NULL
 * @return EXIT_PASS; EXIT_ERROR after a message; *out is written on success only
 */
int store_open(const opt_run *run, const char *data, const cbx_store_opts *opts, cbx_store **out);

#endif
