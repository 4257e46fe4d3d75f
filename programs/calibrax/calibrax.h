/*
 * The commands of calibrax, in the order of its help.  A new one is a file that defines
 * NAME_command, and its name here and in meson.build.
 */
#ifndef CALIBRAX_PROGRAMS_CALIBRAX_H
#define CALIBRAX_PROGRAMS_CALIBRAX_H

#include "programs/common/options.h"

#define CALIBRAX_COMMANDS(X)                                                                                           \
    X(run)                                                                                                             \
    X(ingest)                                                                                                          \
    X(show)                                                                                                            \
    X(summary)                                                                                                         \
    X(compare)                                                                                                         \
    X(trend)                                                                                                           \
    X(baseline)                                                                                                        \
    X(check)                                                                                                           \
    X(bisect)                                                                                                          \
    X(watch)                                                                                                           \
    X(profile)                                                                                                         \
    X(export)                                                                                                          \
    X(serve)                                                                                                           \
    X(metrics_list)                                                                                                    \
    X(metrics_describe)                                                                                                \
    X(metrics_compute)                                                                                                 \
    X(store_verify)                                                                                                    \
    X(store_compact)                                                                                                   \
    X(store_migrate)                                                                                                   \
    X(store_export)                                                                                                    \
    X(doctor)
#define CALIBRAX_DECLARE(name) extern const opt_command name##_command;
CALIBRAX_COMMANDS(CALIBRAX_DECLARE)

/* Adds the metrics of plug-ins (metrics.c). */
int metrics_load_plugins(const opt_run *run, const opt_list *files);

#endif
