/* Every rule of the plan chooses as it says on either side of its bound. And of a thousand decks on 1 to 4096
 * made-up ranks: every rank makes the same plan and both ends of a link agree; a dry run, which asks for no
 * times, differs from a run only in what times decide; what is chosen fits the ranks and the deck, or a note
 * says why not. Machines, ranks and trials are made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "problem/problem.h"
#include "support/problem_harness.h"
#include "temporal/temporal_tilings.h"

/* ---- a made-up machine ---- */

/* What a trial answers; what is INFINITY does not serve. */
static struct made_up {
    double exchange_s[TRANSPORT_KINDS][LINK_KINDS];
    const char *no_halos, *no_peer_transposes, *no_aware, *no_in_kernel; /* reasons; NULL: can be had */
    double single_step_s, longest_step_s, shorter_step_s; /* of blocks of most and of the next fewer steps */
    double persistent_step_s, overlapped_s, exchange_first_s;
    int asked; /* how often anything was */
} m;
static const int norms = 32, no_norms = 0; /* steps that a pass with its norm has at most */
static config cfg;

/* Before each test: all serve alike, and blocks of steps are twice as fast. */
static int all_serve(void **state)
{
    m = (struct made_up){ .single_step_s = 2e-3,
                          .longest_step_s = 1e-3,
                          .shorter_step_s = 1.5e-3,
                          .overlapped_s = 1e-3,
                          .exchange_first_s = 1e-3 };
    for (int t = 0; t < TRANSPORT_KINDS; t++) m.exchange_s[t][0] = m.exchange_s[t][1] = 1e-5;
    return 0;
}

static int block_steps(const plan_facts *f, int most, bool norm)
{
    const int with_norm_most = *(const int *)f->owner;
    int steps = 32;
    if (norm && with_norm_most < most) most = with_norm_most;
    if (f->device == DEVICE_HOST) return most;
    while (steps > most) steps /= 2;
    return steps;
}

static void exchange(void *context, plan *p, link_kind kind, const transport_kind over[], int count)
{
    for (int i = 0; i < count; i++) {
        const double seconds = p->exchange.slowest_s[over[i]][kind] = m.exchange_s[over[i]][kind];
        m.asked++;
        if (isinf(seconds)) sentence_set(&p->exchange.why[over[i]][kind], "it is made up not to serve");
    }
}

static bool can(void *context, const plan *p, plan_part what, transport_kind over, sentence *why)
{
    const char *const reason = what == PLAN_HALOS       ? m.no_halos
                               : what == PLAN_IN_KERNEL ? m.no_in_kernel
                               : over == TRANSPORT_PEER ? m.no_peer_transposes
                                                        : m.no_aware;
    return !reason || sentence_refuse(why, "%s", reason);
}

static void blocks(void *context, const plan *p, plan_way way[], int count)
{
    m.asked++;
    for (int i = 0; i < count; i++)
        way[i].seconds = way[i].what == 1 ? m.single_step_s : i == 0 ? m.longest_step_s : m.shorter_step_s;
}

static double persistent(void *context, const plan *p, int steps, sentence *why)
{
    m.asked++;
    if (isinf(m.persistent_step_s)) sentence_set(why, "they are made up not to serve");
    return m.persistent_step_s;
}

static void forms(void *context, const plan *p, plan_way way[], int count)
{
    m.asked++;
    for (int i = 0; i < count; i++)
        way[i].seconds = way[i].what == STEP_OVERLAPPED ? m.overlapped_s : m.exchange_first_s;
}

/* Hosts of per_host ranks. */
static plan_facts facts_of(device_kind kind, int ranks, int per_host, const int *with_norm_most)
{
    return (plan_facts){ .device = kind,
                         .threads = 4,
                         .ranks = ranks,
                         .hosts = (ranks + per_host - 1) / per_host,
                         .per_host = per_host,
                         .most_on_device = 1,
                         .no_graphs = kind == DEVICE_HOST ? "the host device has no graphs" : NULL,
                         .block_steps = block_steps,
                         .owner = (void *)with_norm_most };
}

