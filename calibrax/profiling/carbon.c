/*
 * Grid intensity of countries [g CO2 equivalents per kWh], 2021; of parts of them in carbon_regions.c.
 *
 * Source: Our World in Data, "Carbon intensity of electricity", from Ember's and the Energy Institute's yearly data, CC BY 4.0.
 */
#include "calibrax/profiling/carbon.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "calibrax/base/text.h"
#include "calibrax/profiling/carbon_parts.h"

#define ROW(country, name, g)                                                                                          \
    {                                                                                                                  \
        country, name, g, NULL, CBX_CARBON_YEAR, CBX_CARBON_SOURCE                                                     \
    }

static const cbx_carbon_intensity table[] = { ROW("ARE", "United Arab Emirates", 461.845),
                                              ROW("ARG", "Argentina", 357.786),
                                              ROW("AUS", "Australia", 531.247),
                                              ROW("AUT", "Austria", 147.573),
                                              ROW("BEL", "Belgium", 156.922),
                                              ROW("BGD", "Bangladesh", 555.914),
                                              ROW("BGR", "Bulgaria", 354.334),
                                              ROW("BRA", "Brazil", 158.592),
                                              ROW("CAN", "Canada", 128.461),
                                              ROW("CHE", "Switzerland", 47.101),
                                              ROW("CHL", "Chile", 416.881),
                                              ROW("CHN", "China", 544.355),
                                              ROW("COL", "Colombia", 181.065),
                                              ROW("CRI", "Costa Rica", 33.045),
                                              ROW("CYP", "Cyprus", 599.609),
                                              ROW("CZE", "Czechia", 405.589),
                                              ROW("DEU", "Germany", 365.477),
                                              ROW("DNK", "Denmark", 221.416),
                                              ROW("DZA", "Algeria", 498.904),
                                              ROW("ECU", "Ecuador", 155.844),
                                              ROW("EGY", "Egypt", 464.425),
                                              ROW("ESP", "Spain", 193.863),
                                              ROW("EST", "Estonia", 481.224),
                                              ROW("ETH", "Ethiopia", 25.187),
                                              ROW("FIN", "Finland", 145.541),
                                              ROW("FRA", "France", 67.390),
                                              ROW("GBR", "United Kingdom", 268.329),
                                              ROW("GRC", "Greece", 353.339),
                                              ROW("HKG", "Hong Kong", 683.972),
                                              ROW("HRV", "Croatia", 210.979),
                                              ROW("HUN", "Hungary", 233.037),
                                              ROW("IDN", "Indonesia", 623.157),
                                              ROW("IND", "India", 637.182),
                                              ROW("IRL", "Ireland", 363.608),
                                              ROW("IRN", "Iran", 492.678),
                                              ROW("ISL", "Iceland", 28.557),
                                              ROW("ISR", "Israel", 548.030),
                                              ROW("ITA", "Italy", 340.794),
                                              ROW("JPN", "Japan", 478.545),
                                              ROW("KAZ", "Kazakhstan", 641.102),
                                              ROW("KEN", "Kenya", 86.221),
                                              ROW("KOR", "South Korea", 458.081),
                                              ROW("LTU", "Lithuania", 244.604),
                                              ROW("LUX", "Luxembourg", 186.992),
                                              ROW("LVA", "Latvia", 223.932),
                                              ROW("MAR", "Morocco", 610.412),
                                              ROW("MEX", "Mexico", 399.852),
                                              ROW("MLT", "Malta", 441.441),
                                              ROW("MYS", "Malaysia", 548.611),
                                              ROW("NGA", "Nigeria", 376.987),
                                              ROW("NLD", "Netherlands", 388.702),
                                              ROW("NOR", "Norway", 27.550),
                                              ROW("NZL", "New Zealand", 132.427),
                                              ROW("PAK", "Pakistan", 366.052),
                                              ROW("PER", "Peru", 230.650),
                                              ROW("PHL", "Philippines", 580.908),
                                              ROW("POL", "Poland", 660.122),
                                              ROW("PRT", "Portugal", 219.053),
                                              ROW("ROU", "Romania", 255.877),
                                              ROW("RUS", "Russia", 359.937),
                                              ROW("SAU", "Saudi Arabia", 571.336),
                                              ROW("SGP", "Singapore", 487.937),
                                              ROW("SRB", "Serbia", 543.565),
                                              ROW("SVK", "Slovakia", 169.589),
                                              ROW("SVN", "Slovenia", 238.614),
                                              ROW("SWE", "Sweden", 45.817),
                                              ROW("THA", "Thailand", 506.635),
                                              ROW("TUN", "Tunisia", 468.227),
                                              ROW("TUR", "Turkey", 430.401),
                                              ROW("TWN", "Taiwan", 573.275),
                                              ROW("UKR", "Ukraine", 240.175),
                                              ROW("URY", "Uruguay", 147.282),
                                              ROW("USA", "United States", 379.260),
                                              ROW("VNM", "Vietnam", 448.217),
                                              ROW("ZAF", "South Africa", 715.681) };

