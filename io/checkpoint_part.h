/* What the checkpoint_*.c files share; nobody else includes it, but for the writer (checkpoint_job.h) and replace.c.
 * The rule that keeps ranks from waiting for one another: between two collective calls every rank's status goes through
 * checkpoint_agree, and after a failure only calls that all ranks make follow. */
#ifndef CHECKPOINT_PART_H
#define CHECKPOINT_PART_H

#include <hdf5.h>

#include "checkpoint.h"

enum { CHECKPOINT_SENTENCE_BYTES = 1024, CHECKPOINT_PATH_BYTES = 4400, CHECKPOINT_FINGERPRINT_DIGITS = 16,
       CHECKPOINT_WHERE_BYTES = 96, CHECKPOINT_LISTED_BYTES = 240 };

/* The worst status of all ranks; why becomes the sentence of the lowest rank that has it. Collective. */
checkpoint_status checkpoint_agree(MPI_Comm comm, checkpoint_status mine, char *why, size_t why_bytes);

/* Formats why and returns status. */
checkpoint_status checkpoint_fail(checkpoint_status status, char *why, size_t why_bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Why the last HDF5 call failed: its innermost message, a static string. Call before any other HDF5 call. */
const char *checkpoint_h5_reason(void);
/* HDF5 prints no error stacks of its own from here on. */
void checkpoint_h5_quiet(void);

/* Opens an existing file for reading by this rank alone, with POSIX calls: no rank waits for another. MISSING, DAMAGED (not HDF5,
 * truncated) or IO with a sentence. */
checkpoint_status checkpoint_h5_open(const char *path, hid_t *file, char *why, size_t why_bytes);

hid_t checkpoint_h5_file_type(dtype t);   /* what is written: little-endian IEEE; a library constant, not to be closed */
hid_t checkpoint_h5_memory_type(dtype t);

/* Selects the cells `part` (global coordinates; empty: none) of a file space of rank 1, (nx), or 2, (ny, nx). */
bool checkpoint_h5_select(hid_t space, box part);

/* Piece `index` of `own`, contiguous in own's dense rows, of at most band_bytes (one cell at least); empty past the last. */
box checkpoint_band(box own, size_t cell_bytes, size_t band_bytes, int64_t index);
int64_t checkpoint_bands(box own, size_t cell_bytes, size_t band_bytes);

/* This rank's share of the fingerprint: the sum mod 2^64 over `own` of a field nx cells wide; data: own's dense rows. */
uint64_t checkpoint_fingerprint_share(dtype t, const void *data, box own, int64_t nx);

/* ---- checksums of blocks ---- */

/* Of one field, CRC-32C of each block: `lines` rows, or cells where there is one row; the last may be shorter. */
typedef struct checkpoint_sums {
    int64_t lines, blocks;
    uint32_t *crc; /* owned: checkpoint_sums_free; NULL: none */
} checkpoint_sums;

/* Bytes that a block is about, where that makes few enough blocks. Tests make it small. */
extern size_t checkpoint_block_bytes;
int64_t checkpoint_block_lines(const checkpoint_field *f, dtype type); /* of a file to be written */
int64_t checkpoint_blocks(const checkpoint_field *f, dtype type);
box checkpoint_block(const checkpoint_field *f, int64_t lines, int64_t index); /* its cells, global */

/* All zero; false: no memory. lines > 0. */
bool checkpoint_sums_make(checkpoint_sums *sums, const checkpoint_field *f, int64_t lines);
void checkpoint_sums_free(checkpoint_sums *sums);
/* Adds the share of the cells `part`, dense rows at data. Once all cells are in, over all ranks where unite is called,
 * finish makes checksums of the shares. */
void checkpoint_sums_add(checkpoint_sums *sums, dtype type, const void *data, box part, const checkpoint_field *f);
void checkpoint_sums_unite(MPI_Comm comm, checkpoint_sums *sums);
void checkpoint_sums_finish(checkpoint_sums *sums, dtype type, const checkpoint_field *f);
/* By one rank: makes and fills NAME in the group /checksums; raises *end_bytes to where it ends. */
bool checkpoint_sums_write(hid_t group, const checkpoint_field *f, const checkpoint_sums *sums, uint64_t *end_bytes);
/* sums->crc stays NULL, with status OK, where the file has none for this field. */
checkpoint_status checkpoint_sums_read(hid_t file, const char *path, const checkpoint_field *f, checkpoint_sums *sums,
                                       char *why, size_t why_bytes);

/* Reads the cells `part` through a buffer and adds their share to *fingerprint and to sums; each may be NULL. By one rank. */
checkpoint_status checkpoint_scan(hid_t dataset, const char *path, const checkpoint_field *f, dtype type, box part,
                                  uint64_t *fingerprint, checkpoint_sums *sums, char *why, size_t why_bytes);
/* "block 2, rows 32 .. 47" or "block 2, columns 32 .. 47", of at most CHECKPOINT_WHERE_BYTES. */
void checkpoint_say_block(char *out, const checkpoint_field *f, int64_t lines, int64_t block);

typedef struct checkpoint_layout { /* of a file: where things begin and end */
    uint64_t field_at_bytes[CHECKPOINT_FIELDS_MAX];
    uint64_t end_bytes; /* of the last dataset */
} checkpoint_layout;

/* Makes path with all attributes and checksums and with datasets that have their place but no data yet. The bytes depend on
 * *s and the sums alone, and the layout not even on fingerprints, step (of a given number of digits) and sums. By one rank alone. */
checkpoint_status checkpoint_structure_write(const char *path, const checkpoint_state *s, const checkpoint_sums *sums,
                                             checkpoint_layout *layout, char *why, size_t why_bytes);
typedef struct checkpoint_gap {
    uint64_t at_bytes, bytes;
} checkpoint_gap;
/* The same as bytes in memory: of the file, all that is no field's data, with the seal behind it. For the rank that writes it by
 * other means than HDF5. */
typedef struct checkpoint_image {
    checkpoint_layout layout;
    uint64_t file_bytes;
    checkpoint_gap gap[CHECKPOINT_FIELDS_MAX + 1]; /* before, between and behind the fields' data */
    char *bytes;                      /* of the gaps, one after another; owned: checkpoint_image_free */
} checkpoint_image;
checkpoint_status checkpoint_image_make(checkpoint_image *image, const checkpoint_state *s, const checkpoint_sums *sums,
                                        char *why, size_t why_bytes);
void checkpoint_image_free(checkpoint_image *image);
/* Written: these bytes, and the length of the file fd. Compared with what it has: EIO where it differs. 0 or errno. */
int checkpoint_image_write(const checkpoint_image *image, int fd);
int checkpoint_image_compare(const checkpoint_image *image, int fd);
/* CRC-32C of its bytes; and of what the file fd has in the place of an image of that length and layout. */
uint32_t checkpoint_image_crc(const checkpoint_image *image);
int checkpoint_image_found_crc(const checkpoint_state *s, const checkpoint_layout *l, uint64_t file_bytes, int fd, uint32_t *crc);

/* A checksum of the gaps, the file's last bytes: see checkpoint_seal.c. bytes: of the gaps, one after another. */
enum { CHECKPOINT_SEAL_BYTES = 72 };
void checkpoint_seal_put(unsigned char seal[CHECKPOINT_SEAL_BYTES], const checkpoint_gap *gap, int gaps, const void *bytes);
/* Compares it with the file, without HDF5. OK with *sealed: the structure is as it was written; OK without: there is no seal, or no
 * file that may be read. DAMAGED or IO with a sentence. By one rank. */
checkpoint_status checkpoint_seal_check(const char *path, bool *sealed, char *why, size_t why_bytes);

/* A rank's cells in the file, by pread and pwrite: no HDF5, no MPI, so that a thread may. `part`: global coordinates, cells of
 * the rank's box f->own; data: dense rows of part. 0 or errno. */
int checkpoint_rows_write(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, const void *data);
int checkpoint_rows_read(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, void *data);
/* All of [0, bytes), in as many calls as it takes. 0 or errno; EIO where the file ends before. */
int checkpoint_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes);
int checkpoint_pread(int fd, void *data, size_t bytes, uint64_t at_bytes);