/* Of cfg, with a trial or without. The plan is static: the next call's takes its place. */
static const plan *plan_of(const plan_facts *f, bool tried, int *status)
{
    static plan p;
    static problem prob;
    sentence why = { "" };
    const plan_trial trial = { NULL, exchange, can, blocks, persistent, forms };
    problem_make(&prob, &cfg);
    *status = plan_make(&p, &(plan_question){ &cfg, &prob.op, f, tried ? &trial : NULL }, &why);
    return &p;
}

/* ---- the rules ---- */

static const char large[] = "[problem]\nkind = heat\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 8192\nny = "
                            "8192\n[time]\nsteps = 1000\n[run]\n%s\n";

static const plan *made(device_kind kind, int ranks, int per_host, bool tried, const char *run)
{
    int status = 0;
    const plan_facts f = facts_of(kind, ranks, per_host, &norms);
    harness_config(&cfg, large, run);
    const plan *p = plan_of(&f, tried, &status);
    assert_int_equal(status, 0);
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
    int status = 0;
    plan_facts f = facts_of(DEVICE_CUDA, 2, 2, &norms);
    harness_config(&cfg, large, "fuse = 1");
    f.room = room;
    room[1].bytes = plan_memory_bytes(plan_of(&f, false, &status), &cfg, DEVICE_CUDA, 1);
    assert_true(room[1].bytes > 2 * 4.0 * 8192 * 4096 && room[1].bytes < 2.1 * 4.0 * 8192 * 4096);
    (void)plan_of(&f, false, &status);
    assert_int_equal(status, 0);
    room[1].bytes -= 1;
    (void)plan_of(&f, false, &status);
    assert_int_equal(status, 3);
}

/* wave: four fields in blocks of steps, two without. */
static void blocks_that_find_no_room_are_shorter(void **state)
{
    plan_room room[1] = { { .bytes = 3 * 4.0 * 8192 * 8192 } };
    int status = 0;
    plan_facts f = facts_of(DEVICE_CUDA, 1, 1, &norms);
    harness_config(&cfg, "[problem]\nkind = wave\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 8192\nny = "
                         "8192\n[time]\nsteps = 1000\n[run]\nfuse = 8\n");
    const plan *p = plan_of(&f, false, &status);
    assert_int_equal(p->block_steps, 8);
    f.room = room;
    p = plan_of(&f, false, &status);
    assert_int_equal(status, 0);
    assert_int_equal(p->block_steps, 1);
    assert_int_equal(p->notes, 1);
    assert_non_null(strstr(p->note[0].said.text, "run.fuse = 8: grid 8192 x 8192: rank 0 needs"));
}

/* How many steps a block would have without trials: the longest that a trial would be had of. */
static int longest(device_kind kind, int ranks, const int *with_norm, const char *format, ...)
{
    char text[512];
    int status = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    harness_config(&cfg, "%s", text);
    const plan_facts f = facts_of(kind, ranks, 1, with_norm);
    return plan_of(&f, false, &status)->block_steps;
}

#define DECK                                                                                       \
    "[problem]\nkind = heat\ndtype = f32\nalpha = 0.2\n[grid]\nnx = %d\nny = %d\n[time]\nsteps = " \
    "%d\nnorm_every = %d\n[checkpoint]\nevery = %d\n"

