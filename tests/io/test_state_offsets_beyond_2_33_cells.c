/* Cells far beyond 2^33 are read from where they are: a part of 2^34 cells, of which the file has a few
 * blocks and holes. ranks: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "files/transfer.h"
#include "support/state_fixture.h"

static char folder[FIXTURE_PATH_BYTES];
static sentence why;

static void a_row_near_the_end(int64_t nx, int64_t ny)
{
    static float row[STATE_BLOCK_BYTES / 4], back[1 << 16];
    state_part part = { .cells = { box_make(0, nx, 0, ny) }, .at_bytes = { 4096 } };
    state_info s = {
        .type = DTYPE_F32, .fields = 1, .parts = 1, .part = &part, .field = { { "u", nx, ny, 0 } }
    };
    snprintf(s.path, sizeof s.path, "%s/far", folder);
    state_number_blocks(&s);
    assert_int_equal(s.blocks, nx * ny / (1 << 20));
    s.crc = calloc((size_t)s.blocks, sizeof *s.crc);
    FILE *f = fopen(s.path, "w");
    assert_non_null(f);
    const int64_t last = s.blocks - 1, first_cell = last << 20;
    for (int64_t i = 0; i < 1 << 20; i++) row[i] = (float)fixture_value(0, first_cell + i);
    s.crc[last] = crc32c(0, row, sizeof row);
    const int code = transfer_pwrite(fileno(f), row, sizeof row, 4096 + 4 * (uint64_t)first_cell);
    fclose(f);
    if (code == EFBIG || code == ENOSPC) {
        print_message("no room for a sparse file of 64 GiB: %s\n", strerror(code));
    } else {
        const int64_t from = nx * ny - 70001; /* to the last cell but one */
        const box wanted = ny == 1 ? box_make(from, from + 60000, 0, 1)
                                   : box_make(5, 5 + 60000, (nx * ny - 1) / nx, (nx * ny - 1) / nx + 1);
        state_cells found = { "u", nx, ny, wanted, 1, back, 0 };
        assert_int_equal(code, 0);
        const state_status status = state_read(&s, 0, wanted, back, &why);
        if (status != STATE_OK) fail_msg("%s", why.text);
        assert_true(fixture_holds(&found, DTYPE_F32, 0));
    }
    unlink(s.path);
    free(s.crc);
}

static void far_cells(void **unused)
{
    (void)unused;
    a_row_near_the_end((int64_t)1 << 17, (int64_t)1 << 17);
    a_row_near_the_end((int64_t)1 << 34, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    snprintf(folder, sizeof folder, "/tmp/weft_test_XXXXXX"); /* memory has no holes of that size */
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(far_cells) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