/* No times in it: a file depends on the state alone. */
hid_t checkpoint_create_group(hid_t root, const char *name);
bool checkpoint_put_text(hid_t object, const char *name, const char *text);
bool checkpoint_put_integer(hid_t object, const char *name, int64_t number);
bool checkpoint_get_integer(hid_t object, const char *name, int64_t *number);

/* ---- values in other files (checkpoint_elsewhere.c) ---- */

/* Opens GROUP/NAME of a state file: negative with the end of a sentence in *why, a literal, where one of both is missing or a link,
 * or the values lie elsewhere. */
hid_t checkpoint_open_inside(hid_t file, const char *group, const char *name, const char **why);
/* Are its values in the file itself, and in this dataset? */
bool checkpoint_is_inside(hid_t dataset);
enum { CHECKPOINT_ELSEWHERE_BYTES = 320 };
/* For H5Lexists and H5Dopen2 of another program's file: external links are followed only to files beside the one that they are in;
 * where to another, or none, they fail and why has the end of a sentence, else "". The caller's to close; why outlives it. */
hid_t checkpoint_beside_access(char why[CHECKPOINT_ELSEWHERE_BYTES]);
/* Do all its values lie in its file, or in files beside that which are there and hold them? */
bool checkpoint_lies_beside(hid_t dataset, char why[CHECKPOINT_ELSEWHERE_BYTES]);

