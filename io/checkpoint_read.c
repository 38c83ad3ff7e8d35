/* Reading a state file: every rank opens it for itself and reads its own cells; the ranks meet only to agree and to add
 * up the fingerprints. Sizes and types are checked before anything is allocated or read: HDF5 itself trusts its input. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint_part.h"
#include "checkpoint_probe.h"
#include "crc32c.h"
#include "ranks.h"

enum { DECK_BYTES_MAX = 64 << 10, WORD_BYTES_MAX = 64 }; /* an attribute in HDF5's compact form ends at 64 KiB */

bool checkpoint_get_integer(hid_t object, const char *name, int64_t *out)
{
    if (H5Aexists(object, name) <= 0) return false;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0) return false;
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const bool ok = H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) <= sizeof(int64_t)
                    && H5Sget_simple_extent_npoints(space) == 1 && H5Aread(attribute, H5T_NATIVE_INT64, out) >= 0;
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return ok;
}

/* More cells than any run has (docs/numerics.md, "Fingerprint") would overflow what is counted from them. */
static bool plausible(const hsize_t shape[2])
{
    return shape[0] >= 1 && shape[1] >= 1 && shape[0] <= ((hsize_t)1 << 60) / shape[1];
}

/* nx, ny and type from the dataset itself. */
static bool read_shape(hid_t file, const char *name, checkpoint_info *info, const char **why)
{
    const hid_t dataset = checkpoint_open_inside(file, "/fields", name, why);
    if (dataset < 0) return false;
    *why = "is not of type f32 or f64, of 1 to 2^60 cells";
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hsize_t shape[2] = { 1, 1 };
    const int dims = H5Sget_simple_extent_ndims(space);
    const bool f32 = H5Tequal(type, checkpoint_h5_file_type(DTYPE_F32)) > 0;
    const bool ok = (dims == 1 || dims == 2) && H5Sget_simple_extent_dims(space, dims == 1 ? shape + 1 : shape, NULL) >= 0
                    && plausible(shape) && (f32 || H5Tequal(type, checkpoint_h5_file_type(DTYPE_F64)) > 0);
    info->type = f32 ? DTYPE_F32 : DTYPE_F64;
    info->ny = (int64_t)shape[0];
    info->nx = (int64_t)shape[1];
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
    return ok;
}

uint32_t checkpoint_info_crc(const checkpoint_info *info)
{
    char text[256];
    const int bytes = snprintf(text, sizeof text, "%s %s %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n", info->kind,
                               dtype_name(info->type), info->nx, info->ny, info->step, info->fingerprint);
    return crc32c(crc32c(0, text, (size_t)bytes), info->deck, strlen(info->deck));
}

/* Other programs may change a file and leave it sound to HDF5; and anybody may give it another's name. */
static checkpoint_status check_description(hid_t file, const char *path, const checkpoint_info *info, char *why, size_t why_bytes)
{
    int64_t wanted;
    const uint32_t found = checkpoint_info_crc(info);
    const int64_t named = checkpoint_step_of(path);
    if (checkpoint_get_integer(file, "description_crc32c", &wanted) && wanted != found)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes,
                               "%s is damaged: kind, type, grid, step, fingerprint and deck have checksum %08x, but the file records "
                               "%08llx",
                               path, found, (unsigned long long)wanted);
    if (named >= 0 && named != info->step)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes,
                               "%s is damaged: it holds step %" PRId64 " under the name of step %" PRId64, path, info->step, named);
    return CHECKPOINT_OK;
}

checkpoint_status checkpoint_info_of(hid_t file, const char *path, checkpoint_info *info, char *why, size_t why_bytes)
{
    int64_t schema = 0;
    if (!checkpoint_get_integer(file, "schema_version", &schema))
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s is not a state file: it has no schema_version", path);
    if (schema < 1 || schema > CHECKPOINT_SCHEMA_VERSION)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s has schema version %lld; this program reads versions 1 to %d",
                               path, (long long)schema, CHECKPOINT_SCHEMA_VERSION);
    if (!checkpoint_get_integer(file, "step", &info->step) || info->step < 0)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s has no readable step", path);

    char *const kind = checkpoint_attribute_text(file, "kind", WORD_BYTES_MAX);
    char *const digits = checkpoint_attribute_text(file, "fingerprint", WORD_BYTES_MAX);
    info->deck = checkpoint_attribute_text(file, "deck", DECK_BYTES_MAX);
    const char *missing = !kind || strlen(kind) >= sizeof info->kind                   ? "kind"
                          : !checkpoint_parse_fingerprint(digits, &info->fingerprint) ? "fingerprint"
                          : !info->deck                                                ? "deck"
                                                                                       : NULL;
    if (!missing) snprintf(info->kind, sizeof info->kind, "%s", kind);
    free(kind);
    free(digits);
    if (missing) return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s has no readable %s", path, missing);

    const char *const first = strcmp(info->kind, "transpose") == 0 ? "a" : "u", *reason;
    if (!read_shape(file, first, info, &reason))
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s: dataset /fields/%s %s", path, first, reason);
    return check_description(file, path, info, why, why_bytes);
}

