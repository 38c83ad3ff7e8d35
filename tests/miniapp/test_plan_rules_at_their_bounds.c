/* Every rule of the plan chooses as it says on either side of its bound. Machines, ranks and trials are made
 * up. */
#include <stdint.h>
#include <string.h>

#include "support/made_up_machine.h"

/* 8192 x 8192 cells; of N x N those of a deck that the test writes. */
static const char large[] = "[problem]\nkind = heat\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 8192\nny = "
                            "8192\n[time]\nsteps = 1000\n[run]\n%s\n";

static const plan *made(device_kind kind, int ranks, int per_host, bool tried, const char *run)
{
    const plan_facts f = facts_of(kind, ranks, per_host);
    harness_config(&cfg, large, run);
    const plan *p = plan_of(&f, tried);
    assert_int_equal(made_status, 0);
    return p;
}

static const plan *on(device_kind kind, int ranks, int per_host, const char *run)
{
    return made(kind, ranks, per_host, true, run);
}

static const plan *dry(device_kind kind, int ranks, int per_host, const char *run)
{
    return made(kind, ranks, per_host, false, run);
}

/* On two GPUs of one host, in single steps. */
static const plan *on_two(const char *run)
{
    char words[256];
    snprintf(words, sizeof words, "fuse = 1\n%s", run);
    return on(DEVICE_CUDA, 2, 2, words);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("%s\nhas not: %s", text, part);
}
static void assert_notes(const plan *p, const char *part)
{
    assert_true(p->notes > 0);
    assert_says(p->note[0].said.text, part);
}

static void assert_grid(const plan *p, int x, int y)
{
    assert_int_equal(p->grid.dec.ranks_x, x);
    assert_int_equal(p->grid.dec.ranks_y, y);
}

static void gpus_of_one_host_cut_rows_alone(void **state)
{
    assert_grid(dry(DEVICE_CUDA, 64, 64, "fuse = 1"), 1, 64);
    assert_grid(dry(DEVICE_CUDA, 64, 32, "fuse = 1"), 4, 16); /* two hosts: the cheapest halo */
    assert_grid(dry(DEVICE_HOST, 64, 64, "fuse = 1"), 4, 16);
    assert_grid(dry(DEVICE_CUDA, 64, 64, "fuse = 1\nranks_x = 8"), 8, 8);
    assert_grid(dry(DEVICE_CUDA, 256, 256, "fuse = 32"), 1, 256); /* 32 rows */
    assert_grid(dry(DEVICE_CUDA, 512, 512, "fuse = 32"), 8, 64);  /* 16 */
}

static void memory_is_enough_up_to_the_last_byte(void **state)
{
    plan_room room[2] = { { .bytes = 1e12 }, { .bytes = 1e12 } };
    plan_facts f = facts_of(DEVICE_CUDA, 2, 2);
    harness_config(&cfg, large, "fuse = 1");
    f.room = room;
    room[1].bytes = plan_memory_bytes(plan_of(&f, false), &cfg, DEVICE_CUDA, 1);
    assert_true(room[1].bytes > 2 * 4.0 * 8192 * 4096 && room[1].bytes < 2.1 * 4.0 * 8192 * 4096);
    for (int missing = 0; missing < 2; missing++) {
        room[1].bytes -= missing;
        (void)plan_of(&f, false);
        assert_int_equal(made_status, missing ? 3 : 0);
    }
}

/* wave: four fields in blocks of steps, two without. */
static void blocks_that_find_no_room_are_shorter(void **state)
{
    const plan_room room = { .bytes = 3 * 4.0 * 8192 * 8192 };
    plan_facts f = facts_of(DEVICE_CUDA, 1, 1);
    harness_config(&cfg, "[problem]\nkind = wave\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 8192\nny = "
                         "8192\n[time]\nsteps = 1000\n[run]\nfuse = 8\n");
    assert_int_equal(plan_of(&f, false)->block_steps, 8);
    f.room = &room;
    const plan *p = plan_of(&f, false);
    assert_int_equal(made_status, 0);
    assert_int_equal(p->block_steps, 1);
    assert_notes(p, "run.fuse = 8: grid 8192 x 8192: rank 0 needs");
}

