/* Whatever happened to a state file, reading it gives DAMAGED with a sentence: every byte counts, and HDF5
 * does not see a file whose structure differs from what was written. What HDF5 itself changed, and files
 * without a seal, give the right bits or DAMAGED.
 *
 * Chance flips a bit anywhere in a file of two fields, or cuts it anywhere; both readers name it.
 * WEFT_DAMAGE_FLIPS, WEFT_DAMAGE_CUTS, WEFT_DAMAGE_SEED: more of them, or others. ranks: 1 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>
#include <unistd.h>

#include "state/checkpoint.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_image.h"
#include "state/checkpoint_probe.h"
#include "support/checkpoint_fixture.h"
#include "writer/checkpoint_write.h"

enum { NX = 7, NY = 5, WAVE_NX = 47, WAVE_NY = 31, FLIP_STRIDE_BYTES = 5 };
static sentence why;
static char folder[FIXTURE_PATH_BYTES], path[FIXTURE_PATH_BYTES + 32], elsewhere[FIXTURE_PATH_BYTES + 32];

/* As a restart: first what the file says of itself. */
static checkpoint_status read_as_restart(checkpoint_state *s)
{
    checkpoint_info info;
    const checkpoint_status status = checkpoint_read_info(MPI_COMM_WORLD, path, &info, &why);
    checkpoint_info_free(&info);
    return status == CHECKPOINT_OK ? checkpoint_read(MPI_COMM_WORLD, path, s, &why) : status;
}

static checkpoint_status read_state(int64_t nx, int64_t ny, dtype type)
{
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, nx, ny, type, 0);
    memset(s.field[0].data, 0, (size_t)box_cells(s.field[0].own) * dtype_bytes(type));
    why.text[0] = '\0';
    const checkpoint_status status = read_as_restart(&s);
    if (status == CHECKPOINT_OK) assert_true(on_all(MPI_COMM_WORLD, fixture_holds(&s.field[0], type, 0)));
    free(s.field[0].data);
    assert_true(on_all(MPI_COMM_WORLD,
                       status == CHECKPOINT_OK || (strstr(why.text, path) && !strchr(why.text, '\n'))));
    return status;
}

static void write_state(void)
{
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F64, 5);
    if (checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why) != CHECKPOINT_OK) fail_msg("%s", why.text);
    free(s.field[0].data);
}

static long file_bytes(void)
{
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    const long bytes = ftell(f);
    fclose(f);
    return bytes;
}

static void flip(long at, int mask)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) fixture_flip(path, at, mask);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void cut(long length)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) assert_int_equal(truncate(path, length), 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static long asked_for(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? atol(text) : otherwise;
}

static void flipped_bytes(void **state)
{
    (void)state;
    write_state();
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_OK);
    const long bytes = file_bytes(), data_bytes = NX * NY * 8;
    long data_found = 0, structure_found = 0;
    for (long at = bytes - 1; at >= 0; at -= FLIP_STRIDE_BYTES) {
        flip(at, 0x10);
        if (read_state(NX, NY, DTYPE_F64) != CHECKPOINT_DAMAGED)
            fail_msg("byte %ld of %ld: not found", at, bytes);
        data_found += strstr(why.text, "is damaged: /fields/u") != NULL;
        structure_found += strstr(why.text, "structure") != NULL;
        flip(at, 0x10);
    }
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_OK);
    assert_int_equal(data_found + structure_found, (bytes + FLIP_STRIDE_BYTES - 1) / FLIP_STRIDE_BYTES);
    assert_int_equal(data_found, data_bytes / FLIP_STRIDE_BYTES);
}

static void cut_short(void **state)
{
    (void)state;
    write_state();
    const long bytes = file_bytes(), lengths[] = { bytes - 1, bytes - NX * 8, bytes / 2, 100, 1, 0 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        cut(lengths[i]);
        assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
        checkpoint_info info;
        assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, path, &info, &why), CHECKPOINT_DAMAGED);
    }
}

/* ---- by chance ---- */

static long seed(void) { return asked_for("WEFT_DAMAGE_SEED", 20261122); }

static long chance(long below)
{
    static uint64_t drawn;
    return (long)(cell_fmix64((uint64_t)seed() * 1000003 + ++drawn) % (uint64_t)below);
}

