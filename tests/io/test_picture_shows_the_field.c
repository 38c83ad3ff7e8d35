/* A picture's pixels are the means of their cells in colours of rising luminance, the same on any ranks; NaN
 * stands out. The frames of a run have one scale. ranks: 1 2 3 */
#include <math.h>
#include <png.h>
#include <sys/resource.h>

#include "output/picture.h"
#include "support/state_tests.h"

static char path[FIXTURE_PATH_BYTES + 32];

typedef struct image {
    png_image head;
    png_byte *rgb;
} image;

static image load(void)
{
    image i = { .head = { .version = PNG_IMAGE_VERSION } };
    if (!png_image_begin_read_from_file(&i.head, path)) fail_msg("%s", i.head.message);
    i.head.format = PNG_FORMAT_RGB;
    i.rgb = malloc(PNG_IMAGE_SIZE(i.head));
    assert_true(png_image_finish_read(&i.head, NULL, i.rgb, 0, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    return i;
}

static const png_byte *dot(const image *i, unsigned x, unsigned y)
{
    return i->rgb + 3 * ((size_t)y * i->head.width + x);
}
static double luminance(const image *i, unsigned x, unsigned y)
{
    const png_byte *c = dot(i, x, y);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}

typedef double (*formula)(int64_t x, int64_t y);
static double along_x(int64_t x, int64_t y) { return (double)x; }
static double along_y(int64_t x, int64_t y) { return -1e-3 * (double)y; }
static double constant(int64_t x, int64_t y) { return 5.0; }
static double hole(int64_t x, int64_t y) { return x == 5 && y == 3 ? NAN : (double)x; }
static double nothing(int64_t x, int64_t y) { return NAN; }
/* Every cell of a block of 2 x 2 counts, in whole and in part blocks: three patterns of mean 1, and the last,
 * narrow block. */
static double patterns(int64_t x, int64_t y)
{
    if (x == 1200) return -1.0;
    return x < 400 ? (double)(x % 2) * 2.0 : x < 800 ? (double)(y % 2) * 2.0 : 1.0;
}

static image draw(formula at, int64_t nx, int64_t ny, dtype type)
{
    const state_cells f =
        fixture_cut("u", nx, ny, ranks == 3 ? 3 : 1, ranks == 3 ? 1 : ranks, rank, type);
    for (int64_t i = 0; i < box_cells(f.own); i++) {
        const int64_t n = fixture_place(f.own, nx, i);
        cell_set(type, f.data, i, at(n % nx, n / nx));
    }
    const picture p = { type, nx, ny, f.own, f.data, "a ramp", &PICTURE_SCALE_OF_CELLS };
    const bool ok = picture_write(MPI_COMM_WORLD, path, &p, &why);
    free(f.data);
    if (!on_all(ok)) fail_msg("%s", why.text);
    return load();
}

static void sizes(void **unused)
{
    static const struct {
        int64_t nx, ny;
        unsigned width, height;
    } cases[] = { { 300, 200, 300, 200 },    { 1000, 1000, 1000, 1000 }, { 1001, 1000, 501, 500 },
                  { 2000, 1500, 1000, 750 }, { 7, 5, 259, 185 },         { 100000, 1, 2041, 64 },
                  { 3, 1, 258, 86 },         { 1, 1, 256, 256 },         { 1, 9000, 256, 3600 } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const image i = draw(along_x, cases[k].nx, cases[k].ny, DTYPE_F32);
        const unsigned width = cases[k].width;
        assert_true(i.head.width == width && i.head.height == cases[k].height);
        for (unsigned x = 1; x < width; x++) assert_true(luminance(&i, x, 0) >= luminance(&i, x - 1, 0));
        assert_true(luminance(&i, width - 1, 0) > luminance(&i, 0, 0) + 150 || cases[k].nx == 1);
        free(i.rgb);
    }
}

static void pixels(void **unused)
{
    image i = draw(along_y, 256, 300, DTYPE_F64); /* row 0 is on top */
    for (unsigned y = 1; y < i.head.height; y++) assert_true(luminance(&i, 0, y) <= luminance(&i, 0, y - 1));
    assert_true(luminance(&i, 9, 0) > 200 && luminance(&i, 9, i.head.height - 1) < 40);
    free(i.rgb);
    i = draw(patterns, 1201, 1200, DTYPE_F64); /* means */
    assert_int_equal(i.head.width, 601);
    for (unsigned y = 0; y < i.head.height; y++)
        for (unsigned x = 0; x < 601; x++)
            assert_memory_equal(dot(&i, x, y), dot(&i, x < 600 ? 0 : 600, 0), 3);
    assert_true(luminance(&i, 0, 0) > 200 && luminance(&i, 600, 0) < 40);
    free(i.rgb);
    i = draw(hole, 256, 256, DTYPE_F32);
    assert_true(dot(&i, 5, 3)[0] > 200 && dot(&i, 5, 3)[1] < 80); /* red */
    for (unsigned x = 0; x < 256; x++) assert_true(dot(&i, x, 9)[0] < dot(&i, x, 9)[1] + 60);
    free(i.rgb);
    for (int k = 0; k < 2; k++) {
        i = draw(k ? constant : nothing, 256, 2, DTYPE_F64);
        assert_memory_equal(dot(&i, 0, 0), dot(&i, 255, 1), 3);
        free(i.rgb);
    }
}

/* ---- by one rank ---- */

enum { NX = 300, NY = 70, BYTES = 1 << 16 };
static double data[NX * NY];

static bool write_it(picture_scale *by)
{
    const picture p = { DTYPE_F64, NX, NY, box_make(0, NX, 0, NY), data, "a title", by };
    return picture_write(MPI_COMM_SELF, path, &p, &why);
}

static size_t load_bytes(char bytes[BYTES])
{
    FILE *from = fopen(path, "rb");
    const size_t count = fread(bytes, 1, BYTES, from);
    fclose(from);
    return count;
}

/* A bar that grows: all pictures of one scale, which is as wide as all so far, or as it is asked, and is said
 * in the file. One that cannot be written leaves the one that had its name, and nothing else. */
static void one_scale_whole_files(void **unused)
{
    static const char *const texts[][2] = { { "Title", "a title" }, { "min", "-1" }, { "max", "3" } };
    static char chunk[32], before[BYTES], after[BYTES];
    picture_scale scale = PICTURE_SCALE_OF_CELLS, asked = { .low = -1, .high = 3, .fixed = true };
    struct rlimit limit;
    if (rank > 0) return;
    for (int step = 0; step <= 20; step += 5) {
        for (int i = 0; i < NX * NY; i++) data[i] = i % NX < 10 * (step + 1) ? step + 1.0 : i % NX * 1e-3;
        assert_true(write_it(&scale));
    }
    assert_true(scale.low == 0.01 && scale.high == 21);
    assert_true(write_it(&asked) && asked.low == -1 && asked.high == 3);
    const size_t bytes = load_bytes(before);
    for (int i = 0; i < 3; i++) {
        const int length = snprintf(chunk, sizeof chunk, "tEXt%s%c%s", texts[i][0], 0, texts[i][1]);
        assert_non_null(memmem(before, bytes, chunk, (size_t)length));
    }
    for (int i = 0; i < NX * NY; i++) data[i] = cell_random(1, (uint64_t)i);
    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, limit.rlim_max });
    const bool drawn = write_it(&asked);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (drawn || fixture_left(".") != 0 || !strstr(why.text, "field.png: File too large"))
        fail_msg("%s", why.text);
    assert_int_equal(load_bytes(after), bytes);
    assert_memory_equal(before, after, bytes);
}

static int set_up(void **unused) { return snprintf(path, sizeof path, "%s/field.png", folder) < 0; }

STATE_TESTS(set_up, cmocka_unit_test(sizes), cmocka_unit_test(pixels),
            cmocka_unit_test(one_scale_whole_files))