static void blocks_are_tried_where_the_run_is_long_and_large(void **state)
{
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 1024, 1024, 1000, 0, 0), 32);
    /* 2^20 cells per rank */
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 1024, 1023, 1000, 0, 0), 1);
    /* rows of more levels leave L1 */
    assert_int_equal(longest(DEVICE_HOST, 1, &norms, DECK, 4096, 2048, 1000, 0, 0), 6);
    assert_int_equal(longest(DEVICE_HOST, 1, &norms,
                             "[problem]\nkind = heat\norder = 6\nalpha = 0.1\n[grid]\nnx = 4096\nny = 2048\n"
                             "[time]\nsteps = 1000\n"),
                     3);
    /* a line has no rows that wait */
    assert_int_equal(longest(DEVICE_HOST, 1, &norms, DECK, 1 << 23, 1, 1000, 0, 0), 12);
    assert_int_equal(longest(DEVICE_HOST, 1, &norms, DECK, 4096, 2047, 1000, 0, 0), 1); /* 2^23 */
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 4096, 4096, 128, 0, 0), 32); /* four blocks */
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 4096, 4096, 127, 0, 0), 1);
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 4096, 4096, 1000, 0, 128), 32);
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 4096, 4096, 1000, 0, 127), 1);
    /* passes that take the norm */
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK, 4096, 4096, 1000, 8, 0), 8);
    assert_int_equal(longest(DEVICE_CUDA, 1, &no_norms, DECK, 4096, 4096, 1000, 127, 0), 1);
    assert_int_equal(longest(DEVICE_CUDA, 1, &no_norms, DECK, 4096, 4096, 1000, 128, 0), 32);
    /* 32 halo depths across the smallest rank: 1024 rows for 32 steps, 512 for 16 */
    assert_int_equal(longest(DEVICE_CUDA, 4, &norms, DECK "[run]\nranks_x = 1\n", 8192, 4096, 1000, 0, 0),
                     32);
    assert_int_equal(longest(DEVICE_CUDA, 4, &norms, DECK "[run]\nranks_x = 1\n", 8192, 4095, 1000, 0, 0),
                     16);
    assert_int_equal(longest(DEVICE_CUDA, 1, &norms, DECK "[run]\ntune = off\n", 4096, 4096, 1000, 0, 0), 1);
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