checkpoint_status checkpoint_read_info(MPI_Comm comm, const char *path, checkpoint_info *info, char *why, size_t why_bytes)
{
    hid_t file;
    memset(info, 0, sizeof *info);
    checkpoint_status status = checkpoint_probe(comm, path, CHECKPOINT_PROBE_STATE, 0, &info->sealed, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;
    status = checkpoint_h5_open(path, &file, why, why_bytes);
    if (status == CHECKPOINT_OK) {
        status = checkpoint_info_of(file, path, info, why, why_bytes);
        H5Fclose(file);
    }
    status = checkpoint_agree(comm, status, why, why_bytes);
    if (status != CHECKPOINT_OK) checkpoint_info_free(info);
    return status;
}

void checkpoint_info_free(checkpoint_info *info)
{
    free(info->deck);
    info->deck = NULL;
}

static checkpoint_status read_field(hid_t file, const char *path, checkpoint_field *f, dtype type, uint64_t *stored,
                                    uint64_t *share, char *why, size_t why_bytes)
{
    hid_t dataset;
    checkpoint_status status = checkpoint_dataset_open(file, path, f, type, &dataset, stored, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;
    const hsize_t cells = (hsize_t)box_cells(f->own);
    if (cells) {
        const hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &cells, NULL);
        if (!checkpoint_h5_select(space, f->own)
            || H5Dread(dataset, checkpoint_h5_memory_type(type), memory, space, H5P_DEFAULT, f->data) < 0)
            status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "cannot read %s of %s: %s", f->name, path,
                                     checkpoint_h5_reason());
        else
            *share = checkpoint_fingerprint_share(type, f->data, f->own, f->nx);
        H5Sclose(memory);
        H5Sclose(space);
    }
    H5Dclose(dataset);
    return status;
}

/* Adds to why where f's data, as they were read, first differ from the file's checksums. Collective. */
static void say_where(MPI_Comm comm, const char *path, const checkpoint_field *f, dtype type, char *why, size_t why_bytes)
{
    char unused[CHECKPOINT_SENTENCE_BYTES], where[CHECKPOINT_WHERE_BYTES];
    checkpoint_sums wanted = { .crc = NULL }, found = { .crc = NULL };
    hid_t file;
    checkpoint_status status = checkpoint_h5_open(path, &file, unused, sizeof unused);
    if (status == CHECKPOINT_OK) {
        status = checkpoint_sums_read(file, path, f, &wanted, unused, sizeof unused);
        H5Fclose(file);
    }
    if (status == CHECKPOINT_OK && (!wanted.crc || !checkpoint_sums_make(&found, f, wanted.lines))) status = CHECKPOINT_MISSING;
    if (checkpoint_agree(comm, status, unused, sizeof unused) == CHECKPOINT_OK) {
        checkpoint_sums_add(&found, type, f->data, f->own, f);
        checkpoint_sums_unite(comm, &found);
        checkpoint_sums_finish(&found, type, f);
        int64_t b = 0;
        while (b < found.blocks && found.crc[b] == wanted.crc[b]) b++;
        if (b < found.blocks) {
            const size_t used = strlen(why);
            checkpoint_say_block(where, f, wanted.lines, b);
            if (used < why_bytes) snprintf(why + used, why_bytes - used, "; first in %s", where);
        }
    }
    checkpoint_sums_free(&wanted);
    checkpoint_sums_free(&found);
}

checkpoint_status checkpoint_read(MPI_Comm comm, const char *path, checkpoint_state *s, char *why, size_t why_bytes)
{
    uint64_t stored[CHECKPOINT_FIELDS_MAX] = { 0 }, share[CHECKPOINT_FIELDS_MAX] = { 0 }, found[CHECKPOINT_FIELDS_MAX];
    checkpoint_info info = { .deck = NULL };
    hid_t file;
    checkpoint_status status = checkpoint_h5_open(path, &file, why, why_bytes);
    if (status == CHECKPOINT_OK) {
        status = checkpoint_info_of(file, path, &info, why, why_bytes);
        for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++)
            status = read_field(file, path, &s->field[i], s->type, &stored[i], &share[i], why, why_bytes);
        H5Fclose(file);
    }
    checkpoint_info_free(&info);
    status = checkpoint_agree(comm, status, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;

    MPI_CHECK(ranks_allreduce(share, found, CHECKPOINT_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, comm));
    int differs = -1, differing;
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++) {
        if (found[i] != stored[i]) {
            differs = i;
            status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes,
                                     "%s is damaged: /fields/%s has fingerprint %016llx, but the file records %016llx", path,
                                     s->field[i].name, (unsigned long long)found[i], (unsigned long long)stored[i]);
        }
        s->field[i].fingerprint = found[i];
    }
    const checkpoint_field *main_field = &s->field[checkpoint_main_field(s)];
    if (status == CHECKPOINT_OK && main_field->fingerprint != info.fingerprint)
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes,
                                 "%s is damaged: /fields/%s has fingerprint %016llx, but that of the file as a whole is %016llx", path,
                                 main_field->name, (unsigned long long)main_field->fingerprint,
                                 (unsigned long long)info.fingerprint);
    s->step = info.step;
    status = checkpoint_agree(comm, status, why, why_bytes); /* each rank read the attributes for itself */
    MPI_CHECK(ranks_allreduce(&differs, &differing, 1, MPI_INT, MPI_MAX, comm));
    if (differing >= 0) say_where(comm, path, &s->field[differing], s->type, why, why_bytes);
    return status;
}
