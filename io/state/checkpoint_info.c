#include "state/checkpoint_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/kind.h"
#include "files/crc32c.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_h5.h"

enum { DECK_BYTES_MAX = 64 << 10, WORD_BYTES_MAX = 64 }; /* an attribute in HDF5's compact form ends at 64
                                                          * KiB */

/* What a kind that this program does not know has is looked for as one field u. */
static const kind_row *kind_named(const char *name)
{
    const kind_row *k = kind_find(name);
    return k ? k : kind_of(KIND_HEAT);
}

/* More cells than any run has (docs/numerics.md, "Fingerprint") would overflow what is counted from them. */
static bool plausible(const hsize_t shape[2])
{
    return shape[0] >= 1 && shape[1] >= 1 && shape[0] <= ((hsize_t)1 << 60) / shape[1];
}

/* nx, ny and type from the dataset itself. */
static bool read_shape(hid_t file, const char *name, checkpoint_info *info, const char **why)
{
    CHECKPOINT_H5_SCOPED const hid_t dataset = checkpoint_dataset_open_inside(file, "/fields", name, why);
    if (dataset < 0) return false;
    *why = "is not of type f32 or f64, of 1 to 2^60 cells";
    CHECKPOINT_H5_SCOPED const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hsize_t shape[2] = { 1, 1 };
    const int dims = H5Sget_simple_extent_ndims(space);
    const bool f32 = H5Tequal(type, checkpoint_h5_file_type(DTYPE_F32)) > 0;
    const bool ok = (dims == 1 || dims == 2) &&
                    H5Sget_simple_extent_dims(space, dims == 1 ? shape + 1 : shape, NULL) >= 0 &&
                    plausible(shape) && (f32 || H5Tequal(type, checkpoint_h5_file_type(DTYPE_F64)) > 0);
    info->type = f32 ? DTYPE_F32 : DTYPE_F64;
    info->ny = (int64_t)shape[0];
    info->nx = (int64_t)shape[1];
    return ok;
}

uint32_t checkpoint_info_crc(const checkpoint_info *info, const char *deck)
{
    char text[256];
    const int bytes =
        snprintf(text, sizeof text, "%s %s %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n", info->kind,
                 dtype_name(info->type), info->nx, info->ny, info->step, info->fingerprint);
    return crc32c(crc32c(0, text, (size_t)bytes), deck, strlen(deck));
}

/* Other programs may change a file and leave it sound to HDF5; and anybody may give it another's name. */
static checkpoint_status check_description(hid_t file, const char *path, const checkpoint_info *info,
                                           sentence *why)
{
    int64_t wanted;
    const uint32_t found = checkpoint_info_crc(info, info->deck);
    const int64_t named = checkpoint_step_of(path);
    if (checkpoint_h5_get_integer(file, "description_crc32c", &wanted) && wanted != found)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s is damaged: kind, type, grid, step, fingerprint and deck have checksum "
                               "%08x, but the file records "
                               "%08llx",
                               path, found, (unsigned long long)wanted);
    if (named >= 0 && named != info->step)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s is damaged: it holds step %" PRId64 " under the name of step %" PRId64,
                               path, info->step, named);
    return CHECKPOINT_OK;
}

checkpoint_status checkpoint_info_of(hid_t file, const char *path, checkpoint_info *info, sentence *why)
{
    int64_t schema = 0;
    if (!checkpoint_h5_get_integer(file, "schema_version", &schema))
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s is not a state file: it has no schema_version",
                               path);
    if (schema < 1 || schema > CHECKPOINT_SCHEMA_VERSION)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s has schema version %lld; this program reads versions 1 to %d", path,
                               (long long)schema, CHECKPOINT_SCHEMA_VERSION);
    if (!checkpoint_h5_get_integer(file, "step", &info->step) || info->step < 0)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s has no readable step", path);

    char *const kind = checkpoint_h5_attribute_text(file, "kind", WORD_BYTES_MAX);
    char *const digits = checkpoint_h5_attribute_text(file, "fingerprint", WORD_BYTES_MAX);
    info->deck = checkpoint_h5_attribute_text(file, "deck", DECK_BYTES_MAX);
    const char *missing = !kind || strlen(kind) >= sizeof info->kind                   ? "kind"
                          : !checkpoint_parse_fingerprint(digits, &info->fingerprint) ? "fingerprint"
                          : !info->deck                                                ? "deck"
                                                                                       : NULL;
    if (!missing) snprintf(info->kind, sizeof info->kind, "%s", kind);
    free(kind);
    free(digits);
    if (missing) return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s has no readable %s", path, missing);

    const char *reason;
    if (!read_shape(file, kind_named(info->kind)->field[0], info, &reason))
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: dataset /fields/%s %s", path,
                               kind_named(info->kind)->field[0], reason);
    return check_description(file, path, info, why);
}

void checkpoint_info_free(checkpoint_info *info)
{
    free(info->deck);
    info->deck = NULL;
}

checkpoint_state checkpoint_info_fields(const checkpoint_info *info)
{
    checkpoint_state s = { .kind = info->kind, .type = info->type };
    const kind_row *kind = kind_named(info->kind);
    s.fields = kind_fields(kind);
    s.field[0] = s.field[1] = (checkpoint_field){ .name = kind->field[0], .nx = info->nx, .ny = info->ny };
    if (kind->transposes && s.fields > 1) s.field[1] = (checkpoint_field){ .nx = info->ny, .ny = info->nx };
    if (s.fields > 1) s.field[1].name = kind->field[1];
    return s;
}

int checkpoint_main_field(const checkpoint_state *s) { return kind_named(s->kind)->main_field; }
