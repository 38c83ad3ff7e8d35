/* Cells out of parts: a block at a time, each compared with its CRC-32C. */
#include "state/state_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device_host.h"
#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

/* ---- parts ---- */

/* "part 3 (PATH)", or of one file "it". */
static void say_part(const state_info *s, int k, char *out, size_t out_bytes)
{
    char path[STATE_PATH_BYTES];
    state_part_path(s, k, path);
    if (s->folder[0]) snprintf(out, out_bytes, "part %d (%.400s)", k, path);
    else snprintf(out, out_bytes, "it");
}

/* Is this file the part that was written? NULL, or what it is not. Of one file the trailer has told. */
static const char *find_fault(const state_info *s, int k, int fd)
{
    const state_part *p = &s->part[k];
    struct stat info;
    uint32_t crc;
    if (!s->folder[0]) return NULL;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return "is no file";
    if (info.st_size != p->bytes) return "has another length than was written";
    if (state_structure_crc(s, k, fd, p->bytes, &crc) != 0) return "cannot be read";
    return crc == p->structure_crc ? NULL : "is another part, or its structure is damaged";
}

/* DAMAGED: it is not there or another; IO: it may be whole, but cannot be opened. */
static state_status open_part(const state_info *s, int k, int *fd, sentence *why)
{
    char path[STATE_PATH_BYTES], part[512];
    state_part_path(s, k, path);
    say_part(s, k, part, sizeof part);
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int code = *fd < 0 ? errno : 0;
    if ((code == ENOENT || code == ENOTDIR) && !s->folder[0]) /* rank 0 has read it */
        return state_fail(STATE_MISSING, why, "%s: no such file", path);
    if (code == ENOENT || code == ENOTDIR) return state_fail(STATE_DAMAGED, why, "%s is not there", part);
    if (code)
        return state_fail(STATE_IO, why, "%.700s: %s cannot be opened: %s", s->path, part, strerror(code));
    const char *const fault = find_fault(s, k, *fd);
    if (!fault) return STATE_OK;
    close(*fd);
    return state_fail(STATE_DAMAGED, why, "%s %s", part, fault);
}

/* ---- blocks: rows of a part's rectangle, or a piece of one, which lie together in its file ---- */

typedef struct block {
    int part, field;
    int64_t number; /* in the state */
    box cells;
} block;

static block block_of(const state_info *s, int k, int i, int64_t number)
{
    return (block){ k, i, number, state_block(s, k, i, number - s->part[k].block[i]) };
}

static void say_block(const state_info *s, const block *b, char *out, size_t out_bytes)
{
    const bool rows = s->field[b->field].ny > 1;
    snprintf(out, out_bytes, "block %" PRId64 ", %s %" PRId64 " .. %" PRId64 " of /fields/%s",
             b->number - s->part[b->part].block[b->field], rows ? "rows" : "columns",
             rows ? b->cells.y0 : b->cells.x0, (rows ? b->cells.y1 : b->cells.x1) - 1,
             s->field[b->field].name);
}

/* Into buffer, which has room for it. DAMAGED, or IO with why. */
static state_status read_block(const state_info *s, const block *b, int fd, void *buffer, sentence *why)
{
    const state_part *p = &s->part[b->part];
    const box all = p->of[b->field].cells;
    const size_t word = dtype_bytes(s->type), bytes = (size_t)box_cells(b->cells) * word;
    const int64_t from = (b->cells.y0 - all.y0) * box_width(all) + b->cells.x0 - all.x0;
    char part[512], where[160];
    say_part(s, b->part, part, sizeof part);
    const int code =
        replace_pread(fd, buffer, bytes, (uint64_t)p->of[b->field].at_bytes + (uint64_t)from * word);
    if (code)
        return state_fail(STATE_IO, why, "%.600s: %s cannot be read: %s", s->path, part, strerror(code));
    const uint32_t crc = crc32c(0, buffer, bytes);
    if (crc == s->crc[b->number]) return STATE_OK;
    say_block(s, b, where, sizeof where);
    return state_fail(STATE_DAMAGED, why, "%s%s%s: CRC-32C %08x instead of %08x", s->folder[0] ? part : "",
                      s->folder[0] ? ", " : "", where, crc, s->crc[b->number]);
}

