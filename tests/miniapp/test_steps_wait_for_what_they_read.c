/* No wait is missing: in every form a run ends with the bits of a plain one, whatever the order in which its
 * streams work. Where there is no GPU a host device takes that order by chance (support/deferred_device.h).
 * All levels, those put aside for a file, and norms are compared with those of single steps on a host device
 * that works at once; so are whole loops, which end at the same level with the same norm. In-kernel exchange
 * is a host's too (support/host_inkernel.h). tests/long/faults.ini leaves the waits out one by one.
 *
 * ranks: 1 2 4
 * gpus: rank
 * release: four times as many runs */
#include "core/cell.h"
#include "device/nvtx.h"
#include "run/loop.h"
#include "sim/sim.h"
#include "support/comm_harness.h"
#include "support/host_inkernel.h"
#include "support/problem_harness.h"
#include "support/sanitized.h"

enum { STEPS = 96, RUNS = SANITIZED ? 10 : 40 };

static topology_choice tested = TOPOLOGY_HOST;

/* ---- what a profiler is told, in place of the program's ---- */

enum { STEP, EXCHANGE, INTERIOR, SHELL, RANGES };
static const char *const range_name[RANGES] = { "step", "exchange", "interior", "shell" };
static atomic_int ranges[RANGES], open_ranges;

void nvtx_begin(const char *name)
{
    open_ranges++;
    for (int i = 0; i < RANGES; i++) ranges[i] += strcmp(name, range_name[i]) == 0;
}
void nvtx_end(void) { open_ranges--; }

/* ---- ways to run ---- */

static int run; /* the number of the way that is taken */

typedef struct way {
    config c;
    step_form form; /* STEP_FORMS: the run's own choice */
    unsigned seed;
} way;

