/* Candidates that move every cell are timed and one of them is chosen; one that is refused, damages a cell or comes too late is
 * left out with its reason, on all links or between hosts alone; and whatever the times, both ends of a link choose the same.
 * ranks: 1 2 3 4 6 */
#include "exchange/transport_selection.h"
#include "support/comm_harness.h"

#include <math.h>

/* Two made-up hosts, of the even ranks and the odd ones: MPI lets a program put its own function before MPI's. */
static bool made_up_hosts;

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    int rank;
    if (!made_up_hosts) return PMPI_Comm_split_type(comm, type, key, info, part);
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, rank % 2, key, part);
}

typedef struct fixture {
    device *d;
    decomp dec;
    field_shape shape;
    void *field;
} fixture;

static const char *unreachable(device *d, const char *uuid)
{
    (void)d, (void)uuid;
    return "a made-up refusal";
}

static fixture make(int ranks_x)
{
    fixture f = { .d = deferred_device_create((unsigned)harness.rank) };
    sentence why;
    f.d->reach_refusal = unreachable;
    if (!decomp_make(&f.dec, 60, 48, true, true, harness.ranks, harness.rank, ranks_x, 0, 2, &why)) fail_msg("%s", why.text);
    f.shape = field_shape_make(DTYPE_F32, box_width(f.dec.own), box_height(f.dec.own), 2, 2);
    DEVICE_CALL(f.d, alloc, DEVICE_MEMORY_DEVICE, f.shape.bytes, &f.field);
    return f;
}

static void drop(fixture *f)
{
    DEVICE_CALL(f->d, free, DEVICE_MEMORY_DEVICE, f->field);
    device_destroy(&f->d);
}

static transport_selection start(fixture *f, double budget_s)
{
    return transport_selection_create(&f->dec, f->d, &f->shape, f->field, 2, true, budget_s, harness.comm);
}

/* Links whose other end chose otherwise, over all ranks. */
static long disagreements(const transport_selection *sel)
{
    long wrong = 0;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int back = DECOMP_NEIGHBOURS - 1 - k; /* who is asked by k is asked from there */
        const int to = sel->kind[back] >= 0 ? sel->dec->neighbour[back] : MPI_PROC_NULL;
        const int from = sel->kind[k] >= 0 ? sel->dec->neighbour[k] : MPI_PROC_NULL;
        int mine = (int)sel->choice.toward[back], theirs = (int)sel->choice.toward[k];
        MPI_CHECK(MPI_Sendrecv(&mine, 1, MPI_INT, to, k, &theirs, 1, MPI_INT, from, k, harness.comm, MPI_STATUS_IGNORE));
        wrong += theirs != (int)sel->choice.toward[k];
    }
    return harness_sum(wrong);
}

/* A halo of this transport alone is refused with its name, and that reason behind it. */
static bool is_whole_reason(const fixture *f, transport_kind t, const char *reason)
{
    char wanted[SENTENCE_BYTES + 64];
    const transport_choice choice = transport_choice_of_all(t);
    halo *h = halo_create(&f->dec, f->d, &f->shape, 2, true, &choice, harness.comm);
    snprintf(wanted, sizeof wanted, "%s: %s", transport_kind_name(t), reason);
    const bool same = strcmp(halo_refused(h), wanted) == 0;
    halo_destroy(&h);
    return same;
}

static void what_is_refused_is_left_out(void **state)
{
    sentence why = { "" };
    (void)state;
    for (int ranks_x = 1; ranks_x <= harness.ranks; ranks_x++) {
        if (harness.ranks % ranks_x) continue;
        fixture f = make(ranks_x);
        transport_selection sel = start(&f, 60);
        transport_selection_try(&sel, TRANSPORT_STAGED);
        transport_selection_try(&sel, TRANSPORT_PEER);
        transport_selection_try(&sel, TRANSPORT_NCCL);
        transport_selection_try(&sel, TRANSPORT_MAPPED);
        transport_selection_leave_out(&sel, TRANSPORT_AWARE, "not asked for");
        transport_selection_decide(&sel, TRANSPORT_PEER);
        assert_int_equal(transport_selection_has_links(&sel), harness.ranks > 1);
        if (harness.ranks > 1) {
            assert_false(transport_selection_passed(&sel, TRANSPORT_PEER, &why));
            assert_non_null(strstr(why.text, "a made-up refusal"));
            assert_true(is_whole_reason(&f, TRANSPORT_PEER, why.text));
            /* not built, no library, or one GPU for all ranks */
            assert_false(transport_selection_passed(&sel, TRANSPORT_NCCL, &why));
            assert_true(why.text[0] != '\0');
            if (harness.rank == 0) print_message("nccl: %s\n", why.text);
            assert_false(transport_selection_passed(&sel, TRANSPORT_AWARE, &why));
            assert_string_equal(why.text, "not asked for");
            assert_true(transport_selection_passed(&sel, TRANSPORT_STAGED, &why));
            assert_true(transport_selection_passed(&sel, TRANSPORT_MAPPED, &why));
            assert_int_equal(sel.used[TRANSPORT_STAGED] + sel.used[TRANSPORT_MAPPED], sel.links[LINK_INSIDE_HOST]);
            assert_true(sel.trial[TRANSPORT_MAPPED][LINK_INSIDE_HOST].slowest_s < 10);
        }
        assert_int_equal(disagreements(&sel), 0);
        transport_selection_decide(&sel, TRANSPORT_MAPPED); /* what works is taken where it is asked for, whatever the times */
        assert_int_equal(sel.used[TRANSPORT_MAPPED], sel.links[LINK_INSIDE_HOST]);
        drop(&f);
    }
}

