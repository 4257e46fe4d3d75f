/*
 * Grid intensity [g CO2 equivalents per kWh] of countries, 2021, and of parts of them, each with
 * its year and source.
 *
 * Source: Our World in Data, "Carbon intensity of electricity", from Ember's and the Energy
 * Institute's yearly data, CC BY 4.0.
 */
#include "calibrax/profiling/carbon.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "calibrax/base/text.h"

/* clang-format off */
#define C(country, name, g) { country, name, g, NULL, CBX_CARBON_YEAR, CBX_CARBON_SOURCE }
static const cbx_carbon_intensity table[] = {
    C("ARE", "United Arab Emirates", 461.845), C("ARG", "Argentina", 357.786), C("AUS", "Australia", 531.247),
    C("AUT", "Austria", 147.573), C("BEL", "Belgium", 156.922), C("BGD", "Bangladesh", 555.914),
    C("BGR", "Bulgaria", 354.334), C("BRA", "Brazil", 158.592), C("CAN", "Canada", 128.461),
    C("CHE", "Switzerland", 47.101), C("CHL", "Chile", 416.881), C("CHN", "China", 544.355),
    C("COL", "Colombia", 181.065), C("CRI", "Costa Rica", 33.045), C("CYP", "Cyprus", 599.609),
    C("CZE", "Czechia", 405.589), C("DEU", "Germany", 365.477), C("DNK", "Denmark", 221.416),
    C("DZA", "Algeria", 498.904), C("ECU", "Ecuador", 155.844), C("EGY", "Egypt", 464.425), C("ESP", "Spain", 193.863),
    C("EST", "Estonia", 481.224), C("ETH", "Ethiopia", 25.187), C("FIN", "Finland", 145.541),
    C("FRA", "France", 67.390), C("GBR", "United Kingdom", 268.329), C("GRC", "Greece", 353.339),
    C("HKG", "Hong Kong", 683.972), C("HRV", "Croatia", 210.979), C("HUN", "Hungary", 233.037),
    C("IDN", "Indonesia", 623.157), C("IND", "India", 637.182), C("IRL", "Ireland", 363.608),
    C("IRN", "Iran", 492.678), C("ISL", "Iceland", 28.557), C("ISR", "Israel", 548.030), C("ITA", "Italy", 340.794),
    C("JPN", "Japan", 478.545), C("KAZ", "Kazakhstan", 641.102), C("KEN", "Kenya", 86.221),
    C("KOR", "South Korea", 458.081), C("LTU", "Lithuania", 244.604), C("LUX", "Luxembourg", 186.992),
    C("LVA", "Latvia", 223.932), C("MAR", "Morocco", 610.412), C("MEX", "Mexico", 399.852), C("MLT", "Malta", 441.441),
    C("MYS", "Malaysia", 548.611), C("NGA", "Nigeria", 376.987), C("NLD", "Netherlands", 388.702),
    C("NOR", "Norway", 27.550), C("NZL", "New Zealand", 132.427), C("PAK", "Pakistan", 366.052),
    C("PER", "Peru", 230.650), C("PHL", "Philippines", 580.908), C("POL", "Poland", 660.122),
    C("PRT", "Portugal", 219.053), C("ROU", "Romania", 255.877), C("RUS", "Russia", 359.937),
    C("SAU", "Saudi Arabia", 571.336), C("SGP", "Singapore", 487.937), C("SRB", "Serbia", 543.565),
    C("SVK", "Slovakia", 169.589), C("SVN", "Slovenia", 238.614), C("SWE", "Sweden", 45.817),
    C("THA", "Thailand", 506.635), C("TUN", "Tunisia", 468.227), C("TUR", "Turkey", 430.401),
    C("TWN", "Taiwan", 573.275), C("UKR", "Ukraine", 240.175), C("URY", "Uruguay", 147.282),
    C("USA", "United States", 379.260), C("VNM", "Vietnam", 448.217), C("ZAF", "South Africa", 715.681),
};
/* clang-format on */

#include "calibrax/profiling/carbon_regions.inc"

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
    if (near) return cbx_fail(err, CBX_ENOENT, "no grid intensity for '%s': did you mean '%s'?", country, near);
    return cbx_fail(err, CBX_ENOENT, "no grid intensity for '%s': give the grams per kWh instead", country);
}

/* --- regions --- */

const cbx_carbon_intensity *cbx_carbon_region_at(size_t i) { return i < CBX_LEN(regions) ? &regions[i] : NULL; }

static bool is_of(const cbx_carbon_intensity *r, const char *country)
{
    return !country || strcmp(r->country, country) == 0;
}

/* Up to four regions that contain the word, else those nearest to it: "'US-NC' (North Carolina),
 * ..."; "" for none. */
static void put_near(const char *country, const char *word, char *out, size_t size)
{
    enum { MAX_NEAR = 4 };
    const char *words[2 * 256] = { NULL };
    size_t n = 0, used = 0, found = 0;

    out[0] = '\0';
    for (size_t i = 0; i < CBX_LEN(regions) && n + 2 <= CBX_LEN(words); i++) {
        const cbx_carbon_intensity *r = &regions[i];
        if (!is_of(r, country)) continue;
        words[n++] = r->name;
        words[n++] = r->region;
    }
    for (int pass = 0; pass < 2 && !found; pass++)
        for (size_t i = 0; i < CBX_LEN(regions) && found < MAX_NEAR; i++) {
            const cbx_carbon_intensity *r = &regions[i];
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
    for (size_t i = 0; i < CBX_LEN(regions); i++) {
        const cbx_carbon_intensity *r = &regions[i];
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
        return cbx_fail(
            err, CBX_ENOENT,
            "no grid intensity for parts of '%s': leave the region out, which gives %.0f g/kWh, or give the "
            "grams per kWh instead",
            country, whole->g_per_kwh);
    put_near(country, region, near, sizeof near);
    return cbx_fail(err, CBX_ENOENT, "no grid intensity for '%s'%s%s: %s%s", region, country ? " in " : "",
                    country ? country : "", near[0] ? "similar names are " : "use a code such as 'US-CA'",
                    near[0] ? near : ", or give the grams per kWh instead");
}

double cbx_carbon_kg(double joules, double g_per_kwh, double pue)
{
    if (!(joules >= 0 && g_per_kwh >= 0 && pue >= 1)) return NAN;
    return joules / 3.6e6 * pue * g_per_kwh * 1e-3;
}