/* Steps of the longest block that a trial would be had of. */
static const struct {
    int nx, ny, steps, norm_every, checkpoint_every, longest;
    device_kind on;
    int ranks, norm_most;
    const char *rest;
} blocks_tried[] = {
    { 1024, 1024, 1000, 0, 0, 32, DEVICE_CUDA, 1, 32, "" },
    { 1024, 1023, 1000, 0, 0, 1, DEVICE_CUDA, 1, 32, "" },       /* 2^20 cells per rank */
    { 4096, 2048, 1000, 0, 0, 6, DEVICE_HOST, 1, 32, "" },       /* rows of more levels leave L1 */
    { 4096, 2048, 1000, 0, 0, 3, DEVICE_HOST, 1, 32, "[problem]\norder = 6\n" },
    { 1 << 23, 1, 1000, 0, 0, 12, DEVICE_HOST, 1, 32, "" },      /* a line has no rows that wait */
    { 4096, 2047, 1000, 0, 0, 1, DEVICE_HOST, 1, 32, "" },       /* 2^23 */
    { 4096, 4096, 128, 0, 0, 32, DEVICE_CUDA, 1, 32, "" },       /* four blocks */
    { 4096, 4096, 127, 0, 0, 1, DEVICE_CUDA, 1, 32, "" },
    { 4096, 4096, 1000, 0, 128, 32, DEVICE_CUDA, 1, 32, "" },
    { 4096, 4096, 1000, 0, 127, 1, DEVICE_CUDA, 1, 32, "" },
    { 4096, 4096, 1000, 8, 0, 8, DEVICE_CUDA, 1, 32, "" },       /* passes that take the norm */
    { 4096, 4096, 1000, 127, 0, 1, DEVICE_CUDA, 1, 0, "" },
    { 4096, 4096, 1000, 128, 0, 32, DEVICE_CUDA, 1, 0, "" },
    /* 32 halo depths across the smallest rank: 1024 rows for 32 steps, 512 for 16 */
    { 8192, 4096, 1000, 0, 0, 32, DEVICE_CUDA, 4, 32, "[run]\nranks_x = 1\n" },
    { 8192, 4095, 1000, 0, 0, 16, DEVICE_CUDA, 4, 32, "[run]\nranks_x = 1\n" },
    { 4096, 4096, 1000, 0, 0, 1, DEVICE_CUDA, 1, 32, "[run]\ntune = off\n" },
};

#define DECK                                                                                  \
    "[problem]\nkind = heat\ndtype = f32\nalpha = 0.15\n[grid]\nnx = %d\nny = %d\n[time]\n" \
    "steps = %d\nnorm_every = %d\n[checkpoint]\nevery = %d\n%s"

static void blocks_are_tried_where_the_run_is_long_and_large(void **state)
{
    for (size_t i = 0; i < sizeof blocks_tried / sizeof *blocks_tried; i++) {
        const plan_facts f = facts_of(blocks_tried[i].on, blocks_tried[i].ranks, 1);
        m.norm_most = blocks_tried[i].norm_most;
        harness_config(&cfg, DECK, blocks_tried[i].nx, blocks_tried[i].ny, blocks_tried[i].steps,
                       blocks_tried[i].norm_every, blocks_tried[i].checkpoint_every, blocks_tried[i].rest);
        if (plan_of(&f, false)->block_steps != blocks_tried[i].longest) fail_msg("row %zu", i);
    }
}

static void blocks_are_taken_for_a_tenth(void **state)
{
    m.longest_step_s = 0.899 * m.single_step_s;
    m.shorter_step_s = m.single_step_s;
    const plan *p = on(DEVICE_CUDA, 1, 1, "");
    assert_int_equal(p->block_steps, 32);
    assert_int_equal(p->grid.shape.depth_x, 32);
    m.shorter_step_s = 0.898 * m.single_step_s;
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "")->block_steps, 16);
    m.longest_step_s = m.shorter_step_s = 0.901 * m.single_step_s;
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "")->block_steps, 1);
    m.asked = 0;
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 4")->block_steps, 4); /* asked for: no trial */
    assert_int_equal(m.asked, 0);
}

static bool up_to_2048(const plan_facts *f, int64_t nx, int64_t ny, const boundary *sides)
{
    return nx <= 2048 && ny <= 2048;
}

