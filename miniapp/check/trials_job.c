#include "check/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "deck/deck.h"
#include "ranks/check.h"
#include "sim/sim_state.h"

/* ---- neighbours and all-to-all, by every transport ---- */

/* Rank 0 reports what all ranks have alike. */
static void report_point(check *c, check_like like, double rate, const bench_point *p)
{
    if (c->top->rank == 0) trial_point(c, (check_figure){ like, -1, -1, false, 0, rate, NAN }, p);
}

static void try_transport(check *c, transport_kind t, bool alltoall)
{
    const check_like like = (check_like)((alltoall ? CHECK_ALLTOALL : CHECK_RING) + t);
    bench_setting setting = alltoall ? (bench_setting){ "n", c->sizes.matrix_cells }
                                     : (bench_setting){ "bytes", c->sizes.message_bytes };
    bench_point p = { .verified = false };
    char rung[64];
    snprintf(rung, sizeof rung, alltoall ? "alltoall/%s_slabs" : "halo/%s_ring", transport_kind_name(t));
    trial_name(c, "%s", check_likes[like].name);
    if (trial_rung(c, rung, DTYPE_F32, &setting, 1, &p)) report_point(c, like, p.rate, &p);
    else if (c->d->kind == DEVICE_CUDA && p.missing.text[0])
        trial_left_out(c, "%s: %.400s", check_likes[like].name, p.missing.text);
}

/* ---- runs of the program, whose bits are known ---- */

/* The same on every device, number of ranks and process grid; `weft run` of the deck in make_config gives
 * them. Three of each size: of a rehearsal, of caches, and of a GPU's memory. */
typedef struct known_run {
    check_like like;
    const char *problem;
    int64_t nx, ny, steps;
    int fuse;      /* steps per pass */
    bool is_timed; /* else the bits alone count */
    uint64_t fingerprint;
} known_run;

enum { RUNS = 3 };
static const char heat[] = "kind = heat\nalpha = 0.2", transposes[] = "kind = transpose";
static const known_run known_runs[] = {
    { CHECK_HEAT_ALL, heat, 256, 256, 16, 1, false, 0xd31f38a31cb2467c },
    { CHECK_HEAT_ALL, heat, 256, 256, 16, 8, true, 0xd31f38a31cb2467c },
    { CHECK_TRANSPOSE_ALL, transposes, 256, 256, 8, 1, true, 0x9d97545b507ed96f },
    { CHECK_HEAT_ALL, heat, 2048, 1024, 64, 1, false, 0x214147925d41725e },
    { CHECK_HEAT_ALL, heat, 2048, 1024, 64, 8, true, 0x214147925d41725e },
    { CHECK_TRANSPOSE_ALL, transposes, 2048, 1024, 16, 1, true, 0x6b2439e7d373f220 },
    { CHECK_HEAT_ALL, heat, 8192, 8192, 64, 1, false, 0x7e0fcfba55b507fb },
    { CHECK_HEAT_ALL, heat, 8192, 8192, 64, 8, true, 0x7e0fcfba55b507fb },
    { CHECK_TRANSPOSE_ALL, transposes, 8192, 8192, 4, 1, true, 0x7c0f771654388b77 },
};

static void make_config(const check *c, const known_run *k, config *cfg)
{
    char text[512];
    sentence why;
    deck d = { 0 };
    snprintf(text, sizeof text,
             "[problem]\n%s\ndtype = f32\ninitial = random\n[grid]\nnx = %" PRId64 "\nny = %" PRId64
             "\n[time]\nsteps = %" PRId64 "\n[run]\ndevice = %s\nthreads = %d\nfuse = %d\ntune = off\n",
             k->problem, k->nx, k->ny, k->steps, c->d->kind == DEVICE_HOST ? "host" : "cuda", c->d->threads,
             k->fuse);
    if (!deck_read_text(&d, text, "check", &why) || !config_from_deck(cfg, &d, &why))
        check_fail(__FILE__, __LINE__, "make_config", why.text);
    deck_free(&d);
}

