/**
 * The release, at compile time and at run time.
 */
#ifndef CALIBRAX_BASE_VERSION_H
#define CALIBRAX_BASE_VERSION_H

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

#define CBX_VERSION_MAJOR 0
#define CBX_VERSION_MINOR 1
#define CBX_VERSION_PATCH 0
#define CBX_VERSION       "0.1.0"

/** CBX_VERSION of the library that runs. */
CBX_API const char *cbx_version(void);
/** Source revision it was built from, as `git describe --always --dirty=+` says, or "unknown". */
CBX_API const char *cbx_revision(void);
/** Compiler and build kind: "gcc 12.2.0, release, sanitizers: none". */
CBX_API const char *cbx_build(void);

CBX_END_DECLS
#endif
