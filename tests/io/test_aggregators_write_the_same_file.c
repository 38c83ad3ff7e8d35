/* A file that some ranks collect and write is, byte for byte, the one that a rank alone writes: for 0 .. 4
 * aggregators, any cut of the fields, in the foreground and in the background, in windows of many rows and of
 * pieces of one; one writer's error is every rank's. ranks: 1 2 3 4 6 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "state/checkpoint_directory.h"
#include "support/checkpoint_fixture.h"
#include "writer/aggregate.h"
#include "writer/phases.h"
#include "writer/writer.h"

enum { PATH_BYTES = FIXTURE_PATH_BYTES + 64, AGGREGATORS = 5 };
static sentence why;
static char folder[FIXTURE_PATH_BYTES];

typedef struct layout {
    int64_t nx, ny;
    dtype type;
    bool transposed; /* the second field */
} layout;

static const layout layouts[] = { { 53, 41, DTYPE_F64, false },
                                  { 211, 1, DTYPE_F32, false },
                                  { 53, 41, DTYPE_F32, true },
                                  { 3, 700, DTYPE_F64, false },
                                  { 1, 1, DTYPE_F64, false } };

/* Two fields of which this rank has the cells of rank `rank` of columns x rows; none where there are fewer
 * cells than ranks. */
static checkpoint_state state_of(const layout *l, int columns, int rows, int rank, int64_t step)
{
    checkpoint_state s = { .kind = l->transposed ? "transpose" : "wave",
                           .type = l->type,
                           .step = step,
                           .deck = "[grid]\n",
                           .fields = 2 };
    s.field[0] = fixture_cut(l->transposed ? "a" : "u", l->nx, l->ny, columns, rows, rank, l->type);
    s.field[1] = l->transposed ? fixture_cut("b", l->ny, l->nx, rows, columns, rank, l->type)
                               : fixture_cut("u_prev", l->nx, l->ny, columns, rows, rank, l->type);
    for (int i = 0; i < 2; i++) fixture_fill(&s.field[i], l->type, i);
    return s;
}

static void state_free(checkpoint_state *s)
{
    for (int i = 0; i < s->fields; i++) free(s->field[i].data);
}

static void path_of(char path[PATH_BYTES], const char *name, int64_t step)
{
    snprintf(path, PATH_BYTES, "%s/%s/step_%010lld.h5", folder, name, (long long)step);
}

static writer *writer_in(const char *name, bool async)
{
    char dir[PATH_BYTES];
    checkpoint_status status;
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    writer *w = writer_create(MPI_COMM_WORLD, dir, (retain_rule){ 0, 0 }, async, &status, &why);
    assert_int_equal(status, CHECKPOINT_OK);
    return w;
}

/* By rank 0: is the file of this step in `name` the reference? */
static bool same_as_alone(const char *name, int64_t step)
{
    char path[2][PATH_BYTES], command[2 * PATH_BYTES + 16];
    if (fixture_rank(MPI_COMM_WORLD) != 0) return true;
    path_of(path[0], "alone", step);
    path_of(path[1], name, step);
    snprintf(command, sizeof command, "cmp '%s' '%s'", path[0], path[1]);
    return system(command) == 0;
}

static void write_alone(const layout *l, int64_t step)
{
    char path[PATH_BYTES];
    if (fixture_rank(MPI_COMM_WORLD) != 0) return;
    checkpoint_state s = state_of(l, 1, 1, 0, step);
    path_of(path, "alone", step);
    if (checkpoint_write(MPI_COMM_SELF, path, &s, NULL, &why) != CHECKPOINT_OK) fail_msg("%s", why.text);
    state_free(&s);
}

static int smaller(int a, int b) { return a < b ? a : b; }

static void write_by(writer *w, const char *name, checkpoint_state *s, int aggregators)
{
    const writer_request request = { s, fixture_ready, NULL, NULL };
    s->aggregators = aggregators;
    /* of which the snapshot tells the shares */
    for (int i = 0; i < s->fields; i++) s->field[i].fingerprint = 0;
    if (writer_submit(w, &request, &why) != CHECKPOINT_OK || writer_wait(w, &why) != CHECKPOINT_OK)
        fail_msg("%s", why.text);
    if (aggregators > 0)
        assert_int_equal(writer_get_stats(w).plan.count, smaller(aggregators, fixture_ranks(MPI_COMM_WORLD)));
    assert_true(on_all(MPI_COMM_WORLD, same_as_alone(name, s->step)));
}

