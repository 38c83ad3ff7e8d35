/* Readings of a GPU's counters become joules, watts and parts of the time: a GPU that ranks share counts
 * once, what cannot be read stays unknown, and a library that is not there or refuses is no error. */
#include <math.h>
#include <string.h>

#define nvml_read nvml_read_played
#include "device/nvml.c"
#undef nvml_read
#include "report/report.h"
#include "support/unit.h"

/* ---- readings of a library that this file plays ---- */

static bool refuses;
static int device_of(const char *uuid, nvml_device *out)
{
    *out = &refuses;
    return strcmp(uuid, "GPU-1") == 0 ? 0 : 6;
}
static int energy(nvml_device d, unsigned long long *out)
{
    *out = d == &refuses ? 1234567 : 0;
    return refuses ? 3 : 0;
}
static int violation(nvml_device d, int policy, nvml_violation *out)
{
    *out = (nvml_violation){ 7250000, policy == 0 ? 2500000000 : 125000000 }; /* as nvml.h numbers them */
    return refuses ? 3 : 0;
}
static int limit(nvml_device d, unsigned *out)
{
    *out = 700000;
    return 0;
}

static void counters_are_read_or_unknown(void **state)
{
    static const struct {
        const char *uuid;
        bool away, refuses;
        nvml_reading reads;
    } cases[] = {
        { "GPU-1", false, false, { 1234.567, 2.5, 0.125, 7.25, 700 } },
        { "GPU-1", false, true, { NAN, NAN, NAN, NAN, 700 } },
        { "GPU-1", true, false, { NAN, NAN, NAN, NAN, NAN } },
        { "GPU-2", false, false, { NAN, NAN, NAN, NAN, NAN } },
        { "", false, false, { NAN, NAN, NAN, NAN, NAN } },
    };
    library.nvmlDeviceGetHandleByUUID = device_of;
    library.nvmlDeviceGetTotalEnergyConsumption = energy;
    library.nvmlDeviceGetViolationStatus = violation;
    library.nvmlDeviceGetEnforcedPowerLimit = limit;
    opened = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        works = !cases[i].away;
        refuses = cases[i].refuses;
        const nvml_reading r = nvml_read_played(cases[i].uuid);
        const double *const read = &r.energy_j, *const expected = &cases[i].reads.energy_j;
        for (int k = 0; k < 5; k++)
            assert_true(isnan(expected[k]) ? isnan(read[k]) : fabs(read[k] - expected[k]) < 1e-9);
    }
}

/* ---- sums ---- */

/* Its counters were read 2.5 s apart. */
typedef struct power_rank {
    bool speaks;
    double joules, power_s, heat_s, limit_w;
} power_rank;

/* Over those ranks, with an MPI whose smallest and largest of a NaN are the first number. */
static power_use power_sum(const power_rank *rank, int ranks, double seconds, double updates)
{
    timer_spread all[POWER_NUMBERS];
    for (int r = 0; r < ranks; r++) {
        double mine[POWER_NUMBERS];
        power_read(mine, rank[r].speaks, (nvml_reading){ 1000, 10, 20, 5, 0 },
                   (nvml_reading){ 1000 + rank[r].joules, 10 + rank[r].power_s, 20 + rank[r].heat_s, 7.5,
                                   rank[r].limit_w });
        for (int i = 0; i < POWER_NUMBERS; i++) {
            timer_spread *a = &all[i];
            if (r == 0) *a = (timer_spread){ .min = mine[i], .max = mine[i] };
            a->sum += mine[i];
            if (mine[i] < a->min) a->min = mine[i];
            if (mine[i] > a->max) a->max = mine[i];
        }
    }
    return power_of(all, seconds, updates);
}

/* A GPU that two ranks share, one alone, one whose loop is short, ranks of which some cannot read, a host. */
static const struct {
    int ranks;
    power_rank rank[3];
    double seconds, updates;
    const char *json, *printed;
} sums[] = {
    { 3, { { true, 800, 1, 0, 700 }, { true, 400, 0, 0.5, 650 }, { false, 803, 1.1, 0, 700 } }, 2, 2400,
      "{\"energy_j\":1200.0,\"gpus\":2,\"held_by_heat\":0.2,\"held_by_power\":0.4,\"power_limit_w\":650.0,"
      "\"power_w\":300.0,\"update_j\":0.5}",
      "power        300 W per GPU (limit: 650), 5e+08 nJ per cell and step\n"
      "clock        held down by the power limit for 40 % of the steps' time\n"
      "clock        held down by heat for 20 % of the steps' time\n" },
    { 1, { { true, 40, 0.05, 0, 700 } }, 0.1, 1e9,
      "{\"energy_j\":null,\"gpus\":1,\"held_by_heat\":null,\"held_by_power\":null,\"power_limit_w\":700.0,"
      "\"power_w\":null,\"update_j\":null}", "" },
    { 3, { { true, 800, NAN, 0, 700 }, { true, NAN, 1, 0, NAN }, { true, 1, 1, 0, 600 } }, 2, 1e9,
      "{\"energy_j\":null,\"gpus\":3,\"held_by_heat\":0.0,\"held_by_power\":null,\"power_limit_w\":null,"
      "\"power_w\":null,\"update_j\":null}", "" },
    { 1, { { false, 1, 1, 1, 1 } }, 2, 1e12, "null", "" },
};

static void each_gpu_counts_once_and_one_unknown_makes_the_sum_unknown(void **state)
{
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        char printed[512] = "";
        FILE *const to = fmemopen(printed, sizeof printed, "w");
        const power_use u = power_sum(sums[i].rank, sums[i].ranks, sums[i].seconds, sums[i].updates);
        json_t *const use = power_json(&u);
        char *const text =
            json_dumps(use, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        power_print(to, &u);
        fclose(to);
        assert_string_equal(text, sums[i].json);
        assert_string_equal(printed, sums[i].printed);
        free(text);
        json_decref(use);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_read_or_unknown),
        cmocka_unit_test(each_gpu_counts_once_and_one_unknown_makes_the_sum_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
