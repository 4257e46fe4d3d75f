/** The changes of series that were already reported: the file that `calibrax trend --changes
 * --state` keeps between its calls.
 *
 * {"schema":"calibrax-changepoints-state","version":1,"series":{NAME:{"last":RUN,"changes":[RUN,...]}}}
 * NAME: "point@scenario{tags}:metric"; last: the newest run that was looked at, null: none;
 * changes: the first run after each change. Runs are named, not counted, since a store loses old
 * ones.  Nothing here keeps state; all is safe from any thread.  Since 0.1. */
#ifndef CALIBRAX_ANALYSIS_CHANGE_STATE_H
#define CALIBRAX_ANALYSIS_CHANGE_STATE_H

#include "calibrax/base/json.h"

CBX_BEGIN_DECLS

#define CBX_CHANGE_STATE_SCHEMA  "calibrax-changepoints-state"
#define CBX_CHANGE_STATE_VERSION 1

/** Whether a document is such a file, whole.
 * @param what  names the source in messages
 * @return CBX_OK; CBX_EFORMAT; CBX_EVERSION */
CBX_API cbx_status cbx_change_state_check(const cbx_json *state, const char *what, cbx_err *err);
/** What is known of a series, borrowed; NULL: nothing.  state NULL: no file yet */
CBX_API const cbx_json *cbx_change_state_of(const cbx_json *state, const char *series);
/** Whether a change was reported: one that a few more values moved by less than a segment is the
 * same.
 * @param series  as cbx_change_state_of gives it; NULL: nothing was reported
 * @param runs    n names of the runs of the series' values, oldest first
 * @param at      place of the first value after the change, at < n */
CBX_API bool cbx_change_state_is_reported(const cbx_json *series, const char *const *runs, size_t n, size_t at,
                                          size_t min_segment);
/** Values behind the newest that was looked at; n if that was removed, or nothing was
 * looked at. */
CBX_API size_t cbx_change_state_unseen(const cbx_json *series, const char *const *runs, size_t n);
/** For the next look: the series' runs, and the places of its changes, each < n.  NULL: out of
 * memory. */
CBX_API cbx_json *cbx_change_state_make(const char *const *runs, size_t n, const size_t *changes, size_t nchanges);

CBX_END_DECLS
#endif
