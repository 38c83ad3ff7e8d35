/* A picture's pixels are the means of their cells in colours of rising luminance, the same on any ranks; NaN
 * stands out. The frames of a run have one scale. ranks: 1 2 3 */
#include <math.h>
#include <png.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return i;
}

static const png_byte *dot(const image *i, unsigned x, unsigned y)
{
    return i->rgb + 3 * ((size_t)y * i->head.width + x);
}
static double luminance(const png_byte *c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; }

typedef double (*formula)(int64_t x, int64_t y);
static double along_x(int64_t x, int64_t y) { return (double)x + 0.0 * (double)y; }
static double along_y(int64_t x, int64_t y) { return -1e-3 * (double)y + 0.0 * (double)x; }
static double constant(int64_t x, int64_t y) { return 5.0 + 0.0 * (double)(x + y); }
static double hole(int64_t x, int64_t y) { return x == 5 && y == 3 ? NAN : (double)x; }
static double nothing(int64_t x, int64_t y) { return (double)(x + y) * NAN; }

static void draw(formula at, int64_t nx, int64_t ny, dtype type)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    const box own = ranks == 3 ? fixture_box(nx, ny, 3, 1, rank) : fixture_box(nx, ny, 1, ranks, rank);
    void *data = malloc((size_t)(box_cells(own) + 1) * 8);
    int64_t i = 0;
    for (int64_t y = own.y0; y < own.y1; y++)
        for (int64_t x = own.x0; x < own.x1; x++) fixture_put(data, type, i++, at(x, y));
    const bool ok = picture_write(MPI_COMM_WORLD, path, type, nx, ny, own, data, "a ramp", NULL, &why);
    free(data);
    if (!on_all(MPI_COMM_WORLD, ok)) fail_msg("%s", why.text);
}

