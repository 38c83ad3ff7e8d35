/* A run that takes several steps per pass ends with the bits of one that takes them singly, at the same
 * level: for every number of steps per pass, kind, boundary, process grid and feed, with a remainder of
 * steps, with norms on the way and at a tolerance. On a GPU, where there is one, over every transport;
 * those compared with are always the host's. So does one with in-kernel exchange (on the host,
 * support/host_inkernel.h), whose norms come with the steps and are read when the next one is under way.
 *
 * ranks: 1 2 3 4
 * gpus: rank */
#include <math.h>
#include <unistd.h>

#include "ranks/check.h"
#include "run/loop.h"
#include "support/host_inkernel.h"
#include "support/problem_harness.h"

static config_device tested = CONFIG_DEVICE_HOST;
static step_form form; /* of blocks of steps, whichever is faster; in-kernel: of steps */

typedef struct result {
    uint64_t fingerprint[STATE_FIELDS_MAX]; /* of every field that a state file has */
    int64_t level, passes;
    int block_steps;
    double last_change;
} result;

static void set_form(sim *s)
{
    sentence why = { "" };
    void *const fields[] = { s->now.u, s->next.u };
    if (form == STEP_IN_KERNEL) {
        host_inkernel_give(s->dev, s->cfg->problem.radius);
        if (!step_pass_make_inkernel(&s->pass, fields, &why)) fail_msg("%s", why.text);
    }
    if (form == STEP_IN_KERNEL || s->plan.block_steps > 1) step_pass_set_form(&s->pass, form);
    assert_true(form != STEP_IN_KERNEL || sim_norms_ride(s) == !s->prob.op.has_prev);
}

/* All of `weft run` that moves cells. */
static result run_of(const config *c)
{
    static sim s;
    clock_steps ticks;
    saver checkpoints = { .sim = &s };
    state_level level;
    sentence why = { "" };
    if (sim_create(&s, c, true, &why) != 0) fail_msg("sim_create: %s", why.text);
    set_form(&s);
    sim_prepare_steps(&s);
    sim_touch(&s);
    sim_take(&s, 3, false); /* without the neighbours, as a calibration does; it leaves nothing */
    if (sim_initialise(&s, &why) != 0) fail_msg("sim_initialise: %s", why.text);
    clock_create(&ticks, s.dev, s.streams.stream[0]);
    const loop_result l = loop_run(&s, (loop){ &ticks, NULL, &checkpoints, NULL, INFINITY, 0 });
    assert_int_equal(l.end, LOOP_DONE);
    result r = { { 0 }, s.level, s.passes, s.plan.block_steps, l.last_change };
    sim_snapshot(&s, "", &level);
    for (int i = 0; i < level.fields; i++)
        MPI_CHECK(MPI_Allreduce(&level.field[i].fingerprint, &r.fingerprint[i], 1, MPI_UINT64_T, MPI_SUM,
                                s.top.comm));
    clock_destroy(&ticks);
    sim_destroy(&s);
    return r;
}

static int rank_count(void)
{
    int ranks;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    return ranks;
}

/* What the smallest rank has room for, of at most `asked` steps and the host's 16. */
static int fits(const config *c, int asked)
{
    const int64_t x = c->grid.nx / c->run.ranks_x / c->problem.radius,
                  y = c->grid.ny / c->run.ranks_y / c->problem.radius;
    const int64_t room = x < y ? x : y, most = asked < 16 ? asked : 16;
    return (int)(room < most ? room : most);
}

static void expect_same(const config *c, const result *single)
{
    const result r = run_of(c);
    if (memcmp(r.fingerprint, single->fingerprint, sizeof r.fingerprint) != 0 || r.level != single->level)
        fail_msg("%s radius %d, fuse %d (asked %d), %s, ranks %d x %d, %s, feed %s, %d streams, transport "
                 "%s: %016llx, %016llx at "
                 "level %lld, not %016llx, %016llx at level %lld",
                 kind_name(c->problem.kind), c->problem.radius, r.block_steps, c->run.fuse,
                 step_form_name[form], c->run.ranks_x, c->run.ranks_y,
                 c->run.device == CONFIG_DEVICE_CUDA ? "cuda" : "host", config_feed_name(c->run.feed),
                 c->run.streams, transport_kind_name(c->run.transport), (unsigned long long)r.fingerprint[0],
                 (unsigned long long)r.fingerprint[1], (long long)r.level,
                 (unsigned long long)single->fingerprint[0], (unsigned long long)single->fingerprint[1],
                 (long long)single->level);
    if (c->time.norm_every > 0)
        assert_memory_equal(&r.last_change, &single->last_change, sizeof r.last_change);
}

