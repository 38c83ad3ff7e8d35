#include "output/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/replace.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

enum { PING_ROUNDS = 64, TAG_PING = 1, TAG_EVENTS = 2, CLOCK = 3 /* numbers about a clock */ };

/* ---- one clock ---- */

static trace_offset ping_rank_0(MPI_Comm comm)
{
    trace_offset best = { 0, INFINITY };
    for (int i = 0; i < PING_ROUNDS; i++) {
        double theirs_s = 0;
        const double begin_s = timer_now_s();
        MPI_CHECK(MPI_Send(&begin_s, 1, MPI_DOUBLE, 0, TAG_PING, comm));
        MPI_CHECK(MPI_Recv(&theirs_s, 1, MPI_DOUBLE, 0, TAG_PING, comm, MPI_STATUS_IGNORE));
        const double end_s = timer_now_s(), error_s = 0.5 * (end_s - begin_s), middle_s = begin_s + error_s;
        if (error_s < best.error_s) best = (trace_offset){ theirs_s - middle_s, error_s };
    }
    /* Ranks of one host read the same clock, and then the measured offset is nothing but error. */
    if (fabs(best.offset_s) <= best.error_s) best.offset_s = 0;
    return best;
}

trace_offset trace_measure_offset(MPI_Comm comm)
{
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    double token_s = 0;
    trace_offset mine = { 0, 0 };
    for (int r = 1; r < ranks; r++) {
        for (int i = 0; rank == 0 && i < PING_ROUNDS; i++) {
            MPI_CHECK(MPI_Recv(&token_s, 1, MPI_DOUBLE, r, TAG_PING, comm, MPI_STATUS_IGNORE));
            token_s = timer_now_s();
            MPI_CHECK(MPI_Send(&token_s, 1, MPI_DOUBLE, r, TAG_PING, comm));
        }
        if (rank == r) mine = ping_rank_0(comm);
        MPI_CHECK(MPI_Barrier(comm)); /* those that do not ping do not spin where cores are shared */
    }
    return mine;
}

/* ---- the file ---- */

/* The name of a process or a thread, and where it stands among the others. Takes `name`. */
static void put_label(FILE *f, const char *what, int rank, int track, json_t *name, int order)
{
    json_t *const label = json_pack("{s:s, s:s+, s:i, s:i, s:{s:o}}", "ph", "M", "name", what, "_name", "pid",
                                    rank, "tid", track, "args", "name", name);
    CHECK_ALLOC(label && json_dumpf(label, f, JSON_COMPACT) == 0 ? label : NULL);
    fprintf(f,
            ",\n{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_index\":%d}"
            "},\n",
            what, rank, track, order);
    json_decref(label);
}

/* In whole nanoseconds: spans that meet do so in the file too. */
static void put_span(FILE *f, int rank, const trace_span *s, double shift_s)
{
    const long long begin_ns = llround(1e9 * (s->begin_s + shift_s)),
                    end_ns = llround(1e9 * (s->end_s + shift_s));
    const long long length_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    fprintf(f,
            "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,"
            "\"args\":{\"step\":%lld}},\n",
            s->name, rank, s->track, begin_ns / 1000, begin_ns % 1000, length_ns / 1000,
            length_ns % 1000, (long long)s->step);
}

/* This rank's events; the text is the caller's. */
static char *text_of(const trace_timeline *t, int rank, double zero_s, size_t *bytes)
{
    char *text;
    FILE *f = CHECK_ALLOC(open_memstream(&text, bytes));
    put_label(f, "process", rank, 0, record_text(t->process), rank);
    for (int i = 0; i < TRACE_LANE + t->lanes; i++)
        put_label(f, "thread", rank, i,
                  i < TRACE_LANE ? json_string(i == TRACE_HOST ? "host" : "comm")
                                 : json_sprintf("lane %d", i - TRACE_LANE),
                  i);
    for (int i = 0; i < t->spans; i++) put_span(f, rank, &t->span[i], t->clock.offset_s - zero_s);
    CHECK_ALLOC(fclose(f) == 0 ? text : NULL);
    return text;
}

/* Rank 0: the events of one rank after another, so that those of one rank are in memory at a time. */
static void put_all(FILE *f, MPI_Comm comm, int ranks, const char *mine, const double (*clock_s)[CLOCK])
{
    fputs("{\"traceEvents\":[\n", f);
    fputs(mine, f);
    for (int r = 1; r < ranks; r++) {
        MPI_Status status;
        int bytes;
        MPI_CHECK(MPI_Probe(r, TAG_EVENTS, comm, &status));
        MPI_CHECK(MPI_Get_count(&status, MPI_CHAR, &bytes));
        char *const theirs = CHECK_ALLOC(malloc((size_t)bytes));
        MPI_CHECK(MPI_Recv(theirs, bytes, MPI_CHAR, r, TAG_EVENTS, comm, MPI_STATUS_IGNORE));
        fwrite(theirs, 1, (size_t)bytes, f);
        free(theirs);
    }
    /* JSON has no comma after the last element: a label closes the list. */
    fputs("{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"tid\":0,\"args\":{\"labels\":\"weft\"}}\n],"
          "\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"clock\":\"rank 0's; offset and error of each rank "
          "by ping, "
          "device_error of its device's clock, us\",\"ranks\":[",
          f);
    for (int r = 0; r < ranks; r++)
        fprintf(f, "%s{\"offset_us\":%.3f,\"error_us\":%.3f,\"device_error_us\":%.3f}", r ? "," : "",
                1e6 * clock_s[r][0], 1e6 * clock_s[r][1], 1e6 * clock_s[r][2]);
    fputs("]}}\n", f);
}

/* Collective. Of rank 0 replace_end's code. */
static int put_file(replace *file, MPI_Comm comm, const trace_timeline *t)
{
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    const double clock_s[CLOCK] = { t->clock.offset_s, t->clock.error_s, t->device_error_s };
    double(*const all_s)[CLOCK] = CHECK_ALLOC(malloc((size_t)ranks * sizeof *all_s)), zero_s = INFINITY;
    size_t bytes;
    for (int i = 0; i < t->spans; i++) zero_s = fmin(zero_s, t->span[i].begin_s + t->clock.offset_s);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &zero_s, 1, MPI_DOUBLE, MPI_MIN, comm));
    MPI_CHECK(MPI_Gather(clock_s, CLOCK, MPI_DOUBLE, all_s, CLOCK, MPI_DOUBLE, 0, comm));
    char *const text = text_of(t, rank, zero_s, &bytes);
    if (rank == 0) put_all(file->to, comm, ranks, text, (const double(*)[CLOCK])all_s);
    else MPI_CHECK(MPI_Send(text, (int)bytes, MPI_CHAR, 0, TAG_EVENTS, comm));
    free(text);
    free(all_s);
    return rank == 0 ? replace_end(file, true) : 0;
}

bool trace_write(MPI_Comm comm, const char *path, const trace_timeline *t, sentence *why)
{
    replace file;
    int code = ranks_mine(comm) == 0 ? replace_begin(&file, path) : 0;
    MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, 0, comm));
    if (!code) {
        code = put_file(&file, comm, t);
        MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, 0, comm));
    }
    if (code) sentence_set(why, "output.trace = %.700s cannot be written: %s", path, strerror(code));
    return code == 0;
}
