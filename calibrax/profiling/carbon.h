/**
 * Carbon dioxide of energy, and codecarbon's file of emissions, written and read.
 *
 * emissions = energy * PUE * intensity of the grid.  The tables have yearly means of a country, and
 * of the states, provinces or bidding zones of some; an hour or a contract may differ by several
 * times, so give the intensity if you know it.  File: emissions.csv of codecarbon 3
 * (comma-separated, RFC 4180, one header line); columns are found by name, in any order, and
 * unknown ones ignored, so files of version 2 can be read.
 */
#ifndef CALIBRAX_PROFILING_CARBON_H
#define CALIBRAX_PROFILING_CARBON_H

#include "calibrax/base/arena.h"

CBX_BEGIN_DECLS

typedef struct cbx_carbon_intensity {
    const char *country; /* ISO 3166-1 alpha-3, "FRA" */
    const char *name;
    double g_per_kwh;   /* CO2 equivalents, of a country over the life cycle, of a region as its source counts them */
    const char *region; /* ISO 3166-2, "US-CA", or a bidding zone, "SE3"; NULL: a whole country */
    int year;
    const char *source; /* NULL: no row of a table */
} cbx_carbon_intensity;

/** Of the whole table of countries. */
#define CBX_CARBON_SOURCE "Our World in Data, from Ember and the Energy Institute (CC BY 4.0)"
#define CBX_CARBON_YEAR   2021

/** Rows in the order of their code; NULL past the end. */
CBX_API const cbx_carbon_intensity *cbx_carbon_at(size_t i);
/** @param country  code or English name, in any case.  @return CBX_OK; CBX_ENOENT: names the
 *   nearest code */
CBX_API cbx_status cbx_carbon_find(const char *country, const cbx_carbon_intensity **out, cbx_err *err);

/** Rows in the order of their code; NULL past the end. */
CBX_API const cbx_carbon_intensity *cbx_carbon_region_at(size_t i);
/**
 * A part of a country.
 * @param country  as for cbx_carbon_find; NULL: by the region's code
 * @param region   "US-CA"; with the country also "CA", or the name, "California"; in any case
 * @return CBX_OK; CBX_ENOENT: no such country, a country without regions, or no such region: the
 *   message has the nearest ones
 */
CBX_API cbx_status cbx_carbon_find_region(const char *country, const char *region, const cbx_carbon_intensity **out,
                                          cbx_err *err);

/**
 * @param joules     at least 0
 * @param g_per_kwh  at least 0
 * @param pue        power of the whole site over that of its machines, at least 1
 * @return kg of CO2 equivalents; NaN if an argument is out of its range or NaN
 */
CBX_API double cbx_carbon_kg(double joules, double g_per_kwh, double pue);

/* column, kind (TEXT, NUMBER), member: as codecarbon writes them, in its order */
#define CBX_EMISSIONS_MAP(X)                                                                                           \
    X(TEXT, timestamp)                                                                                                 \
    X(TEXT, project_name)                                                                                              \
    X(TEXT, run_id)                                                                                                    \
    X(TEXT, experiment_id)                                                                                             \
    X(NUMBER, duration)       /* [s] */                                                                                \
    X(NUMBER, emissions)      /* [kg] */                                                                               \
    X(NUMBER, emissions_rate) /* [kg/s] */                                                                             \
    X(NUMBER, cpu_power)      /* [W], so the next two */                                                               \
    X(NUMBER, gpu_power)                                                                                               \
    X(NUMBER, ram_power)                                                                                               \
    X(NUMBER, cpu_energy) /* [kWh], so the next three */                                                               \
    X(NUMBER, gpu_energy)                                                                                              \
    X(NUMBER, ram_energy)                                                                                              \
    X(NUMBER, energy_consumed)                                                                                         \
    X(NUMBER, water_consumed) /* [l] */                                                                                \
    X(TEXT, country_name)                                                                                              \
    X(TEXT, country_iso_code)                                                                                          \
    X(TEXT, region)                                                                                                    \
    X(TEXT, cloud_provider)                                                                                            \
    X(TEXT, cloud_region)                                                                                              \
    X(TEXT, os)                                                                                                        \
    X(TEXT, python_version)                                                                                            \
    X(TEXT, codecarbon_version)                                                                                        \
    X(NUMBER, cpu_count)                                                                                               \
    X(TEXT, cpu_model)                                                                                                 \
    X(NUMBER, gpu_count)                                                                                               \
    X(TEXT, gpu_model)                                                                                                 \
    X(NUMBER, longitude)                                                                                               \
    X(NUMBER, latitude)                                                                                                \
    X(NUMBER, ram_total_size) /* [GB] */                                                                               \
    X(TEXT, tracking_mode)                                                                                             \
    X(NUMBER, cpu_utilization_percent)                                                                                 \
    X(NUMBER, gpu_utilization_percent)                                                                                 \
    X(NUMBER, ram_utilization_percent)                                                                                 \
    X(NUMBER, ram_used_gb)                                                                                             \
    X(TEXT, on_cloud)                                                                                                  \
    X(NUMBER, pue)                                                                                                     \
    X(NUMBER, wue)

/** One line.  Text: NULL reads as "", and is never NULL where it was read; numbers: NaN where the
 * cell is empty. */
typedef struct cbx_emissions {
#define CBX_EMISSIONS_TEXT(name)         const char *name;
#define CBX_EMISSIONS_NUMBER(name)       double name;
#define CBX_EMISSIONS_MEMBER(kind, name) CBX_EMISSIONS_##kind(name)
    CBX_EMISSIONS_MAP(CBX_EMISSIONS_MEMBER)
#undef CBX_EMISSIONS_MEMBER
#undef CBX_EMISSIONS_NUMBER
#undef CBX_EMISSIONS_TEXT
} cbx_emissions;

/** A line in which every text is NULL and every number NaN. */
CBX_API cbx_emissions cbx_emissions_empty(void);

/**
 * Replaces the file by one with these lines, atomically.
 * @return CBX_OK; CBX_EINVAL (text with a NUL or a control character other than a line's end); as
 *   cbx_file_write_atomic
 */
CBX_API cbx_status cbx_emissions_write(cbx_ctx *ctx, const char *path, const cbx_emissions *lines, size_t n,
                                       cbx_err *err);
/**
 * @param arena  gets lines and texts
 * @return CBX_OK; CBX_EFORMAT (names the line: no `emissions` column, a column twice, too many or
 *         too few cells, a quote without an end, a cell that is not a number); as cbx_file_read
 */
CBX_API cbx_status cbx_emissions_read(cbx_ctx *ctx, const char *path, cbx_arena *arena, const cbx_emissions **lines,
                                      size_t *n, cbx_err *err);
/** As cbx_emissions_read, of text in memory.  @param what  names it in messages */
CBX_API cbx_status cbx_emissions_parse(const char *text, size_t len, const char *what, cbx_arena *arena,
                                       const cbx_emissions **lines, size_t *n, cbx_err *err);

CBX_END_DECLS
#endif
