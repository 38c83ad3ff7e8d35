/* A state file on its own: its structure against the seal, every block against its checksum, every field
 * against its fingerprint, the whole file never in memory; of a file without a seal also all else that HDF5
 * finds in it, for those who read more than a restart does. A block that differs where the fingerprint agrees
 * is a damaged checksum (or the sign or payload of a NaN, which fingerprints leave out). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/ranks.h"
#include "state/checkpoint.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_info.h"
#include "state/checkpoint_probe.h"
#include "state/checkpoint_rows.h"
#include "state/checkpoint_sums.h"
#include "state/checkpoint_walk.h"

enum { SCAN_BYTES = 64 << 20 }; /* memory that reading may take per rank */

typedef struct verifying {
    MPI_Comm comm;
    int rank, ranks;
    const char *path;
    checkpoint_report *r;
    sentence *why;
} verifying;

__attribute__((format(printf, 2, 3))) static void damaged(checkpoint_report *r, const char *format, ...)
{
    if (r->damaged++ >= CHECKPOINT_DAMAGE_LISTED) return;
    va_list args;
    va_start(args, format);
    sentence_set_list(&r->damage[r->damaged - 1], format, args);
    va_end(args);
}

static void judge(checkpoint_report *r, const checkpoint_field *f, uint64_t stored,
                  const checkpoint_sums *wanted, const checkpoint_sums *found)
{
    const int64_t before = r->damaged;
    const bool same = f->fingerprint == stored;
    for (int64_t b = 0; wanted->crc && b < wanted->blocks; b++) {
        if (wanted->crc[b] == found->crc[b]) continue;
        char where[CHECKPOINT_WHERE_BYTES];
        checkpoint_say_block(where, f, wanted->lines, b);
        damaged(r, "%s%s, %s: checksum %08" PRIx32 ", but the file records %08" PRIx32 "%s",
                same ? "/checksums/" : "/fields/", f->name, where, found->crc[b], wanted->crc[b],
                same ? "; the field itself matches its fingerprint" : "");
    }
    if (!same && r->damaged == before)
        damaged(r, "/fields/%s has fingerprint %016" PRIx64 ", but the file records %016" PRIx64 "%s",
                f->name, f->fingerprint, stored,
                wanted->crc ? "" : "; without block checksums the place is unknown");
}

/* Reads the cells `part` through a buffer and adds their share to *fingerprint and to sums; each may be NULL.
 * By one rank. */
static checkpoint_status scan(hid_t dataset, const char *path, const checkpoint_field *f, dtype type,
                              box part, uint64_t *fingerprint, checkpoint_sums *sums, sentence *why)
{
    const size_t cell_bytes = dtype_bytes(type);
    const int64_t bands = checkpoint_bands(part, cell_bytes, SCAN_BYTES);
    if (bands == 0) return CHECKPOINT_OK;
    void *buffer = malloc((size_t)box_cells(checkpoint_band(part, cell_bytes, SCAN_BYTES, 0)) * cell_bytes);
    if (!buffer) return checkpoint_fail(CHECKPOINT_IO, why, "no memory to read %s", path);
    checkpoint_status status = CHECKPOINT_OK;
    for (int64_t b = 0; b < bands && status == CHECKPOINT_OK; b++) {
        const box piece = checkpoint_band(part, cell_bytes, SCAN_BYTES, b);
        const char *const reason = checkpoint_h5_read(dataset, piece, type, buffer);
        if (reason) {
            status = checkpoint_fail(CHECKPOINT_IO, why, "cannot read /fields/%s of %s: %s", f->name, path,
                                     reason);
        } else {
            if (fingerprint) *fingerprint += checkpoint_fingerprint_share(type, buffer, piece, f->nx);
            if (sums) checkpoint_sums_add(sums, type, buffer, piece, f);
        }
    }
    free(buffer);
    return status;
}

