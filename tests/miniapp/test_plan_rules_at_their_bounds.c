/* Every rule of the plan chooses as it says on either side of its bound. Machines, ranks and trials are made
 * up. */
#include <stdint.h>
#include <string.h>

#include "support/made_up_machine.h"

/* A row changes it by words, section.key=value. */
static const char usual[] = "[problem]\nkind = heat\ndtype = f32\nalpha = 0.15\n[grid]\nnx = 8192\n"
                            "ny = 8192\n[time]\nsteps = 1000\n[run]\n";

static void configure(const char *words)
{
    static char copy[512];
    deck d = { 0 };
    sentence why;
    snprintf(copy, sizeof copy, "%s", words);
    assert_true(deck_read_text(&d, usual, "deck", &why));
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        assert_true(deck_set(&d, word, &why));
    if (!config_from_deck(&cfg, &d, &why)) fail_msg("%s: %s", words, why.text);
    deck_free(&d);
}

static const double gib = 1 << 30;
static bool up_to_2048(const plan_question *q, int64_t nx, int64_t ny, const boundary *sides)
{
    return nx <= 2048 && ny <= 2048;
}

/* Steps of a pass on a GPU, of a star of radius 1 in f32. */
static int gpu_pass_steps(const void *owner, int most, bool norm)
{
    return most >= 12 ? 12 : most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : most;
}