static const plan *held(int ranks, bool tried, int n, int steps, int norm_every, int checkpoint_every,
                        const char *run)
{
    int status = 0;
    plan_facts f = facts_of(DEVICE_CUDA, ranks, ranks, &norms);
    f.persistent = up_to_2048;
    harness_config(&cfg, DECK "[run]\n%s\n", n, n, steps, norm_every, checkpoint_every, run);
    const plan *p = plan_of(&f, tried, &status);
    assert_int_equal(status, 0);
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
    m.persistent_step_s = 0.899 * m.longest_step_s;
    const plan *p = held(1, true, 2048, 10000, 0, 0, "");
    assert_persistent(p, 4096);
    assert_non_null(
        strstr(p->because[PLAN_BLOCK].text, "in persistent passes of 4096, with all cells in registers"));
    assert_persistent(held(1, true, 64, 10000, 0, 0, ""), 4096); /* too small for blocks of steps */
    assert_persistent(held(1, true, 64, 1000, 300, 0, ""), 300); /* as many as are taken in a row */
    assert_persistent(held(1, true, 64, 1000, 300, 200, ""), 200);
    assert_false(held(1, true, 64, 1000, 1, 0, "")->persistent);
    assert_false(held(1, true, 2049, 10000, 0, 0, "")->persistent);
    assert_false(held(2, true, 2047, 10000, 0, 0, "")->persistent); /* ranks with different numbers of rows */
    assert_false(held(2, true, 2048, 10000, 0, 0, "transport = nccl")->persistent);
    assert_false(held(4, true, 2048, 10000, 0, 0, "ranks_x = 2")->persistent);
    assert_persistent(held(4, true, 2048, 10000, 0, 0, ""), 4096);
    assert_false(held(1, true, 2048, 10000, 0, 0, "lanes = 2")->persistent);
    assert_false(held(1, true, 2048, 10000, 0, 0, "tune = off")->persistent);
    m.persistent_step_s = INFINITY;
    p = held(2, true, 2048, 10000, 0, 0, "");
    assert_false(p->persistent);
    assert_non_null(
        strstr(p->because[PLAN_BLOCK].text, "; passes cannot be persistent: they are made up not to serve"));
    m.persistent_step_s = 0.901 * m.longest_step_s;
    assert_int_equal(held(1, true, 2048, 10000, 0, 0, "")->block_steps, 32);
    /* beside single steps, which take twice as long */
    assert_persistent(held(1, true, 64, 10000, 0, 0, ""), 4096);

    p = held(1, false, 2048, 10000, 0, 0, "");
    assert_string_equal(p->because[PLAN_BLOCK].text,
                        "no trial was asked for: a run tries persistent passes of 4096 steps, blocks of up "
                        "to 32 and single steps");
    assert_int_equal(p->block_steps, 32);
    p = held(1, false, 64, 10000, 0, 0, "");
    assert_string_equal(
        p->because[PLAN_BLOCK].text,
        "no trial was asked for: a run tries persistent passes of 4096 steps, and single steps");

    m.asked = 0;
    assert_persistent(held(1, true, 2048, 1000, 0, 0, "fuse = 33"), 33); /* asked for: no trial */
    assert_int_equal(m.asked, 0);
    assert_int_equal(p->grid.shape.depth_x, 1);
    assert_int_equal(p->notes, 0);
    assert_false(held(1, true, 2048, 1000, 0, 0, "fuse = 32")->persistent); /* other passes take as many */
    p = held(1, true, 2048, 1000, 20, 0, "fuse = 33");                      /* not in a row */
    assert_false(p->persistent);
    assert_int_equal(p->block_steps, 16);
    assert_int_equal(held(2, true, 2048, 1000, 0, 0, "fuse = 33")->block_steps, 32); /* of a rank alone */
    p = held(1, true, 64, 1000, 0, 0, "fuse = 100\nfeed = graph");
    assert_persistent(p, 100);
    assert_int_equal(p->notes, 1);
    assert_non_null(strstr(p->note[0].said.text,
                           "run.feed = graph: a launch takes all steps of a persistent pass; using serial"));
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
    return on(DEVICE_CUDA, 2, 2, "fuse = 1")->transport;
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
    const plan *p = on(DEVICE_CUDA, 2, 2, "fuse = 1\ntransport = mapped");
    assert_int_equal(p->transport, TRANSPORT_MAPPED);
    assert_int_equal(p->notes, 0);
    assert_int_equal(m.asked, 1); /* and nothing else is tried */
    p = on(DEVICE_CUDA, 2, 1, "fuse = 1\ntransport = peer");
    assert_int_equal(p->exchange.used[TRANSPORT_PEER], 0);
    assert_string_equal(p->note[0].said.text,
                        "run.transport = peer: it does not reach other hosts; using staged");
    m.exchange_s[TRANSPORT_NCCL][LINK_INSIDE_HOST] = INFINITY;
    p = on(DEVICE_CUDA, 2, 2, "fuse = 1\ntransport = nccl");
    assert_string_equal(p->note[0].said.text, "run.transport = nccl: it is made up not to serve; using peer");
    m.no_halos = "nccl: a made-up refusal";
    p = on(DEVICE_CUDA, 2, 2, "fuse = 1\ntransport = mapped");
    assert_int_equal(p->transport, TRANSPORT_STAGED);
    p = on(DEVICE_HOST, 2, 2, "fuse = 1\ntransport = peer");
    assert_int_equal(p->transport, TRANSPORT_STAGED);
    assert_non_null(strstr(p->note[0].said.text, "the host device has transport staged only"));
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
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 1")->form, STEP_IN_KERNEL);
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 1\ntransport = aware")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 2")->form, STEP_OVERLAPPED);
    assert_int_equal(on(DEVICE_HOST, 1, 1, "fuse = 1")->form, STEP_OVERLAPPED);
    m.no_in_kernel = "a made-up refusal";
    const plan *p = on(DEVICE_CUDA, 2, 2, "fuse = 1");
    assert_int_equal(p->form, STEP_OVERLAPPED);
    assert_string_equal(
        p->note[0].said.text,
        "steps without in-kernel exchange, although the transport is peer: a made-up refusal");
    m.no_in_kernel = NULL; /* and where the stencil has no such kernels nobody is asked */
    int status = 0;
    for (int ranks = 1; ranks <= 2; ranks++) {
        const plan_facts f = facts_of(DEVICE_CUDA, ranks, 2, &norms);
        harness_config(&cfg, "[problem]\nkind = heat\nalpha = .1\n[grid]\nnx = 8192\n"
                             "[time]\nsteps = 1000\n[run]\nfuse = 1\n");
        p = plan_of(&f, ranks > 1, &status);
        assert_int_equal(p->form, STEP_OVERLAPPED);
        assert_non_null(strstr(p->because[PLAN_FORM].text, "only 2D stars and boxes"));
    }
}

