/* The rungs of bench that a check alone climbs: patterns over free memory, and runs of the program whose bits
 * are known. */
#include <inttypes.h>

#include "check/check.h"
#include "config/config.h"
#include "core/pattern.h"
#include "deck/deck.h"
#include "ranks/check.h"
#include "sim/sim.h"

/* ---- patterns: all memory is filled, then all is compared, so that a bit that does not hold, or an address
 * that reaches another place, is seen wherever it is ---- */

/* Each bit is held at 0 and at 1, beside equal and beside unequal ones. */
static const struct {
    const char *name;
    uint64_t flip;
    bool walking;
} passes[] = {
    { "random words", 0, false },
    { "their complement", UINT64_MAX, false },
    { "a walking 1", 0, true },
    { "a walking 0", UINT64_MAX, true },
};
enum { PASSES = sizeof passes / sizeof *passes, PIECES = 64 };

/* bytes: at most; less where not all can be had at once. rank, round: no memory of two ranks, and none of two
 * rounds, has the same words. */
enum { BYTES, RANK, ROUND };
static const ladder_parameter patterns_parameters[] = {
    [BYTES] = { .key = "bytes" }, [RANK] = { .key = "rank" }, [ROUND] = { .key = "round" }
};

typedef struct patterns {
    int64_t words;        /* of a piece; the memory is c->in */
    int begun;            /* passes */
    pattern_wrong *found; /* [PIECES], pinned: what the last pass left at c->out */
} patterns;

static memory_pattern pattern_of(const ladder_case *c, int piece)
{
    const patterns *p = c->state;
    const int pass = (p->begun - 1) % PASSES;
    return (memory_pattern){ .seed = (uint64_t)c->value[ROUND] << 32,
                             .flip = passes[pass].flip,
                             .first = ((uint64_t)c->value[RANK] << 40) + (uint64_t)piece * (uint64_t)p->words,
                             .walking = passes[pass].walking };
}

static int patterns_prepare(ladder_case *c)
{
    patterns *p = ladder_state(c, sizeof *p);
    const size_t found_bytes = PIECES * sizeof *p->found;
    int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, found_bytes, &c->out);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, found_bytes, (void **)&p->found);
    for (int share = 16; share > 0 && !code && c->size == 0; share--) {
        p->words = c->value[BYTES] / PIECES / (int64_t)sizeof(uint64_t) * share / 16 & ~(int64_t)1;
        const size_t bytes = (size_t)p->words * PIECES * sizeof(uint64_t);
        if (bytes > 0 && ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, &c->in) == 0)
            c->size = p->words * PIECES;
    }
    c->work = 2.0 * sizeof(uint64_t) * (double)c->size;
    if (c->size == 0) sentence_set(&c->missing, "no memory can be had");
    return code;
}

/* A pass: all pieces are written, then all are checked. */
static int patterns_enqueue(ladder_case *c)
{
    device *d = c->d;
    patterns *p = c->state;
    int code = 0;
    p->begun++;
    for (int i = 0; i < 2 * PIECES && !code; i++) {
        const int k = i % PIECES;
        const memory_pattern all = pattern_of(c, k);
        uint64_t *const piece = (uint64_t *)c->in + k * p->words;
        if (i < PIECES) code = d->pattern_write(d, piece, p->words, &all, c->stream);
        else code = d->pattern_check(d, piece, p->words, &all, (pattern_wrong *)c->out + k, c->stream);
    }
    return code ? code : d->copy(d, p->found, c->out, PIECES * sizeof *p->found, c->stream);
}

/* Tells place and bits of the first wrong word of the last pass. */
static void tell_wrong(const ladder_case *c, ladder_verdict *v)
{
    const patterns *p = c->state;
    uint64_t words = 0;
    int first = -1;
    for (int k = PIECES - 1; k >= 0; k--) {
        if (p->found[k].words > 0) first = k;
        words += p->found[k].words;
    }
    if (first < 0) return;
    const memory_pattern all = pattern_of(c, first);
    const uint64_t half = p->found[first].first_half >> 32,
                   at = ((uint64_t)first * (uint64_t)p->words * 2 + half) * sizeof(uint32_t);
    const uint32_t wrote = (uint32_t)(pattern_word(&all, (int64_t)(half / 2)) >> (half % 2 ? 32 : 0));
    const uint32_t read = (uint32_t)p->found[first].first_half;
    ladder_wrong(v,
                 "%s: byte %" PRIu64 ": wrote 0x%08" PRIx32 ", read 0x%08" PRIx32 ", xor 0x%08" PRIx32
                 "; %" PRIu64 " of %lld words are wrong",
                 passes[(p->begun - 1) % PASSES].name, at, wrote, read, wrote ^ read, words,
                 (long long)c->size);
}

