/*
 * The page's own files, as lines ending with NULL; made from calibrax/perf/site by scripts/embed_assets.py.
 */
#ifndef CALIBRAX_PERF_REPORT_SITE_ASSETS_H
#define CALIBRAX_PERF_REPORT_SITE_ASSETS_H

extern const char *const cbx__site_style[];
extern const char *const cbx__site_script[];

#endif