static void graphs_serve_where_no_transport_needs_the_host(void **state)
{
    assert_int_equal(on(DEVICE_CUDA, 1, 1, "fuse = 1")->feed, CONFIG_FEED_GRAPH);
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 1")->feed, CONFIG_FEED_GRAPH);
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 1\nfeed = serial")->feed, CONFIG_FEED_SERIAL);
    assert_int_equal(on(DEVICE_CUDA, 2, 2, "fuse = 1\n[output]\ntrace = t.json")->feed, CONFIG_FEED_OPENMP);
    const plan *p = on(DEVICE_CUDA, 2, 2, "fuse = 1\nfeed = graph\ntransport = aware");
    assert_int_equal(p->feed, CONFIG_FEED_OPENMP);
    assert_string_equal(
        p->note[0].said.text,
        "run.feed = graph: with transport aware the host sends the messages of every step; using openmp");
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

static sentence streaming_why;
static int streaming_status;

/* Fields of 24 GiB in host memory, on ranks that have that much of a GPU's. */
static const plan *streaming(int ranks, double bytes, double host_bytes, const char *rest)
{
    static plan p;
    static problem prob;
    plan_room room[8] = { { 0 } };
    const plan_through through = { .bytes = bytes,
                                   .pass_steps = gpu_pass_steps,
                                   .because = { "it is asked for" } };
    plan_facts f = facts_of(DEVICE_HOST, ranks, ranks, &norms);
    for (int i = 0; i < ranks; i++) room[i].bytes = host_bytes;
    f.room = room;
    f.through = &through;
    harness_config(
        &cfg,
        "[problem]\nkind = heat\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 65536\nny = 98304\n[time]\n%s\n",
        rest);
    problem_make(&prob, &cfg);
    streaming_why.text[0] = '\0';
    streaming_status = plan_make(&p, &(plan_question){ &cfg, &prob.op, &f, NULL }, &streaming_why);
    return &p;
}

static int64_t chunk_rows(const plan *p) { return streaming_chunk_rows(&p->window); }

static const double gib = 1 << 30, host_bytes = 60.0 * (1 << 30);

/* As many steps as let the device compute while rows are on their way, if there is memory for large chunks;
 * and no more than it has. */
static void visits_fit_into_what_is_allowed(void **state)
{
    for (double bytes = gib / 4; bytes < 80 * gib; bytes *= 1.7) {
        const plan *p = streaming(1, bytes, host_bytes, "steps = 100000");
        assert_int_equal(streaming_status, 0);
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
    assert_int_equal(streaming_status, 0);
    assert_in_range(p->block_steps, 12, 120);
    p = streaming(1, 6 << 20, host_bytes, "steps = 100000");
    assert_int_equal(streaming_status, 2);
    assert_non_null(
        strstr(streaming_why.text, "6.29 MB of device memory are too few to stream rows of 65536 cells"));
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
    assert_int_equal(streaming_status, 3);
    assert_non_null(
        strstr(streaming_why.text,
               "grid 65536 x 98304: rank 0 needs 52.6 GB of host memory; 42.9 GB are free for it"));
    (void)streaming(2, 6 * gib, host_bytes, "steps = 1000\n[run]\nranks_x = 2");
    assert_int_equal(streaming_status, 2);
    const plan *p = streaming(1, gib, host_bytes, "steps = 1000\n[run]\nfuse = 1000");
    assert_int_equal(streaming_status, 0);
    assert_in_range(p->block_steps, 12, 999);
    assert_int_equal(p->notes, 1);
    assert_non_null(strstr(p->note[0].said.text,
                           "run.fuse = 1000: rows of 65536 cells: 1.07 GB of device memory have no room"));
    p = streaming(4, 6 * gib, host_bytes / 4, "steps = 100000");
    assert_int_equal(streaming_status, 0);
    assert_grid(p, 1, 4);
    assert_int_equal(p->form, STEP_EXCHANGE_FIRST);
}

/* Of a transpose on two ranks that share their GPUs or not. */
static const plan *transposed(int most_on_device, const char *run)
{
    int status = 0;
    plan_facts f = facts_of(DEVICE_CUDA, 2, 2, &norms);
    f.most_on_device = most_on_device;
    harness_config(&cfg,
                   "[problem]\nkind = transpose\n[grid]\nnx = 512\nny = 512\n[time]\nsteps = 10\n[run]\n%s\n",
                   run);
    const plan *p = plan_of(&f, true, &status);
    assert_int_equal(status, 0);
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
    assert_string_equal(p->note[0].said.text,
                        "run.transport = nccl: it cannot carry transposes; using aware");
    m.no_peer_transposes = "a made-up refusal";
    assert_int_equal(transposed(1, "")->redist_transport, TRANSPORT_AWARE);
    p = transposed(1, "transport = peer");
    assert_string_equal(p->note[0].said.text, "run.transport = peer: a made-up refusal; using aware");
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
    assert_close(on(DEVICE_CUDA, 2, 2, "fuse = 1"), PLAN_TRANSPORT, "peer would be taken if 1.0 % faster");
    assert_close(on(DEVICE_CUDA, 2, 2, "fuse = 1\ntransport = peer"), PLAN_TRANSPORT, NULL);
}

/* ---- any deck ---- */

enum { DECKS = 1000 };
static uint64_t seed;

static int any(int n) /* 0 .. n - 1 */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}
#define ONE_OF(...) \
    (((const char *[]){ __VA_ARGS__ })[any(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))])

