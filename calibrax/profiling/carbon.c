/*
 * Grid intensity of countries [g CO2 equivalents per kWh], 2021.
 *
 * Source: Our World in Data, "Carbon intensity of electricity", from Ember's and the Energy Institute's yearly data, CC BY 4.0.
 */
#include "calibrax/profiling/carbon.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "calibrax/base/text.h"

static const cbx_carbon_intensity table[] = {
    { "ARE", "United Arab Emirates", 461.845 },
    { "ARG", "Argentina", 357.786 },
    { "AUS", "Australia", 531.247 },
    { "AUT", "Austria", 147.573 },
    { "BEL", "Belgium", 156.922 },
    { "BGD", "Bangladesh", 555.914 },
    { "BGR", "Bulgaria", 354.334 },
    { "BRA", "Brazil", 158.592 },
    { "CAN", "Canada", 128.461 },
    { "CHE", "Switzerland", 47.101 },
    { "CHL", "Chile", 416.881 },
    { "CHN", "China", 544.355 },
    { "COL", "Colombia", 181.065 },
    { "CRI", "Costa Rica", 33.045 },
    { "CYP", "Cyprus", 599.609 },
    { "CZE", "Czechia", 405.589 },
    { "DEU", "Germany", 365.477 },
    { "DNK", "Denmark", 221.416 },
    { "DZA", "Algeria", 498.904 },
    { "ECU", "Ecuador", 155.844 },
    { "EGY", "Egypt", 464.425 },
    { "ESP", "Spain", 193.863 },
    { "EST", "Estonia", 481.224 },
    { "ETH", "Ethiopia", 25.187 },
    { "FIN", "Finland", 145.541 },
    { "FRA", "France", 67.390 },
    { "GBR", "United Kingdom", 268.329 },
    { "GRC", "Greece", 353.339 },
    { "HKG", "Hong Kong", 683.972 },
    { "HRV", "Croatia", 210.979 },
    { "HUN", "Hungary", 233.037 },
    { "IDN", "Indonesia", 623.157 },
    { "IND", "India", 637.182 },
    { "IRL", "Ireland", 363.608 },
    { "IRN", "Iran", 492.678 },
    { "ISL", "Iceland", 28.557 },
    { "ISR", "Israel", 548.030 },
    { "ITA", "Italy", 340.794 },
    { "JPN", "Japan", 478.545 },
    { "KAZ", "Kazakhstan", 641.102 },
    { "KEN", "Kenya", 86.221 },
    { "KOR", "South Korea", 458.081 },
    { "LTU", "Lithuania", 244.604 },
    { "LUX", "Luxembourg", 186.992 },
    { "LVA", "Latvia", 223.932 },
    { "MAR", "Morocco", 610.412 },
    { "MEX", "Mexico", 399.852 },
    { "MLT", "Malta", 441.441 },
    { "MYS", "Malaysia", 548.611 },
    { "NGA", "Nigeria", 376.987 },
    { "NLD", "Netherlands", 388.702 },
    { "NOR", "Norway", 27.550 },
    { "NZL", "New Zealand", 132.427 },
    { "PAK", "Pakistan", 366.052 },
    { "PER", "Peru", 230.650 },
    { "PHL", "Philippines", 580.908 },
    { "POL", "Poland", 660.122 },
    { "PRT", "Portugal", 219.053 },
    { "ROU", "Romania", 255.877 },
    { "RUS", "Russia", 359.937 },
    { "SAU", "Saudi Arabia", 571.336 },
    { "SGP", "Singapore", 487.937 },
    { "SRB", "Serbia", 543.565 },
    { "SVK", "Slovakia", 169.589 },
    { "SVN", "Slovenia", 238.614 },
    { "SWE", "Sweden", 45.817 },
    { "THA", "Thailand", 506.635 },
    { "TUN", "Tunisia", 468.227 },
    { "TUR", "Turkey", 430.401 },
    { "TWN", "Taiwan", 573.275 },
    { "UKR", "Ukraine", 240.175 },
    { "URY", "Uruguay", 147.282 },
    { "USA", "United States", 379.260 },
    { "VNM", "Vietnam", 448.217 },
    { "ZAF", "South Africa", 715.681 },
};

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

double cbx_carbon_kg(double joules, double g_per_kwh, double pue)
{
    if (!(joules >= 0 && g_per_kwh >= 0 && pue >= 1)) return NAN;
    return joules / 3.6e6 * pue * g_per_kwh * 1e-3;
}
