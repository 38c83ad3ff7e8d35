/* Sound state files, their damage with the library's own checksums made right again, and what must come of
 * reading one. What HDF5 does not live through ends a process of its own here, as in the program. */
#pragma once

#include "support/fuzz.h"

#include <errno.h>

#include "state/checkpoint.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_image.h"
#include "state/checkpoint_probe.h"
#include "state/checkpoint_probe_child.h"
#include "support/checkpoint_fixture.h"
#include "writer/checkpoint_write.h"

enum { NX = 37, NY = 23, SOUND_FILES = 4, REPACKED = 3 };

static char folder[FIXTURE_PATH_BYTES];

/* the library's, for what it checks */
extern uint32_t H5_checksum_metadata(const void *data, size_t bytes, uint32_t start);

static long *probes_ended; /* shared with the children; by a crash, or by what a sanitizer found */

/* State files: heat, wave in f32, transpose, heat as another program may pack it. All without the checksums
 * of weft's own that older versions do not write: these would keep every damaged file from the parsers. */
static fuzz_input sound[SOUND_FILES];

static void put_checksum(fuzz_input *in, size_t from, size_t bytes)
{
    if (from + bytes + 4 > in->count) return;
    const uint32_t sum = H5_checksum_metadata(in->bytes + from, bytes, 0);
    memcpy(in->bytes + from + bytes, &sum, 4);
}

/* Of the superblock and of every object header's first piece. */
static void mend_checksums(fuzz_input *in)
{
    put_checksum(in, 0, 44);
    for (size_t at = 0; at + 16 < in->count; at++) {
        if (memcmp(in->bytes + at, "OHDR", 4) != 0) continue;
        const unsigned flags = (unsigned char)in->bytes[at + 5], width = 1u << (flags & 3);
        const size_t sizes_at = at + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
        uint64_t bytes = 0;
        if (sizes_at + width > in->count) continue;
        memcpy(&bytes, in->bytes + sizes_at, width);
        if (bytes < in->count) put_checksum(in, at, sizes_at + width + (size_t)bytes - at);
    }
}

static checkpoint_state fields_for(const char *kind, dtype type, int64_t step)
{
    const int fields = strcmp(kind, "heat") == 0 ? 1 : 2;
    checkpoint_state s = {
        .kind = kind, .type = type, .step = step, .deck = "[grid]\nnx = 37\n", .fields = fields
    };
    const bool transposed = strcmp(kind, "transpose") == 0;
    s.field[0] = fixture_field(transposed ? "a" : "u", NX, NY, box_make(0, NX, 0, NY), type);
    if (s.fields == 2 && transposed) s.field[1] = fixture_field("b", NY, NX, box_make(0, NY, 0, NX), type);
    if (s.fields == 2 && !transposed)
        s.field[1] = fixture_field("u_prev", NX, NY, box_make(0, NX, 0, NY), type);
    return s;
}

static const struct {
    const char *kind;
    dtype type;
} kinds[SOUND_FILES] = {
    { "heat", DTYPE_F64 }, { "wave", DTYPE_F32 }, { "transpose", DTYPE_F64 }, { "heat", DTYPE_F64 }
};

/* /fields/u in compressed chunks. */
static void repack(const char *path, const checkpoint_field *u)
{
    char digits[32];
    const hsize_t shape[2] = { NY, NX }, chunk[2] = { 5, 7 };
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, NULL);
    H5Ldelete(file, "/fields/u", H5P_DEFAULT);
    H5Pset_chunk(layout, 2, chunk);
    H5Pset_shuffle(layout);
    H5Pset_deflate(layout, 6);
    const hid_t dataset =
        H5Dcreate2(file, "/fields/u", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)u->fingerprint);
    if (H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, u->data) < 0
        || !checkpoint_h5_put_text(dataset, "fingerprint", digits))
        abort();
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(layout);
    H5Fclose(file);
}

/* HDF5 cuts what it changes at its own end. */
static void make_older(const char *path)
{
    bool sealed = true;
    sentence why;
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (H5Adelete(file, "description_crc32c") < 0 || H5Fclose(file) < 0 ||
        checkpoint_seal_check(path, &sealed, &why) != CHECKPOINT_OK || sealed)
        abort();
}

