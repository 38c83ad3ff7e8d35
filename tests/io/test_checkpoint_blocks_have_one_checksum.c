/* A state file's block checksums are those of its bytes, the same on any ranks in any cut; a flipped bit is
 * named by dataset, block and rows; a file without checksums is judged by its fingerprint. ranks: 1 2 3 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#include "files/crc32c.h"
#include "state/checkpoint.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_sums.h"
#include "support/checkpoint_fixture.h"
#include "writer/checkpoint_job.h"

enum { BLOCK_BYTES = 300 };
static sentence why;
static char folder[FIXTURE_PATH_BYTES], path[FIXTURE_PATH_BYTES + 32];

static void write_with(int64_t nx, int64_t ny, dtype type, int columns, checkpoint_verify_how verify)
{
    const int rank = fixture_rank(MPI_COMM_WORLD), rows = fixture_ranks(MPI_COMM_WORLD) / columns;
    checkpoint_state s = {
        .kind = "wave", .type = type, .step = 7, .deck = "", .fields = 2, .verify = verify
    };
    const char *const names[] = { "u", "u_prev" };
    for (int i = 0; i < 2; i++) {
        s.field[i] = fixture_cut(names[i], nx, ny, columns, rows, rank, type);
        fixture_fill(&s.field[i], type, i);
    }
    const checkpoint_status status = checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why);
    for (int i = 0; i < 2; i++) free(s.field[i].data);
    if (status != CHECKPOINT_OK) fail_msg("%s", why.text);
}

/* By rank 0: what the file stores against the checksum of the bytes themselves, block by block. */
static bool stored_are_those_of_the_bytes(int64_t nx, int64_t ny, dtype type)
{
    bool ok = true;
    hid_t file;
    if (checkpoint_h5_open(path, &file, &why) != CHECKPOINT_OK) return false;
    const size_t bytes = (size_t)(nx * ny) * dtype_bytes(type);
    unsigned char *data = malloc(bytes);
    for (int i = 0; i < 2; i++) {
        const checkpoint_field f = { .name = i ? "u_prev" : "u", .nx = nx, .ny = ny };
        checkpoint_sums sums;
        const hid_t dataset = H5Dopen2(file, i ? "/fields/u_prev" : "/fields/u", H5P_DEFAULT);
        ok = ok && !checkpoint_h5_read(dataset, box_make(0, nx, 0, ny), type, data);
        H5Dclose(dataset);
        ok = ok && checkpoint_sums_read(file, path, &f, &sums, &why) == CHECKPOINT_OK && sums.crc &&
             sums.blocks > 3;
        const size_t line_bytes = (ny > 1 ? (size_t)nx : 1) * dtype_bytes(type),
                     block_bytes = (size_t)sums.lines * line_bytes;
        ok = ok && block_bytes <= (line_bytes > BLOCK_BYTES ? line_bytes : BLOCK_BYTES);
        for (int64_t b = 0; ok && b < sums.blocks; b++) {
            const size_t at = (size_t)b * block_bytes, rest = bytes - at;
            ok = sums.crc[b] == crc32c(0, data + at, rest < block_bytes ? rest : block_bytes);
        }
        checkpoint_sums_free(&sums);
    }
    free(data);
    H5Fclose(file);
    return ok;
}

static void check_cut(int64_t nx, int64_t ny, int columns, checkpoint_verify_how verify)
{
    for (int t = 0; t < 2; t++) {
        const dtype type = t ? DTYPE_F64 : DTYPE_F32;
        write_with(nx, ny, type, columns, verify);
        assert_true(on_all(MPI_COMM_WORLD,
                           fixture_rank(MPI_COMM_WORLD) != 0 || stored_are_those_of_the_bytes(nx, ny, type)));
        checkpoint_report r;
        assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_OK);
        assert_true(r.blocks > 6 && r.damaged == 0);
        checkpoint_info_free(&r.info);
    }
}

static void any_cut(void **state)
{
    (void)state;
    const int ranks = fixture_ranks(MPI_COMM_WORLD), half = ranks % 2 ? ranks : ranks / 2;
    for (int how = CHECKPOINT_VERIFY_FULL; how <= CHECKPOINT_VERIFY_OFF; how++) {
        const checkpoint_verify_how verify = (checkpoint_verify_how)how;
        check_cut(13, 41, 1, verify);     /* rows: blocks straddle ranks */
        check_cut(13, 41, ranks, verify);      /* columns: every block is of all ranks */
        check_cut(13, 41, half, verify);
        check_cut(101, 7, ranks, verify);      /* a row is longer than a block should be */
        check_cut(1009, 1, ranks, verify);     /* 1D */
        check_cut(1, 1009, 1, verify);
    }
}