static checkpoint_state wave_state(void)
{
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, WAVE_NX, WAVE_NY, DTYPE_F64, 5);
    s.kind = "wave";
    s.fields = 2;
    s.field[1] = fixture_cut("u_prev", WAVE_NX, WAVE_NY, 1, fixture_ranks(MPI_COMM_WORLD),
                             fixture_rank(MPI_COMM_WORLD), DTYPE_F64);
    fixture_fill(&s.field[1], DTYPE_F64, 1);
    return s;
}

static void wave_free(checkpoint_state *s)
{
    for (int i = 0; i < s->fields; i++) free(s->field[i].data);
}

/* What the file says of itself and holds, if it is taken, is what was written. */
static bool is_as_written(const checkpoint_state *s, const checkpoint_info *info)
{
    const checkpoint_state wanted = wave_state();
    bool same = info->step == wanted.step && info->nx == WAVE_NX && info->ny == WAVE_NY &&
                info->type == wanted.type && info->fingerprint == wanted.field[0].fingerprint &&
                strcmp(info->kind, wanted.kind) == 0 && strcmp(info->deck, wanted.deck) == 0 &&
                s->step == wanted.step;
    for (int i = 0; i < s->fields; i++)
        same = same && s->field[i].fingerprint == wanted.field[i].fingerprint &&
               memcmp(s->field[i].data, wanted.field[i].data,
                      (size_t)box_cells(wanted.field[i].own) * sizeof(double)) == 0;
    wave_free((checkpoint_state *)&wanted);
    return on_all(MPI_COMM_WORLD, same);
}

/* Do the readers take the file? True: both do, and it is as it was written. False: both name the damage. */
static bool taken(void)
{
    checkpoint_report r;
    checkpoint_state s = wave_state();
    for (int i = 0; i < s.fields; i++)
        memset(s.field[i].data, 0, (size_t)box_cells(s.field[i].own) * sizeof(double));
    why.text[0] = '\0';
    const checkpoint_status verified = checkpoint_verify(MPI_COMM_WORLD, path, &r, &why);
    const bool told =
        verified == CHECKPOINT_OK ||
        (r.damaged ? r.damage[0].text[0] != '\0' : strstr(why.text, path) && !strchr(why.text, '\n'));
    assert_true(
        on_all(MPI_COMM_WORLD, told && (verified == CHECKPOINT_OK || verified == CHECKPOINT_DAMAGED)));
    const checkpoint_status read = read_as_restart(&s);
    assert_int_equal(read, verified);
    assert_true(on_all(MPI_COMM_WORLD, read == CHECKPOINT_OK || strstr(why.text, path)));
    if (verified == CHECKPOINT_OK) assert_true(is_as_written(&s, &r.info));
    checkpoint_info_free(&r.info);
    wave_free(&s);
    return verified == CHECKPOINT_OK;
}

static bool taken_with(long at, int mask)
{
    flip(at, mask);
    const bool is_taken = taken();
    flip(at, mask);
    return is_taken;
}

static void write_wave(void)
{
    checkpoint_state s = wave_state();
    if (checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why) != CHECKPOINT_OK) fail_msg("%s", why.text);
    wave_free(&s);
    assert_true(taken());
}

static void flips_by_chance(void **state)
{
    (void)state;
    if (fixture_ranks(MPI_COMM_WORLD) > 1) skip(); /* flipped_bytes has shown that ranks find the same */
    write_wave();
    const long flips = asked_for("WEFT_DAMAGE_FLIPS", 12), bytes = file_bytes();
    for (long i = 0; i < flips; i++) {
        const long at = chance(bytes);
        const int bit = (int)chance(8);
        if (taken_with(at, 1 << bit)) fail_msg("bit %d of byte %ld of %ld: not found", bit, at, bytes);
    }
    assert_true(taken());
    print_message("%ld flips of a bit in a file of %ld bytes, seed %ld: all named\n", flips, bytes, seed());
}

static void cuts_by_chance(void **state)
{
    (void)state;
    if (fixture_ranks(MPI_COMM_WORLD) > 1) skip();
    write_wave();
    const long cuts = asked_for("WEFT_DAMAGE_CUTS", 6), bytes = file_bytes();
    for (long i = 0; i < cuts; i++) {
        const long length = chance(bytes);
        cut(length);
        if (taken()) assert_int_equal(length, bytes - CHECKPOINT_SEAL_BYTES); /* the seal alone is gone */
        MPI_Barrier(MPI_COMM_WORLD);
        write_wave();
    }
    print_message("%ld cuts of a file of %ld bytes, seed %ld: all named\n", cuts, bytes, seed());
}