static int lose_a_cell(device *d, const field_shape *shape, void *field, const void *buffer, const pack_piece *pieces, int count,
                       unpack_mode mode, device_stream *s)
{
    pack_piece fewer[PACK_PIECES_MAX];
    memcpy(fewer, pieces, (size_t)count * sizeof *pieces);
    if (harness.rank == harness.ranks - 1) fewer[count - 1].cells.x1--;
    return deferred_unpack(d, shape, field, buffer, fewer, count, mode, s);
}

static void what_loses_a_cell_is_left_out(void **state)
{
    sentence why = { "" };
    (void)state;
    if (harness.ranks == 1) return;
    fixture f = make(1);
    transport_selection sel = start(&f, 60);
    f.d->unpack = lose_a_cell;
    transport_selection_try(&sel, TRANSPORT_MAPPED);
    f.d->unpack = deferred_unpack;
    transport_selection_try(&sel, TRANSPORT_STAGED);
    transport_selection_decide(&sel, TRANSPORT_MAPPED);
    assert_false(transport_selection_passed(&sel, TRANSPORT_MAPPED, &why));
    assert_non_null(strstr(why.text, "arrived wrong"));
    assert_int_equal(sel.used[TRANSPORT_STAGED], sel.links[LINK_INSIDE_HOST]);
    drop(&f);
}

static void what_comes_too_late_is_left_out(void **state)
{
    sentence why = { "" };
    (void)state;
    if (harness.ranks == 1) return;
    fixture f = make(1);
    transport_selection sel = start(&f, 0);
    transport_selection_try(&sel, TRANSPORT_MAPPED);
    transport_selection_decide(&sel, TRANSPORT_AUTO);
    assert_false(transport_selection_passed(&sel, TRANSPORT_MAPPED, &why));
    assert_non_null(strstr(why.text, "no time left"));
    assert_int_equal(sel.used[TRANSPORT_STAGED], sel.links[LINK_INSIDE_HOST]);
    drop(&f);
}

/* peer reaches no other host: it is taken inside, where it works, and something else between. */
static void what_fails_between_hosts_serves_inside(void **state)
{
    sentence why = { "" };
    (void)state;
    made_up_hosts = true;
    for (int ranks_x = 1; ranks_x <= harness.ranks; ranks_x++) {
        if (harness.ranks % ranks_x) continue;
        fixture f = make(ranks_x);
        transport_selection sel = start(&f, 60);
        transport_selection_try(&sel, TRANSPORT_PEER);
        transport_selection_try(&sel, TRANSPORT_MAPPED);
        transport_selection_trial *const peer = &sel.trial[TRANSPORT_PEER][LINK_INSIDE_HOST];
        peer->seconds = peer->slowest_s = 1e-9; /* as if it worked */
        transport_selection_decide(&sel, TRANSPORT_PEER);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
            if (sel.kind[k] < 0) continue;
            const bool inside = (f.dec.rank + f.dec.neighbour[k]) % 2 == 0;
            assert_int_equal(sel.kind[k], inside ? LINK_INSIDE_HOST : LINK_BETWEEN_HOSTS);
            assert_int_equal(sel.choice.toward[k], inside ? TRANSPORT_PEER : TRANSPORT_MAPPED);
        }
        if (sel.links[LINK_BETWEEN_HOSTS] > 0) {
            assert_false(transport_selection_passed(&sel, TRANSPORT_PEER, &why));
            assert_string_equal(why.text, "it does not reach other hosts");
        }
        assert_int_equal(disagreements(&sel), 0);
        const transport_choice again = transport_selection_for(&sel, &f.dec);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
            if (sel.kind[k] >= 0) assert_int_equal(again.toward[k], sel.choice.toward[k]);
        drop(&f);
    }
    made_up_hosts = false;
}

/* Times that differ wildly from rank to rank, so that links of one halo end up with different transports. */
static void both_ends_agree_on_made_up_times(void **state)
{
    bool mixed = false;
    (void)state;
    for (int ranks_x = 1; ranks_x <= harness.ranks; ranks_x++) {
        if (harness.ranks % ranks_x) continue;
        fixture f = make(ranks_x);
        transport_selection sel = start(&f, 60);
        for (unsigned round = 0; round < 20; round++) {
            for (unsigned t = 0; t < TRANSPORT_KINDS; t++) {
                transport_selection_trial *trial = &sel.trial[t][LINK_INSIDE_HOST];
                const unsigned h = (t * 7919u + round * 104729u + (unsigned)harness.rank * 1299709u) * 2654435761u;
                trial->seconds = t == TRANSPORT_NCCL ? INFINITY : 1e-6 * (1 + (h >> 24));
                MPI_CHECK(MPI_Allreduce(&trial->seconds, &trial->slowest_s, 1, MPI_DOUBLE, MPI_MAX, harness.comm));
            }
            transport_selection_decide(&sel, TRANSPORT_AUTO);
            assert_int_equal(disagreements(&sel), 0);
            int used = 0;
            for (int t = 0; t < TRANSPORT_KINDS; t++) used += sel.used[t] > 0;
            mixed = mixed || used > 1;
            assert_int_equal(sel.used[TRANSPORT_NCCL], 0);
        }
        drop(&f);
    }
    assert_true(mixed || harness.ranks < 3);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_is_left_out),
        cmocka_unit_test(what_loses_a_cell_is_left_out),
        cmocka_unit_test(what_comes_too_late_is_left_out),
        cmocka_unit_test(what_fails_between_hosts_serves_inside),
        cmocka_unit_test(both_ends_agree_on_made_up_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
