/* Energy and held clocks of a run. */
#include "report/report.h"

#include <math.h>

#include "output/record.h"

enum { GPUS, ENERGY_J, LIMIT_W, BY_POWER, BY_HEAT };

/* One GPU whose value is unknown makes the sum NaN; MPI's smallest and largest of a NaN are any number. */
static double known(const timer_spread *all, double number) { return isnan(all->sum) ? NAN : number; }

void power_read(double out[POWER_NUMBERS], bool speaks, nvml_reading before, nvml_reading after)
{
    const double counted_s = after.held_at_s - before.held_at_s;
    out[GPUS] = speaks;
    out[ENERGY_J] = speaks ? after.energy_j - before.energy_j : 0;
    out[LIMIT_W] = speaks ? after.power_limit_w : INFINITY;
    out[BY_POWER] = speaks ? (after.power_held_s - before.power_held_s) / counted_s : 0;
    out[BY_HEAT] = speaks ? (after.heat_held_s - before.heat_held_s) / counted_s : 0;
}

power_use power_of(const timer_spread all[POWER_NUMBERS], double seconds, double updates)
{
    power_use u = { .gpus = (int)all[GPUS].sum,
                    .energy_j = all[ENERGY_J].sum,
                    .power_limit_w = known(&all[LIMIT_W], all[LIMIT_W].min),
                    .held_by_power = known(&all[BY_POWER], all[BY_POWER].max),
                    .held_by_heat = known(&all[BY_HEAT], all[BY_HEAT].max) };
    if (seconds < POWER_LOOP_LEAST_S) u.energy_j = u.held_by_power = u.held_by_heat = NAN;
    u.update_j = u.energy_j / updates;
    u.power_w = u.energy_j / seconds / u.gpus;
    return u;
}

void power_print(FILE *to, const power_use *u)
{
    if (u->gpus > 0 && !isnan(u->power_w))
        fprintf(to, "power        %.0f W per GPU (limit: %.0f), %.3g nJ per cell and step\n", u->power_w,
                u->power_limit_w, u->update_j * 1e9);
    if (u->gpus > 0 && u->held_by_power >= 0.01)
        fprintf(to, "clock        held down by the power limit for %.0f %% of the steps' time\n",
                100 * u->held_by_power);
    if (u->gpus > 0 && u->held_by_heat >= 0.01)
        fprintf(to, "clock        held down by heat for %.0f %% of the steps' time\n", 100 * u->held_by_heat);
}

json_t *power_json(const power_use *u)
{
    if (u->gpus == 0) return json_null();
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "gpus", u->gpus, "energy_j",
                     record_number(u->energy_j), "power_w", record_number(u->power_w), "power_limit_w",
                     record_number(u->power_limit_w), "update_j", record_number(u->update_j), "held_by_power",
                     record_number(u->held_by_power), "held_by_heat", record_number(u->held_by_heat));
}