/* The passes that there are. */
static int real_block_steps(const plan_facts *f, int most, bool norm)
{
    static problem of;
    problem_make(&of, &cfg);
    return f->device == DEVICE_HOST ? most
                                    : temporal_longest(&of.op, most, norm ? TEMPORAL_NORM : TEMPORAL_PLAIN);
}

static void random_deck(void)
{
    const char *kind = ONE_OF("heat", "wave", "advect", "laplace", "transpose", "sweep");
    const bool line = any(6) == 0 && strcmp(kind, "transpose") != 0 && strcmp(kind, "sweep") != 0;
    const int64_t nx = INT64_C(64) << any(10), ny = line ? 1 : INT64_C(64) << any(10);
    const int norm = any(3) ? 0 : 1 << any(8);
    harness_config(
        &cfg,
        "[problem]\nkind = %s\nalpha = 0.1\ndtype = %s\n[grid]\nnx = %lld\nny = %lld\n[time]\nsteps = "
        "%d\nnorm_every = %d\n"
        "[checkpoint]\nevery = %d\n[run]\ntransport = %s\nfeed = %s\nfuse = %d\ntune = %s\nlanes = %d\n",
        kind, ONE_OF("f32", "f64"), (long long)(nx + any(3)), (long long)(line ? 1 : ny + any(3)),
        1 + any(2000), norm, any(2) * 300,
        ONE_OF("auto", "auto", "staged", "aware", "mapped", "peer", "nccl"),
        ONE_OF("auto", "auto", "openmp", "serial", "graph"), any(2) ? 0 : 1 << any(6),
        ONE_OF("on", "on", "off"), any(3));
}

