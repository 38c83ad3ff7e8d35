/* Reading a state file: every rank opens it for itself and reads its own cells; the ranks meet only to agree
 * and to add up the fingerprints. Sizes and types are checked before anything is allocated or read: HDF5
 * itself trusts its input. */
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_info.h"
#include "state/checkpoint_probe.h"
#include "state/checkpoint_rows.h"
#include "state/checkpoint_sums.h"

checkpoint_status checkpoint_read_info(MPI_Comm comm, const char *path, checkpoint_info *info, sentence *why)
{
    CHECKPOINT_H5_SCOPED hid_t file = H5I_INVALID_HID;
    memset(info, 0, sizeof *info);
    checkpoint_status status = checkpoint_probe(comm, path, CHECKPOINT_PROBE_STATE, 0, &info->sealed, why);
    if (status != CHECKPOINT_OK) return status;
    status = checkpoint_h5_open(path, &file, why);
    if (status == CHECKPOINT_OK) status = checkpoint_info_of(file, path, info, why);
    status = checkpoint_agree(comm, status, why);
    if (status != CHECKPOINT_OK) checkpoint_info_free(info);
    return status;
}

static checkpoint_status read_field(hid_t file, const char *path, checkpoint_field *f, dtype type,
                                    uint64_t *stored, uint64_t *share, sentence *why)
{
    CHECKPOINT_H5_SCOPED hid_t dataset = H5I_INVALID_HID;
    const checkpoint_status status = checkpoint_dataset_open(file, path, f, type, &dataset, stored, why);
    if (status != CHECKPOINT_OK) return status;
    const char *const reason = checkpoint_h5_read(dataset, f->own, type, f->data);
    if (reason)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, "cannot read %s of %s: %s", f->name, path, reason);
    *share = checkpoint_fingerprint_share(type, f->data, f->own, f->nx);
    return CHECKPOINT_OK;
}

/* Adds to why where f's data, as they were read, first differ from the file's checksums. Collective. */
static void say_where(MPI_Comm comm, const char *path, const checkpoint_field *f, dtype type, sentence *why)
{
    sentence unused;
    char where[CHECKPOINT_WHERE_BYTES];
    checkpoint_sums wanted = { .crc = NULL }, found = { .crc = NULL };
    CHECKPOINT_H5_SCOPED hid_t file = H5I_INVALID_HID;
    checkpoint_status status = checkpoint_h5_open(path, &file, &unused);
    if (status == CHECKPOINT_OK) status = checkpoint_sums_read(file, path, f, &wanted, &unused);
    if (status == CHECKPOINT_OK && (!wanted.crc || !checkpoint_sums_make(&found, f, wanted.lines)))
        status = CHECKPOINT_MISSING;
    if (checkpoint_agree(comm, status, &unused) == CHECKPOINT_OK) {
        checkpoint_sums_add(&found, type, f->data, f->own, f);
        checkpoint_sums_unite(comm, &found);
        checkpoint_sums_finish(&found, type, f);
        int64_t b = 0;
        while (b < found.blocks && found.crc[b] == wanted.crc[b]) b++;
        if (b < found.blocks) {
            checkpoint_say_block(where, f, wanted.lines, b);
            sentence_add(why, "; first in %s", where);
        }
    }
    checkpoint_sums_free(&wanted);
    checkpoint_sums_free(&found);
}

checkpoint_status checkpoint_read(MPI_Comm comm, const char *path, checkpoint_state *s, sentence *why)
{
    uint64_t stored[CHECKPOINT_FIELDS_MAX] = { 0 }, share[CHECKPOINT_FIELDS_MAX] = { 0 },
             found[CHECKPOINT_FIELDS_MAX];
    checkpoint_info info = { .deck = NULL };
    CHECKPOINT_H5_SCOPED hid_t file = H5I_INVALID_HID;
    checkpoint_status status = checkpoint_h5_open(path, &file, why);
    if (status == CHECKPOINT_OK) status = checkpoint_info_of(file, path, &info, why);
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++)
        status = read_field(file, path, &s->field[i], s->type, &stored[i], &share[i], why);
    checkpoint_info_free(&info);
    status = checkpoint_agree(comm, status, why);
    if (status != CHECKPOINT_OK) return status;

    MPI_CHECK(ranks_allreduce(share, found, CHECKPOINT_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, comm));
    int differs = -1, differing;
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++) {
        if (found[i] != stored[i]) {
            differs = i;
            status = checkpoint_fail(
                CHECKPOINT_DAMAGED, why,
                "%s is damaged: /fields/%s has fingerprint %016llx, but the file records %016llx", path,
                s->field[i].name, (unsigned long long)found[i], (unsigned long long)stored[i]);
        }
        s->field[i].fingerprint = found[i];
    }
    const checkpoint_field *main_field = &s->field[checkpoint_main_field(s)];
    if (status == CHECKPOINT_OK && main_field->fingerprint != info.fingerprint)
        status = checkpoint_fail(
            CHECKPOINT_DAMAGED, why,
            "%s is damaged: /fields/%s has fingerprint %016llx, but that of the file as a whole is %016llx",
            path, main_field->name, (unsigned long long)main_field->fingerprint,
            (unsigned long long)info.fingerprint);
    s->step = info.step;
    status = checkpoint_agree(comm, status, why); /* each rank read the attributes for itself */
    MPI_CHECK(ranks_allreduce(&differs, &differing, 1, MPI_INT, MPI_MAX, comm));
    if (differing >= 0) say_where(comm, path, &s->field[differing], s->type, why);
    return status;
}
