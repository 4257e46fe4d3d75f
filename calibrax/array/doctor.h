/**
 * What a doctor sees of the array engine: settings, backends, devices, the CPU's make-up.
 */
#ifndef CALIBRAX_ARRAY_DOCTOR_H
#define CALIBRAX_ARRAY_DOCTOR_H

#include "calibrax/array/device/device.h"
#include "calibrax/base/settings.h"
#include "calibrax/core/doctor.h"

CBX_BEGIN_DECLS

/**
 * Each variable of the environment: its value and where that comes from, or, CBX_DOCTOR_BROKEN,
 * what it may not say.
 * @param out  what could be read; where a variable is wrong, the default is used
 */
CBX_API void cbx_doctor_see_settings(cbx_doctor_report *r, cbx_settings *out);
/** Each backend that is built in or could be, and which one the settings choose; CBX_DOCTOR_BROKEN
 * if they choose none. */
CBX_API void cbx_doctor_see_backends(cbx_doctor_report *r, const cbx_settings *settings);
/** Each device with its memory, what is missing, and which one the settings choose (group
 * "devices"). */
CBX_API void cbx_doctor_see_devices(cbx_ctx *ctx, cbx_doctor_report *r, const cbx_devices *d,
                                    const cbx_settings *settings);
/**
 * Whether what this process compiled is machine code.
 * @return CBX_OK: nothing is interpreted yet; CBX_EUNAVAILABLE, with the reason: LLVM was missing
 *   for a function that is not in the cache on disk, and it is interpreted
 * Safe from any thread.
 */
CBX_API cbx_status cbx_jit_check(cbx_err *err);
/** Packages, cores, threads, caches, memory nodes (group "topology"). */
CBX_API void cbx_doctor_see_topology(cbx_doctor_report *r, const cbx_devices *d);

CBX_END_DECLS
#endif
