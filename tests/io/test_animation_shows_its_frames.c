/* An animated picture holds every frame of its folder, in order, dot by dot, behind the picture that programs without animation
 * show; it and its frames are on disk before they have their names.
 * ranks: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <png.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "output/animation.h"
#include "output/picture.h"
#include "support/checkpoint_fixture.h"
#include "support/recorded_disk.h"

enum { NX = 300, NY = 70, EVERY = 5, FRAMES = 4, CHUNKS_MAX = 200 };

static char folder[FIXTURE_PATH_BYTES], picture[FIXTURE_PATH_BYTES + 16], frames[FIXTURE_PATH_BYTES + 16], why[2200];
static picture_scale scale;

/* A bar that wanders to the right and grows. */
static void draw(const char *path, int64_t step, int nx, picture_scale *by)
{
    static double data[NX * NY];
    for (int i = 0; i < nx * NY; i++) data[i] = i % nx < 10 * (step + 1) ? (double)step + 1 : i % nx * 1e-3;
    if (!picture_write(MPI_COMM_SELF, path, DTYPE_F64, nx, NY, box_make(0, nx, 0, NY), data, "a bar", by, why, sizeof why))
        fail_msg("%s", why);
}

static void draw_frame(int64_t step, int nx)
{
    char path[FIXTURE_PATH_BYTES + 64];
    animation_frame(path, sizeof path, frames, step);
    draw(path, step, nx, &scale);
}

static void animate(int64_t last, int64_t wanted)
{
    int64_t found = -1;
    draw(picture, last, NX, NULL);
    if (!animation_write(picture, EVERY, last, &found, why, sizeof why)) fail_msg("%s", why);
    assert_int_equal(found, wanted);
}

/* ---- the file as chunks ---- */

typedef struct chunk {
    char name[5];
    png_uint_32 bytes;
    png_bytep data;
} chunk;
typedef struct file {
    png_bytep data;
    chunk chunk[CHUNKS_MAX];
    int chunks;
} file;

static file load(const char *path)
{
    file f = { .chunks = 0 };
    FILE *from = fopen(path, "rb");
    struct stat info;
    assert_non_null(from);
    assert_int_equal(fstat(fileno(from), &info), 0);
    f.data = malloc((size_t)info.st_size);
    assert_int_equal(fread(f.data, 1, (size_t)info.st_size, from), info.st_size);
    fclose(from);
    for (png_bytep at = f.data + 8; at < f.data + info.st_size; at += f.chunk[f.chunks++].bytes + 12) {
        assert_true(f.chunks < CHUNKS_MAX);
        f.chunk[f.chunks].bytes = png_get_uint_32(at);
        memcpy(f.chunk[f.chunks].name, at + 4, 4);
        f.chunk[f.chunks].data = at + 8;
        assert_int_equal(crc32(0, at + 4, f.chunk[f.chunks].bytes + 4), png_get_uint_32(at + 8 + f.chunk[f.chunks].bytes));
    }
    assert_string_equal(f.chunk[f.chunks - 1].name, "IEND");
    return f;
}

/* libpng reads a picture made of the header, the palette and a frame's data, so of a PNG with one frame alone. It checks
 * checksums. */
