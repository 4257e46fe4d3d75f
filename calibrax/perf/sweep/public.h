/**
 * Sentences made fit to leave this machine: the one place that knows an absolute path when it sees
 * one.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_PUBLIC_H
#define CALIBRAX_PERF_SWEEP_PUBLIC_H

#include <stddef.h>

/** Bytes of an absolute path ("/..." or "~/...") that starts at s[i] as a word of its own; 0 if
 * none does. */
size_t cbx__path_length(const char *s, size_t i);
/** Reduces every absolute path to its last part, in place: "cannot open '/a/b/c'" -> "cannot open
 * 'c'". */
void cbx__public_message(char *message);

#endif
