/* A state of 1,024 parts is verified and loaded within seconds, with few descriptors: no part is lost for
 * want of them, as they are through HDF5's virtual dataset. ranks: 1 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "files/transfer.h"
#include "ranks/decomp.h"
#include "support/state_fixture.h"

enum { PARTS = 1024, NX = 1024, NY = 2048 };
static char folder[FIXTURE_PATH_BYTES];
static sentence why;

/* By one rank: what 1,024 would make. */
static void make(state_info *s)
{
    uint64_t bytes = 0, fingerprint = 0;
    char path[STATE_PATH_BYTES];
    *s = (state_info){ .folder = "wide.0badcafe",
                       .kind = "heat",
                       .version = "1",
                       .type = DTYPE_F64,
                       .step = 1,
                       .deck = "",
                       .fields = 1,
                       .field = { { "u", NX, NY, 0 } },
                       .parts = PARTS };
    snprintf(s->path, sizeof s->path, "%s/wide.h5", folder);
    s->part = calloc(PARTS, sizeof *s->part);
    for (int k = 0; k < PARTS; k++) s->part[k].cells[0] = decomp_share(NX, NY, PARTS, k);
    state_number_blocks(s);
    s->crc = calloc((size_t)s->blocks, sizeof *s->crc);
    snprintf(path, sizeof path, "%s/%s", folder, s->folder);
    must(mkdir(path, 0700) == 0, path);
    for (int k = 0; k < PARTS; k++) {
        state_cells f = fixture_field("u", NX, NY, s->part[k].cells[0], DTYPE_F64);
        fixture_fill(&f, DTYPE_F64, 0);
        fingerprint += f.fingerprint;
        bytes = (uint64_t)box_cells(f.own) * sizeof(double);
        s->crc[k] = crc32c(0, f.data, (size_t)bytes);
        must(state_part_create(s, k, &why) == STATE_OK, why.text);
        state_part_path(s, k, path);
        const int fd = open(path, O_RDWR);
        must(transfer_pwrite(fd, f.data, (size_t)bytes, s->part[k].at_bytes[0]) == 0, path);
        must(state_part_crc(s, k, fd, &s->part[k].structure_crc) == 0, path);
        close(fd);
        free(f.data);
    }
    s->field[0].fingerprint = fingerprint;
    must(state_index_write(s->path, s, &why) == STATE_OK, why.text);
    must(state_trailer_append(s->path, &(state_trailer){ .token = 0x0badcafe }) == 0, s->path);
    free(s->part);
    free(s->crc);
}

static void all_of_it(void **unused)
{
    (void)unused;
    static state_info made;
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    const struct rlimit few = { 128, 128 };
    char path[FIXTURE_PATH_BYTES + 32];
    state_report r;
    snprintf(path, sizeof path, "%s/wide.h5", folder);
    if (rank == 0) make(&made);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    const double begin_s = MPI_Wtime();
    state_level l = { .kind = "heat", .type = DTYPE_F64, .fields = 1 };
    l.field[0] = fixture_cut("u", NX, NY, ranks, 1, rank, DTYPE_F64); /* columns: each rank meets all parts */
    const state_status loaded = fixture_load(MPI_COMM_WORLD, path, &l, &why);
    if (loaded != STATE_OK) fail_msg("%s", why.text);
    const double loaded_s = MPI_Wtime();
    assert_true(fixture_holds(&l.field[0], DTYPE_F64, 0));
    assert_int_equal(fixture_verify(MPI_COMM_WORLD, path, &r, &why), STATE_OK);
    const double verified_s = MPI_Wtime();
    print_message("loaded in %.2f s, verified in %.2f s\n", loaded_s - begin_s, verified_s - loaded_s);
    assert_true(verified_s - begin_s < 20);
    free(l.field[0].data);
}

int main(int argc, char **argv)
{
    state_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_of_it) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