static png_bytep decode(const chunk *const *parts, int count, png_image *head)
{
    char path[FIXTURE_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/one.png", folder);
    FILE *out = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_init_io(png, out);
    png_write_sig(png);
    for (int i = 0; i < count; i++) {
        const bool frame = strcmp(parts[i]->name, "fdAT") == 0;
        const png_uint_32 skip = frame ? 4 : 0;
        png_write_chunk(png, (png_const_bytep)(frame ? "IDAT" : parts[i]->name), parts[i]->data + skip, parts[i]->bytes - skip);
    }
    png_write_chunk(png, (png_const_bytep) "IEND", NULL, 0);
    png_destroy_write_struct(&png, NULL);
    fclose(out);
    *head = (png_image){ .version = PNG_IMAGE_VERSION };
    if (!png_image_begin_read_from_file(head, path)) fail_msg("%s", head->message);
    head->format = PNG_FORMAT_RGB;
    png_bytep dots = malloc(PNG_IMAGE_SIZE(*head));
    if (!png_image_finish_read(head, NULL, dots, 0, NULL)) fail_msg("%s", head->message);
    return dots;
}

/* Picture number `index` of the file, 0 the one that is not animated, is that of the other file. */
static void expect_same(const file *f, int index, const char *path)
{
    const chunk *parts[CHUNKS_MAX], *other[CHUNKS_MAX];
    int count = 0, others = 0, at = 0;
    for (int i = 0; i < f->chunks; i++) {
        const char *name = f->chunk[i].name;
        if (strcmp(name, "fcTL") == 0) at++;
        const bool data = strcmp(name, "IDAT") == 0 || strcmp(name, "fdAT") == 0;
        if (strcmp(name, "IHDR") == 0 || strcmp(name, "PLTE") == 0 || (data && at == index)) parts[count++] = &f->chunk[i];
    }
    file g = load(path);
    for (int i = 0; i < g.chunks - 1; i++) other[others++] = &g.chunk[i];
    png_image a, b;
    png_bytep found = decode(parts, count, &a), wanted = decode(other, others, &b);
    assert_int_equal(a.width, b.width);
    assert_int_equal(a.height, b.height);
    assert_memory_equal(found, wanted, PNG_IMAGE_SIZE(a));
    free(found);
    free(wanted);
    free(g.data);
}

/* ---- */

static void frames_in_order(void **state)
{
    (void)state;
    char path[FIXTURE_PATH_BYTES + 64];
    for (int i = 0; i < FRAMES; i++) draw_frame(i * EVERY, NX);
    draw_frame(FRAMES * EVERY, NX);     /* beyond the last step */
    draw_frame(2 * EVERY + 1, NX);      /* no multiple */
    animate(FRAMES * EVERY - 1, FRAMES);
    file f = load(picture);
    assert_string_equal(f.chunk[1].name, "acTL");
    assert_int_equal(png_get_uint_32(f.chunk[1].data), FRAMES);
    png_uint_32 sequence = 0;
    for (int i = 0; i < f.chunks; i++)
        if (f.chunk[i].name[0] == 'f') assert_int_equal(png_get_uint_32(f.chunk[i].data), sequence++);
    for (int i = 0; i < FRAMES; i++) {
        animation_frame(path, sizeof path, frames, i * EVERY);
        expect_same(&f, i + 1, path);
    }
    free(f.data);
    /* the picture in front is the one that was there */
    snprintf(path, sizeof path, "%s/still.png", folder);
    f = load(picture);
    draw(path, FRAMES * EVERY - 1, NX, NULL);
    expect_same(&f, 0, path);
    free(f.data);
}

/* A bar of value 1 at step 0 is the brightest then and dark when a later one has 16. */
static void one_scale_for_all(void **state)
{
    (void)state;
    assert_true(scale.begun && scale.low == 0.01 && scale.high == FRAMES * EVERY + 1);
    picture_scale asked = { .low = -1, .high = 3, .fixed = true };
    draw(picture, 100, 20, &asked);
    assert_true(asked.low == -1 && asked.high == 3);
}

static void other_sizes_are_left_out(void **state)
{
    (void)state;
    draw_frame(EVERY, NX / 2 + 120);
    animate(FRAMES * EVERY - 1, FRAMES - 1);
    draw_frame(EVERY, NX);
}

static void no_frames_no_change(void **state)
{
    (void)state;
    char path[FIXTURE_PATH_BYTES + 32];
    int64_t count = -1;
    snprintf(path, sizeof path, "%s/alone.png", folder);
    draw(path, 3, NX, NULL);
    assert_true(animation_write(path, EVERY, 100, &count, why, sizeof why));
    assert_int_equal(count, 0);
    file f = load(path);
    for (int i = 0; i < f.chunks; i++) assert_string_not_equal(f.chunk[i].name, "acTL");
    free(f.data);
}

static void a_damaged_frame_is_named(void **state)
{
    (void)state;
    char path[FIXTURE_PATH_BYTES + 64];
    int64_t count = 0;
    draw(picture, 3, NX, NULL);
    animation_frame(path, sizeof path, frames, 2 * EVERY);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    fixture_flip(path, (long)info.st_size - 30, 1); /* the last of the data */
    assert_false(animation_write(picture, EVERY, FRAMES * EVERY, &count, why, sizeof why));
    assert_non_null(strstr(why, "0000000010.png: a damaged frame"));
    file whole = load(picture);
    assert_string_not_equal(whole.chunk[1].name, "acTL");
    free(whole.data);
    assert_false(animation_write("/nonexistent/a.png", EVERY, 9, &count, why, sizeof why));
    assert_non_null(strstr(why, "/nonexistent/a.png: No such file"));
}

/* A write that fails in the middle of the frames is what is told, not the frame that is missing behind it. */
static void no_room(void **state)
{
    (void)state;
    char still[FIXTURE_PATH_BYTES + 32], frame[FIXTURE_PATH_BYTES + 64], said[600] = "";
    static double noise[NX * NY];
    struct rlimit before;
    int64_t count = 0;
    for (int i = 0; i < NX * NY; i++) noise[i] = cell_random(1, (uint64_t)i);
    animation_frame(frame, sizeof frame, frames, FRAMES * EVERY); /* of more than stdio keeps */
    assert_true(picture_write(MPI_COMM_SELF, frame, DTYPE_F64, NX, NY, box_make(0, NX, 0, NY), noise, "", NULL, why, sizeof why));
    draw(picture, 3, NX, NULL);
    snprintf(still, sizeof still, "%s/still.png", folder);
    draw(still, 3, NX, NULL);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 2048, before.rlim_max }), 0);
    const bool animated = animation_write(picture, EVERY, 30 * EVERY, &count, why, sizeof why);
    const bool reported = strstr(why, "bar.png.tmp.") && strstr(why, ": File too large"), left = fixture_left(folder) != 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, before.rlim_max }), 0);
    const bool drawn = picture_write(MPI_COMM_SELF, picture, DTYPE_F64, NX, NY, box_make(0, NX, 0, NY), noise, "", NULL, said,
                                     sizeof said);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    if (animated || !reported || left || drawn || !strstr(said, "bar.png: File too large")) fail_msg("%s; %s", why, said);
    file f = load(picture);
    expect_same(&f, 0, still);
    free(f.data);
}