/* As versions before the seal left them, and programs that change a file: the cut is where HDF5's end is. */
static void without_its_seal(void **state)
{
    (void)state;
    checkpoint_report r;
    write_state();
    const long bytes = file_bytes();
    for (long cut_bytes = CHECKPOINT_SEAL_BYTES - 1; cut_bytes > 0; cut_bytes -= 10) {
        cut(bytes - cut_bytes);
        assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
        assert_non_null(strstr(why.text, "the checksum of its structure"));
        write_state();
    }
    checkpoint_probe_by("/bin/false"); /* as if HDF5 did not live through any file */
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_OK);
    cut(bytes - CHECKPOINT_SEAL_BYTES);
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why.text, "HDF5 ends with status 1"));
    checkpoint_probe_by(NULL);
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_OK);
    assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_OK);
    assert_false(r.info.sealed);
    checkpoint_info_free(&r.info);
}

/* The name is that of another step: in a directory of checkpoints it would be taken for the newest. */
static void of_another_name(void **state)
{
    (void)state;
    char right[sizeof path], wrong[sizeof path], other[sizeof path];
    checkpoint_info info;
    checkpoint_path(right, sizeof right, folder, 5);
    checkpoint_path(wrong, sizeof wrong, folder, 7);
    snprintf(other, sizeof other, "%s/step_7.h5", folder);
    write_state();
    const char *const name[] = { right, wrong, other, path };
    for (int i = 0; i < 4; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (fixture_rank(MPI_COMM_WORLD) == 0) assert_int_equal(rename(i ? name[i - 1] : path, name[i]), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        const checkpoint_status status = checkpoint_read_info(MPI_COMM_WORLD, name[i], &info, &why);
        assert_int_equal(status, name[i] == wrong ? CHECKPOINT_DAMAGED : CHECKPOINT_OK);
        if (name[i] == wrong) assert_non_null(strstr(why.text, "it holds step 5 under the name of step 7"));
        checkpoint_info_free(&info);
    }
}

static void other_files(void **state)
{
    (void)state;
    checkpoint_info info;
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "w");
        fputs("problem = heat\n", f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why.text, "not an HDF5 file"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_MISSING);
    assert_non_null(strstr(why.text, "no such file"));
    assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, path, &info, &why), CHECKPOINT_MISSING);
    assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, folder, &info, &why), CHECKPOINT_MISSING);
    assert_null(info.deck);
}