static const char *const problems[] = {
    "kind = heat\nalpha = 0.2",
    "kind = sweep\nalpha = 0.2",
    "kind = custom\ndtype = f32\nweights = .06 .12 .05 | .11 .25 .125 | .07 .1 .115",
    "kind = wave\nalpha = 0.2\norder = 6\ndtype = f32",
    "kind = transpose\ndtype = f32",
    "kind = laplace",
    "kind = heat\nalpha = 0.15\norder = 6\ndtype = f32",
    "kind = advect\nalpha = 0.3\norder = 4",
    "kind = wave\nalpha = 0.3",
    "kind = heat\nalpha = 0.2\norder = 8", /* of one dimension */
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* One dimension has the first two. */
static const char *const sides[] = {
    "boundary = periodic",
    "boundary = neumann",
    "x_low = periodic\nx_high = periodic\ny_low = dirichlet 2\ny_high = dirichlet -1.5",
    "x_low = neumann\nx_high = neumann\ny_low = periodic\ny_high = periodic",
};

/* All that a wait may depend on comes in turn, each at its own pace, so that a few runs have all of it. */
static void choose(way *w, int ranks)
{
    static const int fuse[] = { 3, 1, 1, 8, 12, 1, 64 };
    static const config_feed feeds[] = { CONFIG_FEED_OPENMP, CONFIG_FEED_SERIAL, CONFIG_FEED_GRAPH };
    static const step_form of_steps[] = { STEP_IN_KERNEL, STEP_OVERLAPPED, STEP_IN_KERNEL };
    static const step_form of_blocks[] = { STEP_OVERLAPPED, STEP_EXCHANGE_FIRST, STEP_FORMS };
    const bool host = tested == TOPOLOGY_HOST, line = run % PROBLEMS == PROBLEMS - 1;
    config *c = &w->c;
    harness_config(
        c,
        "[problem]\n%s\ninitial = random\nseed = %d\n[grid]\nnx = %d\nny = %d\n%s\n[time]\nsteps = "
        "1000000\n%s\n[run]\nthreads = 1\ntune = off\n",
        problems[run % PROBLEMS], run + 1, line ? 613 + 64 * ranks : 61 + 8 * ranks + run % 7,
        line ? 1 : 47 + 8 * ranks + run % 5, sides[(run + run / 4) % (line ? 2 : 4)],
        run % PROBLEMS == 5 ? "norm_every = 3" : "");
    const bool transposes = config_kind_of(c)->transposes > 0;
    c->run.device = tested;
    c->run.transport = host ? TRANSPORT_STAGED : (transport_kind)((run + run / PROBLEMS) % TRANSPORT_KINDS);
    if (!host && transposes && c->run.transport > TRANSPORT_MAPPED) c->run.transport = TRANSPORT_PEER;
    c->run.fuse = transposes ? 1 : fuse[run % 7];
    c->run.ranks_x = line || run / 2 % 3 == 0 ? ranks : run / 2 % 3 == 1 || ranks == 1 ? 1 : 2;
    c->run.ranks_y = ranks / c->run.ranks_x;
    c->run.feed = feeds[run / 3 % (host ? 2 : 3)];
    /* more threads than cores do not spin */
    c->run.streams = c->run.feed == CONFIG_FEED_OPENMP ? 3 : 1 + run % 3;
    w->form = c->run.fuse > 1 ? of_blocks[run % 3] : of_steps[run / 3 % 3];
    w->seed = (unsigned)cell_fmix64((uint64_t)run + 1);
}

/* ---- comparing ---- */

/* All ranks end where one is wrong, for others wait for it. */
static void must(bool right, const sim *s, const char *what, double number)
{
    const config *c = s->cfg;
    if (right) return;
    fprintf(stderr,
            "rank %d, level %lld, %s %g; run %d: %s radius %d, %d x %d ranks, feed %s, %d streams, transport "
            "%s, %d steps per pass, form %s\n",
            s->top.rank, (long long)s->level, what, number, run, kind_name(c->problem.kind),
            c->problem.radius, c->run.ranks_x, c->run.ranks_y, config_feed_name(s->plan.feed),
            s->plan.streams, transport_kind_name(s->plan.transport), s->plan.block_steps,
            step_form_name[s->pass.form]);
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
}

static void create(sim *s, const config *c)
{
    sentence why = { "" };
    if (sim_create(s, c, false, &why) != 0) fail_msg("sim_create: %s", why.text);
}

static void initialise(sim *s)
{
    sentence why = { "" };
    sim_prepare_steps(s);
    if (sim_initialise(s, &why) != 0) fail_msg("sim_initialise: %s", why.text);
}

static struct truth {
    void *level[STEPS + 1]; /* own cells of the main field */
    double norm[STEPS + 1]; /* where one is due */
    size_t bytes;
} truth;

static void find_truth(const config *tested_way)
{
    static sim s; /* large */
    config c = *tested_way;
    c.run.device = TOPOLOGY_HOST;
    c.run.transport = TRANSPORT_STAGED;
    c.run.feed = CONFIG_FEED_SERIAL;
    c.run.fuse = c.run.streams = 1;
    create(&s, &c);
    initialise(&s);
    const field_shape *f = &sim_main_field(&s).grid->shape;
    truth.bytes = (size_t)box_cells(field_own(f)) * dtype_bytes(f->type);
    for (;; (void)sim_advance(&s, (sim_request){ 1, c.time.norm_every, true, NULL })) {
        truth.level[s.level] = CHECK_ALLOC(realloc(truth.level[s.level], truth.bytes));
        memcpy(truth.level[s.level], sim_host_copy(&s), truth.bytes);
        if (s.level > 0 && config_due(c.time.norm_every, s.level))
            truth.norm[s.level] = sim_norm(&s, s.level);
        if (s.level == STEPS) break;
    }
    sim_destroy(&s);
}

static void compare(const sim *s, const void *cells, int64_t level, const char *which)
{
    must(level < 0 || memcmp(cells, truth.level[level], truth.bytes) == 0, s, which, (double)level);
}

/* ---- runs ---- */

/* The loop of a run asks like this: a step with a norm is the last one. */
static int64_t steps_to(const sim *s, int64_t end)
{
    const int64_t every = s->cfg->time.norm_every, left = end - s->level,
                  due = every > 0 ? every - s->level % every : left;
    return left < due ? left : due;
}

/* A step that is measured: when its last event is done, all are. A profiler sees its phases by name. */
static void step_with_probe(sim *s)
{
    step_probe probe;
    double seconds;
    step_probe_create(&probe, s->dev, s->plan.streams);
    memset(ranges, 0, sizeof ranges);
    (void)sim_advance(s, (sim_request){ 1, 0, true, &probe });
    DEVICE_CALL(s->dev, event_sync, probe.event[STEP_LEAVE]);
    for (int i = probe.streams > 0 ? STEP_PACK : STEP_LEAVE; i <= STEP_LEAVE; i++)
        DEVICE_CALL(s->dev, event_seconds, probe.event[STEP_ENTER], probe.event[i], &seconds);
    step_probe_destroy(&probe, s->dev);
    /* an exchange has a begin and an end */
    must(open_ranges == 0 && ranges[STEP] == 1 && ranges[INTERIOR] == probe.streams &&
             (probe.streams == 0 || (ranges[EXCHANGE] == 2 && ranges[SHELL] == 1)),
         s, "ranges", ranges[STEP]);
}

/* Steps are enqueued, and within a round the test waits for nothing. A quarter of them comes before the level
 * that is put aside: two launches at least come behind it, of which the second overwrites that level. */
static void round_of(sim *s, int64_t steps)
{
    state_request asked;
    state_level *const put_aside = &asked.level;
    bool is_aside = false;
    double held_s;
    const int64_t end = s->level + steps, first = s->level + (steps + 3) / 4;
    while (s->level < end) {
        const int64_t to = !is_aside ? first : end;
        (void)sim_advance(s, (sim_request){ steps_to(s, to), s->cfg->time.norm_every, true, NULL });
        if (config_due(s->cfg->time.norm_every, s->level)) {
            const double norm = sim_norm(s, s->level);
            must(norm == truth.norm[s->level], s, "norm", norm);
        }
        if (is_aside || s->level < first) continue;
        asked = snapshot_take(s, "");
        is_aside = true;
    }
    sim_wait(s);
    assert_true(asked.ready(asked.owner, put_aside, &held_s));
    for (int i = 0; i < put_aside->fields && config_kind_of(s->cfg)->stencil; i++)
        compare(s, put_aside->field[i].data, put_aside->step - i, "put aside"); /* it and the one before */
    compare(s, sim_host_copy(s), s->level, "the run at");
}

/* Steps that store images, or with in-kernel exchange, of a host's single steps in two dimensions. */
static void set_images(sim *s, step_form form)
{
    sentence why;
    if (s->dev->kind == DEVICE_CUDA || s->transposed.to || !config_two_d(s->cfg)) return;
    host_inkernel_give(s->dev, s->cfg->problem.radius);
    if (form == STEP_IN_KERNEL) assert_true(inkernel_pass_create(&s->pass, &why));
    step_pass_set_form(&s->pass, form);
    assert_true(sim_norms_ride(s) == (form == STEP_IN_KERNEL && !s->prob.op.has_prev));
}

static void set_form(sim *s, step_form form)
{
    if (!s->pass.halo || s->plan.feed == CONFIG_FEED_GRAPH || form == STEP_FORMS) return;
    if (s->pass.of.block_steps > 1) step_pass_set_form(&s->pass, form);
    else if (form == STEP_IN_KERNEL || run % 2) set_images(s, form);
}

static void run_as(const way *w)
{
    static sim s;
    create(&s, &w->c);
    set_form(&s, w->form);
    if (s.dev->kind == DEVICE_HOST) device_defer(s.dev, w->seed + (unsigned)s.top.rank);
    initialise(&s);
    snapshot_prepare(&s);
    for (int n = 0; s.level < STEPS; n++) {
        const int64_t left = STEPS - s.level, steps = 4 + (w->seed + 7u * (unsigned)n) % 21;
        round_of(&s, left < steps ? left : steps);
        if (n % 2 == 0 && s.level < STEPS && config_kind_of(&w->c)->transposes == 0) step_with_probe(&s);
    }
    if (s.dev->kind == DEVICE_HOST) assert_true(deferred.streams > 1); /* one alone has one order */
    sim_destroy(&s);
}

static void in_any_order(void **state)
{
    for (run = 0; run < RUNS; run++) {
        static way w;
        choose(&w, harness.ranks);
        find_truth(&w.c);
        run_as(&w);
    }
    for (int i = 0; i <= STEPS; i++) free(truth.level[i]);
}

/* ---- whole loops ---- */

typedef struct outcome {
    uint64_t fingerprint;
    int64_t level;
    double last_change;
} outcome;

static outcome loop_as(const config *c, step_form form, const outcome *expected)
{
    static sim s;
    clock_steps ticks;
    saver checkpoints = { .sim = &s, .ticks = &ticks };
    create(&s, c);
    set_form(&s, form);
    sim_touch(&s);
    sim_take(&s, 3, false); /* without the neighbours, as a calibration does; it leaves nothing */
    initialise(&s);
    clock_create(&ticks, s.dev, s.streams.stream[0], NULL, 0);
    const loop_result l = loop_run(&checkpoints, INFINITY, 0);
    const outcome o = { sim_fingerprint(&s), s.level, l.last_change };
    must(l.end == LOOP_DONE && (!expected || memcmp(&o, expected, sizeof o) == 0), &s, "the loop, change",
         o.last_change);
    clock_destroy(&ticks);
    sim_destroy(&s);
    return o;
}

/* In blocks of steps and with in-kernel exchange, on every process grid; the sanitizers see a third. */
static void loop_every_way(const config *single, int64_t least, int64_t most)
{
    static const int fuse[] = { 1, 8, 3, 12, 64 };
    config c = *single;
    const outcome expected = loop_as(single, STEP_OVERLAPPED, NULL);
    const int ranks = single->run.ranks_x;
    assert_in_range(expected.level, least, most);
    for (c.run.ranks_x = 1; c.run.ranks_x <= ranks; c.run.ranks_x++)
        for (int i = 0; ranks % c.run.ranks_x == 0 && i < 5; i++, run++) {
            if (SANITIZED && (run + i) % 3 != 0) continue;
            const step_form form = i == 0 ? STEP_IN_KERNEL : run % 2 ? STEP_OVERLAPPED : STEP_EXCHANGE_FIRST;
            c.run.ranks_y = ranks / c.run.ranks_x;
            c.run.fuse = fuse[i];
            c.run.device = i == 0 ? TOPOLOGY_HOST : tested;
            c.run.transport = i == 0 || tested == TOPOLOGY_HOST
                                  ? TRANSPORT_STAGED
                                  : (transport_kind)(run % TRANSPORT_KINDS);
            (void)loop_as(&c, form, &expected);
        }
}

static void loops(void **state)
{
    static const struct {
        const char *problem, *when;
        int64_t least, most; /* the level at which it ends */
    } row[] = {
        { "kind = wave\nalpha = 0.2\norder = 6", "steps = 29\nnorm_every = 9", 29, 29 },
        { "kind = laplace", "steps = 29\nnorm_every = 1", 29, 29 },
        { "kind = laplace\ndtype = f32", "steps = 30\nnorm_every = 5\ntolerance = 1e-9", 30, 30 },
        /* passes of 12, 8 and 4 steps with a norm */
        { "kind = laplace\ndtype = f32", "steps = 48\nnorm_every = 12", 48, 48 },
        { "kind = laplace", "steps = 5000\ntolerance = 6e-2\nnorm_every = 1", 10, 200 },
        { "kind = laplace", "steps = 5000\ntolerance = 6e-2\nnorm_every = 9", 18, 198 },
    };
    config c;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        harness_config(
            &c,
            "[problem]\n%s\ninitial = random\n[grid]\nnx = 61\nny = 47\nboundary = dirichlet 0.75\n[time]\n"
            "%s\n[run]\ndevice = host\nthreads = 1\ntune = off\nfuse = 1\n",
            row[i].problem, row[i].when);
        c.run.ranks_x = harness.ranks;
        c.run.ranks_y = 1;
        loop_every_way(&c, row[i].least, row[i].most);
    }
}

static int both_tests(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_any_order), cmocka_unit_test(loops) };
    if (device_cuda_count(NULL) > 0) tested = TOPOLOGY_CUDA;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, both_tests); }
