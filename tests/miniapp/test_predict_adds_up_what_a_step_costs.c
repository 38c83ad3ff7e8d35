/* The model of a step adds up bytes, launches and messages as predict.h says, on a machine of round numbers:
 * checked against sums done by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict/predict.h"
#include "predict/predict_temporal.h"

static int near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

/* 1 TB/s, launches of 1 us, links of 10 us and 1 GB/s within a host, 20 us and 10 GB/s between hosts. */
static predict_machine round_machine(void)
{
    predict_machine m;
    predict_machine_init(&m, true, 1e-6);
    predict_add_copy(&m, 1e6, 1e12);
    for (int t = 0; t < PREDICT_TRANSPORTS; t++) {
        m.exchange[t] = (predict_link){ 10e-6, 1e9 };
        predict_add_transpose(&m, (transport_kind)t, 4, 1e11);
    }
    m.between = (predict_link){ 20e-6, 1e10 };
    m.processors = 0; /* passes by their cells alone */
    m.norm_cell_s = 1e-12;
    return m;
}

static const boundary periodic = { { .kind = BOUNDARY_PERIODIC },
                                   { .kind = BOUNDARY_PERIODIC },
                                   { .kind = BOUNDARY_PERIODIC },
                                   { .kind = BOUNDARY_PERIODIC } };
static const boundary mirrors = { { .kind = BOUNDARY_NEUMANN },
                                  { .kind = BOUNDARY_NEUMANN },
                                  { .kind = BOUNDARY_DIRICHLET },
                                  { .kind = BOUNDARY_DIRICHLET } };

static predict_case heat(int ranks, int ranks_x, transport_kind t, step_form form)
{
    return (predict_case){ .kind = KIND_HEAT,
                           .type = DTYPE_F64,
                           .radius = 1,
                           .nx = 1000,
                           .ny = 1000.0 * ranks,
                           .ranks = ranks,
                           .ranks_x = ranks_x,
                           .ranks_y = ranks / ranks_x,
                           .per_host = 4,
                           .form = form,
                           .stencil = STENCIL_STAR,
                           .sides = periodic,
                           .transport = t };
}

static void a_step_by_hand(void **state)
{
    (void)state;
    const predict_machine m = round_machine();
    predict_case c = heat(1, 1, TRANSPORT_STAGED, STEP_IN_KERNEL); /* 16 MB: 16 us */
    predict_time t = predict_step(&m, &c);
    assert_true(near(t.memory_s, 16e-6) && near(t.step_s, 17.4e-6));
    assert_string_equal(t.bottleneck, "memory");

    c = heat(4, 1, TRANSPORT_PEER, STEP_IN_KERNEL); /* and some of a launch for having neighbours */
    assert_true(near(predict_step(&m, &c).step_s, 18.2e-6));
    c.feed = 1;
    assert_true(near(predict_step(&m, &c).step_s, (16 + 0.4 + 0.14) * 1e-6));

    c = heat(4, 1, TRANSPORT_STAGED, STEP_OVERLAPPED); /* rows of 8000 bytes: 18 us, 2 of them longer than
                                                        * the interior */
    t = predict_step(&m, &c);
    assert_true(near(t.exchange_alone_s, 18e-6) && near(t.step_s, (16 + 4 + 2) * 1e-6));
    c.exchange_alone_s = 30e-6; /* as a run found it */
    assert_true(near(predict_step(&m, &c).step_s, (30 + 4) * 1e-6));
    c = heat(4, 1, TRANSPORT_NCCL, STEP_OVERLAPPED); /* by kernels: hidden behind a fifth of the interior */
    assert_true(near(predict_step(&m, &c).step_s, (16 + 2.2 + 18 - 3.2) * 1e-6));

    c = heat(4, 2, TRANSPORT_AWARE, STEP_OVERLAPPED); /* rows of 500 cells, columns of 2000, one axis after
                                                       * the other */
    assert_true(near(predict_step(&m, &c).exchange_alone_s, (20 + 4 + 16) * 1e-6));
    c.norm_every = 2;
    assert_true(near(predict_step(&m, &c).norm_s, 1.25e-6));
}

