/* Steps with in-kernel exchange end with the bits of overlapped ones, on every process grid. They bring their
 * norms, which are read when the next step is under way: the run stops at the level, and with the norm, of
 * one that takes each norm by a pass of its own. A host device stands in for the GPU
 * (support/host_inkernel.h). ranks: 1 2 3 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "run/loop.h"
#include "support/host_inkernel.h"
#include "support/problem_harness.h"

typedef struct result {
    int64_t level;
    double last_change;
    uint64_t fingerprint;
} result;

static result run_of(const config *c, bool in_kernel)
{
    static sim s;
    sentence why = { "" };
    clock_steps ticks;
    saver checkpoints = { .sim = &s, .ticks = &ticks, .deck_text = "" };
    if (sim_create(&s, c, false, &why) != 0) fail_msg("sim_create: %s", why.text);
    if (in_kernel) {
        host_inkernel_give(s.dev, c->problem.radius);
        void *const fields[2] = { s.now.u, s.next.u };
        if (!step_pass_make_inkernel(&s.pass, fields, &why)) fail_msg("%s", why.text);
        step_pass_set_form(&s.pass, STEP_IN_KERNEL);
    }
    assert_int_equal(sim_norms_ride(&s), in_kernel && !s.prob.op.has_prev);
    assert_int_equal(sim_initialise(&s, &why), 0);
    clock_create(&ticks, s.dev, s.streams.stream[0]);
    const loop_result l = loop_run(&s, (loop){ &ticks, NULL, &checkpoints, NULL, INFINITY, 0 });
    assert_int_equal(l.end, LOOP_DONE);
    const result r = { s.level, l.last_change, sim_fingerprint(&s) };
    clock_destroy(&ticks);
    sim_destroy(&s);
    return r;
}

static void same(const char *kind, const char *sides, const char *time, int64_t least, int64_t most)
{
    config c;
    int ranks;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    harness_config(&c,
                   "[problem]\n%s\ninitial = random\n[grid]\nnx = 61\nny = 47\n%s\n[time]\n%s\n[run]\n"
                   "device = host\nthreads = 1\nfuse = 1\n",
                   kind, sides, time);
    const result overlapped = run_of(&c, false);
    assert_in_range(overlapped.level, least, most);
    for (c.run.ranks_x = 1; c.run.ranks_x <= ranks; c.run.ranks_x++) {
        c.run.ranks_y = ranks / c.run.ranks_x;
        if (c.run.ranks_x * c.run.ranks_y != ranks) continue;
        host_inkernel_norms = 0;
        const result r = run_of(&c, true);
        assert_int_equal(r.level, overlapped.level);
        assert_true(r.fingerprint == overlapped.fingerprint);
        if (c.time.norm_every == 0) continue;
        assert_memory_equal(&r.last_change, &overlapped.last_change, sizeof r.last_change);
        assert_true(host_inkernel_norms >= r.level / c.time.norm_every);
    }
}

static void at_a_tolerance(void **state)
{
    const char *const warm = "boundary = dirichlet 0.75";
    same("kind = laplace", warm, "steps = 5000\ntolerance = 6e-2\nnorm_every = 1", 10, 200);
    same("kind = laplace", warm, "steps = 5000\ntolerance = 6e-2\nnorm_every = 9", 10, 200);
}

static void to_the_last_step(void **state)
{
    static const char *const problems[] = {
        "kind = heat\nalpha = 0.2",
        "kind = custom\ndtype = f32\nweights = .06 .12 .05 | .11 .25 .125 | .07 .1 .115",
        "kind = wave\nalpha = 0.2\norder = 6",
    };
    static const char *const sides[] = { "boundary = periodic", "boundary = neumann",
                                         "x_low = dirichlet 0\nx_high = neumann\ny_low = neumann\ny_high = "
                                         "dirichlet -1.5" };
    for (int i = 0; i < 9; i++) same(problems[i / 3], sides[i % 3], "steps = 9", 9, 9);
    same("kind = laplace", sides[2], "steps = 29\nnorm_every = 1", 29, 29);
    same("kind = laplace\ndtype = f32", sides[0], "steps = 29\nnorm_every = 5", 29, 29);
    same("kind = laplace", sides[1], "steps = 30\nnorm_every = 5\ntolerance = 1e-9", 30, 30);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(at_a_tolerance),
                                        cmocka_unit_test(to_the_last_step) };
    int level;
    MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