static void make_sound_files(void)
{
    sentence why;
    char path[FIXTURE_PATH_BYTES + 32];
    for (int k = 0; k < SOUND_FILES; k++) {
        checkpoint_state s = fields_for(kinds[k].kind, kinds[k].type, 5);
        for (int i = 0; i < s.fields; i++) fixture_fill(&s.field[i], s.type, i);
        snprintf(path, sizeof path, "%s/sound.h5", folder);
        if (checkpoint_write(MPI_COMM_SELF, path, &s, NULL, &why) != CHECKPOINT_OK) fail_msg("%s", why.text);
        make_older(path);
        if (k == REPACKED) repack(path, &s.field[0]);
        FILE *f = fopen(path, "rb");
        sound[k].count = fread(sound[k].bytes, 1, FUZZ_INPUT_MAX, f);
        fclose(f);
        for (int i = 0; i < s.fields; i++) free(s.field[i].data);
    }
}

static void put_bytes(const char *path, const fuzz_input *in)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(in->bytes, 1, in->count, f) != in->count || fclose(f) != 0) abort();
}

/* In a process of its own, as in the program: what HDF5 has written where it should not is gone with it.
 * what: as checkpoint_probe_child's, a path alone: all. */
static bool probe_lives(const char *what)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        fuzz_default_signals();
        /* what libFuzzer would keep of a process that crashes */
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
        if (freopen("/dev/null", "w", stderr)) _exit(checkpoint_probe_child(what));
        _exit(1);
    }
    /* libFuzzer has an alarm of its own */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (pid < 0) abort();
    if (status != 0) (*probes_ended)++;
    return status == 0;
}

/* Its first field, as of any program's file. */
static void read_foreign_file(const char *path, int k)
{
    static double cells[NX * NY];
    sentence why;
    char what[FIXTURE_PATH_BYTES + 96];
    const char *const dataset = k == 2 ? "/fields/a" : "/fields/u";
    const checkpoint_foreign first = { path, dataset, kinds[k].type, NX, NY, box_make(0, NX, 0, NY) };
    snprintf(what, sizeof what, "%s\n%d\n%s", dataset, NX * NY, path);
    if (probe_lives(what)) (void)checkpoint_read_foreign(MPI_COMM_SELF, &first, cells, NULL, NULL, &why);
}

/* The state file at path, of which a process that looks first lives: as one of that kind. NULL, or what is
 * wrong. */
static const char *read_file(const char *path, int k)
{
    sentence why = { "" };
    checkpoint_report report;
    checkpoint_state s = fields_for(kinds[k].kind, kinds[k].type, 0);
    const char *wrong = NULL;
    const checkpoint_status verified = checkpoint_verify(MPI_COMM_SELF, path, &report, &why);
    if (verified != CHECKPOINT_OK && !report.damaged && !fuzz_one_sentence(why.text))
        wrong = "verify fails without a sentence";
    if (report.damaged && !fuzz_one_sentence(report.damage[0].text)) wrong = "damage without a sentence";
    why.text[0] = '\0';
    const checkpoint_status status = checkpoint_read(MPI_COMM_SELF, path, &s, &why);
    if (status != CHECKPOINT_OK && !fuzz_one_sentence(why.text)) wrong = "a refusal without a sentence";
    for (int i = 0; i < s.fields && status == CHECKPOINT_OK; i++)
        if (!fixture_holds(&s.field[i], s.type, i)) wrong = "other values were taken for whole";
    /* what verify finds whole, a reader of that kind has to take */
    if (verified == CHECKPOINT_OK && strcmp(report.info.kind, s.kind) == 0 && report.info.nx == NX &&
        report.info.ny == NY && report.info.type == s.type && status != CHECKPOINT_OK)
        wrong = "verify finds whole what cannot be read";
    checkpoint_info_free(&report.info);
    for (int i = 0; i < s.fields; i++) free(s.field[i].data);
    return wrong;
}