/* On n x n cells. */
static const plan *held(int ranks, bool tried, int n, int steps, int norm_every, const char *rest)
{
    plan_facts f = facts_of(DEVICE_CUDA, ranks, ranks);
    f.persistent = up_to_2048;
    harness_config(&cfg, DECK, n, n, steps, norm_every, 0, rest);
    const plan *p = plan_of(&f, tried);
    assert_int_equal(made_status, 0);
    return p;
}

static void assert_persistent(const plan *p, int steps)
{
    assert_true(p->persistent);
    assert_int_equal(p->block_steps, steps);
    assert_int_equal(p->feed, CONFIG_FEED_SERIAL);
    assert_int_equal(p->form, STEP_OVERLAPPED);
}

static void passes_are_persistent_where_registers_hold_all_cells(void **state)
{
    static const struct {
        int ranks, n, steps, norm_every;
        const char *rest;
    } not_persistent[] = {
        { 1, 64, 1000, 1, "" },
        { 1, 2049, 10000, 0, "" },
        { 2, 2047, 10000, 0, "" }, /* ranks with different numbers of rows */
        { 2, 2048, 10000, 0, "[run]\ntransport = nccl\n" },
        { 4, 2048, 10000, 0, "[run]\nranks_x = 2\n" },
        { 1, 2048, 10000, 0, "[run]\nlanes = 2\n" },
        { 1, 2048, 10000, 0, "[run]\ntune = off\n" },
        { 1, 2048, 1000, 0, "[run]\nfuse = 32\n" }, /* other passes take as many */
    };
    m.persistent_step_s = 0.899 * m.longest_step_s;
    for (size_t i = 0; i < sizeof not_persistent / sizeof *not_persistent; i++)
        assert_false(held(not_persistent[i].ranks, true, not_persistent[i].n, not_persistent[i].steps,
                          not_persistent[i].norm_every, not_persistent[i].rest)
                         ->persistent);
    const plan *p = held(1, true, 2048, 10000, 0, "");
    assert_persistent(p, 4096);
    assert_says(p->because[PLAN_BLOCK].text, "in persistent passes of 4096, with all cells in registers");
    assert_persistent(held(1, true, 64, 10000, 0, ""), 4096); /* too small for blocks of steps */
    assert_persistent(held(1, true, 64, 1000, 300, ""), 300); /* as many as are taken in a row */
    assert_persistent(held(1, true, 64, 1000, 300, "[output]\nevery = 200\n"), 200);
    assert_persistent(held(4, true, 2048, 10000, 0, ""), 4096);
    m.persistent_step_s = INFINITY;
    p = held(2, true, 2048, 10000, 0, "");
    assert_false(p->persistent);
    assert_says(p->because[PLAN_BLOCK].text, "; passes cannot be persistent: they are made up not to serve");
    m.persistent_step_s = 0.901 * m.longest_step_s;
    assert_int_equal(held(1, true, 2048, 10000, 0, "")->block_steps, 32);
    /* beside single steps, which take twice as long */
    assert_persistent(held(1, true, 64, 10000, 0, ""), 4096);

    p = held(1, false, 2048, 10000, 0, "");
    assert_says(p->because[PLAN_BLOCK].text,
                "a run tries persistent passes of 4096 steps, blocks of up to 32 and single steps");
    assert_int_equal(p->block_steps, 32);

    m.asked = 0;
    assert_persistent(held(1, true, 2048, 1000, 0, "[run]\nfuse = 33\n"), 33); /* asked for: no trial */
    assert_int_equal(m.asked + p->notes, 0);
    assert_int_equal(p->grid.shape.depth_x, 1);
    p = held(1, true, 2048, 1000, 20, "[run]\nfuse = 33\n"); /* not in a row */
    assert_false(p->persistent);
    assert_int_equal(p->block_steps, 16);
    /* of a rank alone */
    assert_int_equal(held(2, true, 2048, 1000, 0, "[run]\nfuse = 33\n")->block_steps, 32);
    p = held(1, true, 64, 1000, 0, "[run]\nfuse = 100\nfeed = graph\n");
    assert_persistent(p, 100);
    assert_notes(p, "run.feed = graph: a launch takes all steps of a persistent pass; using serial");
}

static void overlapped_has_to_win_by_a_twentieth(void **state)
{
    m.exchange_first_s = 1.049 * m.overlapped_s;
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 4")->form, STEP_EXCHANGE_FIRST);
    m.exchange_first_s = 1.051 * m.overlapped_s;
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 4")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 4\ntune = off")->form, STEP_EXCHANGE_FIRST); /* peer */
    /* between hosts */
    assert_int_equal(on(DEVICE_CUDA, 2, 1, "fuse = 4\ntune = off")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 4")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_HOST, 2, 2, "fuse = 4")->form, STEP_OVERLAPPED);
}

