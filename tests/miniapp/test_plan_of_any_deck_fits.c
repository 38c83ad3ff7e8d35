/* A thousand decks on 1 to 4096 made-up ranks: every rank makes the same plan and both ends of a link agree;
 * a dry run, which asks for no times, differs from a run only in what times decide; what is chosen fits the
 * ranks and the deck, or a note says why not. */
#include <stdint.h>
#include <string.h>

#include "support/made_up_machine.h"
#include "support/plain_deck.h"

enum { DECKS = 1000 };

static int any(int n) { return (int)chance((uint64_t)n); } /* 0 .. n - 1 */
#define ONE_OF(...) \
    (((const char *[]){ __VA_ARGS__ })[any(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))])

static void random_deck(void)
{
    const char *kind = ONE_OF("heat", "wave", "advect", "laplace", "transpose", "sweep");
    const bool line = any(6) == 0 && strcmp(kind, "transpose") != 0 && strcmp(kind, "sweep") != 0;
    const int nx = 64 << any(10), ny = line ? 1 : 64 << any(10), norm = any(3) ? 0 : 1 << any(8);
    harness_config(
        &cfg,
        "[problem]\nkind = %s\nalpha = 0.1\ndtype = %s\n[grid]\nnx = %d\nny = %d\n[time]\nsteps = "
        "%d\nnorm_every = %d\n"
        "[checkpoint]\nevery = %d\n[run]\ntransport = %s\nfeed = %s\nfuse = %d\ntune = %s\nlanes = %d\n",
        kind, ONE_OF("f32", "f64"), nx + any(3), line ? 1 : ny + any(3), 1 + any(2000), norm, any(2) * 300,
        ONE_OF("auto", "auto", "staged", "aware", "mapped", "peer", "nccl"),
        ONE_OF("auto", "auto", "openmp", "serial", "graph"), any(2) ? 0 : 1 << any(6),
        ONE_OF("on", "on", "off"), any(3));
}

/* Each kind of link has the transport whose exchange is shortest, half of peer's counted; staged if none
 * serves. */
static void assert_fastest(const plan *p)
{
    const plan_exchange *const e = &p->exchange;
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        const transport_kind taken = e->favourite[kind];
        for (int t = 0; t < TRANSPORT_KINDS && e->links[kind] > 0 && cfg.run.transport == TRANSPORT_AUTO; t++)
            assert_true(!e->tried || e->way[kind][taken].seconds * (taken == TRANSPORT_PEER ? 0.5 : 1) <=
                                         e->way[kind][t].seconds * (t == TRANSPORT_PEER ? 0.5 : 1));
        assert_true(!e->tried || isfinite(e->way[kind][taken].seconds) || taken == TRANSPORT_STAGED);
    }
    for (int k = 0; k < DECOMP_NEIGHBOURS && e->grid == &p->grid; k++)
        if (e->kind[k] >= 0) assert_int_equal(p->grid.choice.toward[k], e->favourite[e->kind[k]]);
}

/* One link is looked at: each costs a plan. */
static void assert_both_ends_agree(const plan *p, plan_question q)
{
    int k = 0;
    while (k < DECOMP_NEIGHBOURS && p->exchange.kind[k] < 0) k++;
    if (p->exchange.grid != &p->grid || k == DECOMP_NEIGHBOURS) return;
    q.rank = p->grid.dec.neighbour[k];
    const transport_choice *const other = &plan_of(q, true)->grid.choice;
    assert_int_equal(other->toward[DECOMP_NEIGHBOURS - 1 - k], p->grid.choice.toward[k]);
}

static void assert_same_choices(const plan *a, const plan *b)
{
    char chosen[32];
    for (plan_choice i = 0; i < PLAN_VARIANT; i++) {
        snprintf(chosen, sizeof chosen, "%s", plan_chosen(a, i));
        assert_string_equal(chosen, plan_chosen(b, i));
        assert_string_equal(a->because[i].text, b->because[i].text);
    }
    assert_memory_equal(a->exchange.used, b->exchange.used, sizeof a->exchange.used);
}

/* The choices that no time decides are alike. */
static void assert_dry_run_agrees(const plan *run, const plan *dry)
{
    assert_int_equal(run->grid.dec.ranks_x, dry->grid.dec.ranks_x);
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

static void assert_fits(const plan *p, int ranks)
{
    const decomp *d = &p->grid.dec;
    const int64_t depth = (int64_t)p->block_steps * cfg.problem.radius;
    assert_int_equal(d->ranks_x * d->ranks_y, ranks);
    assert_true(d->ranks_x == 1 || d->nx / d->ranks_x >= depth);
    assert_true(d->ranks_y == 1 || d->ny / d->ranks_y >= depth);
    assert_true(p->grid.shape.depth_x >= depth);
    assert_true(p->feed != CONFIG_FEED_GRAPH ||
                (p->exchange.used[TRANSPORT_STAGED] == 0 && p->exchange.used[TRANSPORT_AWARE] == 0));
    assert_true(p->form != STEP_IN_KERNEL ||
                (p->block_steps == 1 && (ranks == 1 || p->transport == TRANSPORT_PEER)));
    assert_true(cfg.run.fuse == 0 || p->block_steps == cfg.run.fuse || noted(p, "run.fuse"));
    assert_true(cfg.run.feed == CONFIG_FEED_AUTO || p->feed == cfg.run.feed || noted(p, "run.feed"));
    assert_true(cfg.run.transport == TRANSPORT_AUTO || p->transport == cfg.run.transport ||
                noted(p, "run.transport"));
    for (int i = 0; i < p->notes; i++) assert_true(p->note[i].said.text[0] != '\0');
    for (plan_choice i = 0; i < PLAN_CHOICES; i++)
        assert_true(p->because[i].text[0] == '\0' || plan_chosen(p, i)[0] != '\0');
}

static void a_thousand_decks(void **state)
{
    static plan run;
    int made = 0, mixed = 0;
    while (made < DECKS) {
        random_deck();
        const int ranks = any(4) ? 1 << any(13) : 1 + any(4096), per_host = 1 << any(5);
        plan_question q = question_of(any(4) ? DEVICE_CUDA : DEVICE_HOST, ranks, per_host);
        m.single_step_s = any(2) ? 2e-3 : 1e-3;
        for (int i = 0; i < TRANSPORT_KINDS * LINK_KINDS; i++)
            m.exchange_s[i / LINK_KINDS][i % LINK_KINDS] = any(4) ? 1e-6 * (1 + any(255)) : INFINITY;
        const plan *made_now = plan_of(q, true);
        run = *made_now;
        /* else a sweep's other one, or none */
        run.exchange.grid = made_now->exchange.grid == &made_now->grid ? &run.grid : NULL;
        if (made_status != 0) continue; /* too many ranks for the grid */
        made++;
        assert_fits(&run, ranks);
        assert_fastest(&run);
        assert_fits(plan_of(q, false), ranks);
        assert_dry_run_agrees(&run, plan_of(q, false));
        assert_both_ends_agree(&run, q);
        q.rank = any(ranks);
        assert_same_choices(&run, plan_of(q, true));
        int used = 0;
        for (int t = 0; t < TRANSPORT_KINDS; t++) used += run.exchange.used[t] > 0;
        mixed += used > 1;
    }
    assert_true(mixed > DECKS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup(a_thousand_decks, all_serve) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
