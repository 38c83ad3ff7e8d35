#include "check/check_part.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/check_record.h"
#include "output/record.h"
#include "ranks/check.h"

static struct {
    FILE *to; /* NULL: no output */
    char path[PATH_MAX];
    long head_bytes;
} part;

static void fail(void) { check_fail(__FILE__, __LINE__, part.path, strerror(errno)); }

static void put_line(json_t *o)
{
    if (json_dumpf(o, part.to, JSON_COMPACT) != 0 || fputc('\n', part.to) == EOF || fflush(part.to) != 0)
        fail();
    json_decref(o);
}

void check_part_begin(const char *output, const json_t *head, const check_findings *f, const char *level)
{
    sentence why;
    if (!output[0]) return;
    snprintf(part.path, sizeof part.path, "%s.part", output);
    if (!record_may_write("output", part.path, &why)) check_fail(__FILE__, __LINE__, part.path, why.text);
    part.to = fopen(part.path, "we");
    if (!part.to) fail();
    json_t *o = json_deep_copy(head);
    json_object_set_new(o, "check_part",
                        json_pack("{s:s, s:o}", "level", level, "ranks", check_record_ranks(f)));
    put_line(o);
    part.head_bytes = ftell(part.to);
}

void check_part_add(int rank, int round, const char *trial, const check_share *s)
{
    if (!part.to) return;
    json_t *figures = json_array(), *faults = json_array();
    for (int i = 0; i < s->figures; i++) json_array_append_new(figures, check_record_figure(&s->figure[i]));
    if (s->faults > 0) json_array_append_new(faults, check_record_fault(&s->fault));
    put_line(json_pack("{s:i, s:i, s:s, s:o, s:o}", "rank", rank, "round", round, "trial", trial, "figures",
                       figures, "faults", faults));
}

void check_part_empty(void)
{
    if (!part.to) return;
    if (fseek(part.to, part.head_bytes, SEEK_SET) != 0 || ftruncate(fileno(part.to), part.head_bytes) != 0)
        fail();
}

void check_part_end(void)
{
    if (!part.to) return;
    (void)fclose(part.to);
    (void)unlink(part.path);
    part.to = NULL;
}
