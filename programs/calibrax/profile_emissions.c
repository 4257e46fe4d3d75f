/*
 * calibrax profile --emissions: a line more in a file of codecarbon, whose other lines stay as they are.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"
#include "programs/calibrax/profile.h"

#define J_PER_KWH 3.6e6

static double kwh(double joules) { return joules / J_PER_KWH; }

static cbx_emissions line_of(const cbx_energy_report *e, const cbx_carbon_intensity *grid, const char *timestamp,
                             const char *run_id, const cbx_machine *m)
{
    cbx_emissions x = cbx_emissions_empty();

    x.timestamp = timestamp;
    x.project_name = "calibrax";
    x.run_id = run_id;
    x.duration = e->duration_s;
    x.emissions = cbx_carbon_kg(e->total_j, grid->g_per_kwh, 1);
    x.emissions_rate = x.emissions / e->duration_s;
    x.cpu_power = e->cpu_j / e->duration_s;
    x.gpu_power = e->gpu_j / e->duration_s;
    x.ram_power = e->dram_j / e->duration_s;
    x.cpu_energy = kwh(e->cpu_j);
    x.gpu_energy = kwh(e->gpu_j);
    x.ram_energy = kwh(e->dram_j);
    x.energy_consumed = kwh(e->total_j);
    x.country_iso_code = grid->country;
    x.country_name = grid->name;
    if (grid->region) { /* the name is the region's */
        const cbx_carbon_intensity *whole = NULL;
        x.region = grid->name;
        x.country_name = cbx_carbon_find(grid->country, &whole, NULL) ? grid->country : whole->name;
    }
    x.os = "Linux";
    x.cpu_count = m->threads;
    x.cpu_model = m->model_name;
    x.ram_total_size = (double)m->memory_bytes / 1e9;
    x.tracking_mode = "machine";
    x.on_cloud = "N";
    x.pue = 1;
    return x;
}

cbx_status profile_see_emissions(const opt_run *run, const char *path, const cbx_emissions **lines, size_t *n,
                                 cbx_err *err)
{
    cbx_status st = cbx_file_check_writable(run->ctx, path, err);

    return st || !cbx_path_exists(path) ? st : cbx_emissions_read(run->ctx, path, run->arena, lines, n, err);
}

cbx_status profile_add_emissions(const opt_run *run, const profile_args *a, const cbx_emissions *before, size_t n,
                                 const cbx_energy_report *e, const cbx_carbon_intensity *grid, const char *run_id,
                                 cbx_err *err)
{
    cbx_emissions *all;
    char timestamp[CBX_TIME_SIZE];
    cbx_machine m;
    cbx_status st;

    if (isnan(e->total_j))
        return cbx_fail(err, CBX_EUNAVAILABLE, "no line for '%.200s', since no energy could be measured: %s",
                        a->emissions, e->cpu_why[0] ? e->cpu_why : e->gpu_why);
    st = cbx_machine_read(run->ctx, NULL, &m, err);
    if (st) return st;
    all = cbx_arena_calloc(run->arena, n + 1, sizeof *all);
    if (!all) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu lines of emissions", n + 1);
    if (n) memcpy(all, before, n * sizeof *all);
    cbx_time_format_iso(cbx_time_now_us(), timestamp);
    timestamp[strlen("2026-02-20T11:34:24")] = '\0'; /* as codecarbon has it */
    all[n] = line_of(e, grid, timestamp, run_id, &m);
    return cbx_emissions_write(run->ctx, a->emissions, all, n + 1, err);
}
