#include "check/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "config/config.h"
#include "deck/deck.h"
#include "ranks/check.h"
#include "sim/sim_state.h"

/* ---- runs of the program, whose bits are known ---- */

/* The same on every device, number of ranks and process grid. Two of each size: of a rehearsal, of caches,
 * and of a GPU's memory. */
typedef struct known_run {
    check_like like;
    const char *deck;
    int nx, ny, steps;
    uint64_t fingerprint;
} known_run;

enum { RUNS = 2 };
static const char heat[] = "kind = heat\nalpha = 0.2\n[run]\nfuse = 8\n",
                  transposes[] = "kind = transpose\n[run]\nfuse = 1\n";
static const known_run known_runs[] = {
    { CHECK_HEAT_ALL, heat, 256, 256, 16, 0xd31f38a31cb2467c },
    { CHECK_TRANSPOSE_ALL, transposes, 256, 256, 8, 0x9d97545b507ed96f },
    { CHECK_HEAT_ALL, heat, 2048, 1024, 64, 0x214147925d41725e },
    { CHECK_TRANSPOSE_ALL, transposes, 2048, 1024, 16, 0x6b2439e7d373f220 },
    { CHECK_HEAT_ALL, heat, 8192, 8192, 64, 0x7e0fcfba55b507fb },
    { CHECK_TRANSPOSE_ALL, transposes, 8192, 8192, 4, 0x7c0f771654388b77 },
};

static void make_config(const check *c, const known_run *k, config *cfg)
{
    sentence text, why;
    deck d = { 0 };
    sentence_set(&text,
                 "[problem]\ndtype = f32\ninitial = random\n%sdevice = %s\nthreads = %d\ntune = "
                 "off\n[grid]\nnx = %d\nny = %d\n[time]\n"
                 "steps = %d\n",
                 k->deck, c->d->kind == DEVICE_HOST ? "host" : "cuda", c->d->threads, k->nx, k->ny, k->steps);
    if (!deck_read_text(&d, text.text, "check", &why) || !config_from_deck(cfg, &d, &why))
        check_fail(__FILE__, __LINE__, "make_config", why.text);
    deck_free(&d);
}

typedef struct pass {
    sim *s;
    int steps;
} pass;

static void take_steps(void *context, int runs)
{
    const pass *p = context;
    for (int i = 0; i < runs; i++) sim_take(p->s, p->steps, true);
    sim_wait(p->s);
}

static void take_run(check *c, sim *s, const known_run *k)
{
    pass p = { s, k->steps };
    sentence where;
    take_steps(&p, 1);
    const uint64_t found = sim_fingerprint(s);
    sentence_set(&where, "fingerprint %016" PRIx64 ", not %016" PRIx64 ", of %d x %d cells after %d steps",
                 found, k->fingerprint, k->nx, k->ny, k->steps);
    if (found != k->fingerprint) {
        if (c->top->rank == 0) trial_fault(c, k->like, -1, -1, where.text);
        return;
    }
    const timer_percentiles t = bench_world_times(&c->world, take_steps, &p);
    const double rate = (double)k->nx * k->ny * k->steps / t.p50;
    if (c->top->rank == 0) trial_figure(c, (check_figure){ k->like, -1, -1, false, 0, rate, NAN }, &t);
}

static void run_known(check *c, const known_run *k)
{
    sentence why = { "" };
    config *cfg = CHECK_ALLOC(calloc(1, sizeof *cfg));
    sim *s = CHECK_ALLOC(calloc(1, sizeof *s));
    trial_name(c, check_likes[k->like].name);
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

/* ---- items: by each transport a ring and an all-to-all, then the runs ---- */

static int transports_of(const check *c)
{
    return c->top->ranks == 1 ? 0 : c->d->kind == DEVICE_CUDA ? 2 * TRANSPORT_KINDS : 2; /* staged alone */
}

static int count_job(const check *c) { return transports_of(c) + RUNS; }

/* Rank 0 reports what all ranks have alike. */
static void try_together(check *c, check_like like)
{
    trial_name(c, check_likes[like].name);
    trial_rung(c, (check_figure){ .like = like, .a = -1, .b = -1 }, c->top->rank == 0);
}

static void try_job(check *c, int item)
{
    const int run = item - transports_of(c);
    if (run < 0) try_together(c, (check_like)((item % 2 ? CHECK_ALLTOALL : CHECK_RING) + item / 2));
    else run_known(c, &known_runs[c->sizes.first_run + run]);
}

const trials trials_job = { "trials of all ranks together", 0.50, true, count_job, try_job };

/* ---- files ---- */

/* The raw writes are the checkpoint's ceiling. */
static void try_files(check *c, int item)
{
    c->setting[CHECK_BYTES].value = c->sizes.disk_bytes / c->top->ranks;
    try_together(c, CHECK_CHECKPOINT);
    c->setting[CHECK_BYTES].value = c->sizes.message_bytes;
}

const trials trials_files = { "trials of files", INFINITY, true, NULL, try_files };
