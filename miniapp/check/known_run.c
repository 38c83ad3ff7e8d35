#include <inttypes.h>

#include "check/trial.h"

#include "config/config.h"
#include "deck/deck.h"
#include "ranks/check.h"
#include "sim/sim.h"

/* The same on every device, number of ranks and process grid. Two of each size: of a rehearsal, of caches,
 * and of a GPU's memory. */
typedef struct known_run {
    const char *deck;
    int nx, ny, steps;
    uint64_t fingerprint;
} known_run;

static const char heat[] = "kind = heat\nalpha = 0.2\n[run]\nfuse = 8\n",
                  transposes[] = "kind = transpose\n[run]\nfuse = 1\n";
static const known_run known_runs[] = {
    { heat, 256, 256, 16, 0xd31f38a31cb2467c },   { transposes, 256, 256, 8, 0x9d97545b507ed96f },
    { heat, 2048, 1024, 64, 0x214147925d41725e }, { transposes, 2048, 1024, 16, 0x6b2439e7d373f220 },
    { heat, 8192, 8192, 64, 0x7e0fcfba55b507fb }, { transposes, 8192, 8192, 4, 0x7c0f771654388b77 },
};

typedef struct running {
    config cfg;
    sim s;
} running;

static void make_config(const device *d, const known_run *k, config *cfg)
{
    sentence text, why;
    deck read = { 0 };
    sentence_set(&text,
                 "[problem]\ndtype = f32\ninitial = random\n%sdevice = %s\nthreads = %d\ntune = "
                 "off\n[grid]\nnx = %d\nny = %d\n[time]\n"
                 "steps = %d\n",
                 k->deck, d->kind == DEVICE_HOST ? "host" : "cuda", d->threads, k->nx, k->ny, k->steps);
    if (!deck_read_text(&read, text.text, "check", &why) || !config_from_deck(cfg, &read, &why))
        check_fail(__FILE__, __LINE__, "make_config", why.text);
    deck_free(&read);
}

static int run_prepare(ladder_case *c)
{
    const known_run *k = &known_runs[c->rung->variant];
    running *r = ladder_state(c, sizeof *r);
    make_config(c->d, k, &r->cfg);
    sentence why; /* may hold words where a run is possible, too */
    int refused = sim_create(&r->s, &r->cfg, true, &why);
    if (!refused) {
        sim_prepare_steps(&r->s);
        refused = sim_initialise(&r->s, &why);
    }
    if (refused) c->missing = why;
    c->work = (double)k->nx * k->ny * k->steps;
    return 0;
}

static int run_enqueue(ladder_case *c)
{
    running *r = c->state;
    sim_take(&r->s, known_runs[c->rung->variant].steps, true);
    sim_wait(&r->s);
    return 0;
}

static int run_verify(ladder_case *c, ladder_verdict *v)
{
    const known_run *k = &known_runs[c->rung->variant];
    const uint64_t found = sim_fingerprint(&((running *)c->state)->s);
    ladder_right(v);
    if (found != k->fingerprint)
        ladder_wrong(v, "fingerprint %016" PRIx64 ", not %016" PRIx64 ", of %d x %d cells after %d steps",
                     found, k->fingerprint, k->nx, k->ny, k->steps);
    return 0;
}

static void run_destroy(ladder_case *c)
{
    if (c->state) sim_destroy(&((running *)c->state)->s);
}

static const char *never_refused(const ladder_rung *r, device_kind kind, int ranks) { return NULL; }

bench_item known_run_item(const check *c, int run)
{
    static const ladder_family all = { .name = "check", .refusal = never_refused };
    static ladder_rung rung = { LADDER_ROW("run", "", run_prepare, run_enqueue, run_verify, NULL),
                                .destroy = run_destroy, .clock = LADDER_CLOCK_HOST };
    rung.variant = KNOWN_RUNS * (int)c->size + run;
    return (bench_item){ .family = &all, .rung = &rung };
}
