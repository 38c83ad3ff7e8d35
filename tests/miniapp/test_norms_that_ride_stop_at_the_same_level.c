/* A run whose steps bring their norms, which are read when the next step is under way, stops at the level,
 * with the norm and the bits of a run that takes each norm by a pass of its own. A host device stands in for
 * the GPU, whose steps with in-kernel exchange do that. ranks: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "ranks/check.h"
#include "run/loop.h"
#include "support/problem_harness.h"

static sim s;
static int norms_brought;

static bool can(device *d, bool norm)
{
    (void)d, (void)norm;
    return true;
}

/* What a kernel with in-kernel exchange does, in parts. */
static int whole(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                 const inkernel_step *step, device_stream *stream)
{
    const box own = field_own(f);
    DEVICE_CALL(d, boundary_fill, f, (void *)(uintptr_t)cur, &s.pass.sides, s.pass.ghosts,
                s.pass.ghosts_count, stream);
    DEVICE_CALL(d, stencil_pass, f, next, cur, prev, &own, 1, stream);
    if (!step->change) return 0;
    norms_brought++;
    DEVICE_CALL(d, max_change, f, next, cur, own, step->change, stream);
    return d->fill_bytes(d, step->clear, 0, INKERNEL_NORM_BYTES, stream);
}

typedef struct result {
    int64_t level;
    double last_change;
    uint64_t fingerprint;
} result;

static result run_of(const config *c, bool ride)
{
    sentence why = { "" };
    clock_steps ticks;
    saver checkpoints = { .sim = &s, .ticks = &ticks, .deck_text = "" };
    if (sim_create(&s, c, false, &why) != 0) fail_msg("sim_create: %s", why.text);
    if (ride) {
        s.dev->stencil_inkernel_can = can;
        s.dev->stencil_inkernel = whole;
        void *const fields[2] = { s.now.u, s.next.u };
        assert_true(step_pass_make_inkernel(&s.pass, fields, &why));
        step_pass_set_form(&s.pass, STEP_IN_KERNEL);
    }
    assert_int_equal(sim_norms_ride(&s), ride);
    assert_int_equal(sim_initialise(&s, &why), 0);
    clock_create(&ticks, s.dev, s.streams.stream[0], NULL, 5);
    const loop_result l = loop_run(&s, (loop){ &ticks, &checkpoints, NULL, INFINITY, 0 });
    assert_int_equal(l.end, LOOP_DONE);
    const result r = { s.level, l.last_change, sim_fingerprint(&s) };
    clock_destroy(&ticks);
    sim_destroy(&s);
    return r;
}

static void same(const char *time, int64_t least, int64_t most)
{
    config c;
    harness_config(
        &c,
        "[problem]\nkind = laplace\ninitial = random\n[grid]\nnx = 61\nny = 47\nboundary = dirichlet 0.75\n"
        "[time]\n%s\n[run]\ndevice = host\nthreads = 1\nfuse = 1\n",
        time);
    const result alone = run_of(&c, false);
    norms_brought = 0;
    const result riding = run_of(&c, true);
    assert_in_range(alone.level, least, most);
    assert_int_equal(riding.level, alone.level);
    assert_true(riding.fingerprint == alone.fingerprint);
    assert_memory_equal(&riding.last_change, &alone.last_change, sizeof alone.last_change);
    assert_true(norms_brought >= alone.level / c.time.norm_every);
}

static void at_a_tolerance(void **state)
{
    (void)state;
    same("steps = 5000\ntolerance = 6e-2\nnorm_every = 1", 10, 200);
    same("steps = 5000\ntolerance = 6e-2\nnorm_every = 9", 10, 200);
}

static void to_the_last_step(void **state)
{
    (void)state;
    same("steps = 29\nnorm_every = 1", 29, 29);
    same("steps = 29\nnorm_every = 5", 29, 29);
    same("steps = 30\nnorm_every = 5\ntolerance = 1e-9", 30, 30);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(at_a_tolerance),
                                        cmocka_unit_test(to_the_last_step) };
    MPI_CHECK(MPI_Init(&argc, &argv));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