enum { HOST = DEVICE_HOST, GPU = DEVICE_CUDA, DRY = 2 /* a dry run, which has no trial */ };
#define TRANSPOSE "problem.kind=transpose grid.nx=512 grid.ny=512"
#define SMALL "grid.nx=2048 grid.ny=2048 time.steps=10000" /* registers hold it */
#define TINY "grid.nx=64 grid.ny=64 time.steps=10000"      /* for blocks of steps it is too small */
#define LARGE "grid.nx=4096 grid.ny=4096"
#define HUGE "grid.nx=65536 grid.ny=98304 time.steps=100000 " /* fields of 24 GiB */
#define VISITS(GIB) .m = { .room_gib = 60, .through_gib = (GIB) }
static const struct {
    int on, ranks, per_host;
    const char *deck;
    plan_choice choice;
    const char *chosen, *says; /* what the reason or a note says; with a ! none does; chosen NULL: the
                                * refusal of the deck */
    struct made_up m;          /* what differs from all_serve */
} rules[] = {
    /* GPUs of one host cut rows alone; more hosts take the cheapest halo */
    { GPU | DRY, 64, 64, "run.fuse=1", PLAN_GRID, .chosen = "1 x 64" },
    { GPU | DRY, 64, 32, "run.fuse=1", PLAN_GRID, .chosen = "4 x 16" },
    { GPU | DRY, 64, 64, "run.fuse=1 run.ranks_x=8", PLAN_GRID, .chosen = "8 x 8" },
    { GPU | DRY, 512, 512, "run.fuse=32", PLAN_GRID, .chosen = "8 x 64" }, /* 16 */

    /* wave: four fields in blocks of steps, two without */
    { GPU, 1, 1, "problem.kind=wave run.fuse=8", PLAN_BLOCK, .chosen = "1",
      .says = "run.fuse = 8: grid 8192 x 8192: rank 0 needs", .m = { .room_gib = .75 } },

    /* a rank has half a field of 256 MiB, with ghosts, twice */
    { GPU | DRY, 2, 2, "run.fuse=1", PLAN_GRID, .chosen = "1 x 2", .m = { .room_gib = .255 } },
    { GPU | DRY, 2, 2, "run.fuse=1", PLAN_GRID, .says = "rank 0 needs", .m = { .room_gib = .25 } },

    /* blocks are tried where the run is long and large: 2^20 cells per rank on a GPU, 2^23 on a host */
    { GPU | DRY, 1, 1, "grid.nx=1024 grid.ny=1024", PLAN_BLOCK, .chosen = "32" },
    { GPU | DRY, 1, 1, "grid.nx=1024 grid.ny=1023", PLAN_BLOCK, .chosen = "1" },
    { HOST | DRY, 1, 1, "grid.nx=4096 grid.ny=2048", PLAN_BLOCK, .chosen = "6" }, /* rows of more leave L1 */
    { HOST | DRY, 1, 1, "grid.nx=8388608 grid.ny=1", PLAN_BLOCK, .chosen = "12" }, /* a line has no rows */
    { HOST | DRY, 1, 1, "grid.nx=4096 grid.ny=2047", PLAN_BLOCK, .chosen = "1" },
    { GPU | DRY, 1, 1, LARGE " time.steps=128", PLAN_BLOCK, .chosen = "32" }, /* four blocks */
    { GPU | DRY, 1, 1, LARGE " time.steps=127", PLAN_BLOCK, .chosen = "1" },
    { GPU | DRY, 1, 1, LARGE " checkpoint.every=127", PLAN_BLOCK, .chosen = "1" },
    /* passes take the norm */
    { GPU, 1, 1, LARGE " time.norm_every=8", PLAN_BLOCK, .chosen = "8", .m = { .longest_step_s = .1e-3 } },
    { GPU, 1, 1, LARGE " time.norm_every=127", PLAN_BLOCK, .chosen = "1", .m = { .norm_most = 1 } },
    { GPU, 1, 1, LARGE " time.norm_every=128", PLAN_BLOCK, .chosen = "32", .m = { .norm_most = 1 } },
    { GPU | DRY, 1, 1, LARGE " run.tune=off", PLAN_BLOCK, .chosen = "1" },
    /* 32 halo depths across the smallest rank: 1024 rows for 32 steps, 512 for 16 */
    { GPU | DRY, 4, 1, "grid.ny=4096 run.ranks_x=1", PLAN_BLOCK, .chosen = "32" },
    { GPU | DRY, 4, 1, "grid.ny=4095 run.ranks_x=1", PLAN_BLOCK, .chosen = "16" },

    /* and taken for a tenth */
    { GPU, 1, 1, "", PLAN_BLOCK, .chosen = "32", .says = "single steps would be taken if 0.1 % faster",
      .m = { .single_step_s = 1e-3, .longest_step_s = .899e-3, .shorter_step_s = 1e-3 } },
    { GPU, 1, 1, "", PLAN_BLOCK, .chosen = "16",
      .m = { .single_step_s = 1e-3, .longest_step_s = .899e-3, .shorter_step_s = .898e-3 } },
    { GPU, 1, 1, "", PLAN_BLOCK, .chosen = "1", .says = "blocks of 32 would be taken if 0.1 % faster",
      .m = { .single_step_s = 1e-3, .longest_step_s = .901e-3, .shorter_step_s = .901e-3 } },
    { GPU, 1, 1, "", PLAN_BLOCK, .chosen = "32", .says = "!close" },

    /* passes are persistent where registers hold all cells, of ranks alike, and win by as much */
    { GPU, 1, 1, SMALL, PLAN_BLOCK, .chosen = "4096",
      .says = "close: in blocks of 32 would be taken if 0.1 % faster",
      .m = { .persistent_step_s = .899e-3 } },
    { GPU, 1, 1, SMALL, PLAN_BLOCK, .chosen = "32",
      .says = "in persistent passes of 4096, with all cells in registers would be taken if 0.1 % faster",
      .m = { .persistent_step_s = .901e-3 } },
    { GPU, 1, 1, TINY " time.norm_every=300 output.every=200", PLAN_BLOCK, .chosen = "200",
      .m = { .persistent_step_s = .1e-3 } },
    { GPU, 4, 4, SMALL, PLAN_BLOCK, .chosen = "4096", .m = { .persistent_step_s = .1e-3 } },
    { GPU, 2, 2, SMALL, PLAN_BLOCK, .chosen = "32",
      .says = "; not in persistent passes of 4096, with all cells in registers: they are made up",
      .m = { .persistent_step_s = INFINITY } },
    { GPU | DRY, 1, 1, SMALL, PLAN_BLOCK, .chosen = "32",
      .says = "a run tries persistent passes of 4096 steps, blocks of up to 32 and single steps" },
    { GPU, 1, 1, SMALL " grid.nx=2049 grid.ny=2049", PLAN_BLOCK, .chosen = "32",
      .m = { .persistent_step_s = .1e-3 } },
    /* rows differ */
    { GPU, 2, 2, SMALL " grid.ny=2047", PLAN_BLOCK, .chosen = "16", .m = { .persistent_step_s = .1e-3 } },
    { GPU, 2, 2, SMALL " run.transport=nccl", PLAN_BLOCK, .chosen = "32",
      .m = { .persistent_step_s = .1e-3 } },
    { GPU, 4, 4, SMALL " run.ranks_x=2", PLAN_BLOCK, .chosen = "32", .m = { .persistent_step_s = .1e-3 } },
    { GPU, 1, 1, SMALL " run.lanes=2", PLAN_BLOCK, .chosen = "32", .m = { .persistent_step_s = .1e-3 } },
    { GPU, 1, 1, SMALL " run.tune=off", PLAN_BLOCK, .chosen = "1", .m = { .persistent_step_s = .1e-3 } },
    /* asked for: of a rank alone, without a trial, where other passes take fewer steps */
    { GPU, 1, 1, SMALL " run.fuse=33", PLAN_BLOCK, .chosen = "33",
      .says = "registers hold all cells; asked 0 times" },
    { GPU, 1, 1, SMALL " run.fuse=33 time.norm_every=20", PLAN_BLOCK, .chosen = "16",
      .says = "run.fuse = 33: there is a norm every 20 steps; using 16" },
    { GPU, 2, 2, SMALL " run.fuse=33", PLAN_BLOCK, .chosen = "32" },
    { GPU, 1, 1, TINY " run.fuse=100 run.feed=graph", PLAN_BLOCK, .chosen = "100",
      .says = "run.feed = graph: a launch takes all steps of a persistent pass; using serial" },

    /* blocks hide messages, and nothing else */
    { GPU, 2, 2, "run.fuse=4", PLAN_FORM, .chosen = "exchange_first" },
    { GPU, 2, 2, "run.fuse=4 run.transport=aware", PLAN_FORM, .chosen = "overlapped" },
    { GPU | DRY, 8, 4, "run.fuse=4 run.ranks_x=1", PLAN_FORM, .chosen = "overlapped" },

    /* steps go in kernels where all neighbours are reached */
    { GPU, 2, 2, "run.fuse=1", PLAN_FORM, .chosen = "in_kernel" },
    { GPU, 2, 2, "run.fuse=1", PLAN_FORM, .chosen = "overlapped",
      .says = "steps without in-kernel exchange, although the transport is peer: a made-up refusal",
      .m = { .no_in_kernel = 1 } },
    { GPU | DRY, 1, 1, "run.fuse=1 grid.ny=1", PLAN_FORM, .chosen = "overlapped",
      .says = "only 2D stars and boxes" },

    /* half of peer's time counts; test_plan_of_any_deck_fits: the fastest is taken */
    { GPU, 2, 2, "", PLAN_TRANSPORT, .chosen = "aware",
      .says = "over peer inside a host would be taken if 0.7 % faster",
      .m.exchange_s = { { 80e-6 }, { 20e-6 }, { 40e-6 }, { 40.3e-6 } } },
    { GPU, 4, 2, "run.fuse=1 run.ranks_x=2", PLAN_FORM, .chosen = "overlapped", /* two hosts */
      .m.exchange_s[TRANSPORT_AWARE] = { [LINK_BETWEEN_HOSTS] = 1e-6 } },
    /* what is asked for is taken where it serves, and nothing else is tried */
    { GPU, 2, 2, "run.fuse=1 run.transport=mapped", PLAN_TRANSPORT, .chosen = "mapped",
      .says = "asked 1 times", .m = { .exchange_s[TRANSPORT_MAPPED] = { 1 } } },
    { GPU, 2, 2, "run.fuse=1 run.transport=peer", PLAN_TRANSPORT, .chosen = "peer", .says = "!close",
      .m = { .exchange_s[TRANSPORT_PEER] = { 2.2e-6 } } },
    { GPU, 2, 1, "run.fuse=1 run.transport=peer", PLAN_TRANSPORT, .chosen = "staged",
      .says = "run.transport = peer: it does not reach other hosts; using staged" },
    { GPU, 2, 2, "run.fuse=1 run.transport=nccl", PLAN_TRANSPORT, .chosen = "peer",
      .says = "run.transport = nccl: it is made up not to serve; using peer",
      .m = { .exchange_s[TRANSPORT_NCCL] = { INFINITY } } },
    { GPU, 2, 2, "run.fuse=1 run.transport=mapped", PLAN_TRANSPORT, .chosen = "staged",
      .says = "run.transport = mapped: no halo over a made-up refusal; using staged",
      .m = { .no_halos = 1 } },
    { HOST, 2, 2, "run.fuse=1 run.transport=peer", PLAN_TRANSPORT, .chosen = "staged",
      .says = "the host device has transport staged only" },

    /* graphs serve where no transport needs the host, and no trace wants single steps */
    { GPU, 1, 1, "run.fuse=1", PLAN_FEED, .chosen = "graph" },
    { GPU, 2, 2, "run.fuse=1 output.trace=t.json", PLAN_FEED, .chosen = "openmp" },
    { GPU, 2, 2, "run.fuse=1 run.feed=graph run.transport=aware", PLAN_FEED, .chosen = "openmp",
      .says = "run.feed = graph: with transport aware the host sends the messages of every step; using" },
    { HOST, 1, 1, "run.fuse=1 run.feed=graph", PLAN_STREAMS, .chosen = "1" },
    { HOST, 1, 1, "run.fuse=1 run.feed=openmp", PLAN_STREAMS, .chosen = "4" }, /* its threads */

    /* transposes go over peer where no ranks share a GPU, then aware, then staged */
    { GPU, 2, 2, TRANSPOSE, PLAN_REDISTRIBUTION, .chosen = "aware", .m = { .share = 2 } },
    { GPU, 2, 2, TRANSPOSE " run.transport=nccl", PLAN_REDISTRIBUTION, .chosen = "aware",
      .says = "run.transport = nccl: it cannot carry transposes; using aware" },
    { GPU, 2, 2, TRANSPOSE " run.transport=peer", PLAN_REDISTRIBUTION, .chosen = "aware",
      .says = "run.transport = peer: a made-up refusal; using aware", .m = { .no_peer_transposes = 1 } },
    { GPU, 2, 2, TRANSPOSE, PLAN_TRANSPORT, .chosen = "staged",
      .m = { .no_peer_transposes = 1, .no_aware = 1 } },

    /* visits of as many steps as let the device compute while rows are on their way, if there is memory for
     * large chunks: an H100 took 492 at .98 of the rate in its memory, 480 at .96, 360 at .90 to .93 */
    { HOST | DRY, 1, 1, HUGE, PLAN_BLOCK, .chosen = "468", VISITS(3) },
    { HOST | DRY, 1, 1, HUGE, PLAN_BLOCK, .chosen = "576", VISITS(79) },
    { HOST | DRY, 1, 1, HUGE, PLAN_BLOCK, .chosen = "84", VISITS(.125) },
    { HOST | DRY, 4, 4, HUGE, PLAN_FORM, .chosen = "exchange_first", VISITS(6) },
    /* they end where a norm or checkpoint is due */
    { HOST | DRY, 1, 1, HUGE "time.steps=100", PLAN_BLOCK, .chosen = "100", VISITS(6) },
    { HOST | DRY, 1, 1, HUGE "time.norm_every=50", PLAN_BLOCK, .chosen = "50", VISITS(6) },
    { HOST | DRY, 1, 1, HUGE "checkpoint.every=500", PLAN_BLOCK, .chosen = "500", VISITS(6) },
    { HOST | DRY, 1, 1, HUGE "time.norm_every=1", PLAN_BLOCK, .chosen = "1", VISITS(6) },
    { HOST | DRY, 1, 1, HUGE "run.fuse=1000", PLAN_BLOCK, .chosen = "978", VISITS(1),
      .says = "run.fuse = 1000: rows of 65536 cells: 1.07 GB of device memory have no room" },
    { HOST | DRY, 1, 1, HUGE, PLAN_MEMORY, VISITS(1. / 180),
      .says = "5.97 MB of device memory are too few to stream rows of 65536 cells" },
    { HOST | DRY, 1, 1, HUGE "time.steps=1000", PLAN_MEMORY, .m = { .room_gib = 40, .through_gib = 6 },
      .says = "grid 65536 x 98304: rank 0 needs 52.6 GB of host memory; 42.9 GB are free for it" },
    { HOST | DRY, 2, 2, HUGE "run.ranks_x=2", PLAN_MEMORY, VISITS(6),
      .says = "only rows are cut among ranks; allowed for run.ranks_x is 1" },
};

