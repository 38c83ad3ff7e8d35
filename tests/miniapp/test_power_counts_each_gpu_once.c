/* Readings of a GPU's counters become joules, watts and parts of the time: a GPU that ranks share counts
 * once, what cannot be read stays unknown, and a library that is not there or refuses is no error. NVML is
 * played by this file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define dlopen played_dlopen
#define dlsym played_dlsym
#define nvml_read nvml_read_played
#include "device/nvml.c"
#undef nvml_read
#include "report/report.h"

static bool there = true, refuses_init, refuses_power;
static const char *missing = "";
static unsigned long long counted_mj, held_ns[2]; /* by power, by heat, as nvml.h numbers them */

static int init(void) { return refuses_init ? 9 : 0; }
static int device_of(const char *uuid, nvml_device *out)
{
    *out = &there;
    return strcmp(uuid, "GPU-1") == 0 ? 0 : 6;
}
static int energy(nvml_device d, unsigned long long *out)
{
    assert_ptr_equal(d, &there);
    *out = counted_mj;
    return refuses_power ? 3 : 0;
}
static int violation(nvml_device d, int policy, nvml_violation *out)
{
    assert_ptr_equal(d, &there);
    *out = (nvml_violation){ 7250000, held_ns[policy] };
    return refuses_power ? 3 : 0;
}
static int limit(nvml_device d, unsigned *out)
{
    assert_ptr_equal(d, &there);
    *out = 700000;
    return 0;
}

void *played_dlopen(const char *name, int flags)
{
    return there && strcmp(name, "libnvidia-ml.so.1") == 0 ? &there : NULL;
}

void *played_dlsym(void *library, const char *name)
{
    const struct {
        const char *name;
        void *function;
    } all[] = {
        { "nvmlInit_v2", *(void **)&(int (*)(void)){ init } },
        { "nvmlDeviceGetHandleByUUID", *(void **)&(int (*)(const char *, nvml_device *)){ device_of } },
        { "nvmlDeviceGetTotalEnergyConsumption",
          *(void **)&(int (*)(nvml_device, unsigned long long *)){ energy } },
        { "nvmlDeviceGetViolationStatus",
          *(void **)&(int (*)(nvml_device, int, nvml_violation *)){ violation } },
        { "nvmlDeviceGetEnforcedPowerLimit", *(void **)&(int (*)(nvml_device, unsigned *)){ limit } },
    };
    assert_ptr_equal(library, &there);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i].name) == 0) return strcmp(name, missing) == 0 ? NULL : all[i].function;
    return NULL;
}

static void assert_unknown(nvml_reading r)
{
    assert_true(isnan(r.energy_j) && isnan(r.power_held_s) && isnan(r.heat_held_s) && isnan(r.held_at_s) &&
                isnan(r.power_limit_w));
}

/* By a library that is looked for anew. */
static nvml_reading read_anew(const char *uuid)
{
    loaded = (nvml){ 0 };
    return nvml_read_played(uuid);
}

static void counters_are_read(void **state)
{
    counted_mj = 1234567;
    held_ns[0] = 2500000000;
    held_ns[1] = 125000000;
    const nvml_reading r = read_anew("GPU-1");
    assert_float_equal(r.energy_j, 1234.567, 1e-9);
    assert_float_equal(r.power_held_s, 2.5, 1e-12);
    assert_float_equal(r.heat_held_s, 0.125, 1e-12);
    assert_float_equal(r.held_at_s, 7.25, 1e-9);
    assert_float_equal(r.power_limit_w, 700, 1e-9);
    assert_unknown(nvml_read_played(""));
    assert_unknown(nvml_read_played("GPU-2"));
}

static void what_is_refused_is_unknown(void **state)
{
    refuses_power = true;
    nvml_reading r = read_anew("GPU-1");
    assert_true(isnan(r.energy_j) && isnan(r.power_held_s) && isnan(r.heat_held_s));
    assert_float_equal(r.power_limit_w, 700, 1e-9);
    refuses_power = false;
    missing = "nvmlInit_v2";
    assert_unknown(read_anew("GPU-1"));
    missing = "nvmlDeviceGetHandleByUUID";
    assert_unknown(read_anew("GPU-1"));
    missing = "nvmlDeviceGetTotalEnergyConsumption";
    r = read_anew("GPU-1");
    assert_true(isnan(r.energy_j) && r.power_held_s > 0);
    missing = "";
    refuses_init = true;
    assert_unknown(read_anew("GPU-1"));
    refuses_init = false;
    there = false;
    assert_unknown(read_anew("GPU-1"));
    there = true;
    assert_unknown(nvml_read_played("GPU-1")); /* it is looked for once */
}

