#include "report/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

static bool seen_before(const power_rank *rank, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(rank[i].uuid, rank[j].uuid) == 0) return true;
    return false;
}

/* Unlike fmin and fmax, unknown where one is. */
static double lower(double a, double b) { return isnan(a) || a < b ? a : b; }
static double higher(double a, double b) { return isnan(a) || a > b ? a : b; }

power_use power_sum(const power_rank *rank, int ranks, double seconds, double updates)
{
    power_use u = { .power_limit_w = INFINITY };
    for (int i = 0; i < ranks; i++) {
        const nvml_reading *const before = &rank[i].before, *const after = &rank[i].after;
        if (!rank[i].uuid[0] || seen_before(rank, i)) continue;
        const double counted_s = after->held_at_s - before->held_at_s;
        u.gpus++;
        u.energy_j += after->energy_j - before->energy_j;
        u.power_limit_w = lower(u.power_limit_w, after->power_limit_w);
        u.held_by_power = higher(u.held_by_power, (after->power_held_s - before->power_held_s) / counted_s);
        u.held_by_heat = higher(u.held_by_heat, (after->heat_held_s - before->heat_held_s) / counted_s);
    }
    if (seconds < POWER_LOOP_LEAST_S) u.energy_j = u.held_by_power = u.held_by_heat = NAN;
    u.update_j = u.energy_j / updates;
    u.power_w = u.energy_j / seconds / u.gpus;
    return u;
}

power_use power_between(MPI_Comm comm, const char *uuid, nvml_reading before, nvml_reading after, double seconds,
                        double updates)
{
    const int ranks = ranks_count(comm);
    power_rank mine = { .before = before, .after = after }, *all = CHECK_ALLOC(calloc((size_t)ranks, sizeof *all));
    snprintf(mine.uuid, sizeof mine.uuid, "%s", uuid);
    MPI_CHECK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, comm));
    const power_use u = power_sum(all, ranks, seconds, updates);
    free(all);
    return u;
}

void power_print(FILE *to, const power_use *u)
{
    if (u->gpus > 0 && !isnan(u->power_w))
        fprintf(to, "power        %.0f W per GPU (limit: %.0f), %.3g nJ per cell and step\n", u->power_w, u->power_limit_w,
                u->update_j * 1e9);
    if (u->gpus > 0 && u->held_by_power >= 0.01)
        fprintf(to, "clock        held down by the power limit for %.0f %% of the steps' time\n", 100 * u->held_by_power);
    if (u->gpus > 0 && u->held_by_heat >= 0.01)
        fprintf(to, "clock        held down by heat for %.0f %% of the steps' time\n", 100 * u->held_by_heat);
}

json_t *power_json(const power_use *u)
{
    if (u->gpus == 0) return json_null();
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "gpus", u->gpus, "energy_j", record_number(u->energy_j), "power_w",
                     record_number(u->power_w), "power_limit_w", record_number(u->power_limit_w), "update_j",
                     record_number(u->update_j), "held_by_power", record_number(u->held_by_power), "held_by_heat",
                     record_number(u->held_by_heat));
}
