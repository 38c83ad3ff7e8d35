/* A file that appears whole under its name, or not at all: written under a name used once, fsynced, renamed,
 * its folder fsynced. For pictures and timelines; checkpoints take the parts of it. By one rank. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct replace {
    FILE *to; /* between begin and end */
    char path[4200], tmp[4200];
} replace;

/* 0 or errno, and then there is nothing to end. */
int replace_begin(replace *r, const char *path);
/* keep: it gets its name; else, or where anything written to it failed, NAME is as it was and nothing of this
 * is left. 0 or errno. */
int replace_end(replace *r, bool keep);
/* Can NAME be replaced, can files be made in a folder? A file is made and deleted. 0 or errno. */
int replace_try(const char *path);
int replace_try_folder(const char *folder);

/* ---- its parts ---- */

/* A name for a file while it is written, NAME.tmp.<16 hex digits>, which no file has had before and none will
 * have again: a host that still knows an older one of NAME opens no file of today by it. False: too long. */
uint64_t replace_token(void); /* 64 random bits */
bool replace_temporary(char *out, size_t out_bytes, const char *path);
/* A descriptor of a new, empty file; a link under that name is not followed. -1: errno. */
int replace_create_new(const char *path);
int replace_sync_path(const char *path); /* fsync of a file or directory; 0 or errno */
/* fsync of a folder, where that is to be had: not on all file systems, nor of one that may be entered but not
 * read. 0 or errno. */
int replace_sync_folder(const char *path);
void replace_directory_of(char *out, size_t out_bytes, const char *path); /* "." where path has none */

/* All of [0, bytes) of a file at an offset, in as many calls as it takes. 0 or errno; EIO where the file ends
 * before. By any thread. */
int replace_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes);
int replace_pread(int fd, void *data, size_t bytes, uint64_t at_bytes);
/* A new file with that in it, on disk. 0 or errno. */
int replace_new_file(const char *path, const void *data, size_t bytes);