static void at_both_ends(const plan *p, const plan_facts *facts)
{
    static plan other;
    int status = 0;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        if (p->exchange.grid != &p->grid || p->exchange.kind[k] < 0) continue;
        plan_facts theirs = *facts;
        theirs.rank = p->grid.dec.neighbour[k];
        const transport_kind mine = p->choice.toward[k];
        other = *plan_of(&theirs, true, &status);
        assert_int_equal(other.choice.toward[DECOMP_NEIGHBOURS - 1 - k], mine);
        p = plan_of(facts, true, &status);
        return; /* of one link: each costs two plans */
    }
}

static void assert_same_choices(const plan *a, const plan *b)
{
    assert_int_equal(a->grid.dec.ranks_x, b->grid.dec.ranks_x);
    assert_int_equal(a->grid.dec.ranks_y, b->grid.dec.ranks_y);
    assert_int_equal(a->block_steps, b->block_steps);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->transport, b->transport);
    assert_int_equal(a->redist_transport, b->redist_transport);
    assert_int_equal(a->feed, b->feed);
    assert_int_equal(a->streams, b->streams);
    assert_memory_equal(a->exchange.used, b->exchange.used, sizeof a->exchange.used);
}

/* What no time decides. */
static void assert_dry_run_agrees(const plan *run, const plan *dry)
{
    assert_int_equal(run->grid.dec.ranks_x, dry->grid.dec.ranks_x);
    assert_int_equal(run->grid.dec.ranks_y, dry->grid.dec.ranks_y);
    assert_memory_equal(&run->grid.shape, &dry->grid.shape, sizeof run->grid.shape);
    assert_int_equal(run->streams, dry->streams);
    assert_memory_equal(run->exchange.links, dry->exchange.links, sizeof run->exchange.links);
    assert_true(run->block_steps <= dry->block_steps);
    if (cfg.run.fuse > 0) assert_int_equal(run->block_steps, dry->block_steps);
    if (cfg.run.transport == TRANSPORT_STAGED) assert_int_equal(dry->transport, TRANSPORT_STAGED);
}

static bool noted(const plan *p, const char *key)
{
    for (int i = 0; i < p->notes; i++)
        if (strstr(p->note[i].said.text, key)) return true;
    return false;
}

static void assert_fits(const plan *p, const plan_facts *f)
{
    const decomp *d = &p->grid.dec;
    const int64_t depth = (int64_t)p->block_steps * cfg.problem.radius;
    assert_int_equal(d->ranks_x * d->ranks_y, f->ranks);
    assert_true(d->ranks_x == 1 || d->nx / d->ranks_x >= depth);
    assert_true(d->ranks_y == 1 || d->ny / d->ranks_y >= depth);
    assert_true(p->grid.shape.depth_x >= depth);
    assert_true(p->feed != CONFIG_FEED_GRAPH ||
                (p->exchange.used[TRANSPORT_STAGED] == 0 && p->exchange.used[TRANSPORT_AWARE] == 0));
    assert_true(p->form != STEP_IN_KERNEL ||
                (p->block_steps == 1 && (f->ranks == 1 || p->transport == TRANSPORT_PEER)));
    assert_true(cfg.run.fuse == 0 || p->block_steps == cfg.run.fuse || noted(p, "run.fuse"));
    assert_true(cfg.run.feed == CONFIG_FEED_AUTO || p->feed == cfg.run.feed || noted(p, "run.feed"));
    assert_true(cfg.run.transport == TRANSPORT_AUTO || p->transport == cfg.run.transport ||
                noted(p, "run.transport"));
    for (int i = 0; i < p->notes; i++) assert_true(p->note[i].said.text[0] != '\0');
    char chosen[PLAN_CHOSEN_BYTES];
    for (plan_choice i = 0; i < PLAN_CHOICES; i++)
        assert_true(p->because[i].text[0] == '\0' || plan_chosen(chosen, p, i)[0] != '\0');
}

