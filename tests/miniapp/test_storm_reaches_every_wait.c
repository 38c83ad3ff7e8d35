/* In the 21 runs that a storm takes by default there is something for each race to be found in, on GPUs of 2
 * and 4 ranks and from any seed; and what is held up there is so for longer than whoever does not wait for it
 * needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "storm/storm_delay.h"
#include "storm/storm_race.h"
#include "storm/storm_ways.h"

enum { RUNS = 21, SEEDS = 60 };

/* What a run on GPUs makes of a way whose transport can be had. */
typedef struct facts {
    bool stencil, two_d, block, messages, peer, graph, images, in_kernel, split;
} facts;

static facts facts_of(const storm_way *w)
{
    const config *c = &w->c;
    const transport_kind t = c->run.transport;
    facts f = { .stencil = config_kind_of(c)->transposes == 0,
                .two_d = config_two_d(c),
                .block = c->run.fuse > 1,
                .messages = transport_traits_of(t)->needs_host,
                .peer = t == TRANSPORT_PEER };
    f.graph = c->run.feed == CONFIG_FEED_GRAPH && f.stencil && !f.messages;
    f.images = (c->run.ranks_x == 1 && c->grid.sides.x_low.kind == BOUNDARY_PERIODIC) ||
               (c->run.ranks_y == 1 && f.two_d && c->grid.sides.y_low.kind == BOUNDARY_PERIODIC);
    f.in_kernel = f.stencil && f.two_d && !f.block && f.peer && (f.graph || w->form == STEP_FORMS);
    f.split = (f.stencil || config_kind_of(c)->by_lines) && !f.graph && !f.in_kernel;
    return f;
}

/* Races are not put into what is captured. */
static bool has(const storm_way *w, storm_race race)
{
    const facts f = facts_of(w);
    const bool strips = f.split && w->c.run.streams > 1 && !(f.block && w->form == STEP_EXCHANGE_FIRST);
    switch (race) {
    case STORM_EXCHANGE_BEFORE_LEVEL:
        return f.split && f.block && f.images; /* elsewhere its own stream made nearly all that it reads */
    case STORM_STRIP_BEFORE_LEVEL: return strips;
    case STORM_NEXT_BEFORE_STRIP: return strips;
    case STORM_NEXT_BEFORE_SHELL: return f.split;
    case STORM_MESSAGE_BEFORE_PACK: return f.split && f.messages && w->c.run.transport != TRANSPORT_AWARE;
    case STORM_MESSAGE_BEFORE_FIELD:
        return f.stencil && w->c.run.transport == TRANSPORT_AWARE && (w->c.run.ranks_x == 1 || !f.two_d);
    case STORM_NORM_BEFORE_IT_IS_THERE: return w->c.time.norm_every > 0;
    case STORM_STRIP_BEFORE_IMAGES: return f.split && f.block && f.images;
    case STORM_PART_BEFORE_TRANSPOSE: return !f.stencil && f.messages;
    case STORM_ASIDE_BEFORE_LEVEL: return f.stencil && w->aside;
    case STORM_NEXT_UNDER_SNAPSHOT: return f.stencil && w->aside && w->full;
    case STORM_BLOCK_BEFORE_FLAG_WORDS: return f.in_kernel;
    case STORM_PART_BEFORE_FLAG: return f.stencil && f.peer && !f.in_kernel;
    case STORM_CHUNK_BEFORE_FLAG: return !f.stencil && f.peer;
    case STORM_COPY_BEFORE_MEETING:
        return f.stencil && w->c.run.transport == TRANSPORT_COPY && (w->c.run.ranks_x == 1 || !f.two_d);
    case STORM_UNPACK_BEFORE_CHUNKS: return w->chunked;
    case STORM_NO_RACE:
    case STORM_RACES: break;
    }
    return false;
}

