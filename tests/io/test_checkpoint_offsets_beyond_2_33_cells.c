/* A state of 2^33 cells and more has every cell at its place in the file, by rows and by columns of ranks: a
 * few cells are written into files of holes, as ranks would, and are found where the format says; the rest is
 * arithmetic. No more than a few pages are stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/checkpoint_image.h"
#include "state/checkpoint_rows.h"
#include "support/checkpoint_fixture.h"
#include "writer/checkpoint_file.h"

/* 2^33 cells and a little, of no round shape */
enum { NX = 131101, NY = 65537 };
static char folder[] = "/tmp/weft_test_XXXXXX", path[64];

static checkpoint_state huge(dtype type)
{
    checkpoint_state s = {
        .kind = "wave", .type = type, .step = 7, .deck = "[grid]\nnx = 131101\n", .fields = 2
    };
    s.field[0] = (checkpoint_field){ .name = "u", .nx = NX, .ny = NY, .own = box_make(0, NX, 0, NY) };
    s.field[1] = s.field[0];
    s.field[1].name = "u_prev";
    return s;
}

/* Where HDF5 puts the fields, with checksums of all blocks. */
static checkpoint_layout layout_of(const checkpoint_state *s, uint64_t *file_bytes)
{
    sentence why = { "" };
    checkpoint_image image;
    checkpoint_sums sums[CHECKPOINT_FIELDS_MAX];
    for (int i = 0; i < s->fields; i++)
        assert_true(
            checkpoint_sums_make(&sums[i], &s->field[i], checkpoint_block_lines(&s->field[i], s->type)));
    if (checkpoint_image_make(&image, s, sums, &why) != CHECKPOINT_OK) fail_msg("%s", why.text);
    const checkpoint_layout layout = image.layout;
    *file_bytes = image.file_bytes;
    checkpoint_image_free(&image);
    for (int i = 0; i < s->fields; i++) checkpoint_sums_free(&sums[i]);
    return layout;
}

static uint64_t place(const checkpoint_layout *l, int i, dtype type, int64_t x, int64_t y)
{
    return l->field_at_bytes[i] + ((uint64_t)y * NX + (uint64_t)x) * dtype_bytes(type);
}

/* A few cells at x, y, as part of a rank's box: written at their place and nowhere else, and read back from
 * there. */
static void at_its_place(const checkpoint_state *s, const checkpoint_layout *l, int i, box part)
{
    float in[64], out[64];
    const int64_t cells = box_cells(part), width = box_width(part);
    const size_t bytes = dtype_bytes(s->type);
    struct stat info;
    assert_true(s->type == DTYPE_F32 && cells <= 64);
    for (int64_t k = 0; k < cells; k++) in[k] = (float)(k + 1);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(checkpoint_rows_write(fd, l->field_at_bytes[i], &s->field[i], s->type, part, in), 0);
    for (int64_t k = 0; k < cells; k++) {
        float found = 0;
        const uint64_t at = place(l, i, s->type, part.x0 + k % width, part.y0 + k / width);
        assert_int_equal(pread(fd, &found, sizeof found, (off_t)at), sizeof found);
        assert_true(found == in[k]);
    }
    assert_int_equal(fstat(fd, &info), 0);
    /* nothing behind the last */
    assert_int_equal(info.st_size, place(l, i, s->type, part.x1 - 1, part.y1 - 1) + bytes);
    assert_int_equal(checkpoint_rows_read(fd, l->field_at_bytes[i], &s->field[i], s->type, part, out), 0);
    assert_memory_equal(in, out, (size_t)cells * bytes);
    close(fd);
}

static void cells_are_at_their_places(void **state)
{
    (void)state;
    uint64_t file_bytes;
    const checkpoint_state s = huge(DTYPE_F32);
    const checkpoint_layout l = layout_of(&s, &file_bytes);
    const uint64_t field_bytes = (uint64_t)NX * NY * sizeof(float);
    assert_true((uint64_t)NX * NY > (uint64_t)1 << 33);
    assert_true(l.field_at_bytes[1] >= l.field_at_bytes[0] + field_bytes);
    assert_true(file_bytes >= l.field_at_bytes[1] + field_bytes && file_bytes < 2 * field_bytes + (8 << 20));
    assert_int_equal(checkpoint_field_bytes(&s, 1), field_bytes);
    assert_true(checkpoint_needed_bytes(&s) >= file_bytes);
    for (int i = 0; i < 2; i++) {
        at_its_place(&s, &l, i, box_make(0, 2, 0, 3));
        at_its_place(&s, &l, i, box_make(NX - 3, NX, NY - 4, NY));
        at_its_place(&s, &l, i, box_make(98530, 98542, 32759, 32763)); /* across 2^32 cells, 2^34 bytes */
        at_its_place(&s, &l, i, box_make(7, 9, 16380, 16388));         /* and 2^31 cells */
    }
}

/* Bands and blocks cover every cell once: each begins where the one before has ended. */
static void pieces_cover_all(void **state)
{
    (void)state;
    const checkpoint_state s = huge(DTYPE_F64);
    const checkpoint_field *f = &s.field[0];
    const int64_t lines = checkpoint_block_lines(f, s.type), blocks = checkpoint_blocks(f, s.type);
    const size_t band_bytes = 1 << 20;
    int64_t row = 0, cells = 0;
    for (int64_t b = 0; b < blocks; b++) {
        const box block = checkpoint_block(f, lines, b);
        assert_true(block.x0 == 0 && block.x1 == NX && block.y0 == row && block.y1 > row);
        row = block.y1;
    }
    assert_int_equal(row, NY);
    const int64_t bands = checkpoint_bands(f->own, sizeof(double), band_bytes);
    for (int64_t b = 0; b < bands; b++) {
        const box band = checkpoint_band(f->own, sizeof(double), band_bytes, b);
        assert_true(band.y0 * NX + band.x0 == cells && box_cells(band) > 0);
        assert_true((size_t)box_cells(band) * sizeof(double) <= band_bytes);
        assert_true(box_width(band) == NX || box_height(band) == 1);
        cells += box_cells(band);
    }
    assert_int_equal(cells, (int64_t)NX * NY);
    assert_true(box_empty(checkpoint_band(f->own, sizeof(double), band_bytes, bands)));
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/holes", folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)1 << 37) != 0) {
        printf("no files of 2^37 bytes of holes here: %s\n", strerror(errno));
        unlink(path);
        rmdir(folder);
        return 77;
    }
    close(fd);
    const struct CMUnitTest tests[] = { cmocka_unit_test(cells_are_at_their_places),
                                        cmocka_unit_test(pieces_cover_all) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed ? 1 : 0;
}