/* The first pass, which placed the pages, and then the others. */
static int patterns_verify(ladder_case *c, ladder_verdict *v)
{
    const patterns *p = c->state;
    int code = 0;
    tell_wrong(c, v);
    while (p->begun < PASSES && v->right && !code) {
        code = patterns_enqueue(c);
        if (!code) code = c->d->stream_sync(c->d, c->stream);
        if (!code) tell_wrong(c, v);
    }
    return code;
}

/* ---- runs of the program: the same bits on every device, number of ranks and process grid ---- */

/* Two of each size: of a rehearsal, of caches, and of a GPU's memory. */
static const char heat[] = "kind = heat\nalpha = 0.2\n[run]\nfuse = 8\n",
                  transposes[] = "kind = transpose\n[run]\nfuse = 1\n";
static const struct {
    const char *deck;
    int nx, ny, steps;
    uint64_t fingerprint;
} runs[] = {
    { heat, 256, 256, 16, 0xd31f38a31cb2467c },   { transposes, 256, 256, 8, 0x9d97545b507ed96f },
    { heat, 2048, 1024, 64, 0x214147925d41725e }, { transposes, 2048, 1024, 16, 0x6b2439e7d373f220 },
    { heat, 8192, 8192, 64, 0x7e0fcfba55b507fb }, { transposes, 8192, 8192, 4, 0x7c0f771654388b77 },
};
static const ladder_parameter runs_parameters[] = { { .key = "run" } };

typedef struct running {
    config cfg;
    sim s;
} running;

static void make_config(const ladder_case *c, config *cfg)
{
    const int k = (int)c->value[0];
    sentence text, why;
    deck read = { 0 };
    sentence_set(&text,
                 "[problem]\ndtype = f32\ninitial = random\n%sdevice = %s\nthreads = %d\ntune = "
                 "off\n[grid]\nnx = %d\nny = %d\n[time]\nsteps = %d\n",
                 runs[k].deck, c->d->kind == DEVICE_HOST ? "host" : "cuda", c->d->threads, runs[k].nx,
                 runs[k].ny, runs[k].steps);
    if (!deck_read_text(&read, text.text, "check", &why) || !config_from_deck(cfg, &read, &why))
        check_fail(__FILE__, __LINE__, "make_config", why.text);
    deck_free(&read);
}

static int run_prepare(ladder_case *c)
{
    running *r = ladder_state(c, sizeof *r);
    make_config(c, &r->cfg);
    sentence why; /* may hold words where a run is possible, too */
    int refused = sim_create(&r->s, &r->cfg, true, &why);
    if (!refused) {
        sim_prepare_steps(&r->s);
        refused = sim_initialise(&r->s, &why);
    }
    if (refused) c->missing = why;
    c->work = (double)r->cfg.grid.nx * (double)r->cfg.grid.ny * (double)r->cfg.time.steps;
    return 0;
}

static int run_enqueue(ladder_case *c)
{
    running *r = c->state;
    sim_take(&r->s, (int)r->cfg.time.steps, true);
    sim_wait(&r->s);
    return 0;
}

static int run_verify(ladder_case *c, ladder_verdict *v)
{
    const int k = (int)c->value[0];
    const uint64_t found = sim_fingerprint(&((running *)c->state)->s);
    if (found != runs[k].fingerprint)
        ladder_wrong(v, "fingerprint %016" PRIx64 ", not %016" PRIx64 ", of %d x %d cells after %d steps",
                     found, runs[k].fingerprint, runs[k].nx, runs[k].ny, runs[k].steps);
    return 0;
}

static void run_destroy(ladder_case *c)
{
    if (c->state) sim_destroy(&((running *)c->state)->s);
}

/* ---- tables ---- */

static const char *never_refused(const ladder_rung *r, device_kind kind, int ranks) { return NULL; }

static const ladder_rung patterns_rung[] = { { LADDER_ROW("patterns", "", patterns_prepare, patterns_enqueue,
                                                          patterns_verify, NULL),
                                               .clock = LADDER_CLOCK_HOST } },
                         runs_rung[] = { { LADDER_ROW("run", "", run_prepare, run_enqueue, run_verify, NULL),
                                           .destroy = run_destroy, .clock = LADDER_CLOCK_HOST } };
static const ladder_family of_a_rank = LADDER_FAMILY_OF(patterns_parameters, patterns_rung, DEVICE_HOST,
                                                        "check", "", NULL, NULL, NULL),
                           of_all = LADDER_FAMILY_OF(runs_parameters, runs_rung, DEVICE_HOST, "check", "",
                                                     NULL, NULL, never_refused);

bench_item check_rung(check_like like)
{
    const ladder_family *const f = like == CHECK_PATTERNS ? &of_a_rank : &of_all;
    return (bench_item){ .family = f, .rung = f->rung };
}