static void the_file_of_one_rank(void **state)
{
    (void)state;
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    const size_t window_bytes[] = { 40, 1300, 32 << 20 };
    writer *by[] = { writer_in("fore", false), writer_in("back", true) };
    char dir[PATH_BYTES];
    snprintf(dir, sizeof dir, "%s/alone", folder);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    checkpoint_block_bytes = 1000;
    int64_t step = 0;
    for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++)
        for (int columns = 1; columns <= ranks; columns++) {
            if (ranks % columns != 0) continue;
            write_alone(&layouts[n], ++step);
            checkpoint_state s = state_of(&layouts[n], columns, ranks / columns, rank, step);
            s.verify = (checkpoint_verify_how)(step % 3);
            for (int a = 0; a < AGGREGATORS; a++) {
                const bool async = (a + step) % 2 != 0;
                if ((a + step) % AGGREGATORS >= 2) continue; /* others in each layout and cut */
                aggregate_window_bytes = window_bytes[(a + step) % 3];
                aggregate_short_bytes = step % 3 == 0 ? 0 : 64 << 10;
                write_by(by[async], async ? "back" : "fore", &s, a);
            }
            state_free(&s);
        }
    checkpoint_block_bytes = (size_t)64 << 10;
    aggregate_window_bytes = (size_t)32 << 20;
    writer_destroy(&by[0]);
    writer_destroy(&by[1]);
}

/* The last writer may write no byte beyond the first half of the file: a failure of pwrite, in its thread
 * alone. */
static void one_writer_s_error(void **state)
{
    (void)state;
    const int ranks = fixture_ranks(MPI_COMM_WORLD), count = smaller(ranks, 3);
    const bool last = fixture_rank(MPI_COMM_WORLD) == (int)((int64_t)(count - 1) * ranks / count);
    char path[PATH_BYTES];
    struct rlimit old, small;
    if (count == 1) return; /* the main thread of rank 0 would meet the limit first */
    writer *w = writer_in("error", true);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 100, 1000, DTYPE_F64, 1);
    const writer_request request = { &s, fixture_ready, NULL, NULL };
    s.aggregators = count;
    aggregate_window_bytes = 20000;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 400000;
    if (last) setrlimit(RLIMIT_FSIZE, &small);
    const checkpoint_status submitted = writer_submit(w, &request, &why), status = writer_wait(w, &why);
    if (last) setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(submitted, CHECKPOINT_OK);
    assert_int_equal(status, CHECKPOINT_IO);
    assert_non_null(strstr(why.text, "File too large"));
    path_of(path, "error", 1);
    assert_int_not_equal(access(path, F_OK), 0);
    s.step = 2;
    assert_int_equal(writer_submit(w, &request, &why), CHECKPOINT_OK); /* it can go on */
    assert_int_equal(writer_wait(w, &why), CHECKPOINT_OK);
    aggregate_window_bytes = (size_t)32 << 20;
    writer_destroy(&w);
    free(s.field[0].data);
}

/* What the device says of its values is not what is in the host's copy of them: seen where they are, before
 * they are sent. */
static bool with_another_fingerprint(void *owner, checkpoint_state *s, double *held_s)
{
    fixture_ready(owner, s, held_s);
    if (fixture_rank(MPI_COMM_WORLD) == fixture_ranks(MPI_COMM_WORLD) - 1) s->field[0].fingerprint++;
    return true;
}

static void a_snapshot_that_went_wrong(void **state)
{
    (void)state;
    char wanted[128];
    writer *w = writer_in("snapshot", true);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 30, 40, DTYPE_F32, 1);
    s.aggregators = 1;
    const writer_request request = { &s, with_another_fingerprint, NULL, NULL };
    assert_int_equal(writer_submit(w, &request, &why), CHECKPOINT_OK);
    assert_int_equal(writer_wait(w, &why), CHECKPOINT_IO);
    snprintf(wanted, sizeof wanted,
             "on rank %d the values of /fields/u in its memory differ from those on its device",
             fixture_ranks(MPI_COMM_WORLD) - 1);
    assert_non_null(strstr(why.text, wanted));
    writer_destroy(&w);
    free(s.field[0].data);
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_file_of_one_rank),
                                        cmocka_unit_test(one_writer_s_error),
                                        cmocka_unit_test(a_snapshot_that_went_wrong) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