static void hosts_share_their_way_out(void **state)
{
    (void)state;
    const predict_machine m = round_machine();
    /* two rows leave each host of whole rows */
    predict_case c = heat(16, 1, TRANSPORT_STAGED, STEP_OVERLAPPED);
    assert_int_equal(predict_hosts(&c), 4);
    assert_true(near(predict_step(&m, &c).exchange_alone_s, fmax(18e-6, 20e-6 + 16e3 / 1e10)));
    c.ranks_x = 16; /* one row of ranks, hosts of four: columns of 16000 cells alone are cut */
    c.ranks_y = 1;
    assert_true(near(predict_step(&m, &c).exchange_alone_s, fmax(10e-6 + 128e-6, 20e-6 + 256e3 / 1e10)));
    c.norm_every = 1; /* 2.5 launches, and 2 hops */
    assert_true(near(predict_step(&m, &c).norm_s, 42.5e-6));
    c.per_host = 1;
    assert_true(near(predict_step(&m, &c).exchange_alone_s, 20e-6 + 256e3 / 1e10));
}

/* 10 steps of 1 M cells of 8 bytes at 2 ps per step: 20 us, of which a copy of the field takes 16. */
static void passes_of_several_steps(void **state)
{
    (void)state;
    predict_machine m = round_machine();
    predict_case c = heat(4, 1, TRANSPORT_STAGED, STEP_OVERLAPPED);
    c.block_steps = 10;
    assert_false(predict_knows(&m, &c));
    predict_pass_of(&m, &c)->cell_s = 20e-12;
    assert_true(predict_knows(&m, &c));
    /* 9 rows of 1000 on either side, half of them on average; halos of 80 kB take 90 us, and to have
     * neighbours at all 3 */
    predict_time t = predict_step(&m, &c);
    assert_true(near(predict_redundant(&c), 9.0 / 1000 + 9.0 / 1000));
    const double pass_s = 20e-6 * 1.018;
    assert_true(near(t.memory_s, 1.6e-6) && near(t.arithmetic_s, (pass_s - 16e-6) / 10) &&
                near(t.launches_s, 0.15e-6));
    assert_true(near(t.exchange_alone_s, 90e-6) && near(t.exchange_s, (90e-6 - pass_s + 3e-6) / 10));
    assert_string_equal(t.bottleneck, "exchange");
    c.norm_every = 10; /* the pass takes it with it: 1 us, and 2.5 */
    assert_true(near(predict_step(&m, &c).step_s, t.step_s + 0.35e-6));
    c.radius = 2; /* no such pass does: one single step more in ten, and a norm */
    c.norm_every = 0;
    predict_pass_of(&m, &c)->cell_s = 200e-12;
    t = predict_step(&m, &c);
    c.norm_every = 10;
    predict_case single = c;
    single.block_steps = 1;
    single.norm_every = 0;
    assert_true(near(predict_step(&m, &c).step_s,
                     0.9 * t.step_s + 0.1 * (predict_step(&m, &single).step_s + 2.5e-6)));

    /* advection has the same sums; no other length is predicted */
    c = heat(1, 1, TRANSPORT_STAGED, STEP_OVERLAPPED);
    c.kind = KIND_WAVE;
    c.block_steps = 4;
    assert_false(predict_knows(&m, &c));
    predict_pass_of(&m, &c)->cell_s = 40e-12;
    c.kind = KIND_ADVECT;
    c.sides = mirrors;
    assert_true(near(predict_pass_s(&m, &c), 40e-6));
    c.kind = KIND_LAPLACE; /* heat's */
    assert_false(predict_knows(&m, &c));
    c.block_steps = 10;
    assert_true(near(predict_pass_s(&m, &c), 20e-6));
}

/* Strips and border are the kernels' own plan: of f64, radius 1, 8 steps a warp has 128 cells, of which it
 * stores 112. */
static void passes_by_strips(void **state)
{
    (void)state;
    predict_machine m = round_machine();
    predict_case c = heat(1, 1, TRANSPORT_STAGED, STEP_OVERLAPPED);
    m.processors = 12; /* 96 warps */
    const double places_a_row = 96 * 112;
    c.block_steps = 8;
    c.nx = 1120; /* 10 strips: 9 chunks of 23 rows, and 8 above and below, at once */
    c.ny = 200;
    assert_true(near(predict_places(&m, &c), 39 * places_a_row));
    c.nx = 1121; /* 11 strips, the last of which ends beyond the periodic side: 8 chunks of 25 rows */
    assert_true(near(predict_places(&m, &c), 41 * places_a_row));
    c.nx = 1120;
    c.ranks = c.ranks_y = 2; /* shells of 8 rows, each 24 with its ghosts, beside 9 chunks of 21 */
    c.ny = 400;
    assert_true(near(predict_places(&m, &c), (37 + 2 * 24 * 10 / 96.0) * places_a_row));
    c.form = STEP_EXCHANGE_FIRST; /* no shells */
    assert_true(near(predict_places(&m, &c), 39 * places_a_row));
    c.ranks = c.ranks_y = 1; /* the border's SMs are not the interior's */
    c.ny = 200;
    c.sides = mirrors;
    assert_true(predict_places(&m, &c) > 41 * places_a_row);
    assert_int_equal(predict_longest_block(&m, &c, 11, false), 8);
}