const cbx_carbon_intensity *cbx_carbon_at(size_t i) { return i < CBX_LEN(table) ? &table[i] : NULL; }

cbx_status cbx_carbon_find(const char *country, const cbx_carbon_intensity **out, cbx_err *err)
{
    const char *words[2 * CBX_LEN(table)], *near;

    for (size_t i = 0; i < CBX_LEN(table); i++) {
        if (strcasecmp(country, table[i].country) == 0 || strcasecmp(country, table[i].name) == 0) {
            *out = &table[i];
            return CBX_OK;
        }
        words[2 * i] = table[i].country;
        words[2 * i + 1] = table[i].name;
    }
    near = cbx_nearest_word(country, words, CBX_LEN(words));
    if (near) return cbx_fail(err, CBX_ENOENT, "no grid intensity of '%s': did you mean '%s'?", country, near);
    return cbx_fail(err, CBX_ENOENT, "no grid intensity of '%s': give the grams per kWh instead", country);
}

/* --- regions --- */

const cbx_carbon_intensity *cbx_carbon_region_at(size_t i)
{
    return i < cbx__carbon_nregions ? &cbx__carbon_regions[i] : NULL;
}

static bool is_of(const cbx_carbon_intensity *r, const char *country)
{
    return !country || strcmp(r->country, country) == 0;
}

/* Up to four regions that contain the word, else those nearest to it: "'US-NC' (North Carolina), ..."; "" for none. */
static void put_near(const char *country, const char *word, char *out, size_t size)
{
    enum { MAX_NEAR = 4 };
    const char *words[2 * 256] = { NULL };
    size_t n = 0, used = 0, found = 0;

    out[0] = '\0';
    for (size_t i = 0; i < cbx__carbon_nregions && n + 2 <= CBX_LEN(words); i++) {
        const cbx_carbon_intensity *r = &cbx__carbon_regions[i];
        if (!is_of(r, country)) continue;
        words[n++] = r->name;
        words[n++] = r->region;
    }
    for (int pass = 0; pass < 2 && !found; pass++)
        for (size_t i = 0; i < cbx__carbon_nregions && found < MAX_NEAR; i++) {
            const cbx_carbon_intensity *r = &cbx__carbon_regions[i];
            const char *near = pass ? cbx_nearest_word(word, words, n) : NULL;
            bool fits = pass ? near && (near == r->name || near == r->region) : strcasestr(r->name, word) != NULL;
            if (!is_of(r, country) || !fits) continue;
            used += (size_t)snprintf(out + used, size - used, "%s'%s' (%s)", found++ ? ", " : "", r->region, r->name);
            if (used >= size) break;
        }
}

cbx_status cbx_carbon_find_region(const char *country, const char *region, const cbx_carbon_intensity **out,
                                  cbx_err *err)
{
    const cbx_carbon_intensity *whole = NULL;
    char near[256];
    bool any = false;
    cbx_status st = country ? cbx_carbon_find(country, &whole, err) : CBX_OK;

    if (st) return st;
    if (whole) country = whole->country;
    for (size_t i = 0; i < cbx__carbon_nregions; i++) {
        const cbx_carbon_intensity *r = &cbx__carbon_regions[i];
        const char *dash = strchr(r->region, '-'), *part = dash ? dash + 1 : r->region; /* "CA" of "US-CA"; "SE3" */
        if (!is_of(r, country)) continue;
        any = true;
        if (strcasecmp(region, r->region) != 0 &&
            !(country && (strcasecmp(region, part) == 0 || strcasecmp(region, r->name) == 0)))
            continue;
        *out = r;
        return CBX_OK;
    }
    if (!any)
        return cbx_fail(err, CBX_ENOENT,
                        "no grid intensity of parts of '%s': leave the region out, which gives %.0f g/kWh, or give the "
                        "grams per kWh instead",
                        country, whole->g_per_kwh);
    put_near(country, region, near, sizeof near);
    return cbx_fail(err, CBX_ENOENT, "no grid intensity of '%s'%s%s: %s%s", region, country ? " in " : "",
                    country ? country : "", near[0] ? "similar names are " : "use a code such as 'US-CA'",
                    near[0] ? near : ", or give the grams per kWh instead");
}

double cbx_carbon_kg(double joules, double g_per_kwh, double pue)
{
    if (!(joules >= 0 && g_per_kwh >= 0 && pue >= 1)) return NAN;
    return joules / 3.6e6 * pue * g_per_kwh * 1e-3;
}