/* Opens /fields/NAME and checks that it is what `f` needs; reads its fingerprint attribute into *fingerprint. */
checkpoint_status checkpoint_dataset_open(hid_t file, const char *path, const checkpoint_field *f, dtype type,
                                          hid_t *dataset, uint64_t *fingerprint, char *why, size_t why_bytes);
/* May HDF5 read this file, or that part of it (checkpoint_probe.h)? DAMAGED: no. cells: of the dataset that is needed, 0 for what
 * is no dataset's data. *sealed, or NULL: its structure is known to be as weft wrote it. Collective. */
checkpoint_status checkpoint_probe(MPI_Comm comm, const char *path, const char *what, int64_t cells, bool *sealed, char *why,
                                   size_t why_bytes);
/* Opens all that is in the file and reads every attribute. False: in why, what cannot be read, and HDF5's reason. By one rank. */
bool checkpoint_walk(hid_t file, char *why, size_t why_bytes);
/* Of another program's dataset: twice the largest that a compiler has. HDF5 holds several while it converts them. */
enum { CHECKPOINT_NUMBER_BYTES_MAX = 32 };
/* HDF5 makes room for a whole chunk, as large as the file says: no larger than the dataset itself, or some megabytes? True where
 * there are no chunks. */
bool checkpoint_chunks_fit(hid_t dataset);
/* The paths of the first datasets that the file has, as many as there is room for. */
void checkpoint_list_datasets(hid_t file, char list[CHECKPOINT_LISTED_BYTES]);
/* CRC-32C of all that *info says but `sealed`; the root attribute description_crc32c, which older files lack. */
uint32_t checkpoint_info_crc(const checkpoint_info *info);
/* The step of "DIR/step_NNNNNNNNNN.h5", -1 for any other name. */
int64_t checkpoint_step_of(const char *path);
/* What an open file says about itself, to be freed in any case. DAMAGED also where that is not what was written, or the step is not
 * that of the file's name. */
checkpoint_status checkpoint_info_of(hid_t file, const char *path, checkpoint_info *info, char *why, size_t why_bytes);
/* A string attribute of at most max_bytes, allocated; NULL: none such. */
char *checkpoint_attribute_text(hid_t object, const char *name, size_t max_bytes);
bool checkpoint_parse_fingerprint(const char *text, uint64_t *fingerprint);