static void a_thousand_decks(void **state)
{
    static plan run, other;
    int status = 0, made = 0, mixed = 0;
    for (seed = 1; made < DECKS;) {
        random_deck();
        const int ranks = any(4) ? 1 << any(13) : 1 + any(4096), per_host = 1 << any(5);
        plan_facts facts = facts_of(any(4) ? DEVICE_CUDA : DEVICE_HOST, ranks, per_host, NULL);
        facts.block_steps = real_block_steps;
        m.single_step_s = any(2) ? 2e-3 : 1e-3;
        m.exchange_first_s = any(2) ? 1e-3 : 2e-3;
        for (int i = 0; i < TRANSPORT_KINDS * LINK_KINDS; i++)
            m.exchange_s[i / LINK_KINDS][i % LINK_KINDS] = any(4) ? 1e-6 * (1 + any(255)) : INFINITY;
        const plan *made_now = plan_of(&facts, true, &status);
        run = *made_now;
        /* else a sweep's other one, or none */
        run.exchange.grid = made_now->exchange.grid == &made_now->grid ? &run.grid : NULL;
        if (status != 0) continue; /* too many ranks for the grid */
        made++;
        assert_fits(&run, &facts);
        plan_facts theirs = facts;
        theirs.rank = any(ranks);
        other = *plan_of(&theirs, true, &status);
        assert_same_choices(&run, &other);
        other = *plan_of(&facts, false, &status);
        assert_fits(&other, &facts);
        assert_dry_run_agrees(&run, &other);
        at_both_ends(&run, &facts);
        int used = 0;
        for (int t = 0; t < TRANSPORT_KINDS; t++) used += run.exchange.used[t] > 0;
        mixed += used > 1;
    }
    assert_true(mixed > DECKS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(gpus_of_one_host_cut_rows_alone, all_serve),
        cmocka_unit_test_setup(a_close_choice_says_so, all_serve),
        cmocka_unit_test_setup(memory_is_enough_up_to_the_last_byte, all_serve),
        cmocka_unit_test_setup(blocks_that_find_no_room_are_shorter, all_serve),
        cmocka_unit_test_setup(blocks_are_tried_where_the_run_is_long_and_large, all_serve),
        cmocka_unit_test_setup(blocks_are_taken_for_a_tenth, all_serve),
        cmocka_unit_test_setup(passes_are_persistent_where_registers_hold_all_cells, all_serve),
        cmocka_unit_test_setup(overlapped_has_to_win_by_a_twentieth, all_serve),
        cmocka_unit_test_setup(the_fastest_transport_is_taken_and_half_of_peers_time_counts, all_serve),
        cmocka_unit_test_setup(what_is_asked_for_is_taken_where_it_serves, all_serve),
        cmocka_unit_test_setup(links_inside_a_host_and_between_hosts_differ, all_serve),
        cmocka_unit_test_setup(steps_go_in_kernels_where_all_neighbours_are_reached, all_serve),
        cmocka_unit_test_setup(graphs_serve_where_no_transport_needs_the_host, all_serve),
        cmocka_unit_test_setup(visits_fit_into_what_is_allowed, all_serve),
        cmocka_unit_test_setup(visits_end_where_a_norm_is_due, all_serve),
        cmocka_unit_test_setup(what_cannot_be_in_host_memory_is_refused, all_serve),
        cmocka_unit_test_setup(transposes_go_over_peer_then_aware_then_staged, all_serve),
        cmocka_unit_test_setup(the_default_variant_stays_within_the_noise, all_serve),
        cmocka_unit_test_setup(a_thousand_decks, all_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