static void each_rule_at_its_bounds(void **state)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char said[8192];
        const char *const says = rules[i].says ? rules[i].says : "";
        configure(rules[i].deck);
        all_serve(NULL);
        for (size_t n = 0; n < MADE_UP_ANSWERS; n++)
            if (((const double *)&rules[i].m)[n] != 0) ((double *)&m)[n] = ((const double *)&rules[i].m)[n];
        plan_question q = question_of((device_kind)(rules[i].on & GPU), rules[i].ranks, rules[i].per_host);
        const plan_through through = { m.through_gib * gib, gpu_pass_steps, NULL, { "it is asked for" } };
        const plan_room each = { .bytes = m.room_gib * gib }, room[] = { each, each, each, each };
        if (m.room_gib > 0) q.room = room;
        if (m.through_gib > 0) q.through = &through;
        if (q.device == DEVICE_CUDA) q.persistent = up_to_2048;
        const plan *const p = plan_of(q, !(rules[i].on & DRY));
        const char *const chosen = made_status ? "refused" : plan_chosen(p, rules[i].choice);
        size_t used = (size_t)snprintf(said, sizeof said, "%s; asked %d times",
                                       made_status ? made_why.text : p->because[rules[i].choice].text, m.asked);
        for (int n = 0; n < p->notes; n++)
            used += (size_t)snprintf(said + used, sizeof said - used, "; %s", p->note[n].said.text);
        const bool is_said = *says == '!' ? !strstr(said, says + 1) : strstr(said, says) != NULL;
        if (strcmp(chosen, rules[i].chosen ? rules[i].chosen : "refused") != 0 || !is_said)
            fail_msg("row %zu, %s: %s, not %s; %s\nnot: %s", i, rules[i].deck, chosen, rules[i].chosen, said,
                     says);
        if (p->window.slot_rows > 0) { /* rows need not be copied one by one */
            assert_int_equal(p->grid.shape.pitch, streaming_slot_shape(&p->window, 0).pitch);
            assert_true((double)streaming_level_bytes(&p->window) <= m.through_gib * gib);
        }
        if (!p->persistent) continue;
        if (cfg.run.fuse > 0) assert_int_equal(p->grid.shape.depth_x, 1);
        assert_int_equal(p->feed, CONFIG_FEED_SERIAL);
        assert_int_equal(p->form, STEP_OVERLAPPED);
    }
}

static void the_default_variant_stays_within_the_noise(void **state)
{
    static const char *const name[] = { "default", "second", "third" };
    static const struct {
        int block_steps;
        double pass_s[3];
        int chosen;
    } trials[] = { { 1, { 1, 0.991, 1 }, 0 }, /* 1 % */
                   { 1, { 1, 0.989, 1 }, 1 },
                   { 1, { 1, 0.989, 0.988 }, 2 },
                   { 8, { 1, 0.981, 1 }, 0 }, /* 2 % */
                   { 8, { 1, 0.979, 1 }, 1 } };
    for (int i = 0; i < 5; i++) {
        plan p = { .block_steps = trials[i].block_steps };
        plan_choose_variant(&p, name, trials[i].pass_s, 3);
        assert_int_equal(p.variant, trials[i].chosen);
        assert_string_equal(p.variant_name, name[p.variant]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_at_its_bounds),
        cmocka_unit_test(the_default_variant_stays_within_the_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
