/**
 * Free-form values: the JSON trees that a record carries beside its typed members (environment, metadata, config).
 * Null, booleans, numbers, strings, arrays and objects; read them with the getters of calibrax/base/json.h.
 */
#ifndef CALIBRAX_CORE_METADATA_H
#define CALIBRAX_CORE_METADATA_H

#include "calibrax/base/json.h"

CBX_BEGIN_DECLS

/** Deepest nesting of a free-form value: a file of records can still be parsed with it. */
#define CBX_METADATA_DEPTH 48

/**
 * Whether a value can be kept and read back.
 * @param path  names it in messages: "metadata.note"
 * @return CBX_OK; CBX_EINVAL (text that is not UTF-8, nested too deeply); the message names the inner path
 */
CBX_API cbx_status cbx_metadata_check(const cbx_json *value, const char *path, cbx_err *err);

CBX_END_DECLS
#endif
