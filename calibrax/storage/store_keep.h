/* Keeping runs whose points stand on disk; for the importers. */
#ifndef CALIBRAX_STORAGE_STORE_KEEP_H
#define CALIBRAX_STORAGE_STORE_KEEP_H

#include "calibrax/core/run_spool.h"
#include "calibrax/storage/store.h"

/** As cbx_store_save, of a run that has these points instead of its own. */
cbx_status cbx__store_save_spooled(cbx_store *store, const cbx_run *head, const cbx__spooled *points,
                                   const cbx__scratch *scratch, bool replace, cbx_err *err);

#endif