/* Its counters were read 2.5 s apart. */
typedef struct power_rank {
    bool speaks;
    nvml_reading before, after;
} power_rank;

static power_rank rank_of(bool speaks, double joules, double power_s, double heat_s, double limit_w)
{
    return (power_rank){ speaks,
                         { 1000, 10, 20, 5, 0 },
                         { 1000 + joules, 10 + power_s, 20 + heat_s, 7.5, limit_w } };
}

/* Over those ranks, with an MPI whose smallest and largest of a NaN are the first number. */
static power_use power_sum(const power_rank *rank, int ranks, double seconds, double updates)
{
    timer_spread all[POWER_NUMBERS];
    for (int r = 0; r < ranks; r++) {
        double mine[POWER_NUMBERS];
        power_read(mine, rank[r].speaks, rank[r].before, rank[r].after);
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

static void each_gpu_counts_once(void **state)
{
    const power_rank all[] = { rank_of(true, 800, 1, 0, 700), rank_of(true, 400, 0, 0.5, 650),
                               rank_of(false, 803, 1.1, 0, 700) };
    const power_use u = power_sum(all, 3, 2.0, 6e9);
    assert_int_equal(u.gpus, 2);
    assert_float_equal(u.energy_j, 1200, 1e-9);
    assert_float_equal(u.update_j, 2e-7, 1e-15);
    assert_float_equal(u.power_w, 300, 1e-9);
    assert_float_equal(u.power_limit_w, 650, 1e-9);
    assert_float_equal(u.held_by_power, 0.4, 1e-12);
    assert_float_equal(u.held_by_heat, 0.2, 1e-12);
}

static void a_short_loop_says_nothing(void **state)
{
    const power_rank all[] = { rank_of(true, 40, 0.05, 0, 700) };
    const power_use u = power_sum(all, 1, 0.1, 1e9);
    assert_true(isnan(u.energy_j) && isnan(u.power_w) && isnan(u.update_j) && isnan(u.held_by_power) &&
                isnan(u.held_by_heat));
}

static void one_unknown_makes_the_sum_unknown(void **state)
{
    const power_rank all[] = { rank_of(true, 800, NAN, 0, 700), rank_of(true, NAN, 1, 0, NAN),
                               rank_of(true, 1, 1, 0, 600) };
    const power_use u = power_sum(all, 3, 2.0, 1e9);
    json_t *use = power_json(&u);
    char *text = json_dumps(use, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(use);
    assert_string_equal(
        text,
        "{\"energy_j\":null,\"gpus\":3,\"held_by_heat\":0.0,\"held_by_power\":null,\"power_limit_w\":null,"
        "\"power_w\":null,\"update_j\":null}");
    free(text);
}

/* And of the host nothing. */
static void lines_say_what_is_known(void **state)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    const power_rank gpu[] = { rank_of(true, 1300, 0.85, 0.001, 700) },
                     host[] = { rank_of(false, 1, 1, 1, 1) };
    const power_use u = power_sum(gpu, 1, 2.0, 1e12), none = power_sum(host, 1, 2.0, 1e12);
    power_print(to, &u);
    power_print(to, &none);
    fclose(to);
    assert_string_equal(text, "power        650 W per GPU (limit: 700), 1.3 nJ per cell and step\n"
                              "clock        held down by the power limit for 34 % of the steps' time\n");
    free(text);
    assert_int_equal(none.gpus, 0);
    assert_true(json_is_null(power_json(&none)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_read),
        cmocka_unit_test(what_is_refused_is_unknown),
        cmocka_unit_test(each_gpu_counts_once),
        cmocka_unit_test(a_short_loop_says_nothing),
        cmocka_unit_test(one_unknown_makes_the_sum_unknown),
        cmocka_unit_test(lines_say_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