static void flip(const char *dataset, long at_byte)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        hid_t file;
        assert_int_equal(checkpoint_h5_open(path, &file, &why), CHECKPOINT_OK);
        const hid_t d = H5Dopen2(file, dataset, H5P_DEFAULT);
        const long at = (long)H5Dget_offset(d) + at_byte;
        H5Dclose(d);
        H5Fclose(file);
        fixture_flip(path, at, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_damage(int64_t damaged, const char *text)
{
    checkpoint_report r;
    const checkpoint_status status = checkpoint_verify(MPI_COMM_WORLD, path, &r, &why);
    checkpoint_info_free(&r.info);
    assert_int_equal(status, CHECKPOINT_DAMAGED);
    assert_int_equal(r.damaged, damaged);
    if (!strstr(r.damage[damaged - 1].text, text))
        fail_msg("\"%s\" does not say \"%s\"", r.damage[damaged - 1].text, text);
}

/* Checksums are part of the structure, which has one of its own. */
static void expect_other_structure(void)
{
    checkpoint_report r;
    assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_DAMAGED);
    checkpoint_info_free(&r.info);
    assert_int_equal(r.damaged, 0);
    if (!strstr(why.text, "its structure")) fail_msg("%s", why.text);
}

/* Cut along x, whatever the cut of the writing. */
static checkpoint_status read_u(int64_t nx, int64_t ny)
{
    checkpoint_state s = { .kind = "wave", .type = DTYPE_F64, .fields = 1 };
    s.field[0] =
        fixture_cut("u", nx, ny, fixture_ranks(MPI_COMM_WORLD), 1, fixture_rank(MPI_COMM_WORLD), DTYPE_F64);
    const checkpoint_status status = checkpoint_read(MPI_COMM_WORLD, path, &s, &why);
    if (status == CHECKPOINT_OK)
        assert_true(on_all(MPI_COMM_WORLD, fixture_holds(&s.field[0], DTYPE_F64, 0)));
    free(s.field[0].data);
    return status;
}

static void flipped_bits_are_named(void **state)
{
    (void)state;
    write_with(13, 41, DTYPE_F64, 1, CHECKPOINT_VERIFY_FULL);
    /* 104 bytes per row, 2 rows per block, 21 blocks, the last of one row */
    flip("/fields/u", 0);
    expect_damage(1, "/fields/u, block 0, rows 0 .. 1:");
    flip("/fields/u", 0);
    flip("/fields/u", 41 * 104 - 1);
    assert_int_equal(read_u(13, 41), CHECKPOINT_DAMAGED);
    if (!strstr(why.text, "; first in block 20, rows 40 .. 40"))
        fail_msg("\"%s\" does not say where", why.text);
    flip("/fields/u", 41 * 104 - 1);
    flip("/fields/u_prev", 20 * 104 + 103);
    expect_damage(1, "/fields/u_prev, block 10, rows 20 .. 21:");
    flip("/fields/u", 41 * 104 - 1);
    expect_damage(2, "/fields/u_prev, block 10, rows 20 .. 21:");
    flip("/fields/u_prev", 20 * 104 + 103);
    expect_damage(1, "/fields/u, block 20, rows 40 .. 40:");
    flip("/fields/u", 41 * 104 - 1);
    flip("/checksums/u_prev", 4 * 3 + 1);
    expect_other_structure();
    assert_int_equal(read_u(13, 41), CHECKPOINT_OK); /* its data are whole */

    write_with(1009, 1, DTYPE_F32, fixture_ranks(MPI_COMM_WORLD), CHECKPOINT_VERIFY_FULL);
    flip("/fields/u", 4 * 1008);
    expect_damage(1, "/fields/u, block 13, columns 975 .. 1008:");
}

