/* A transport is timed only once it has brought every cell: one that is refused or damages a cell has its
 * reason. ranks: 2 6 */
#include "support/comm_harness.h"

#include <math.h>

static device *d;
static transport_trial of; /* on a grid of ranks */
static decomp dec;
static field_shape shape;

static void begin(int ranks_x)
{
    sentence why;
    void *field;
    d = deferred_device_create((unsigned)harness.rank);
    d->unshared = "a made-up refusal";
    dec = (decomp){
        .nx = 60, .ny = 48, .ranks_x = ranks_x, .periodic_x = true, .periodic_y = true, .rank = harness.rank
    };
    if (!decomp_make(&dec, harness.ranks, 2, &why)) fail_msg("%s", why.text);
    shape = field_shape_make(DTYPE_F32, box_width(dec.own), box_height(dec.own), 2, 2);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, shape.bytes, &field);
    of = (transport_trial){ &dec, d, &shape, field, 2, true, harness.comm };
}

static void end(void)
{
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, of.field);
    device_destroy(&d);
}

/* Over all links of which there are; INFINITY where one does not serve. */
static double trial_of(transport_kind t, sentence *why)
{
    bool toward[DECOMP_NEIGHBOURS];
    double seconds[2];
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) toward[k] = dec.neighbour[k] >= 0;
    if (!transport_trial_serves(&of, toward, t, why)) return INFINITY;
    transport_trial_times(&of, toward, (transport_kind[]){ TRANSPORT_STAGED, t }, 2, seconds);
    return seconds[1];
}

static void what_is_refused_has_its_reason(void **state)
{
    for (int i = 0; i < harness.ranks * TRANSPORT_KINDS; i++) {
        const transport_kind t = (transport_kind)(i % TRANSPORT_KINDS);
        const transport_choice choice = transport_choice_of_all(t);
        const int ranks_x = 1 + i / TRANSPORT_KINDS;
        sentence why = { "" }, whole;
        if (harness.ranks % ranks_x) continue;
        begin(ranks_x);
        const double s = trial_of(t, &why);
        /* NCCL: not built, no library, or one GPU for all ranks */
        const bool refused = t == TRANSPORT_PEER || t == TRANSPORT_NCCL;
        assert_true(refused ? isinf(s) && why.text[0] : s > 0 && s < 10 && !why.text[0]);
        if (t == TRANSPORT_PEER) assert_non_null(strstr(why.text, "a made-up refusal"));
        halo *h = halo_create(&dec, d, &shape, 2, true, &choice, harness.comm);
        sentence_set(&whole, "%s: %s", transport_kind_name(t), why.text);
        assert_string_equal(halo_refused(h), refused ? whole.text : "");
        halo_destroy(&h);
        end();
    }
}

static DEVICE_FUNCTION(unpack, (*whole_unpack));
static int exchanges, lost_in; /* a probe has three */
static int lose_a_cell(device *me, const field_shape *f, void *field, const void *buffer,
                       const pack_piece *pieces, int count, unpack_mode mode, device_stream *s)
{
    pack_piece fewer[PACK_PIECES_MAX];
    memcpy(fewer, pieces, (size_t)count * sizeof *pieces);
    if (exchanges++ == lost_in && harness.rank == harness.ranks - 1) fewer[count - 1].cells.x1--;
    return whole_unpack(me, f, field, buffer, fewer, count, mode, s);
}

static void what_loses_a_cell_does_not_serve(void **state)
{
    sentence why = { "" };
    begin(1);
    whole_unpack = d->unpack;
    d->unpack = lose_a_cell;
    for (lost_in = 0; lost_in < 3; lost_in++) {
        exchanges = 0;
        assert_true(isinf(trial_of(TRANSPORT_MAPPED, &why)));
        assert_non_null(strstr(why.text, "arrived wrong"));
    }
    d->unpack = whole_unpack;
    assert_true(isfinite(trial_of(TRANSPORT_MAPPED, &why)));
    end();
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_has_its_reason),
        cmocka_unit_test(what_loses_a_cell_does_not_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
