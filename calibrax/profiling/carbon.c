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

/* Parts of countries: made by scripts/fixtures/make_carbon_regions.py, not edited by hand. */
static const char egrid[] = "US EPA, eGRID2023, annual CO2 equivalent total output emission rate (STC2ERTA)";
static const char canada[] = "codecarbon 3.3.2, generation mix of 2023 by province, fossil sources only";
static const char china[] = "MEE and NBS of China, Announcement 2025 No. 47, CO2 only";
static const char zones[] = "codecarbon 3.3.2, ENTSO-E generation of 2025 by bidding zone (doi 10.5281/zenodo.22285397)";
static const cbx_carbon_intensity regions[] = {
    { "CAN", "Alberta", 627.7, "CA-AB", 2023, canada }, { "CAN", "British Columbia", 21.7, "CA-BC", 2023, canada },
    { "CAN", "Manitoba", 5.3, "CA-MB", 2023, canada }, { "CAN", "New Brunswick", 246.7, "CA-NB", 2023, canada },
    { "CAN", "Newfoundland and Labrador", 4.8, "CA-NL", 2023, canada },
    { "CAN", "Nova Scotia", 576.2, "CA-NS", 2023, canada },
    { "CAN", "Northwest Territories", 140.1, "CA-NT", 2023, canada },
    { "CAN", "Nunavut", 815.1, "CA-NU", 2023, canada }, { "CAN", "Ontario", 64.7, "CA-ON", 2023, canada },
    { "CAN", "Prince Edward Island", 17.9, "CA-PE", 2023, canada }, { "CAN", "Quebec", 3.9, "CA-QC", 2023, canada },
    { "CAN", "Saskatchewan", 654.9, "CA-SK", 2023, canada }, { "CAN", "Yukon", 272.5, "CA-YT", 2023, canada },
    { "CHN", "Anhui", 655.3, "CN-AH", 2023, china }, { "CHN", "Beijing", 555.4, "CN-BJ", 2023, china },
    { "CHN", "Chongqing", 558.1, "CN-CQ", 2023, china }, { "CHN", "Fujian", 421.1, "CN-FJ", 2023, china },
    { "CHN", "Guangdong", 441.9, "CN-GD", 2023, china }, { "CHN", "Gansu", 447.1, "CN-GS", 2023, china },
    { "CHN", "Guangxi", 447.6, "CN-GX", 2023, china }, { "CHN", "Guizhou", 568.3, "CN-GZ", 2023, china },
    { "CHN", "Henan", 589.7, "CN-HA", 2023, china }, { "CHN", "Hubei", 404.4, "CN-HB", 2023, china },
    { "CHN", "Hebei", 651.6, "CN-HE", 2023, china }, { "CHN", "Hainan", 364.8, "CN-HI", 2023, china },
    { "CHN", "Heilongjiang", 522.9, "CN-HL", 2023, china }, { "CHN", "Hunan", 497.6, "CN-HN", 2023, china },
    { "CHN", "Jilin", 467.1, "CN-JL", 2023, china }, { "CHN", "Jiangsu", 582.7, "CN-JS", 2023, china },
    { "CHN", "Jiangxi", 583.6, "CN-JX", 2023, china }, { "CHN", "Liaoning", 487.8, "CN-LN", 2023, china },
    { "CHN", "Inner Mongolia", 647.9, "CN-NM", 2023, china }, { "CHN", "Ningxia", 618.7, "CN-NX", 2023, china },
    { "CHN", "Qinghai", 179.6, "CN-QH", 2023, china }, { "CHN", "Sichuan", 156.4, "CN-SC", 2023, china },
    { "CHN", "Shandong", 619.1, "CN-SD", 2023, china }, { "CHN", "Shanghai", 573.7, "CN-SH", 2023, china },
    { "CHN", "Shaanxi", 633.5, "CN-SN", 2023, china }, { "CHN", "Shanxi", 663.4, "CN-SX", 2023, china },
    { "CHN", "Tianjin", 679.6, "CN-TJ", 2023, china }, { "CHN", "Xinjiang", 602.1, "CN-XJ", 2023, china },
    { "CHN", "Yunnan", 133.3, "CN-YN", 2023, china }, { "CHN", "Zhejiang", 497.4, "CN-ZJ", 2023, china },
    { "NOR", "Oslo", 26.0, "NO1", 2025, zones }, { "NOR", "Southern Norway", 27.0, "NO2", 2025, zones },
    { "NOR", "Central Norway", 25.8, "NO3", 2025, zones }, { "NOR", "Northern Norway", 51.7, "NO4", 2025, zones },
    { "NOR", "Western Norway", 26.6, "NO5", 2025, zones }, { "SWE", "Northern Sweden", 25.9, "SE1", 2025, zones },
    { "SWE", "North-central Sweden", 25.7, "SE2", 2025, zones },
    { "SWE", "South-central Sweden, includes Stockholm", 27.0, "SE3", 2025, zones },
    { "SWE", "Southern Sweden", 24.7, "SE4", 2025, zones }, { "USA", "Alaska", 369.4, "US-AK", 2023, egrid },
    { "USA", "Alabama", 323.9, "US-AL", 2023, egrid }, { "USA", "Arkansas", 452.9, "US-AR", 2023, egrid },
    { "USA", "Arizona", 312.6, "US-AZ", 2023, egrid }, { "USA", "California", 179.1, "US-CA", 2023, egrid },
    { "USA", "Colorado", 494.9, "US-CO", 2023, egrid }, { "USA", "Connecticut", 245.2, "US-CT", 2023, egrid },
    { "USA", "District of Columbia", 179.2, "US-DC", 2023, egrid }, { "USA", "Delaware", 319.4, "US-DE", 2023, egrid },
    { "USA", "Florida", 357.9, "US-FL", 2023, egrid }, { "USA", "Georgia", 325.4, "US-GA", 2023, egrid },
    { "USA", "Hawaii", 632.6, "US-HI", 2023, egrid }, { "USA", "Iowa", 287.6, "US-IA", 2023, egrid },
    { "USA", "Idaho", 142.4, "US-ID", 2023, egrid }, { "USA", "Illinois", 215.2, "US-IL", 2023, egrid },
    { "USA", "Indiana", 664.7, "US-IN", 2023, egrid }, { "USA", "Kansas", 332.6, "US-KS", 2023, egrid },
    { "USA", "Kentucky", 792.4, "US-KY", 2023, egrid }, { "USA", "Louisiana", 346.1, "US-LA", 2023, egrid },
    { "USA", "Massachusetts", 376.5, "US-MA", 2023, egrid }, { "USA", "Maryland", 236.9, "US-MD", 2023, egrid },
    { "USA", "Maine", 143.7, "US-ME", 2023, egrid }, { "USA", "Michigan", 361.7, "US-MI", 2023, egrid },
    { "USA", "Minnesota", 341.3, "US-MN", 2023, egrid }, { "USA", "Missouri", 659.8, "US-MO", 2023, egrid },
    { "USA", "Mississippi", 375.7, "US-MS", 2023, egrid }, { "USA", "Montana", 482.6, "US-MT", 2023, egrid },
    { "USA", "North Carolina", 284.1, "US-NC", 2023, egrid }, { "USA", "North Dakota", 588.7, "US-ND", 2023, egrid },
    { "USA", "Nebraska", 465.3, "US-NE", 2023, egrid }, { "USA", "New Hampshire", 125.3, "US-NH", 2023, egrid },
    { "USA", "New Jersey", 213.3, "US-NJ", 2023, egrid }, { "USA", "New Mexico", 350.9, "US-NM", 2023, egrid },
    { "USA", "Nevada", 292.0, "US-NV", 2023, egrid }, { "USA", "New York", 211.7, "US-NY", 2023, egrid },
    { "USA", "Ohio", 484.6, "US-OH", 2023, egrid }, { "USA", "Oklahoma", 294.3, "US-OK", 2023, egrid },
    { "USA", "Oregon", 165.5, "US-OR", 2023, egrid }, { "USA", "Pennsylvania", 293.9, "US-PA", 2023, egrid },
    { "USA", "Rhode Island", 381.0, "US-RI", 2023, egrid }, { "USA", "South Carolina", 254.2, "US-SC", 2023, egrid },
    { "USA", "South Dakota", 152.2, "US-SD", 2023, egrid }, { "USA", "Tennessee", 299.9, "US-TN", 2023, egrid },
    { "USA", "Texas", 349.8, "US-TX", 2023, egrid }, { "USA", "Utah", 644.7, "US-UT", 2023, egrid },
    { "USA", "Virginia", 244.8, "US-VA", 2023, egrid }, { "USA", "Vermont", 23.7, "US-VT", 2023, egrid },
    { "USA", "Washington", 120.9, "US-WA", 2023, egrid }, { "USA", "Wisconsin", 527.8, "US-WI", 2023, egrid },
    { "USA", "West Virginia", 893.1, "US-WV", 2023, egrid }, { "USA", "Wyoming", 831.6, "US-WY", 2023, egrid },
};
/* clang-format on */

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