/* What changes from run to run, in turn. */
static void next_way(config *c)
{
    static const config_feed feeds[] = { CONFIG_FEED_SERIAL, CONFIG_FEED_OPENMP, CONFIG_FEED_GRAPH };
    static const transport_kind transports[] = { TRANSPORT_PEER,   TRANSPORT_STAGED, TRANSPORT_AUTO,
                                                 TRANSPORT_MAPPED, TRANSPORT_AWARE,  TRANSPORT_PEER,
                                                 TRANSPORT_STAGED, TRANSPORT_PEER,   TRANSPORT_MAPPED,
                                                 TRANSPORT_AWARE };
    static const int numbers[] = { 8, 3, 12, 2, 10, 4, 64 };
    static int turn;
    const bool host = tested == CONFIG_DEVICE_HOST;
    c->run.device = tested;
    c->run.fuse = numbers[turn % 7];
    c->run.feed = feeds[turn / 2 % (host ? 2 : 3)];
    /* more threads than cores: OpenMP's then do not spin */
    c->run.streams = c->run.feed == CONFIG_FEED_OPENMP ? 3 : 1 + turn % 2;
    c->run.transport = host ? TRANSPORT_STAGED : transports[turn % 10];
    form = turn / 3 % 2 == 1 ? STEP_EXCHANGE_FIRST : STEP_OVERLAPPED;
    turn++;
}

/* A deck on every process grid of these ranks. */
static void every_way(const config *given)
{
    config c = *given;
    const int ranks = rank_count();
    const int each = ranks == 1 ? 7 : ranks > 2 && tested == CONFIG_DEVICE_CUDA ? 1 : 2;
    c.run.fuse = 1;
    form = STEP_OVERLAPPED;
    const result single = run_of(&c);
    assert_int_equal(single.block_steps, 1);
    for (c.run.ranks_x = 1; c.run.ranks_x <= ranks; c.run.ranks_x++) {
        c.run.ranks_y = ranks / c.run.ranks_x;
        for (int i = 0;
             i < each && c.run.ranks_x * c.run.ranks_y == ranks && (c.run.ranks_y == 1 || config_two_d(&c));
             i++) {
            next_way(&c);
            expect_same(&c, &single);
        }
    }
}

static void in_kernel(const config *given, int64_t least, int64_t most)
{
    config c = *given;
    const int ranks = rank_count();
    c.run.fuse = 1;
    form = STEP_OVERLAPPED;
    const result overlapped = run_of(&c);
    assert_in_range(overlapped.level, least, most);
    form = STEP_IN_KERNEL;
    for (c.run.ranks_x = 1; c.run.ranks_x <= ranks; c.run.ranks_x++) {
        c.run.ranks_y = ranks / c.run.ranks_x;
        if (c.run.ranks_x * c.run.ranks_y != ranks) continue;
        host_inkernel_norms = 0;
        expect_same(&c, &overlapped);
        if (c.time.norm_every > 0) assert_true(host_inkernel_norms >= overlapped.level / c.time.norm_every);
    }
    form = STEP_OVERLAPPED;
}

static const char *const sides[] = {
    "boundary = periodic",
    "boundary = dirichlet 0.75",
    "boundary = neumann",
    "x_low = dirichlet 0\nx_high = neumann\ny_low = neumann\ny_high = dirichlet -1.5",
    "x_low = periodic\nx_high = periodic\ny_low = dirichlet 2\ny_high = neumann",
    "x_low = neumann\nx_high = dirichlet 1\ny_low = periodic\ny_high = periodic",
};

/* 61 x 47 divides evenly by nothing, and 29 steps by none of the numbers of steps. */
static void deck_of(config *c, const char *kind, const char *when, int side)
{
    harness_config(c,
                   "[problem]\n%s\ninitial = random\n[grid]\nnx = 61\nny = 47\n%s\n[time]\n%s\n[run]\ndevice "
                   "= host\nthreads = 1\n",
                   kind, sides[side], when);
}

/* A block of steps that read two levels leaves the level before too. */
static void blocks(void **state)
{
    static const struct {
        const char *kind;
        int side; /* advect: of one kind along an axis, or it is not stable */
    } row[] = {
        { "kind = heat\nalpha = 0.2", 0 },
        { "kind = custom\nweights = 0 0 .01 0 0 | 0 0 .2 0 0 | .03 .19 .2 .21 -.02 | 0 0 .1 0 0 | "
          "0 0 .05 0 0",
          1 },
        { "kind = custom\ndtype = f32\nweights = .06 .12 .05 | .11 .25 .125 | .07 .1 .115", 2 },
        { "kind = custom\ndtype = f32\nweights = .06 .12 .05 | .11 .25 .125 | .07 .1 .115", 3 },
        { "kind = wave\nalpha = 0.2\norder = 6\ndtype = f32", 3 },
        { "kind = wave\nalpha = 0.2\norder = 6", 4 },
        { "kind = heat\nalpha = 0.15\norder = 6\ndtype = f32", 5 },
        { "kind = advect\nalpha = 0.3\norder = 4\ndtype = f32", 0 },
        { "kind = advect\nalpha = 0.2\norder = 8", 2 },
    };
    config c;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        deck_of(&c, row[i].kind, i % 2 ? "steps = 29\nnorm_every = 9" : "steps = 29", row[i].side);
        every_way(&c);
    }
    for (int i = 0; i < 4; i++) { /* lines */
        harness_config(&c,
                       "[problem]\nkind = %s\nalpha = 0.2\norder = 8\ninitial = random\n[grid]\nnx = 613\n"
                       "%s\n[time]\nsteps = 29\n[run]\ndevice = host\nthreads = 1\n",
                       i % 2 ? "wave" : "heat\ndtype = f32", sides[i]);
        every_way(&c);
    }
}