/* On one host; staged, aware, mapped, peer; in microseconds. */
static transport_kind fastest(double staged, double aware, double mapped, double peer)
{
    const double us[TRANSPORT_KINDS] = { staged, aware, mapped, peer, INFINITY };
    for (int t = 0; t < TRANSPORT_KINDS; t++) m.exchange_s[t][LINK_INSIDE_HOST] = 1e-6 * us[t];
    return on_two("")->transport;
}

static void the_fastest_transport_is_taken_and_half_of_peers_time_counts(void **state)
{
    assert_int_equal(fastest(80, 20, 40, 39), TRANSPORT_PEER);
    assert_int_equal(fastest(80, 20, 40, 41), TRANSPORT_AWARE);
    assert_int_equal(fastest(80, 20, 40, 2200), TRANSPORT_AWARE); /* ranks that take turns on one GPU */
    assert_int_equal(fastest(80, INFINITY, 40, INFINITY), TRANSPORT_MAPPED);
    assert_int_equal(fastest(30, INFINITY, 40, INFINITY), TRANSPORT_STAGED);
    assert_int_equal(fastest(1, 1, 1, 2), TRANSPORT_STAGED); /* equal: the one that works everywhere */
    assert_int_equal(fastest(INFINITY, INFINITY, INFINITY, INFINITY), TRANSPORT_STAGED);
}

static void what_is_asked_for_is_taken_where_it_serves(void **state)
{
    m.exchange_s[TRANSPORT_MAPPED][LINK_INSIDE_HOST] = 1; /* slow */
    const plan *p = on_two("transport = mapped");
    assert_int_equal(p->transport, TRANSPORT_MAPPED);
    assert_int_equal(p->notes, 0);
    assert_int_equal(m.asked, 1); /* and nothing else is tried */
    p = on(DEVICE_CUDA, 2, 1, "fuse = 1\ntransport = peer");
    assert_int_equal(p->exchange.used[TRANSPORT_PEER], 0);
    assert_notes(p, "run.transport = peer: it does not reach other hosts; using staged");
    m.exchange_s[TRANSPORT_NCCL][LINK_INSIDE_HOST] = INFINITY;
    assert_notes(on_two("transport = nccl"), "run.transport = nccl: it is made up not to serve; using peer");
    m.no_halos = "nccl: a made-up refusal";
    assert_int_equal(on_two("transport = mapped")->transport, TRANSPORT_STAGED);
    p = on(DEVICE_HOST, 2, 2, "fuse = 1\ntransport = peer");
    assert_int_equal(p->transport, TRANSPORT_STAGED);
    assert_notes(p, "the host device has transport staged only");
}

/* Four ranks on two hosts as 2 x 2: rows lie inside a host, columns between. */
static void links_inside_a_host_and_between_hosts_differ(void **state)
{
    m.exchange_s[TRANSPORT_AWARE][LINK_BETWEEN_HOSTS] = 1e-6;
    const plan *p = on(DEVICE_CUDA, 4, 2, "fuse = 1\nranks_x = 2");
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int other = p->grid.dec.neighbour[k];
        if (decomp_dx[k] * decomp_dy[k] != 0 || other < 0) continue;
        assert_int_equal(p->choice.toward[k], other < 2 ? TRANSPORT_PEER : TRANSPORT_AWARE);
    }
    assert_int_equal(p->exchange.used[TRANSPORT_PEER], p->exchange.links[LINK_INSIDE_HOST]);
    assert_int_equal(p->exchange.used[TRANSPORT_AWARE], p->exchange.links[LINK_BETWEEN_HOSTS]);
    assert_int_equal(p->feed, CONFIG_FEED_OPENMP); /* aware needs the host */
    assert_int_equal(p->form, STEP_OVERLAPPED);    /* no kernel reaches the other host */
    assert_int_equal(dry(DEVICE_CUDA, 8, 4, "fuse = 4\nranks_x = 1")->form, STEP_OVERLAPPED);
}

