/* The release and what it was built with. */
#include "calibrax/base/version.h"

#include "revision.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

#if defined(SANITIZED)
#define SANITIZERS "address"
#else
#define SANITIZERS "none"
#endif

#if defined(__OPTIMIZE__)
#define KIND "release"
#else
#define KIND "debug"
#endif

const char *cbx_version(void) { return CBX_VERSION; }
const char *cbx_revision(void) { return CBX_REVISION; }
const char *cbx_build(void) { return COMPILER ", " KIND ", sanitizers: " SANITIZERS; }
