/* Which build of the library this is. */
#ifndef CALIBRAX_BASE_BUILD_ID_H
#define CALIBRAX_BASE_BUILD_ID_H

#include "calibrax/base/api.h"

/**
 * The build ID of the linked object that this library is part of: a hash of its content that the
 * linker wrote (NT_GNU_BUILD_ID), as hexadecimal digits.  An object that was linked without one has
 * the revision that it was built from (cbx_revision).  Two builds of different code differ in it.
 * Safe from any thread; allocates nothing.
 */
const char *cbx__build_id(void);

#endif