/* Copies the block's cells that are in `wanted`, whose dense rows are at data. */
static void copy_out(const state_info *s, box has, const char *buffer, box wanted, char *data)
{
    const int64_t word = (int64_t)dtype_bytes(s->type);
    const box both = box_intersect(has, wanted);
    for (int64_t y = both.y0; y < both.y1; y++) {
        const int64_t from = (y - has.y0) * box_width(has) + both.x0 - has.x0,
                      to = (y - wanted.y0) * box_width(wanted) + both.x0 - wanted.x0;
        memcpy(data + to * word, buffer + from * word, (size_t)(box_width(both) * word));
    }
}

/* ---- a rectangle ---- */

static state_status read_from_part(const state_info *s, int k, int i, box wanted, char *buffer, void *data,
                                   sentence *why)
{
    const box cells = s->part[k].of[i].cells, both = box_intersect(cells, wanted);
    int fd;
    if (box_empty(both)) return STATE_OK;
    state_status status = open_part(s, k, &fd, why);
    if (status != STATE_OK) return status;
    /* those of the rows in front, of which the last may have some of both, and those up to its end */
    const int64_t above = state_blocks(box_make(cells.x0, cells.x1, cells.y0, both.y0), s->type),
                  end = state_blocks(box_make(cells.x0, cells.x1, cells.y0, both.y1), s->type);
    for (int64_t n = above > 0 ? above - 1 : 0; n < end && status == STATE_OK; n++) {
        const block b = block_of(s, k, i, s->part[k].block[i] + n);
        if (box_empty(box_intersect(b.cells, both))) continue;
        status = read_block(s, &b, fd, buffer, why);
        if (status == STATE_OK) copy_out(s, b.cells, buffer, wanted, data);
    }
    close(fd);
    return status;
}

static state_status is_damaged(const state_info *s, sentence *why)
{
    const sentence copy = *why;
    return state_fail(STATE_DAMAGED, why, "%.600s is damaged: %s", s->path, copy.text);
}

state_status state_read(const state_info *s, int i, box cells, void *data, sentence *why)
{
    state_status status = STATE_OK;
    char *const buffer = malloc(STATE_BLOCK_BYTES);
    if (!buffer) return state_fail(STATE_IO, why, "no memory to read %s", s->path);
    for (int k = 0; k < s->parts && status == STATE_OK; k++)
        status = read_from_part(s, k, i, cells, buffer, data, why);
    free(buffer);
    return status == STATE_DAMAGED ? is_damaged(s, why) : status;
}

/* ---- a level ---- */

/* The part of a fingerprint that the cells `own` of a field nx cells wide add: a sum mod 2^64. */
static uint64_t fingerprint_share(dtype t, const void *data, box own, int64_t nx)
{
    enum { RUN_CELLS = 4096 }; /* threads share out pieces of rows: in 1D there is one row */
    const int64_t width = box_width(own), height = box_height(own);
    uint64_t sum = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x += RUN_CELLS) {
            const char *const run = (const char *)data + (size_t)(y * width + x) * dtype_bytes(t);
            const uint64_t linear = (uint64_t)((own.y0 + y) * nx + own.x0 + x);
            sum += fingerprint_host_row(t, run, linear, width - x < RUN_CELLS ? width - x : RUN_CELLS);
        }
    return sum;
}

/* True: the sentence says which differs. */
static bool other_fingerprint(const state_info *s, const uint64_t found[STATE_FIELDS_MAX], sentence *what)
{
    for (int i = 0; i < s->fields; i++) {
        if (found[i] == s->field[i].fingerprint) continue;
        sentence_set(what, "/fields/%s has fingerprint %016" PRIx64 ", but the index records %016" PRIx64,
                     s->field[i].name, found[i], s->field[i].fingerprint);
        return true;
    }
    return false;
}