/* The fields that a file of that kind has, with names and shapes alone. */
checkpoint_state checkpoint_fields_of(const checkpoint_info *info);

/* The field whose fingerprint stands for the whole state: b of a transpose, else the first. */
int checkpoint_main_field(const checkpoint_state *s);

/* By one rank: the group /VTKHDF, views of the fields that s has in the file. */
bool checkpoint_vtkhdf_write(hid_t root, const checkpoint_state *s);

/* ---- files ---- */

typedef struct checkpoint_names { /* NAME.h5, NAME.xmf, what they are called while they are written, and their folder */
    char path[CHECKPOINT_PATH_BYTES], tmp[CHECKPOINT_PATH_BYTES];
    char xdmf[CHECKPOINT_PATH_BYTES], xdmf_tmp[CHECKPOINT_PATH_BYTES];
    char directory[CHECKPOINT_PATH_BYTES];
} checkpoint_names;
checkpoint_status checkpoint_names_make(checkpoint_names *n, const char *path, char *why, size_t why_bytes);
void checkpoint_names_token(checkpoint_names *n, uint64_t token); /* tmp and xdmf_tmp: for one write */

/* The steps of a write, each by one rank, without HDF5 and MPI; see checkpoint_job.h for what they guard against. */
typedef struct checkpoint_identity { /* of a file; a network file system has another device number on each host */
    uint64_t inode, device;
} checkpoint_identity;
/* Makes NAME.tmp, empty, for reading and writing; *fd < 0 on failure. */
checkpoint_status checkpoint_create_tmp(const checkpoint_names *n, int *fd, checkpoint_identity *id, char *why, size_t why_bytes);
/* Is there room for needed_bytes beside what is there? */
checkpoint_status checkpoint_look_for_room(const checkpoint_names *n, uint64_t needed_bytes, char *why, size_t why_bytes);
/* NAME.tmp, with flags O_RDWR or O_RDONLY, which rank 0 has made and which is the file *id: a name may be unknown on another host for
 * some seconds, or known as another file's. same_host: the device is compared too. *fd < 0 on failure. */
checkpoint_status checkpoint_open_tmp(const checkpoint_names *n, int flags, const checkpoint_identity *id, bool same_host, int rank,
                                      int *fd, char *why, size_t why_bytes);
/* Blocks for [0, bytes) of NAME.tmp: unlike statvfs this knows of quotas and limits, and what it gets stays ours. */
checkpoint_status checkpoint_reserve(const checkpoint_names *n, int fd, uint64_t bytes, char *why, size_t why_bytes);
/* Gives NAME.tmp its name, and an XDMF file beside it. */
checkpoint_status checkpoint_publish(const checkpoint_names *n, const checkpoint_state *s, char *why, size_t why_bytes);
void checkpoint_unlink_tmp(const checkpoint_names *n);
/* "cannot WHAT PATH: text of the errno code"; CHECKPOINT_IO. */
checkpoint_status checkpoint_file_failed(const char *what, const char *path, int code, char *why, size_t why_bytes);

uint64_t checkpoint_field_bytes(const checkpoint_state *s, int i);
/* What a file of s takes, and a little more. */
uint64_t checkpoint_needed_bytes(const checkpoint_state *s);

/* checkpoint_list for one rank alone; *steps is the caller's to free. */
checkpoint_status checkpoint_list_here(const char *dir, int64_t **steps, size_t *count);

/* Writes the XDMF text for path, whole, to `to`. By one rank. Returns 0 or errno. */
int checkpoint_xdmf_write(const char *to, const char *path, const checkpoint_state *s);
/* The same for count > 0 files of the folder that `to` is in, of s's fields at these steps, newest first; replaces `to`
 * (replace.h). */
int checkpoint_xdmf_write_series(const char *to, const checkpoint_state *s, const int64_t *steps, size_t count);

#endif