/* Collective. */
static checkpoint_status verify_field(verifying *v, hid_t file, checkpoint_field *f, dtype type)
{
    hid_t dataset = H5I_INVALID_HID;
    checkpoint_sums wanted = { .crc = NULL }, found = { .crc = NULL };
    uint64_t stored = 0;
    checkpoint_status status = checkpoint_dataset_open(file, v->path, f, type, &dataset, &stored, v->why);
    if (status == CHECKPOINT_OK) status = checkpoint_sums_read(file, v->path, f, &wanted, v->why);
    if (status == CHECKPOINT_OK && wanted.crc && !checkpoint_sums_make(&found, f, wanted.lines))
        status = checkpoint_fail(CHECKPOINT_IO, v->why, "no memory for the checksums of %s", v->path);
    if (status == CHECKPOINT_OK)
        status = scan(dataset, v->path, f, type, decomp_share(f->nx, f->ny, v->ranks, v->rank),
                      &f->fingerprint, wanted.crc ? &found : NULL, v->why);
    status = checkpoint_agree(v->comm, status, v->why);
    if (status == CHECKPOINT_OK) {
        MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &f->fingerprint, 1, MPI_UINT64_T, MPI_SUM, v->comm));
        if (wanted.crc) {
            checkpoint_sums_unite(v->comm, &found);
            checkpoint_sums_finish(&found, type, f);
        }
        judge(v->r, f, stored, &wanted, &found);
        v->r->blocks += wanted.blocks;
    }
    if (dataset >= 0) H5Dclose(dataset);
    checkpoint_sums_free(&wanted);
    checkpoint_sums_free(&found);
    return status;
}

/* Of a file without a seal. Collective. Only now that the fields were looked at: what is beside them may be
 * more than HDF5 can bear. */
static void look_beside_fields(verifying *v, hid_t file)
{
    sentence why = { "" };
    const checkpoint_status lives = checkpoint_probe(v->comm, v->path, CHECKPOINT_PROBE_ALL, 0, NULL, &why);
    if (v->rank != 0) return;
    if (lives != CHECKPOINT_OK) {
        /* behind the file's name, which the report has */
        const char *const what = strstr(why.text, ": HDF5 ");
        damaged(v->r, "outside the fields%s", what ? what : why.text);
    } else if (!checkpoint_walk(file, &why)) {
        damaged(v->r, "%s", why.text);
    }
}

checkpoint_status checkpoint_verify(MPI_Comm comm, const char *path, checkpoint_report *r, sentence *why)
{
    verifying v = {
        .comm = comm, .rank = ranks_mine(comm), .ranks = ranks_count(comm), .path = path, .r = r, .why = why
    };
    memset(r, 0, sizeof *r);
    checkpoint_status status = checkpoint_read_info(comm, path, &r->info, why);
    if (status != CHECKPOINT_OK) return status;
    checkpoint_state s = checkpoint_info_fields(&r->info);
    hid_t file;
    status = checkpoint_agree(comm, checkpoint_h5_open(path, &file, why), why);
    for (int i = 0; i < s.fields && status == CHECKPOINT_OK; i++)
        status = verify_field(&v, file, &s.field[i], s.type);
    if (status == CHECKPOINT_OK && !r->info.sealed) look_beside_fields(&v, file);
    if (file >= 0) H5Fclose(file);
    if (status != CHECKPOINT_OK) return status;
    const checkpoint_field *f = &s.field[checkpoint_main_field(&s)];
    if (r->damaged == 0 && f->fingerprint != r->info.fingerprint)
        damaged(r,
                "the fingerprint of the file as a whole is %016" PRIx64
                ", but that of /fields/%s is %016" PRIx64,
                r->info.fingerprint, f->name, f->fingerprint);
    /* each rank read checksums and attributes for itself: rank 0's judgement is the one */
    MPI_CHECK(ranks_bcast(&r->damaged, 1, MPI_INT64_T, 0, comm));
    MPI_CHECK(ranks_bcast(r->damage, (int)sizeof r->damage, MPI_CHAR, 0, comm));
    return r->damaged ? CHECKPOINT_DAMAGED : CHECKPOINT_OK;
}
