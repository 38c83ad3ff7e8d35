/* A checkpoint written in the background is the file that the foreground writes, byte for byte, for any shape
 * and cut; nobody waits for it before it is asked for; an error of one rank's thread is every rank's, in one
 * sentence, and costs no older file. ranks: 1 2 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/checkpoint.h"
#include "support/checkpoint_fixture.h"
#include "writer/writer.h"

enum { PATH_BYTES = FIXTURE_PATH_BYTES + 128 };
static sentence why;
static char folder[FIXTURE_PATH_BYTES];

static writer *writer_in(const char *name, bool async)
{
    char dir[PATH_BYTES];
    checkpoint_status status;
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    writer *w = writer_create(MPI_COMM_WORLD, dir, (retain_rule){ 0, 0 }, async, &status, &why);
    assert_int_equal(status, CHECKPOINT_OK);
    assert_string_equal(writer_not_async(w), "");
    assert_int_equal(writer_get_stats(w).async, async);
    return w;
}

static checkpoint_status submit(writer *w, const checkpoint_state *s)
{
    const writer_request request = { s, fixture_ready, NULL, NULL };
    return writer_submit(w, &request, &why);
}

static void path_of(char path[PATH_BYTES], const char *name, int64_t step, const char *end)
{
    snprintf(path, PATH_BYTES, "%s/%s/step_%010lld%s", folder, name, (long long)step, end);
}

static bool is_there(const char *name, int64_t step, const char *end)
{
    char path[PATH_BYTES];
    path_of(path, name, step, end);
    return access(path, F_OK) == 0;
}

static int left_in(const char *name)
{
    char dir[PATH_BYTES];
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    return fixture_left(dir);
}

static char *contents(const char *path, long *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = ftell(f);
    rewind(f);
    char *all = malloc((size_t)*bytes + 1);
    assert_int_equal(fread(all, 1, (size_t)*bytes, f), *bytes);
    fclose(f);
    return all;
}

/* By one rank; says where they differ. */
static bool same_file(const char *a, const char *b, int64_t step, const char *end)
{
    char path[PATH_BYTES];
    long a_bytes, b_bytes, at = 0;
    path_of(path, a, step, end);
    char *in_a = contents(path, &a_bytes);
    path_of(path, b, step, end);
    char *in_b = contents(path, &b_bytes);
    while (at < a_bytes && at < b_bytes && in_a[at] == in_b[at]) at++;
    const bool same = at == a_bytes && at == b_bytes;
    if (!same) print_error("%s: %ld and %ld bytes, they differ at %ld\n", path, a_bytes, b_bytes, at);
    free(in_a);
    free(in_b);
    return same;
}

/* Two fields, cut among columns x rows of ranks, in either direction where the field is transposed. */
static checkpoint_state state_of(int64_t nx, int64_t ny, dtype type, int columns, int rows, bool transposed,
                                 int64_t step)
{
    checkpoint_state s = { .kind = transposed ? "transpose" : "wave", .type = type, .step = step,
                           .deck = "[grid]\nnx = 5\n", .fields = 2 };
    const int rank = fixture_rank(MPI_COMM_WORLD);
    s.field[0] = fixture_cut(transposed ? "a" : "u", nx, ny, columns, rows, rank, type);
    s.field[1] = transposed ? fixture_cut("b", ny, nx, rows, columns, rank, type)
                            : fixture_cut("u_prev", nx, ny, columns, rows, rank, type);
    for (int i = 0; i < 2; i++) fixture_fill(&s.field[i], type, i);
    return s;
}

static void state_free(checkpoint_state *s)
{
    for (int i = 0; i < s->fields; i++) free(s->field[i].data);
}

static void the_foreground_s_file(void **state)
{
    (void)state;
    const struct {
        int64_t nx, ny;
        dtype type;
        bool transposed;
    } of[] = { { 53, 41, DTYPE_F64, false },
               { 211, 1, DTYPE_F32, false },
               { 53, 41, DTYPE_F32, true },
               { 4, 700, DTYPE_F64, false } };
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    writer *fore = writer_in("fore", false), *back = writer_in("back", true);
    checkpoint_block_bytes = 1000;
    int64_t step = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int columns = 1; columns <= ranks; columns++) {
            if (ranks % columns != 0 || (of[i].ny == 1 && columns < ranks)) continue;
            checkpoint_state s =
                state_of(of[i].nx, of[i].ny, of[i].type, columns, ranks / columns, of[i].transposed, ++step);
            s.verify = (checkpoint_verify_how)(step % 3);
            assert_int_equal(submit(fore, &s), CHECKPOINT_OK);
            assert_int_equal(submit(back, &s), CHECKPOINT_OK);
            assert_int_equal(writer_wait(back, &why), CHECKPOINT_OK);
            const bool looks = fixture_rank(MPI_COMM_WORLD) == 0;
            assert_true(on_all(MPI_COMM_WORLD, !looks || same_file("fore", "back", step, ".h5")));
            assert_true(on_all(MPI_COMM_WORLD, !looks || same_file("fore", "back", step, ".xmf")));
            assert_int_equal(left_in("back"), 0);
            state_free(&s);
        }
    checkpoint_block_bytes = (size_t)64 << 10;
    const writer_stats f = writer_get_stats(fore), b = writer_get_stats(back);
    assert_int_equal(b.count, step);
    assert_int_equal(b.bytes, f.bytes);
    assert_true(b.verify_s > 0 && b.write_s > 0);
    assert_true(f.verify_s > 0 && f.write_s > 0 && f.stall_s >= f.write_s);
    writer_destroy(&fore);
    writer_destroy(&back);
}

