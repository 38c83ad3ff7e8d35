/* Spans that ranks took at one instant, each on a clock of its own, stand at one time in the file. trace.bats
 * has the clock of one host. ranks: 1 4 */
#include <jansson.h>
#include <math.h>

#include "output/trace.h"
#include "support/comm_harness.h"

enum { SPANS = 50, LANES = 1 };
static const char *const names[] = { "even", "odd" };
static const double seconds_apart = 20000; /* the clocks of neighbours: rank 0's is the common one */

/* Spans that stand where they should, of each rank. */
static int count_right(json_t *events)
{
    size_t i;
    json_t *e;
    int right = 0;
    json_array_foreach(events, i, e)
    {
        double ts, dur; /* us */
        int step, track;
        const char *name;
        if (strcmp(json_string_value(json_object_get(e, "ph")), "X") != 0) continue;
        assert_int_equal(json_unpack(e, "{s:F, s:F, s:i, s:s, s:{s:i}}", "ts", &ts, "dur", &dur, "tid",
                                     &track, "name", &name, "args", "step", &step),
                         0);
        right += fabs(ts - 1e4 * step) < 0.01 && fabs(dur - 4000) < 0.01 && track == step % 2 &&
                 strcmp(name, names[step % 2]) == 0;
    }
    return right;
}

static void on_one_clock(void **state)
{
    static trace_span span[SPANS];
    const trace_timeline t = { .process = "rank \"0\"",
                               .lanes = LANES,
                               .span = span,
                               .spans = harness.rank == 3 ? 0 : SPANS,
                               .clock = { -seconds_apart * harness.rank, 1e-6 } };
    char path[64];
    sentence why;
    snprintf(path, sizeof path, "/tmp/weft_trace_%d.json", (int)getpid()); /* rank 0 writes it */
    for (int i = 0; i < SPANS; i++) {
        const double begin_s = 1000 + 0.01 * i + seconds_apart * harness.rank;
        span[i] = (trace_span){ begin_s, begin_s + 0.004, i, i % 2, names[i % 2] };
    }
    long wrong = trace_write(harness.comm, "/nonexistent/t.json", &t, &why) ||
                 !strstr(why.text, "output.trace = /nonexistent/t.json");
    wrong += !trace_write(harness.comm, path, &t, &why);
    if (harness.rank == 0) {
        json_t *const file = json_load_file(path, 0, NULL),
                     *const events = json_object_get(file, "traceEvents");
        const int spans = (harness.ranks > 3 ? harness.ranks - 1 : harness.ranks) * SPANS;
        wrong += !file || count_right(events) != spans || unlink(path) != 0;
        wrong += (int)json_array_size(json_object_get(json_object_get(file, "otherData"), "ranks")) !=
                 harness.ranks;
        /* a process name and order, and a name and order of each track, for every rank; one label */
        wrong += (int)json_array_size(events) != spans + harness.ranks * (2 + 2 * (TRACE_LANE + LANES)) + 1;
        json_decref(file);
    }
    assert_int_equal(harness_sum(wrong), 0);
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(on_one_clock) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