/* Seconds of these steps on the slowest rank, again and again. */
static timer_percentiles timed(check *c, sim *s, int64_t steps)
{
    enum { REPEATS_MOST = 10 };
    const int repeats = c->rungs.samples < REPEATS_MOST ? c->rungs.samples : REPEATS_MOST;
    double seconds[REPEATS_MOST];
    for (int i = 0; i < repeats; i++) {
        MPI_CHECK(MPI_Barrier(s->top.comm));
        const double begin_s = timer_now_s();
        sim_take(s, steps, true);
        sim_wait(s);
        seconds[i] = timer_slowest_s(timer_now_s() - begin_s, s->top.comm);
    }
    return timer_percentiles_of(seconds, (size_t)repeats);
}

static void take_run(check *c, sim *s, const known_run *k)
{
    sentence where;
    sim_take(s, k->steps, true);
    sim_wait(s);
    const uint64_t found = sim_fingerprint(s);
    if (found != k->fingerprint) {
        sentence_set(&where, "fingerprint %016" PRIx64 ", not %016" PRIx64 ", in %s", found, k->fingerprint,
                     c->trial);
        if (c->top->rank == 0) trial_fault(c, k->like, -1, -1, where.text);
    } else if (k->is_timed) {
        const timer_percentiles t = timed(c, s, k->steps);
        const double rate = (double)k->nx * (double)k->ny * (double)k->steps / t.p50;
        if (c->top->rank == 0) trial_figure(c, (check_figure){ k->like, -1, -1, false, 0, rate, NAN }, &t);
    }
}

static void run_known(check *c, const known_run *k)
{
    sentence why = { "" };
    trial_name(c, "%s, %d x %d cells, %d steps, %d per pass", check_likes[k->like].name, (int)k->nx,
               (int)k->ny, (int)k->steps, k->fuse);
    config *cfg = CHECK_ALLOC(calloc(1, sizeof *cfg));
    sim *s = CHECK_ALLOC(calloc(1, sizeof *s));
    make_config(c, k, cfg);
    bool ok = sim_create(s, cfg, true, &why) == 0;
    if (ok) sim_prepare_steps(s);
    ok = ok && sim_initialise(s, &why) == 0;
    if (ok) take_run(c, s, k);
    else trial_left_out(c, "%s: %.400s", c->trial, why.text);
    sim_destroy(s);
    free(s);
    free(cfg);
}

/* ---- items: each transport's two, then the runs ---- */

static int transports_of(const check *c) { return c->top->ranks > 1 ? 2 * TRANSPORT_KINDS : 0; }

static int count_job(const check *c) { return transports_of(c) + RUNS; }

static void try_job(check *c, int item)
{
    const int run = item - transports_of(c);
    if (run < 0) try_transport(c, (transport_kind)(item / 2), item % 2);
    else run_known(c, &known_runs[c->sizes.first_run + run]);
}

const trials trials_job = { "trials of all ranks together", 0.50, true, count_job, try_job };

/* ---- files ---- */

static int count_files(const check *c) { return 1; }

static void try_files(check *c, int item)
{
    bench_setting setting = { "bytes", c->sizes.disk_bytes / c->top->ranks };
    bench_point p = { .verified = false };
    trial_name(c, "files: raw writes, a checkpoint");
    if (trial_rung(c, "io/write_slabs", DTYPE_F32, &setting, 1, &p)) {
        report_point(c, CHECK_CHECKPOINT, p.rate, &p);
        if (p.verified) report_point(c, CHECK_DISK_WRITE, p.ceiling, &p);
    } else trial_left_out(c, "%s: %.400s", check_likes[CHECK_CHECKPOINT].name, p.missing.text);
}

const trials trials_files = { "trials of files", INFINITY, true, count_files, try_files };
