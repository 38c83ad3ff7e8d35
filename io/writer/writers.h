/* Which ranks write which bytes of a state file, and which of them read it back: arithmetic on facts, the
 * same on every rank.
 *
 * What hosts promise each other about a file decides. On one host there is one page cache: every rank may
 * write its own cells. A file system that keeps hosts coherent lets all write, in shares whose borders are
 * multiples of a piece of the file (1 MiB, or what the file system says), so that no two wait for one lock.
 * NFS and all that is not known to be coherent write whole pages back: two hosts that share a page lose each
 * other's bytes. There the ranks of one host write what the others send them; or, asked for more writers than
 * that host has, ranks of all hosts in such shares and under locks. The pieces that hold structure are rank
 * 0's. A page has at most 64 KiB.
 *
 * A file that several hosts see is read back by another host than wrote it: a rank's own read-back reads its
 * own cache. */
#pragma once

#include "ranks/hosts.h"
#include "state/checkpoint_structure.h"

enum { WRITERS_PIECE_BYTES = 1 << 20, WRITERS_PARTS = 6, WRITERS_RANGES = 2, WRITERS_NAME_BYTES = 24 };

typedef enum writers_rule {
    WRITERS_OWN_CELLS, /* every rank its own; one host */
    WRITERS_COLLECT,   /* some ranks of one host whole blocks of checksums */
    WRITERS_ONE_HOST,  /* the same by ranks of rank 0's host for all hosts */
    WRITERS_ALIGNED,   /* ranks of all hosts in shares of whole pieces */
    WRITERS_LOCKED,    /* the same, each under a lock from its first write to its fsync */
} writers_rule;
const char *writers_rule_name(writers_rule rule);

typedef struct writers_facts {
    const hosts *hosts;
    uint32_t file_system; /* f_type of statfs, the same on all ranks; 0: they differ */
    uint64_t piece_bytes; /* a block or a stripe of it; 0: not known */
    int64_t short_bytes;  /* see aggregate_short_bytes */
} writers_facts;

typedef struct writers {
    const hosts *hosts;
    writers_rule rule;
    int count;            /* ranks that collect and write; 0: every rank writes its own cells */
    uint64_t piece_bytes; /* of the file: shares begin and end at multiples; 0: they are whole blocks of
                           * checksums */
    char file_system[WRITERS_NAME_BYTES];
    sentence why; /* the reason, a clause */
} writers;

/* As this rank sees what path is in, which need not be there yet; 0: not known. *piece_bytes: a block of it,
 * 0: not known. Debug builds: WEFT_PRETEND_FS=NAME is taken for it. */
uint32_t writers_file_system(const char *path, uint64_t *piece_bytes);

/* What a rank has of a field, by the process grid. */
box writers_box(const checkpoint_field *f, int ranks, int rank);

/* s->aggregators is what was asked for. w refers to f->hosts. */
void writers_plan(writers *w, const checkpoint_state *s, const writers_facts *f);
/* The same of a state file in path, which need not be there yet, as far as it depends on hosts and file
 * system alone. Collective. */
void writers_look(writers *w, MPI_Comm comm, const hosts *h, const char *path, int aggregators);

/* Where several hosts may not write as they like: who writes, and why, a sentence without its stop; else "".
 * */
void writers_sentence(const writers *w, sentence *out);

/* Of the writer with that number, its rank; the first is rank 0. */
int writers_rank(const writers *w, int number);
int writers_number(const writers *w, int rank); /* -1: this rank is none */

typedef struct writers_range {
    uint64_t from, to; /* bytes of the file */
} writers_range;
/* Of field i, what a writer writes, as bytes of the file; returns how many ranges. */
int writers_ranges(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i, int number,
                   writers_range range[WRITERS_RANGES]);
/* The same as cells: whole rows, and pieces of a row where a range begins or ends inside one; returns how
 * many parts. */
int writers_parts(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i, int number,
                  box part[WRITERS_PARTS]);

/* Several hosts: does that rank read back this block (lines as checkpoint_block)? A block of one writer is
 * read by one rank of another host; one of several (*border) by two ranks of different hosts, so that no byte
 * is seen only by the host that wrote it. */
bool writers_read_back(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                       int64_t block, int rank, bool *border);
/* The rank that looks at the structure after rank 0: of another host where there is one. */
int writers_looks_at_structure(const writers *w);