static void steps_go_in_kernels_where_all_neighbours_are_reached(void **state)
{
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 1")->form, STEP_IN_KERNEL);
    assert_int_equal(on_two("")->form, STEP_IN_KERNEL);
    assert_int_equal(on_two("transport = aware")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 2")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_HOST, 1, 1, "fuse = 1")->form, STEP_OVERLAPPED);
    m.no_in_kernel = "a made-up refusal";
    const plan *p = on_two("");
    assert_int_equal(p->form, STEP_OVERLAPPED);
    assert_notes(p, "steps without in-kernel exchange, although the transport is peer: a made-up refusal");
    m.no_in_kernel = NULL; /* and a stencil without such kernels asks for none */
    for (int ranks = 1; ranks <= 2; ranks++) {
        const plan_facts f = facts_of(DEVICE_CUDA, ranks, 2);
        harness_config(&cfg, DECK, 8192, 1, 1000, 0, 0, "[run]\nfuse = 1\n");
        p = plan_of(&f, ranks > 1);
        assert_int_equal(p->form, STEP_OVERLAPPED);
        assert_says(p->because[PLAN_FORM].text, "only 2D stars and boxes");
    }
}

static void graphs_serve_where_no_transport_needs_the_host(void **state)
{
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 1")->feed, CONFIG_FEED_GRAPH);
    assert_int_equal(on_two("")->feed, CONFIG_FEED_GRAPH);
    assert_int_equal(on_two("feed = serial")->feed, CONFIG_FEED_SERIAL);
    assert_int_equal(on_two("[output]\ntrace = t.json")->feed, CONFIG_FEED_OPENMP);
    const plan *p = on_two("feed = graph\ntransport = aware");
    assert_int_equal(p->feed, CONFIG_FEED_OPENMP);
    assert_notes(
        p, "run.feed = graph: with transport aware the host sends the messages of every step; using openmp");
    p = on(DEVICE_HOST, 1, 1, "feed = graph\nfuse = 1");
    assert_int_equal(p->feed, CONFIG_FEED_SERIAL);
    assert_int_equal(p->streams, 1);
    assert_int_equal(on(DEVICE_HOST, 1, 1, "feed = openmp\nfuse = 1")->streams, 4); /* its threads */
    assert_int_equal(on(DEVICE_HOST, 1, 1, "feed = openmp\nfuse = 1\nlanes = 3")->streams, 3);
}

/* Of a star of radius 1 in f32 on a GPU. */
static int gpu_pass_steps(const void *owner, int most, bool norm)
{
    static const int steps[] = { 12, 8, 4, 2, 1 };
    for (int i = 0; i < 5; i++)
        if (steps[i] <= most) return steps[i];
    return 0;
}

/* Fields of 24 GiB in host memory, on ranks that have that much of a GPU's. */
static const plan *streaming(int ranks, double bytes, double host_bytes, const char *rest)
{
    plan_room room[8] = { { 0 } };
    const plan_through through = { .bytes = bytes,
                                   .pass_steps = gpu_pass_steps,
                                   .because = { "it is asked for" } };
    plan_facts f = facts_of(DEVICE_HOST, ranks, ranks);
    for (int i = 0; i < ranks; i++) room[i].bytes = host_bytes;
    f.room = room;
    f.through = &through;
    harness_config(
        &cfg,
        "[problem]\nkind = heat\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 65536\nny = 98304\n[time]\n%s\n",
        rest);
    return plan_of(&f, false);
}

static int64_t chunk_rows(const plan *p) { return streaming_chunk_rows(&p->window); }

static const double gib = 1 << 30, host_bytes = 60.0 * (1 << 30);

/* As many steps as let the device compute while rows are on their way, if there is memory for large chunks;
 * and no more than it has. */
static void visits_fit_into_what_is_allowed(void **state)
{
    for (double bytes = gib / 4; bytes < 80 * gib; bytes *= 1.7) {
        const plan *p = streaming(1, bytes, host_bytes, "steps = 100000");
        assert_int_equal(made_status, 0);
        assert_true(p->in_host_memory);
        assert_true((double)streaming_level_bytes(&p->window) <= bytes);
        assert_int_equal(p->block_steps % 12, 0);
        /* rows need not be copied one by one */
        assert_int_equal(p->grid.shape.pitch, streaming_slot_shape(&p->window, 0).pitch);
        assert_int_equal(p->streams, 1);
        if (bytes < 3 * gib) continue;
        assert_in_range(p->block_steps, 456, 576); /* an H100 took 492 at .98 of the rate in its memory,
                                                    * 480 at .96, 360 at .90 to .93 */
        assert_in_range(chunk_rows(p), 2048, 16384);
    }
    const plan *p = streaming(1, gib / 8, host_bytes, "steps = 100000");
    assert_int_equal(made_status, 0);
    assert_in_range(p->block_steps, 12, 120);
    p = streaming(1, 6 << 20, host_bytes, "steps = 100000");
    assert_int_equal(made_status, 2);
    assert_says(made_why.text, "6.29 MB of device memory are too few to stream rows of 65536 cells");
}

static void visits_end_where_a_norm_is_due(void **state)
{
    assert_int_equal(streaming(1, 6 * gib, host_bytes, "steps = 100")->block_steps, 100);
    assert_int_equal(streaming(1, 6 * gib, host_bytes, "steps = 100000\nnorm_every = 50")->block_steps, 50);
    assert_int_equal(
        streaming(1, 6 * gib, host_bytes, "steps = 100000\n[checkpoint]\nevery = 250")->block_steps, 250);
    const plan *p = streaming(1, 6 * gib, host_bytes, "steps = 100000\n[checkpoint]\nevery = 500");
    assert_in_range(p->block_steps, 252, 500); /* in two, or in one */
    p = streaming(1, 6 * gib, host_bytes, "steps = 100000\nnorm_every = 1");
    assert_int_equal(p->block_steps, 1);
    assert_int_equal(p->window.slot_rows, 0);
}

static void what_cannot_be_in_host_memory_is_refused(void **state)
{
    (void)streaming(1, 6 * gib, 40 * gib, "steps = 1000");
    assert_int_equal(made_status, 3);
    assert_says(made_why.text,
                "grid 65536 x 98304: rank 0 needs 52.6 GB of host memory; 42.9 GB are free for it");
    (void)streaming(2, 6 * gib, host_bytes, "steps = 1000\n[run]\nranks_x = 2");
    assert_int_equal(made_status, 2);
    const plan *p = streaming(1, gib, host_bytes, "steps = 1000\n[run]\nfuse = 1000");
    assert_int_equal(made_status, 0);
    assert_in_range(p->block_steps, 12, 999);
    assert_notes(p, "run.fuse = 1000: rows of 65536 cells: 1.07 GB of device memory have no room");
    p = streaming(4, 6 * gib, host_bytes / 4, "steps = 100000");
    assert_int_equal(made_status, 0);
    assert_grid(p, 1, 4);
    assert_int_equal(p->form, STEP_EXCHANGE_FIRST);
}

/* Of a transpose on two ranks that share their GPUs or not. */
static const plan *transposed(int most_on_device, const char *run)
{
    plan_facts f = facts_of(DEVICE_CUDA, 2, 2);
    f.most_on_device = most_on_device;
    harness_config(&cfg,
                   "[problem]\nkind = transpose\n[grid]\nnx = 512\nny = 512\n[time]\nsteps = 10\n[run]\n%s\n",
                   run);
    const plan *p = plan_of(&f, true);
    assert_int_equal(made_status, 0);
    return p;
}

static void transposes_go_over_peer_then_aware_then_staged(void **state)
{
    assert_int_equal(transposed(1, "")->redist_transport, TRANSPORT_PEER);
    assert_int_equal(transposed(2, "")->redist_transport, TRANSPORT_AWARE);
    assert_int_equal(transposed(2, "transport = peer")->redist_transport, TRANSPORT_PEER);
    assert_int_equal(transposed(1, "transport = mapped")->redist_transport, TRANSPORT_MAPPED);
    assert_int_equal(transposed(1, "transport = aware")->redist_transport, TRANSPORT_AWARE);
    const plan *p = transposed(1, "transport = nccl");
    assert_int_equal(p->redist_transport, TRANSPORT_AWARE);
    assert_notes(p, "run.transport = nccl: it cannot carry transposes; using aware");
    m.no_peer_transposes = "a made-up refusal";
    assert_int_equal(transposed(1, "")->redist_transport, TRANSPORT_AWARE);
    assert_notes(transposed(1, "transport = peer"), "run.transport = peer: a made-up refusal; using aware");
    m.no_aware = "another";
    assert_int_equal(transposed(1, "")->redist_transport, TRANSPORT_STAGED);
    assert_int_equal(transposed(1, "")->transport, TRANSPORT_STAGED);
}

static int variant_of(int block_steps, double second_s, double third_s)
{
    static const char *const name[] = { "default", "second", "third" };
    plan p = { .block_steps = block_steps };
    plan_choose_variant(&p, name, (double[]){ 1, second_s, third_s }, 3);
    assert_string_equal(p.variant_name, name[p.variant]);
    return p.variant;
}

static void the_default_variant_stays_within_the_noise(void **state)
{
    assert_int_equal(variant_of(1, 0.991, 1), 0); /* 1 % */
    assert_int_equal(variant_of(1, 0.989, 1), 1);
    assert_int_equal(variant_of(1, 0.989, 0.988), 2);
    assert_int_equal(variant_of(8, 0.981, 1), 0); /* 2 % */
    assert_int_equal(variant_of(8, 0.979, 1), 1);
}

static void assert_close(const plan *p, plan_choice choice, const char *said)
{
    const char *at = strstr(p->because[choice].text, "; the choice is close: ");
    if (!said) assert_null(at);
    else if (!at || !strstr(at, said)) fail_msg("%s", p->because[choice].text);
}

static void a_close_choice_says_so(void **state)
{
    m.exchange_first_s = 1.04 * m.overlapped_s; /* overlapped counts 1.05 */
    assert_close(on(DEVICE_CUDA, 2, 2, "fuse = 4"), PLAN_FORM, "overlapped would be taken if 1.0 % faster");
    m.exchange_first_s = 1.06 * m.overlapped_s;
    assert_close(on(DEVICE_CUDA, 2, 2, "fuse = 4"), PLAN_FORM,
                 "exchange first would be taken if 0.9 % faster");
    m.exchange_first_s = 1.08 * m.overlapped_s;
    assert_close(on(DEVICE_CUDA, 2, 2, "fuse = 4"), PLAN_FORM, NULL);
    assert_close(on(DEVICE_CUDA, 1, 1, ""), PLAN_BLOCK, NULL);
    m.longest_step_s = 0.89 * m.single_step_s;
    m.shorter_step_s = m.single_step_s;
    assert_close(on(DEVICE_CUDA, 1, 1, ""), PLAN_BLOCK, "single steps would be taken if 1.1 % faster");
    m.longest_step_s = 0.91 * m.single_step_s;
    assert_close(on(DEVICE_CUDA, 1, 1, ""), PLAN_BLOCK, "blocks of 32 would be taken if 1.1 % faster");
    m.exchange_s[TRANSPORT_PEER][LINK_INSIDE_HOST] = 2.02e-5; /* half of it counts, beside 10 us */
    m.exchange_s[TRANSPORT_STAGED][LINK_INSIDE_HOST] = 1e-3;
    m.exchange_s[TRANSPORT_MAPPED][LINK_INSIDE_HOST] = 1e-3;
    assert_close(on_two(""), PLAN_TRANSPORT, "over peer inside a host would be taken if 1.0 % faster");
    assert_close(on_two("transport = peer"), PLAN_TRANSPORT, NULL);
}

#define TEST(NAME) cmocka_unit_test_setup(NAME, all_serve)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gpus_of_one_host_cut_rows_alone),
        TEST(a_close_choice_says_so),
        TEST(memory_is_enough_up_to_the_last_byte),
        TEST(blocks_that_find_no_room_are_shorter),
        TEST(blocks_are_tried_where_the_run_is_long_and_large),
        TEST(blocks_are_taken_for_a_tenth),
        TEST(passes_are_persistent_where_registers_hold_all_cells),
        TEST(overlapped_has_to_win_by_a_twentieth),
        TEST(the_fastest_transport_is_taken_and_half_of_peers_time_counts),
        TEST(what_is_asked_for_is_taken_where_it_serves),
        TEST(links_inside_a_host_and_between_hosts_differ),
        TEST(steps_go_in_kernels_where_all_neighbours_are_reached),
        TEST(graphs_serve_where_no_transport_needs_the_host),
        TEST(visits_fit_into_what_is_allowed),
        TEST(visits_end_where_a_norm_is_due),
        TEST(what_cannot_be_in_host_memory_is_refused),
        TEST(transposes_go_over_peer_then_aware_then_staged),
        TEST(the_default_variant_stays_within_the_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
