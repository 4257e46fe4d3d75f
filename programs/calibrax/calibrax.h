/*
 * The commands of calibrax; each is a file.
 */
#ifndef CALIBRAX_PROGRAMS_CALIBRAX_H
#define CALIBRAX_PROGRAMS_CALIBRAX_H

#include "programs/common/options.h"

extern const opt_command bisect_command;
extern const opt_command baseline_command;
extern const opt_command check_command;
extern const opt_command compare_command;
extern const opt_command doctor_command;
extern const opt_command ingest_command;
extern const opt_command profile_command;
extern const opt_command run_command;
extern const opt_command show_command;
extern const opt_command store_compact_command;
extern const opt_command store_export_command;
extern const opt_command store_migrate_command;
extern const opt_command store_verify_command;
extern const opt_command summary_command;
extern const opt_command trend_command;
extern const opt_command export_command;
extern const opt_command watch_command;

#endif
