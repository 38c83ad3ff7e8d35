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

enum { PING_ROUNDS = 64, TAG_PING = 1, TAG_HEAD = 2, TAG_SPANS = 3, PROCESS_BYTES = 256 };

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

typedef struct rank_head { /* what a rank sends before its spans */
    int spans;
    double offset_s, error_s, device_error_s;
    char process[PROCESS_BYTES];
} rank_head;

static void put_text(FILE *f, const char *text)
{
    json_t *quoted = record_text(text);
    char *s = quoted ? json_dumps(quoted, JSON_ENCODE_ANY) : NULL;
    fputs(s ? s : "\"\"", f);
    free(s);
    json_decref(quoted);
}

/* The name of a process or a thread, and where it stands among the others. */
static void put_label(FILE *f, const char *what, int rank, int track, const char *name, int order)
{
    fprintf(f, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", what, rank,
            track);
    put_text(f, name);
    fprintf(f,
            "}},\n{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_index\":%d}"
            "},\n",
            what, rank, track, order);
}

/* In whole nanoseconds: spans that meet do so in the file too. */
static void put_span(FILE *f, const trace_timeline *t, int rank, const trace_span *s, double zero_s)
{
    const long long begin_ns = llround(1e9 * (s->begin_s - zero_s)),
                    end_ns = llround(1e9 * (s->end_s - zero_s));
    const long long length_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    fputs("{\"ph\":\"X\",\"name\":", f);
    put_text(f, t->name[s->name]);
    fprintf(f, ",\"pid\":%d,\"tid\":%d,\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,\"args\":{\"step\":%lld}},\n",
            rank, s->track, begin_ns / 1000, begin_ns % 1000, length_ns / 1000, length_ns % 1000,
            (long long)s->step);
}

static void put_rank(FILE *f, const trace_timeline *t, int rank, const rank_head *head,
                     const trace_span *span, double zero_s)
{
    put_label(f, "process", rank, 0, head->process, rank);
    for (int i = 0; i < t->tracks; i++) put_label(f, "thread", rank, i, t->track[i], i);
    for (int i = 0; i < head->spans; i++) put_span(f, t, rank, &span[i], zero_s);
}

static void put_clocks(FILE *f, const rank_head *head, int ranks)
{
    fputs("\"otherData\":{\"clock\":\"rank 0's; offset and error of each rank by ping, device_error of its "
          "device's clock, us\","
          "\"ranks\":[",
          f);
    for (int r = 0; r < ranks; r++)
        fprintf(f, "%s{\"offset_us\":%.3f,\"error_us\":%.3f,\"device_error_us\":%.3f}", r ? "," : "",
                1e6 * head[r].offset_s, 1e6 * head[r].error_s, 1e6 * head[r].device_error_s);
    fputs("]}", f);
}

/* Rank 0: all ranks in turn, so that the spans of one rank are in memory at a time. */
static void put_all(FILE *f, MPI_Comm comm, int ranks, const trace_timeline *t, const rank_head *mine,
                    double zero_s)
{
    rank_head *head = CHECK_ALLOC(malloc((size_t)ranks * sizeof *head));
    head[0] = *mine;
    fputs("{\"traceEvents\":[\n", f);
    put_rank(f, t, 0, mine, t->span, zero_s);
    for (int r = 1; r < ranks; r++) {
        MPI_CHECK(MPI_Recv(&head[r], sizeof head[r], MPI_BYTE, r, TAG_HEAD, comm, MPI_STATUS_IGNORE));
        trace_span *theirs = CHECK_ALLOC(malloc(((size_t)head[r].spans + 1) * sizeof *theirs));
        MPI_CHECK(MPI_Recv(theirs, head[r].spans * (int)sizeof *theirs, MPI_BYTE, r, TAG_SPANS, comm,
                           MPI_STATUS_IGNORE));
        put_rank(f, t, r, &head[r], theirs, zero_s);
        free(theirs);
    }
    /* JSON has no comma after the last element: a label closes the list. */
    fputs("{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"tid\":0,\"args\":{\"labels\":\"weft\"}}\n],"
          "\"displayTimeUnit\":\"ms\",\n",
          f);
    put_clocks(f, head, ranks);
    fputs("}\n", f);
    free(head);
}

bool trace_write(MPI_Comm comm, const char *path, const trace_timeline *t, sentence *why)
{
    replace file;
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    int code = rank == 0 ? replace_begin(&file, path) : 0;
    MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, 0, comm));

    if (!code) {
        rank_head mine = { t->spans, t->clock.offset_s, t->clock.error_s, t->device_error_s, "" };
        snprintf(mine.process, sizeof mine.process, "%s", t->process);
        double zero_s = INFINITY;
        for (int i = 0; i < t->spans; i++) {
            t->span[i].begin_s += t->clock.offset_s;
            t->span[i].end_s += t->clock.offset_s;
            zero_s = fmin(zero_s, t->span[i].begin_s);
        }
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &zero_s, 1, MPI_DOUBLE, MPI_MIN, comm));
        if (rank == 0) {
            put_all(file.to, comm, ranks, t, &mine, zero_s);
            code = replace_end(&file, true);
        } else {
            MPI_CHECK(MPI_Send(&mine, sizeof mine, MPI_BYTE, 0, TAG_HEAD, comm));
            MPI_CHECK(MPI_Send(t->span, t->spans * (int)sizeof *t->span, MPI_BYTE, 0, TAG_SPANS, comm));
        }
        MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, 0, comm));
    }
    if (code) sentence_set(why, "output.trace = %.700s cannot be written: %s", path, strerror(code));
    return code == 0;
}