static int count(storm_race race, unsigned seed, int ranks)
{
    static storm_way w;
    int runs = 0;
    for (int number = 0; number < RUNS; number++) {
        storm_way_make(&w, seed, number, ranks, CONFIG_DEVICE_CUDA);
        if (has(&w, race)) runs++;
    }
    return runs;
}

static void each_race_has_runs_from_any_seed(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks += 2)
        for (unsigned seed = 0; seed < SEEDS; seed++)
            for (storm_race race = 1; race < STORM_RACES; race++)
                if (count(race, seed, ranks) == 0)
                    fail_msg("%d ranks, seed %u, no run for: %s", ranks, seed, storm_race_name[race]);
}

/* Debug builds alone pretend hosts. */
static void links_of_both_kinds_come(void **state)
{
    static storm_way w;
    int blocks = 0, single = 0;
    (void)state;
    for (int number = 0; number < 2 * RUNS; number++) {
        storm_way_make(&w, 1, number, 4, CONFIG_DEVICE_CUDA);
        if (w.hosts == 1 || w.form != STEP_FORMS || config_kind_of(&w.c)->transposes > 0) continue;
        assert_int_equal(w.c.run.transport, TRANSPORT_PEER);
        if (w.c.run.fuse > 1) blocks++;
        else single++;
    }
    assert_true(blocks > 0 && single > 0);
}

/* ---- who is late ---- */

static int64_t held_ns;
static int held;

static int hold(device *d, int64_t ns, device_stream *s)
{
    (void)d, (void)s;
    held_ns = ns;
    held++;
    return 0;
}

static sim *sim_with_streams(void)
{
    static device d = { .kind = DEVICE_CUDA };
    static char place[4];
    static sim s;
    s.dev = &d;
    s.streams.count = 3;
    for (int i = 0; i < 3; i++) s.streams.stream[i] = (device_stream *)(void *)&place[i];
    s.streams.comm = (device_stream *)(void *)&place[3];
    return &s;
}

static void beside_the_steps_half_is_late_for_several(void **state)
{
    static char aside;
    (void)state;
    storm_delay_begin(sim_with_streams(), hold, 5);
    held = 0;
    for (int i = 0; i < 1000; i++) {
        held_ns = 0;
        assert_int_equal(storm_delay_aside((device_stream *)(void *)&aside), 0);
        assert_true(held_ns == 0 || (held_ns >= 500000 && held_ns < 1500000));
    }
    assert_in_range(held, 400, 600);
    assert_int_equal(storm_delay_most(0).who, STORM_LATE_ASIDE);
}

static void whoever_was_late_by_most_is_known(void **state)
{
    sim *s = sim_with_streams();
    device_stream *const stream[] = { s->streams.stream[0], s->streams.stream[2], s->streams.comm };
    const int64_t who[] = { 0, 2, STORM_LATE_EXCHANGE };
    storm_late most = { 0 };
    (void)state;
    storm_delay_begin(s, hold, 7);
    held = 0;
    for (int i = 0; i < 3000; i++) {
        held_ns = 0;
        storm_delay_level(40 + i / 1500);
        assert_int_equal(storm_delay_work(stream[i % 3]), 0);
        if (held_ns > most.ns) most = (storm_late){ held_ns, who[i % 3] };
    }
    assert_in_range(held, 300, 450);
    assert_in_range(most.ns, 800000, 1000000);
    assert_int_equal(storm_delay_most(41).ns, most.ns);
    assert_int_equal(storm_delay_most(41).who, most.who);
    assert_int_equal(storm_delay_most(43).ns, 0);
    storm_delay_level(-1); /* captured: late in every step or none */
    for (int i = 0; i < 100; i++) (void)storm_delay_work(stream[0]);
    assert_int_equal(storm_delay_most(43).ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_race_has_runs_from_any_seed),
        cmocka_unit_test(links_of_both_kinds_come),
        cmocka_unit_test(beside_the_steps_half_is_late_for_several),
        cmocka_unit_test(whoever_was_late_by_most_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