state_status state_load(MPI_Comm comm, const state_info *s, state_level *l, sentence *why)
{
    uint64_t found[STATE_FIELDS_MAX] = { 0 };
    bool same = strcmp(s->kind, l->kind) == 0 && s->type == l->type && s->fields == l->fields;
    for (int i = 0; i < l->fields && same; i++)
        same = s->field[i].nx == l->field[i].nx && s->field[i].ny == l->field[i].ny;
    if (!same)
        return state_fail(STATE_DAMAGED, why, "%s is damaged: its fields are not those of its deck", s->path);
    state_status status = STATE_OK;
    for (int i = 0; i < l->fields && status == STATE_OK; i++) {
        const state_cells *f = &l->field[i];
        status = state_read(s, i, f->own, f->data, why);
        if (status == STATE_OK) found[i] = fingerprint_share(s->type, f->data, f->own, f->nx);
    }
    status = state_agree(comm, status, why);
    if (status != STATE_OK) return status;
    MPI_CHECK(ranks_allreduce(found, STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, comm));
    l->step = s->step;
    return other_fingerprint(s, found, why) ? is_damaged(s, why) : STATE_OK;
}

/* ---- all of it ---- */

static void add_damage(state_report *r, const char *text)
{
    if (r->damaged++ == 0) sentence_set(&r->first, "%s", text);
}

state_status state_look_at(const state_info *s, int k, int64_t from, int64_t to,
                           uint64_t fingerprint[STATE_FIELDS_MAX], state_report *r, sentence *why)
{
    int fd;
    state_status status = open_part(s, k, &fd, why);
    if (status == STATE_DAMAGED && from <= s->part[k].block[0]) add_damage(r, why->text); /* by one rank */
    if (status != STATE_OK) return status;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* read from where it was written to */
    char *const buffer = malloc(STATE_BLOCK_BYTES);
    if (!buffer) status = state_fail(STATE_IO, why, "no memory to read %s", s->path);
    for (int i = 0; i < s->fields; i++) {
        const int64_t first = s->part[k].block[i],
                      end = first + state_blocks(s->part[k].of[i].cells, s->type);
        for (int64_t n = first > from ? first : from; n < end && n < to && status == STATE_OK; n++) {
            const block b = block_of(s, k, i, n);
            status = read_block(s, &b, fd, buffer, why);
            if (status == STATE_OK)
                fingerprint[i] += fingerprint_share(s->type, buffer, b.cells, s->field[i].nx);
            if (status != STATE_DAMAGED) continue;
            add_damage(r, why->text);
            status = STATE_OK;
        }
    }
    free(buffer);
    close(fd);
    return status == STATE_OK && r->damaged ? STATE_DAMAGED : status;
}

state_status state_verify(MPI_Comm comm, const state_info *s, state_report *r, sentence *why)
{
    const int64_t rank = ranks_mine(comm), ranks = ranks_count(comm);
    const int64_t from = s->blocks * rank / ranks, to = s->blocks * (rank + 1) / ranks;
    uint64_t found[STATE_FIELDS_MAX] = { 0 };
    state_status status = STATE_OK;
    memset(r, 0, sizeof *r);
    for (int k = 0; k < s->parts && (status == STATE_OK || status == STATE_DAMAGED); k++) {
        const int64_t first = s->part[k].block[0],
                      end = k + 1 < s->parts ? s->part[k + 1].block[0] : s->blocks;
        if (first < to && end > from) status = state_look_at(s, k, from, to, found, r, why);
        else if (first == end && k % ranks == rank) status = state_look_at(s, k, 0, 0, found, r, why);
    }
    status = state_agree(comm, status == STATE_DAMAGED ? STATE_OK : status, why);
    if (status != STATE_OK) return status;
    (void)state_agree(comm, r->damaged ? STATE_DAMAGED : STATE_OK,
                      &r->first); /* ranks have blocks in order */
    MPI_CHECK(ranks_allreduce(&r->damaged, 1, MPI_INT64_T, MPI_SUM, comm));
    MPI_CHECK(ranks_allreduce(found, STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, comm));
    if (r->damaged == 0 && other_fingerprint(s, found, why)) add_damage(r, why->text);
    return r->damaged ? STATE_DAMAGED : STATE_OK;
}
