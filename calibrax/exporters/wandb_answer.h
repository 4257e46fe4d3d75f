/* What workers/python/wandb_files.py answers. */
#ifndef CALIBRAX_EXPORTERS_WANDB_ANSWER_H
#define CALIBRAX_EXPORTERS_WANDB_ANSWER_H

#include "calibrax/base/json.h"

/*
 * @param files  an array for the caller, of one path at least; on success only
 * @return CBX_OK; CBX_ECHILD: wandb failed, and the message has the reason; CBX_EFORMAT; CBX_ENOMEM
 */
cbx_status cbx__wandb_answer_read(const char *text, size_t len, cbx_json **files, cbx_err *err);

#endif
