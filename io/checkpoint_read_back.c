/* A written file against memory, before it gets its name: every byte (full), or a sixteenth of the blocks (sample), which
 * are others each time. Each rank reads its part, whoever wrote it, alone and with POSIX calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cell.h"
#include "check.h"
#include "checkpoint_part.h"
#include "decomp.h"

enum { SCAN_BYTES = 64 << 20, SAMPLED_OF = 16 }; /* memory that reading may take per rank */

void checkpoint_say_block(char *out, const checkpoint_field *f, int64_t lines, int64_t block)
{
    const box b = checkpoint_block(f, lines, block);
    const bool rows = f->ny > 1;
    snprintf(out, CHECKPOINT_WHERE_BYTES, "block %" PRId64 ", %s %" PRId64 " .. %" PRId64, block, rows ? "rows" : "columns",
             rows ? b.y0 : b.x0, (rows ? b.y1 : b.x1) - 1);
}

checkpoint_status checkpoint_scan(hid_t dataset, const char *path, const checkpoint_field *f, dtype type, box part,
                                  uint64_t *fingerprint, checkpoint_sums *sums, char *why, size_t why_bytes)
{
    const size_t cell_bytes = dtype_bytes(type);
    const int64_t bands = checkpoint_bands(part, cell_bytes, SCAN_BYTES);
    if (bands == 0) return CHECKPOINT_OK;
    void *buffer = malloc((size_t)box_cells(checkpoint_band(part, cell_bytes, SCAN_BYTES, 0)) * cell_bytes);
    if (!buffer) return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "no memory to read %s", path);
    checkpoint_status status = CHECKPOINT_OK;
    const hid_t space = H5Dget_space(dataset);
    for (int64_t b = 0; b < bands && status == CHECKPOINT_OK; b++) {
        const box piece = checkpoint_band(part, cell_bytes, SCAN_BYTES, b);
        const hsize_t cells = (hsize_t)box_cells(piece);
        const hid_t memory = H5Screate_simple(1, &cells, NULL);
        if (!checkpoint_h5_select(space, piece)
            || H5Dread(dataset, checkpoint_h5_memory_type(type), memory, space, H5P_DEFAULT, buffer) < 0)
            status = checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot read /fields/%s of %s: %s", f->name, path,
                                     checkpoint_h5_reason());
        else {
            if (fingerprint) *fingerprint += checkpoint_fingerprint_share(type, buffer, piece, f->nx);
            if (sums) checkpoint_sums_add(sums, type, buffer, piece, f);
        }
        H5Sclose(memory);
    }
    H5Sclose(space);
    free(buffer);
    return status;
}

typedef struct comparing {
    MPI_Comm comm;
    int rank, ranks;
    const char *tmp, *path;
    const checkpoint_state *s;
    char *why;
    size_t why_bytes;
} comparing;

static checkpoint_status differs(const comparing *c, const checkpoint_field *f, const checkpoint_sums *wanted,
                                 const checkpoint_sums *found, int64_t block)
{
    char where[CHECKPOINT_WHERE_BYTES];
    checkpoint_say_block(where, f, wanted->lines, block);
    return checkpoint_fail(CHECKPOINT_DAMAGED, c->why, c->why_bytes,
                           "cannot write %s: /fields/%s reads back with checksum %08" PRIx32 " instead of %08" PRIx32 " in %s",
                           c->path, f->name, found->crc[block], wanted->crc[block], where);
}

/* Collective: blocks and fingerprint of all that the ranks read. */
static checkpoint_status compare_all(const comparing *c, hid_t dataset, const checkpoint_field *f, const checkpoint_sums *wanted,
                                     checkpoint_sums *found)
{
    uint64_t fingerprint = 0;
    checkpoint_status status = checkpoint_scan(dataset, c->tmp, f, c->s->type, decomp_share(f->nx, f->ny, c->ranks, c->rank),
                                               &fingerprint, found, c->why, c->why_bytes);
    status = checkpoint_agree(c->comm, status, c->why, c->why_bytes);
    if (status != CHECKPOINT_OK) return status;
    checkpoint_sums_unite(c->comm, found);
    checkpoint_sums_finish(found, c->s->type, f);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &fingerprint, 1, MPI_UINT64_T, MPI_SUM, c->comm));
    for (int64_t b = 0; b < wanted->blocks; b++)
        if (found->crc[b] != wanted->crc[b]) return differs(c, f, wanted, found, b);
    if (fingerprint != f->fingerprint)
        return checkpoint_fail(CHECKPOINT_DAMAGED, c->why, c->why_bytes,
                               "cannot write %s: %s reads back with fingerprint %016" PRIx64 " instead of %016" PRIx64, c->path,
                               f->name, fingerprint, f->fingerprint);
    return CHECKPOINT_OK;
}

