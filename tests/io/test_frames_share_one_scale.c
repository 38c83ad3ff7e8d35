/* The frames of a run have one scale of colours; pictures and frames are on disk before they have their
 * names, and one that cannot be written leaves what had the name. ranks: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <png.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "output/frames.h"
#include "output/picture.h"
#include "support/state_fixture.h"
#include "support/recorded_disk.h"

enum { NX = 300, NY = 70, EVERY = 5, FRAMES = 4 };

static sentence why;
static char folder[FIXTURE_PATH_BYTES], picture[FIXTURE_PATH_BYTES + 16], frames[FIXTURE_PATH_BYTES + 16];
static picture_scale scale;

/* A bar that wanders to the right and grows. */
static void draw(const char *path, int64_t step, int nx, picture_scale *by)
{
    static double data[NX * NY];
    for (int i = 0; i < nx * NY; i++) data[i] = i % nx < 10 * (step + 1) ? (double)step + 1 : i % nx * 1e-3;
    if (!picture_write(MPI_COMM_SELF, path, DTYPE_F64, nx, NY, box_make(0, nx, 0, NY), data, "a bar", by,
                       &why))
        fail_msg("%s", why.text);
}

static void draw_frame(int64_t step, int nx)
{
    char path[FIXTURE_PATH_BYTES + 64];
    frames_path(path, sizeof path, frames, step);
    draw(path, step, nx, &scale);
}

/* A bar of value 1 at step 0 is the brightest then and dark when a later one has 16. */
static void one_scale_for_all(void **state)
{
    (void)state;
    for (int i = 0; i <= FRAMES; i++) draw_frame(i * EVERY, NX);
    assert_true(scale.begun && scale.low == 0.01 && scale.high == FRAMES * EVERY + 1);
    picture_scale asked = { .low = -1, .high = 3, .fixed = true };
    draw(picture, 100, 20, &asked);
    assert_true(asked.low == -1 && asked.high == 3);
}

static size_t load(unsigned char bytes[65536])
{
    FILE *from = fopen(picture, "rb");
    assert_non_null(from);
    const size_t count = fread(bytes, 1, 65536, from);
    fclose(from);
    return count;
}

static void no_room(void **state)
{
    (void)state;
    static double noise[NX * NY];
    static unsigned char before[65536], after[65536];
    struct rlimit limit;
    for (int i = 0; i < NX * NY; i++) noise[i] = cell_random(1, (uint64_t)i);
    draw(picture, 3, NX, NULL);
    const size_t bytes = load(before);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, limit.rlim_max }), 0);
    const bool drawn = picture_write(MPI_COMM_SELF, picture, DTYPE_F64, NX, NY, box_make(0, NX, 0, NY), noise,
                                     "", NULL, &why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    if (drawn || fixture_left(folder) != 0 || !strstr(why.text, "bar.png: File too large"))
        fail_msg("%s", why.text);
    assert_int_equal(load(after), bytes);
    assert_memory_equal(before, after, bytes);
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
        const bool folder_of =
            slash ? strncmp(m->name, n->to, (size_t)(slash - n->to)) == 0 : m->name[0] == '\0';
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
    draw(picture, 0, NX, NULL);
    disk.records = false;
    for (int i = 0; i < disk.notes; i++) {
        if (disk.note[i].what != DISK_RENAME) continue;
        renames++;
        if (!is_safe(i)) fail_msg("%s got its name before it was on disk", disk.note[i].to);
    }
    assert_int_equal(renames, 2); /* the frame and the picture */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    snprintf(picture, sizeof picture, "%s/bar.png", folder);
    assert_true(frames_folder(frames, sizeof frames, picture));
    assert_int_equal(mkdir(frames, 0777), 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_scale_for_all),
        cmocka_unit_test(no_room),
        cmocka_unit_test(on_disk_before_its_name),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
