/**
 * Waivers: findings that a user has examined and accepts until a day.
 *
 * File: {"schema": "calibrax-waivers", "version": 1,
 *        "waivers": [{"key": "p@s{*}:latency", "reason": "known, fixed by the next release",
 *        "until": "2026-12-31"}]}
 * key: shell pattern (*, ?, [...]; \ takes the meaning away) over the whole key of a finding;
 * until: the last day (UTC) on which it waives.  All three members are needed and no other is read:
 * a waiver with a misspelt day must not last for ever.
 * A key that fits whatever point and metric there may be ("*", "*@*:*") is refused: it would turn
 * the gate off.  "schema_version", as files had it first, is read in the place of "version".
 */
#ifndef CALIBRAX_CI_WAIVERS_H
#define CALIBRAX_CI_WAIVERS_H

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_waiver {
    const char *key, *reason, *until; /* as written */
    int64_t end_us;                   /* the first microsecond since 1970, UTC, at which it waives no more */
} cbx_waiver;

typedef struct cbx_waivers cbx_waivers;

/**
 * @param what  names the source in messages
 * @param out   the caller frees it
 * @return CBX_OK; CBX_EFORMAT; CBX_EVERSION (it is not 1); CBX_ENOMEM
 */
CBX_API cbx_status cbx_waivers_from_text(cbx_ctx *ctx, const char *text, size_t len, const char *what,
                                         cbx_waivers **out, cbx_err *err);
/** @return as cbx_file_read and cbx_waivers_from_text; at most 16 MiB */
CBX_API cbx_status cbx_waivers_read(cbx_ctx *ctx, const char *path, cbx_waivers **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_waivers_free(cbx_waivers *w);
/** w NULL: 0 */
CBX_API size_t cbx_waivers_count(const cbx_waivers *w);
/** NULL past the end */
CBX_API const cbx_waiver *cbx_waivers_at(const cbx_waivers *w, size_t i);

CBX_END_DECLS
#endif