static bool never;
static bool on_the_third_look(void *owner, checkpoint_state *s, double *held_s)
{
    int *looks = owner;
    if (never || ++*looks < 3) return false;
    fixture_ready(NULL, s, held_s);
    *held_s = 0.25;
    return true;
}

static void nobody_waits(void **state)
{
    (void)state;
    writer *w = writer_in("poll", true);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 64, 64, DTYPE_F64, 7);
    int looks = 0;
    never = true;
    const writer_request request = { &s, on_the_third_look, NULL, &looks };
    assert_int_equal(writer_submit(w, &request, &why), CHECKPOINT_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(writer_poll(w, &why), CHECKPOINT_OK);
        assert_true(writer_busy(w));
        usleep(100);
    }
    assert_false(is_there("poll", 7, ".h5"));
    never = false;
    while (writer_busy(w)) {
        assert_int_equal(writer_poll(w, &why), CHECKPOINT_OK);
        usleep(100);
    }
    assert_true(looks >= 3);
    assert_true(is_there("poll", 7, ".h5"));
    const writer_stats stats = writer_get_stats(w);
    assert_int_equal(stats.count, 1);
    assert_true(stats.snapshot_s == 0.25 && stats.stall_s >= 0.25 &&
                stats.stall_s < 0.25 + stats.write_s + stats.verify_s + 0.05);
    writer_destroy(&w);
    free(s.field[0].data);
}

/* The last rank may write no byte beyond the first half of the file: a failure of pwrite, in its thread
 * alone. */
static void one_rank_s_error(void **state)
{
    (void)state;
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    struct rlimit old, small;
    if (ranks == 1) return; /* the main thread of rank 0 would meet the limit first */
    writer *w = writer_in("error", true);
    checkpoint_state first = fixture_state(MPI_COMM_WORLD, 100, 1000, DTYPE_F64, 1);
    checkpoint_state second = fixture_state(MPI_COMM_WORLD, 100, 1000, DTYPE_F64, 2);
    assert_int_equal(submit(w, &first), CHECKPOINT_OK);
    assert_int_equal(writer_wait(w, &why), CHECKPOINT_OK);
    for (int64_t step = 1; step <= 2; step++) { /* the same name as an older file's, and a new one */
        getrlimit(RLIMIT_FSIZE, &old);
        small = old;
        small.rlim_cur = 400000;
        second.step = step;
        if (rank == ranks - 1) setrlimit(RLIMIT_FSIZE, &small);
        why.text[0] = '\0';
        const checkpoint_status submitted = submit(w, &second), status = writer_wait(w, &why);
        if (rank == ranks - 1) setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(submitted, CHECKPOINT_OK);
        assert_int_equal(status, CHECKPOINT_IO);
        assert_non_null(strstr(why.text, "File too large"));
        assert_int_equal(writer_wait(w, &why), CHECKPOINT_OK); /* told once */
        assert_false(is_there("error", 2, ".h5"));
        assert_int_equal(left_in("error"), 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    char path[PATH_BYTES];
    path_of(path, "error", 1, ".h5");
    assert_int_equal(checkpoint_read(MPI_COMM_WORLD, path, &second, &why), CHECKPOINT_OK);
    assert_int_equal(second.step, 1);
    second.step = 3;
    assert_int_equal(submit(w, &second), CHECKPOINT_OK); /* it can go on */
    assert_int_equal(writer_wait(w, &why), CHECKPOINT_OK);
    const writer_stats stats = writer_get_stats(w);
    assert_true(stats.count == 2 && stats.failed == 2);
    writer_destroy(&w);
    free(first.field[0].data);
    free(second.field[0].data);
}

/* What the device says of its values is not what is in the host's copy of them. */
static bool with_another_fingerprint(void *owner, checkpoint_state *s, double *held_s)
{
    fixture_ready(owner, s, held_s);
    if (fixture_rank(MPI_COMM_WORLD) == 0) s->field[0].fingerprint++;
    return true;
}

static void a_snapshot_that_went_wrong(void **state)
{
    (void)state;
    writer *w = writer_in("snapshot", true);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 30, 40, DTYPE_F32, 1);
    const writer_request request = { &s, with_another_fingerprint, NULL, NULL };
    assert_int_equal(writer_submit(w, &request, &why), CHECKPOINT_OK);
    assert_int_equal(writer_wait(w, &why), CHECKPOINT_IO);
    assert_non_null(
        strstr(why.text, "on rank 0 the values of /fields/u in the file differ from those on its device"));
    assert_false(is_there("snapshot", 1, ".h5"));
    assert_int_equal(left_in("snapshot"), 0);
    writer_destroy(&w);
    free(s.field[0].data);
}

/* The folder goes away under a write. */
static void no_folder(void **state)
{
    (void)state;
    writer *w = writer_in("gone", true);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 30, 40, DTYPE_F32, 1);
    char path[PATH_BYTES], lock[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/gone", folder);
    snprintf(lock, sizeof lock, "%s/.weft.lock", path);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        unlink(lock);
        rmdir(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(submit(w, &s), CHECKPOINT_OK);
    assert_int_equal(writer_wait(w, &why), CHECKPOINT_IO);
    assert_non_null(strstr(why.text, "No such file or directory"));
    writer_destroy(&w);
    free(s.field[0].data);
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_foreground_s_file),
                                        cmocka_unit_test(nobody_waits), cmocka_unit_test(one_rank_s_error),
                                        cmocka_unit_test(a_snapshot_that_went_wrong),
                                        cmocka_unit_test(no_folder) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