static void expect_size(int64_t nx, int64_t ny, unsigned width, unsigned height)
{
    draw(along_x, nx, ny, DTYPE_F32);
    image i = load();
    assert_int_equal(i.head.width, width);
    assert_int_equal(i.head.height, height);
    for (unsigned x = 1; x < width; x++)
        assert_true(luminance(dot(&i, x, 0)) >= luminance(dot(&i, x - 1, 0)));
    assert_true(luminance(dot(&i, width - 1, 0)) > luminance(dot(&i, 0, 0)) + 150 || nx == 1);
    free(i.rgb);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes(void **state)
{
    expect_size(300, 200, 300, 200);
    expect_size(1000, 1000, 1000, 1000);
    expect_size(1001, 1000, 501, 500);
    expect_size(2000, 1500, 1000, 750);
    expect_size(7, 5, 259, 185);
    expect_size(100000, 1, 2041, 64);
    expect_size(3, 1, 258, 86);
    expect_size(1, 1, 256, 256);
    expect_size(1, 9000, 256, 3600);
}

static void luminance_follows_the_value(void **state)
{
    draw(along_y, 256, 300, DTYPE_F64);
    image i = load();
    for (unsigned y = 1; y < i.head.height; y++)
        assert_true(luminance(dot(&i, 0, y)) <= luminance(dot(&i, 0, y - 1)));
    /* row 0, the largest, on top */
    assert_true(luminance(dot(&i, 9, 0)) > 200 && luminance(dot(&i, 9, i.head.height - 1)) < 40);
    free(i.rgb);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every cell of a block of 2 x 2 counts, in whole and in part blocks: three patterns of mean 1, and the last,
 * narrow block. */
static double patterns(int64_t x, int64_t y)
{
    if (x == 1200) return -1.0;
    return x < 400 ? (double)(x % 2) * 2.0 : x < 800 ? (double)(y % 2) * 2.0 : 1.0;
}

static void pixels_are_means(void **state)
{
    draw(patterns, 1201, 1200, DTYPE_F64);
    image i = load();
    assert_int_equal(i.head.width, 601);
    for (unsigned y = 0; y < i.head.height; y++)
        for (unsigned x = 0; x < 601; x++)
            assert_memory_equal(dot(&i, x, y), dot(&i, x < 600 ? 0 : 600, 0), 3);
    assert_true(luminance(dot(&i, 0, 0)) > 200 && luminance(dot(&i, 600, 0)) < 40);
    free(i.rgb);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void not_a_number(void **state)
{
    draw(hole, 256, 256, DTYPE_F32);
    image i = load();
    const png_byte *red = dot(&i, 5, 3);
    assert_true(red[0] > 200 && red[1] < 80);
    for (unsigned x = 0; x < 256; x++) assert_true(dot(&i, x, 9)[0] < dot(&i, x, 9)[1] + 60);
    free(i.rgb);
    MPI_Barrier(MPI_COMM_WORLD);
    draw(nothing, 256, 2, DTYPE_F64);
    draw(constant, 256, 256, DTYPE_F64);
    i = load();
    assert_memory_equal(dot(&i, 0, 0), dot(&i, 255, 255), 3);
    free(i.rgb);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void says_its_scale(void **state)
{
    draw(along_x, 300, 3, DTYPE_F64);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "rb");
        png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
        png_infop info = png_create_info_struct(png);
        png_init_io(png, f);
        png_read_info(png, info);
        png_textp text;
        int count = 0, right = 0;
        png_get_text(png, info, &text, &count);
        const char *const pairs[][2] = { { "Title", "a ramp" }, { "min", "0" }, { "max", "299" } };
        for (int n = 0; n < count; n++)
            for (int p = 0; p < 3; p++)
                right += strcmp(text[n].key, pairs[p][0]) == 0 && strcmp(text[n].text, pairs[p][1]) == 0;
        assert_int_equal(right, 3);
        png_destroy_read_struct(&png, &info, NULL);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void unwritable(void **state)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    const box own = fixture_box(4, 4, ranks, 1, rank);
    const double data[16] = { 0 };
    assert_false(
        picture_write(MPI_COMM_WORLD, "/nonexistent/a.png", DTYPE_F64, 4, 4, own, data, "", NULL, &why));
    assert_string_equal(why.text, "cannot write the picture /nonexistent/a.png: No such file or directory");
    assert_false(
        picture_write(MPI_COMM_WORLD, "/dev/full/a.png", DTYPE_F64, 4, 4, own, data, "", NULL, &why));
    assert_int_equal(fixture_left(folder), 0);
}

/* ---- by one rank: the frames of a run have one scale, and a picture that cannot be written leaves what had
 * its name ---- */

enum { NX = 300, NY = 70, EVERY = 5, FRAMES = 4 };
static char picture[FIXTURE_PATH_BYTES + 16], frames[FIXTURE_PATH_BYTES + 16];
static picture_scale scale;

/* A bar that wanders to the right and grows. */
static void draw_bar(const char *to, int64_t step, int nx, picture_scale *by)
{
    static double data[NX * NY];
    for (int i = 0; i < nx * NY; i++) data[i] = i % nx < 10 * (step + 1) ? (double)step + 1 : i % nx * 1e-3;
    if (!picture_write(MPI_COMM_SELF, to, DTYPE_F64, nx, NY, box_make(0, nx, 0, NY), data, "a bar", by, &why))
        fail_msg("%s", why.text);
}

static void draw_frame(int64_t step, int nx)
{
    char to[FIXTURE_PATH_BYTES + 64];
    frames_path(to, sizeof to, frames, step);
    draw_bar(to, step, nx, &scale);
}

/* A bar of value 1 at step 0 is the brightest then and dark when a later one has 16. */
static void one_scale_for_all(void **state)
{
    if (fixture_rank(MPI_COMM_WORLD) > 0) return;
    for (int i = 0; i <= FRAMES; i++) draw_frame(i * EVERY, NX);
    assert_true(scale.begun && scale.low == 0.01 && scale.high == FRAMES * EVERY + 1);
    picture_scale asked = { .low = -1, .high = 3, .fixed = true };
    draw_bar(picture, 100, 20, &asked);
    assert_true(asked.low == -1 && asked.high == 3);
}

static size_t load_bytes(unsigned char bytes[65536])
{
    FILE *from = fopen(picture, "rb");
    assert_non_null(from);
    const size_t count = fread(bytes, 1, 65536, from);
    fclose(from);
    return count;
}

static void no_room(void **state)
{
    if (fixture_rank(MPI_COMM_WORLD) > 0) return;
    static double noise[NX * NY];
    static unsigned char before[65536], after[65536];
    struct rlimit limit;
    for (int i = 0; i < NX * NY; i++) noise[i] = cell_random(1, (uint64_t)i);
    draw_bar(picture, 3, NX, NULL);
    const size_t bytes = load_bytes(before);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, limit.rlim_max }), 0);
    const bool drawn = picture_write(MPI_COMM_SELF, picture, DTYPE_F64, NX, NY, box_make(0, NX, 0, NY), noise,
                                     "", NULL, &why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    if (drawn || fixture_left(folder) != 0 || !strstr(why.text, "bar.png: File too large"))
        fail_msg("%s", why.text);
    assert_int_equal(load_bytes(after), bytes);
    assert_memory_equal(before, after, bytes);
}

static int set_up(void **unused)
{
    snprintf(path, sizeof path, "%s/field.png", folder);
    snprintf(picture, sizeof picture, "%s/bar.png", folder);
    const bool fits = frames_folder(frames, sizeof frames, picture);
    return fits && fixture_rank(MPI_COMM_WORLD) == 0 ? mkdir(frames, 0777) : !fits;
}

STATE_TESTS(set_up, cmocka_unit_test(sizes), cmocka_unit_test(luminance_follows_the_value),
            cmocka_unit_test(pixels_are_means), cmocka_unit_test(not_a_number),
            cmocka_unit_test(says_its_scale), cmocka_unit_test(unwritable),
            cmocka_unit_test(one_scale_for_all), cmocka_unit_test(no_room))