/* The last block, where a file cut short ends, is always one. */
bool checkpoint_sampled(const checkpoint_state *s, int64_t blocks, int64_t block)
{
    const int64_t first = (int64_t)(cell_random(SAMPLED_OF, (uint64_t)s->step) * SAMPLED_OF);
    return block % SAMPLED_OF == first || block == blocks - 1;
}

/* The sampled blocks are dealt to the ranks in turn. */
static checkpoint_status compare_sample(const comparing *c, hid_t dataset, const checkpoint_field *f,
                                        const checkpoint_sums *wanted, checkpoint_sums *found)
{
    const int64_t blocks = wanted->blocks;
    checkpoint_status status = CHECKPOINT_OK;
    int64_t turn = 0;
    for (int64_t b = 0; b < blocks && status == CHECKPOINT_OK; b++)
        if (checkpoint_sampled(c->s, blocks, b) && turn++ % c->ranks == c->rank)
            status = checkpoint_scan(dataset, c->tmp, f, c->s->type, checkpoint_block(f, wanted->lines, b), NULL, found, c->why,
                                     c->why_bytes);
    checkpoint_sums_finish(found, c->s->type, f);
    turn = 0;
    for (int64_t b = 0; b < blocks && status == CHECKPOINT_OK; b++)
        if (checkpoint_sampled(c->s, blocks, b) && turn++ % c->ranks == c->rank && found->crc[b] != wanted->crc[b])
            status = differs(c, f, wanted, found, b);
    return status;
}

static checkpoint_status compare_field(const comparing *c, hid_t file, int i, const checkpoint_sums *wanted)
{
    const checkpoint_field *f = &c->s->field[i];
    hid_t dataset = H5I_INVALID_HID;
    checkpoint_sums found = { .crc = NULL };
    uint64_t stored;
    checkpoint_status status =
        checkpoint_dataset_open(file, c->tmp, f, c->s->type, &dataset, &stored, c->why, c->why_bytes);
    if (status == CHECKPOINT_OK && !checkpoint_sums_make(&found, f, wanted->lines))
        status = checkpoint_fail(CHECKPOINT_IO, c->why, c->why_bytes, "no memory to read back %s", c->tmp);
    status = checkpoint_agree(c->comm, status, c->why, c->why_bytes);
    if (status == CHECKPOINT_OK)
        status = c->s->verify == CHECKPOINT_VERIFY_FULL ? compare_all(c, dataset, f, wanted, &found)
                                                        : compare_sample(c, dataset, f, wanted, &found);
    if (dataset >= 0) H5Dclose(dataset);
    checkpoint_sums_free(&found);
    return checkpoint_agree(c->comm, status, c->why, c->why_bytes);
}

checkpoint_status checkpoint_read_back(MPI_Comm comm, const char *tmp, const char *path, const checkpoint_state *s,
                                       const checkpoint_sums *sums, char *why, size_t why_bytes)
{
    comparing c = { .comm = comm, .tmp = tmp, .path = path, .s = s, .why = why, .why_bytes = why_bytes };
    if (s->verify == CHECKPOINT_VERIFY_OFF) return CHECKPOINT_OK;
    MPI_CHECK(MPI_Comm_rank(comm, &c.rank));
    MPI_CHECK(MPI_Comm_size(comm, &c.ranks));
    hid_t file;
    checkpoint_status status = checkpoint_agree(comm, checkpoint_h5_open(tmp, &file, why, why_bytes), why, why_bytes);
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++) status = compare_field(&c, file, i, &sums[i]);
    if (file >= 0) H5Fclose(file);
    return status;
}