static checkpoint_status read_back(checkpoint_verify_how verify)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    checkpoint_state s = { .kind = "wave", .type = DTYPE_F64, .step = 7, .fields = 1, .verify = verify };
    checkpoint_job j;
    checkpoint_sums sums;
    hid_t file, dataset;
    uint64_t unused;
    s.field[0] = fixture_field("u", 13, 41, box_make(0, 13, 0, 41), DTYPE_F64);
    fixture_fill(&s.field[0], DTYPE_F64, 0);
    assert_int_equal(checkpoint_job_begin(&j, rank, &s, path), CHECKPOINT_OK);
    assert_true(checkpoint_sums_make(&sums, &s.field[0], j.share[0].lines));
    checkpoint_sums_add(&sums, DTYPE_F64, s.field[0].data, s.field[0].own, &s.field[0]);
    assert_int_equal(checkpoint_h5_open(path, &file, &why), CHECKPOINT_OK);
    assert_int_equal(checkpoint_dataset_open(file, path, &s.field[0], DTYPE_F64, &dataset, &unused, &why),
                     CHECKPOINT_OK);
    j.layout.field_at_bytes[0] = H5Dget_offset(dataset);
    H5Dclose(dataset);
    H5Fclose(file);
    int *of = calloc((size_t)ranks, sizeof *of);
    hosts *one = hosts_make(of, ranks);
    j.plan = (writers){ .hosts = one, .rule = WRITERS_COLLECT, .count = ranks };
    j.number = rank;
    j.joined = &sums;
    j.fd = open(path, O_RDONLY);
    const checkpoint_status status = checkpoint_agree(MPI_COMM_WORLD, checkpoint_job_read_back(&j), &why);
    checkpoint_job_end(&j);
    hosts_destroy(&one);
    free(of);
    checkpoint_sums_free(&sums);
    free(s.field[0].data);
    return status;
}

/* A sample of 21 blocks holds the last one and one or two of the others. */
static void reading_back_finds_what_it_looks_at(void **state)
{
    (void)state;
    int found = 0;
    write_with(13, 41, DTYPE_F64, 1, CHECKPOINT_VERIFY_FULL);
    for (int how = CHECKPOINT_VERIFY_FULL; how <= CHECKPOINT_VERIFY_OFF; how++)
        assert_int_equal(read_back((checkpoint_verify_how)how), CHECKPOINT_OK);
    for (long block = 0; block < 21; block++) {
        flip("/fields/u", block * 208 + 5);
        assert_int_equal(read_back(CHECKPOINT_VERIFY_FULL), CHECKPOINT_DAMAGED);
        assert_int_equal(read_back(CHECKPOINT_VERIFY_OFF), CHECKPOINT_OK);
        const checkpoint_status sampled = read_back(CHECKPOINT_VERIFY_SAMPLE);
        found += sampled == CHECKPOINT_DAMAGED;
        if (block == 20) assert_int_equal(sampled, CHECKPOINT_DAMAGED);
        flip("/fields/u", block * 208 + 5);
    }
    assert_in_range(found, 2, 3);
}

static void files_without_checksums(void **state)
{
    (void)state;
    write_with(13, 41, DTYPE_F64, 1, CHECKPOINT_VERIFY_FULL);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        H5Ldelete(file, "/checksums", H5P_DEFAULT);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint_report r;
    assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_OK);
    assert_int_equal(r.blocks, 0);
    checkpoint_info_free(&r.info);
    assert_int_equal(read_u(13, 41), CHECKPOINT_OK);
    flip("/fields/u", 500);
    expect_damage(1, "/fields/u has fingerprint");
}

/* docs/contract.md, "State file": one line, and the deck. */
static void the_description_has_one(void **state)
{
    char text[128];
    int64_t stored = 0;
    hid_t file;
    (void)state;
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 5, 4, DTYPE_F32, 12);
    snprintf(text, sizeof text, "heat f32 5 4 12 %016llx\n%s", (unsigned long long)s.field[0].fingerprint, s.deck);
    assert_int_equal(checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why), CHECKPOINT_OK);
    free(s.field[0].data);
    assert_int_equal(checkpoint_h5_open(path, &file, &why), CHECKPOINT_OK);
    assert_true(checkpoint_h5_get_integer(file, "description_crc32c", &stored));
    H5Fclose(file);
    assert_true(stored == crc32c(0, text, strlen(text)));
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    checkpoint_block_bytes = BLOCK_BYTES;
    fixture_folder(folder);
    snprintf(path, sizeof path, "%s/state.h5", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_cut),
        cmocka_unit_test(flipped_bits_are_named),
        cmocka_unit_test(reading_back_finds_what_it_looks_at),
        cmocka_unit_test(files_without_checksums),
        cmocka_unit_test(the_description_has_one),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
