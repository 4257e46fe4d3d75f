/*
 * What new-case writes, as lines ending with NULL; made from programs/nperf/skeleton by
 * scripts/embed_assets.py.
 */
#ifndef CALIBRAX_PROGRAMS_NPERF_SKELETONS_H
#define CALIBRAX_PROGRAMS_NPERF_SKELETONS_H

extern const char *const nperf_skeleton_c[], *const nperf_skeleton_json[], *const nperf_skeleton_python[],
                                                                               *const nperf_skeleton_commands[];

#endif