static void norms_and_a_tolerance(void **state)
{
    config c;
    deck_of(&c, "kind = laplace", "steps = 29\nnorm_every = 5", 3);
    every_way(&c);
    /* passes of 12, 8 and 4 steps with a norm */
    deck_of(&c, "kind = laplace\ndtype = f32", "steps = 48\nnorm_every = 12", 5);
    every_way(&c);
    deck_of(&c, "kind = laplace", "steps = 5000\ntolerance = 6e-2\nnorm_every = 9", 1);
    c.run.fuse = 1;
    form = STEP_OVERLAPPED;
    const result single = run_of(&c);
    assert_in_range(single.level, 10, 200);
    assert_int_equal(single.level % 9, 0);
    every_way(&c);
}

static void norms_that_ride(void **state)
{
    static const char *const problems[] = {
        "kind = heat\nalpha = 0.2",
        "kind = custom\ndtype = f32\nweights = .06 .12 .05 | .11 .25 .125 | .07 .1 .115",
        "kind = wave\nalpha = 0.2\norder = 6",
    };
    static const char *const times[] = { "steps = 5000\ntolerance = 6e-2\nnorm_every = 1",
                                         "steps = 5000\ntolerance = 6e-2\nnorm_every = 9",
                                         "steps = 29\nnorm_every = 1", "steps = 30\nnorm_every = 5",
                                         "steps = 30\nnorm_every = 5\ntolerance = 1e-9" };
    config c;
    for (int i = 0; i < 9; i++) {
        deck_of(&c, problems[i / 3], "steps = 9", i % 3 == 1 ? 2 : i % 3 == 2 ? 3 : 0);
        in_kernel(&c, 9, 9);
    }
    for (int i = 0; i < 5; i++) {
        deck_of(&c, i == 3 ? "kind = laplace\ndtype = f32" : "kind = laplace", times[i], i < 2 ? 1 : 3);
        in_kernel(&c, i < 2 ? 10 : 29, i < 2 ? 200 : 30);
    }
}

/* How many steps a pass really took: of those asked what fits the smallest rank, and what a norm leaves; 1
 * where there is no such pass. 29 steps take 29 / block_steps passes, rounded up. */
static void as_many_as_fit(void **state)
{
    config c;
    const int ranks = rank_count();
    if (tested != CONFIG_DEVICE_HOST) skip(); /* which passes a GPU has is its own affair */
    deck_of(&c, "kind = heat\nalpha = 0.15\norder = 6", "steps = 29", 3);
    c.run.ranks_x = 1, c.run.ranks_y = ranks;
    for (c.run.fuse = 2; c.run.fuse <= 12; c.run.fuse += 5) {
        const result r = run_of(&c);
        assert_int_equal(r.block_steps, fits(&c, c.run.fuse));
        assert_int_equal(r.passes, r.block_steps == 1 ? 0 : (29 + r.block_steps - 1) / r.block_steps);
    }
    deck_of(&c, "kind = laplace", "steps = 29\nnorm_every = 5", 3);
    c.run.fuse = 12;
    const result one_level = run_of(&c); /* no step by itself for a norm */
    assert_int_equal(one_level.block_steps, 5);
    assert_int_equal(one_level.passes, 6);
    deck_of(&c, "kind = wave\nalpha = 0.3", "steps = 29\nnorm_every = 5", 3);
    c.run.fuse = 12;
    const result r = run_of(&c);
    assert_int_equal(r.block_steps, 5);
    assert_int_equal(r.passes, 6);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(blocks), cmocka_unit_test(norms_and_a_tolerance),
                                        cmocka_unit_test(norms_that_ride), cmocka_unit_test(as_many_as_fit) };
    int level, rank;
    if (argc == 2 && strcmp(argv[1], TOPOLOGY_PROBE_ARGUMENT) == 0) return topology_probe_child();
    MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank != 0 && !freopen("/dev/null", "w", stdout)) return 1;
    const char *no_gpu = NULL;
    if (device_cuda_count(&no_gpu) > 0) tested = CONFIG_DEVICE_CUDA;
    else print_message("the host: %s\n", no_gpu);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