static void transposes_send_all_but_their_own(void **state)
{
    (void)state;
    const predict_machine m = round_machine();
    /* 8 MB per rank, 6 of them sent: 60 us; 32 us of memory */
    predict_case c = heat(4, 1, TRANSPORT_PEER, STEP_OVERLAPPED);
    c.kind = KIND_TRANSPOSE;
    predict_time t = predict_step(&m, &c);
    assert_true(near(t.memory_s, 32e-6) && near(t.step_s, 61.4e-6));
    c.kind = KIND_SWEEP;
    assert_true(near(predict_step(&m, &c).step_s, (32 + 120 + 1.4) * 1e-6));
    c.kind = KIND_TRANSPOSE;
    c.per_host = 2; /* 16 MB of a host, half of it leaves: 800 us, and three messages of 20 us */
    t = predict_step(&m, &c);
    assert_true(near(t.step_s, (800 + 60 + 1.4) * 1e-6));
    assert_string_equal(t.bottleneck, "transpose");
}

static void the_nearest_number_of_ranks_tells_the_rate_of_a_transpose(void **state)
{
    (void)state;
    predict_machine m;
    predict_machine_init(&m, true, 1e-6);
    assert_true(isnan(predict_transpose_rate(&m, TRANSPORT_PEER, 2)));
    predict_add_transpose(&m, TRANSPORT_PEER, 2, 3e11);
    predict_add_transpose(&m, TRANSPORT_PEER, 8, 1e11);
    predict_add_transpose(&m, TRANSPORT_PEER, 8, 2e11); /* the last counts */
    assert_true(near(predict_transpose_rate(&m, TRANSPORT_PEER, 3), 3e11));
    assert_true(near(predict_transpose_rate(&m, TRANSPORT_PEER, 5), 2e11));
    assert_true(near(predict_transpose_rate(&m, TRANSPORT_PEER, 8), 2e11));
    assert_null(predict_transpose_of(&m, TRANSPORT_PEER, 4));
    assert_true(isnan(predict_transpose_rate(&m, TRANSPORT_AWARE, 2)));
}

static void copies_between_two_sizes(void **state)
{
    (void)state;
    predict_machine m;
    predict_machine_init(&m, true, 1e-6);
    predict_add_copy(&m, 1e8, 1e12);
    predict_add_copy(&m, 1e6, 4e12);
    predict_add_copy(&m, 1.02e8, 0.9e12); /* as large: the best counts */
    assert_int_equal(m.copies, 2);
    assert_true(near(predict_copy_rate(&m, 1e5), 4e12) && near(predict_copy_rate(&m, 1e9), 1e12));
    assert_true(near(predict_copy_rate(&m, 1e7), 2e12));
}

static void checkpoints_as_often_as_failures_ask(void **state)
{
    (void)state;
    assert_true(near(predict_interval_daly(50, 10000), 1000 * (1 + 0.05 / 3 + 0.0025 / 9) - 50));
    assert_true(near(predict_interval_daly(50, 20), 20));
    assert_true(near(predict_waste(950, 50, 10000), 0.05 + 0.05));
    /* Daly's interval is near the best there is */
    const double best = predict_waste(predict_interval_daly(300, 30000), 300, 30000);
    assert_true(predict_waste(2000, 300, 30000) > best && predict_waste(9000, 300, 30000) > best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_by_hand),
        cmocka_unit_test(hosts_share_their_way_out),
        cmocka_unit_test(passes_of_several_steps),
        cmocka_unit_test(passes_by_strips),
        cmocka_unit_test(transposes_send_all_but_their_own),
        cmocka_unit_test(the_nearest_number_of_ranks_tells_the_rate_of_a_transpose),
        cmocka_unit_test(copies_between_two_sizes),
        cmocka_unit_test(checkpoints_as_often_as_failures_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