/* Between the opening of what a name is given to and that: an fsync; and behind it one of the folder. */
static bool is_safe(int rename_at)
{
    const disk_note *const n = &disk.note[rename_at];
    bool written = false, named = false;
    int file_handle = 0, folder_handle = 0;
    const char *const slash = strrchr(n->to, '/');
    for (int i = 0; i < disk.notes; i++) {
        const disk_note *m = &disk.note[i];
        const bool folder_of = slash ? strncmp(m->name, n->to, (size_t)(slash - n->to)) == 0 : m->name[0] == '\0';
        if (m->what == DISK_OPEN && i < rename_at && strcmp(m->name, n->name) == 0) file_handle = m->handle;
        if (m->what == DISK_OPEN && i > rename_at && folder_of) folder_handle = m->handle;
        if (m->what == DISK_FSYNC && i < rename_at && m->handle == file_handle) written = true;
        if (m->what == DISK_FSYNC && i > rename_at && m->handle == folder_handle) named = true;
    }
    return written && named;
}

static void on_disk_before_its_name(void **state)
{
    (void)state;
    int renames = 0;
    disk_record(folder, 0);
    draw_frame(0, NX);
    animate(0, 1);
    disk.records = false;
    for (int i = 0; i < disk.notes; i++) {
        if (disk.note[i].what != DISK_RENAME) continue;
        renames++;
        if (!is_safe(i)) fail_msg("%s got its name before it was on disk", disk.note[i].to);
    }
    assert_int_equal(renames, 3); /* the frame, the picture, and it with its frames */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    snprintf(picture, sizeof picture, "%s/bar.png", folder);
    assert_true(animation_folder(frames, sizeof frames, picture));
    assert_int_equal(mkdir(frames, 0777), 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_order),          cmocka_unit_test(one_scale_for_all),
        cmocka_unit_test(other_sizes_are_left_out), cmocka_unit_test(no_frames_no_change),
        cmocka_unit_test(no_room),                  cmocka_unit_test(on_disk_before_its_name),
        cmocka_unit_test(a_damaged_frame_is_named),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