static void edit(void (*change)(hid_t file))
{
    write_state();
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        change(file);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void without_schema(hid_t file) { H5Adelete(file, "schema_version"); }
static void without_fingerprint(hid_t file) { H5Adelete(file, "fingerprint"); }
static void without_deck(hid_t file) { H5Adelete(file, "deck"); }
static void without_dataset(hid_t file) { H5Ldelete(file, "/fields/u", H5P_DEFAULT); }
static void without_own_fingerprint(hid_t file)
{
    H5Adelete_by_name(file, "/fields/u", "fingerprint", H5P_DEFAULT);
}

static void future_schema(hid_t file)
{
    const hid_t a = H5Aopen(file, "schema_version", H5P_DEFAULT);
    const int64_t version = 1000;
    H5Awrite(a, H5T_NATIVE_INT64, &version);
    H5Aclose(a);
}

static void root_fingerprint_of_another_state(hid_t file)
{
    const hid_t a = H5Aopen(file, "fingerprint", H5P_DEFAULT), t = H5Aget_type(a);
    H5Awrite(a, t, "0123456789abcdef");
    H5Tclose(t);
    H5Aclose(a);
}

static void step_of_another_state(hid_t file)
{
    const hid_t a = H5Aopen(file, "step", H5P_DEFAULT);
    const int64_t step = 1000000000000000000;
    H5Awrite(a, H5T_NATIVE_INT64, &step);
    H5Aclose(a);
}

static void deck_of_another_state(hid_t file)
{
    H5Adelete(file, "deck");
    checkpoint_h5_put_text(file, "deck", "[grid]\nnx = 6\n");
}

static void missing_parts(void **state)
{
    (void)state;
    const struct {
        void (*change)(hid_t);
        const char *part;
    } cases[] = {
        { without_schema, "schema_version" },       { without_fingerprint, "fingerprint" },
        { without_deck, "deck" },                   { without_dataset, "/fields/u" },
        { without_own_fingerprint, "fingerprint" }, { future_schema, "schema version 1000" },
        { root_fingerprint_of_another_state, "fingerprint" },
        { step_of_another_state, "step" },
        { deck_of_another_state, "deck" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        edit(cases[i].change);
        assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
        if (!strstr(why.text, cases[i].part)) fail_msg("\"%s\" does not say \"%s\"", why.text, cases[i].part);
    }
}

/* Another program's group beside the fields, of a name longer than most, with an attribute of strings as long
 * as the file says. */
static void with_a_long_name(hid_t file)
{
    char name[400];
    const char *text[2] = { "one", "two" };
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                type = H5Tcopy(H5T_C_S1);
    const hsize_t count = 1, two = 2;
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t pair = H5Tarray_create2(type, 1, &two), space = H5Screate_simple(1, &count, NULL);
    const hid_t attribute = H5Acreate2(group, "words", pair, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, pair, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(pair);
    H5Tclose(type);
    H5Gclose(group);
}

static void sound_with_more_in_it(void **state)
{
    (void)state;
    checkpoint_report r;
    edit(with_a_long_name);
    const checkpoint_status status = checkpoint_verify(MPI_COMM_WORLD, path, &r, &why);
    if (status != CHECKPOINT_OK) fail_msg("%s%s", why.text, r.damage[0].text);
    checkpoint_info_free(&r.info);
}

/* The field is elsewhere: sound, but no state file's. */
static void move_away(hid_t file)
{
    const hid_t other = H5Fcreate(elsewhere, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Ocopy(file, "/fields/u", other, "u", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(other);
    H5Ldelete(file, "/fields/u", H5P_DEFAULT);
}

static void behind_a_link(hid_t file)
{
    move_away(file);
    H5Lcreate_external(elsewhere, "/u", file, "/fields/u", H5P_DEFAULT, H5P_DEFAULT);
}

static void behind_a_soft_link(hid_t file)
{
    H5Lmove(file, "/fields/u", file, "/u", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/u", file, "/fields/u", H5P_DEFAULT, H5P_DEFAULT);
}

static void group_behind_a_link(hid_t file)
{
    H5Lmove(file, "/fields", file, "/others", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/others", file, "/fields", H5P_DEFAULT, H5P_DEFAULT);
}

static void replaced(hid_t file, hid_t layout)
{
    const hsize_t shape[2] = { NY, NX };
    char *digits = checkpoint_h5_attribute_text(file, "fingerprint", 64);
    const hid_t space = H5Screate_simple(2, shape, NULL);
    H5Lmove(file, "/fields/u", file, "/u", H5P_DEFAULT, H5P_DEFAULT);
    if (H5Pget_external_count(layout) == 0) H5Pset_virtual(layout, space, ".", "/u", space);
    const hid_t dataset =
        H5Dcreate2(file, "/fields/u", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    assert_true(dataset >= 0 && checkpoint_h5_put_text(dataset, "fingerprint", digits));
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(layout);
    free(digits);
}

static void a_view(hid_t file) { replaced(file, H5Pcreate(H5P_DATASET_CREATE)); }

static void outside(hid_t file)
{
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(layout, "raw.bin", 0, NX * NY * 8);
    replaced(file, layout);
}

static void not_in_the_file(void **state)
{
    (void)state;
    const struct {
        void (*change)(hid_t);
        const char *part;
    } cases[] = { { behind_a_link, "/fields/u is a link" },
                  { behind_a_soft_link, "/fields/u is a link" },
                  { group_behind_a_link, "/fields/u is a link" },
                  { a_view, "/fields/u has its values in other places" },
                  { outside, "/fields/u has its values in other places" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        checkpoint_report r;
        edit(cases[i].change);
        assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
        if (!strstr(why.text, cases[i].part)) fail_msg("\"%s\" does not say \"%s\"", why.text, cases[i].part);
        assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_DAMAGED);
        if (!strstr(why.text, cases[i].part)) fail_msg("\"%s\" does not say \"%s\"", why.text, cases[i].part);
        checkpoint_info_free(&r.info);
    }
}

/* Beside the fields, where a restart does not look. */
static void another_link(hid_t file)
{
    H5Lcreate_external(elsewhere, "/u", file, "more", H5P_DEFAULT, H5P_DEFAULT);
}

static void another_dataset(hid_t file, bool view)
{
    const hsize_t cells = 4;
    const hid_t space = H5Screate_simple(1, &cells, NULL), layout = H5Pcreate(H5P_DATASET_CREATE);
    if (view) H5Pset_virtual(layout, space, elsewhere, "/u", space);
    else H5Pset_external(layout, "raw.bin", 0, cells);
    H5Dclose(H5Dcreate2(file, "more", H5T_STD_U8LE, space, H5P_DEFAULT, layout, H5P_DEFAULT));
    H5Pclose(layout);
    H5Sclose(space);
}

static void another_view(hid_t file) { another_dataset(file, true); }
static void another_outside(hid_t file) { another_dataset(file, false); }

static void more_that_is_not_in_the_file(void **state)
{
    (void)state;
    void (*const cases[])(hid_t) = { another_link, another_view, another_outside };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        checkpoint_report r;
        edit(cases[i]);
        assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_DAMAGED);
        assert_non_null(strstr(r.damage[0].text,
                               i == 0 ? "/more leads to another file" : "/more has values in other files"));
        checkpoint_info_free(&r.info);
    }
}

/* The field is replaced by one of a shape that is not there. */
static void resize(hid_t file, hsize_t ny, hsize_t nx, bool chunked)
{
    const hsize_t shape[2] = { ny, nx }, chunk[2] = { 64, 64 };
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, NULL);
    H5Ldelete(file, "/fields/u", H5P_DEFAULT);
    if (chunked) H5Pset_chunk(layout, 2, chunk);
    const hid_t dataset =
        H5Dcreate2(file, "/fields/u", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    assert_true(dataset >= 0 && checkpoint_h5_put_text(dataset, "fingerprint", "0123456789abcdef"));
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(layout);
    H5Ldelete(file, "/checksums", H5P_DEFAULT);
    H5Adelete(file, "description_crc32c");
}

static void terabytes_of_nothing(hid_t file) { resize(file, 1 << 20, 1 << 20, false); }
static void pieces_of_nothing(hid_t file) { resize(file, 1 << 20, 1 << 20, true); }
static void more_than_can_be_counted(hid_t file) { resize(file, (hsize_t)1 << 40, (hsize_t)1 << 40, true); }

static void larger_than_its_data(void **state)
{
    (void)state;
    const struct {
        void (*change)(hid_t);
        const char *part;
    } cases[] = { { terabytes_of_nothing, "has no data" },
                  { pieces_of_nothing, "has no data" },
                  { more_than_can_be_counted, "2^60 cells" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        checkpoint_report r;
        edit(cases[i].change);
        assert_int_equal(checkpoint_verify(MPI_COMM_WORLD, path, &r, &why), CHECKPOINT_DAMAGED);
        if (!strstr(why.text, cases[i].part)) fail_msg("\"%s\" does not say \"%s\"", why.text, cases[i].part);
        checkpoint_info_free(&r.info);
    }
}

static void other_shape_or_type(void **state)
{
    (void)state;
    write_state();
    assert_int_equal(read_state(NY, NX, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why.text, "5 x 7"));
    assert_int_equal(read_state(NX * NY, 1, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_int_equal(read_state(NX, NY, DTYPE_F32), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why.text, "f32"));
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    snprintf(path, sizeof path, "%s/state.h5", folder);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere.h5", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_bytes),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(flips_by_chance),
        cmocka_unit_test(cuts_by_chance),
        cmocka_unit_test(without_its_seal),
        cmocka_unit_test(of_another_name),
        cmocka_unit_test(other_files),
        cmocka_unit_test(missing_parts),
        cmocka_unit_test(sound_with_more_in_it),
        cmocka_unit_test(not_in_the_file),
        cmocka_unit_test(more_that_is_not_in_the_file),
        cmocka_unit_test(larger_than_its_data),
        cmocka_unit_test(other_shape_or_type),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
