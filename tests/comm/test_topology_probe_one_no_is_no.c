/* Device buffers go to MPI only when its own word, the child on every host and the checked exchange of all
 * ranks say yes; any other outcome is one no with one reason on all ranks, and everybody lives on. A stand-in
 * takes the GPU's place. ranks: 1 2 3 */
#include "support/comm_harness.h"

/* The answer, which must be the same everywhere, as must the reason; `words` must stand in the reason of a
 * no. */
static void probe(bool claims, device *d, const char *child, bool wanted, const char *words)
{
    topology t = harness;
    sentence why;
    t.mpi_claims_cuda = claims;
    const bool yes = topology_probe_aware(&t, d, child, &why);
    sentence first = why;
    MPI_CHECK(MPI_Bcast(first.text, SENTENCE_BYTES, MPI_CHAR, 0, harness.comm));
    if (yes != wanted || strcmp(first.text, why.text) != 0 ||
        (words ? !strstr(why.text, words) : why.text[0] != '\0'))
        print_error("rank %d: %s, \"%s\"; wanted %s, \"%s\"\n", harness.rank, yes ? "yes" : "no", why.text,
                    wanted ? "yes" : "no", words ? words : "");
    const long wrong = yes != wanted || strcmp(first.text, why.text) != 0 ||
                       (words ? !strstr(why.text, words) : why.text[0] != '\0');
    assert_int_equal(harness_sum(wrong), 0);
}

static void all_say_yes(void **state)
{
    (void)state;
    device *d = deferred_device_create(1);
    probe(true, d, "/bin/true", true, NULL);
    device_destroy(&d);
}

static void the_host_device_has_none(void **state)
{
    (void)state;
    device *d = device_host_create(1);
    probe(true, d, "/bin/true", false, "computes on the host");
    device_destroy(&d);
}

static void the_mpi_says_no(void **state)
{
    (void)state;
    device *d = deferred_device_create(1);
    probe(harness.rank != harness.ranks - 1, d, "/bin/true", false, "does not claim");
    device_destroy(&d);
}

static void the_child_says_no(void **state)
{
    (void)state;
    device *d = deferred_device_create(1);
    probe(true, d, "/bin/false", false, "ended with status 1");
    probe(true, d, "/nowhere/weft", false, "could not be started");
    if (harness_cuda_missing(NULL)) probe(true, d, harness_exe, false, "ended with status 1");
    device_destroy(&d);
}

/* A copy that damages a byte far into large messages. */
static DEVICE_FUNCTION(copy, (*whole_copy));
static int lossy_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    const int code = whole_copy(d, to, from, bytes, s);
    (void)d->stream_sync(d, s);
    if (bytes > (1 << 20)) ((unsigned char *)to)[bytes - 5] ^= 4;
    return code;
}

static void data_arrives_damaged(void **state)
{
    (void)state;
    device *d = deferred_device_create(1);
    /* Alone, a damage on the way out and one on the way in would undo each other. */
    whole_copy = d->copy;
    if (harness.ranks > 1 && harness.rank == harness.ranks - 1) d->copy = lossy_copy;
    if (harness.ranks > 1) probe(true, d, "/bin/true", false, "data arrived damaged");
    device_destroy(&d);
}

static int no_memory(device *d, device_memory where, size_t bytes, void **out)
{
    (void)d, (void)where, (void)bytes;
    *out = NULL;
    return 1;
}

static void a_rank_has_no_memory(void **state)
{
    (void)state;
    device *d = deferred_device_create(1);
    if (harness.rank == 0) d->alloc = no_memory;
    probe(true, d, "/bin/true", false, "no device memory");
    device_destroy(&d);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_say_yes),          cmocka_unit_test(the_host_device_has_none),
        cmocka_unit_test(the_mpi_says_no),      cmocka_unit_test(the_child_says_no),
        cmocka_unit_test(data_arrives_damaged), cmocka_unit_test(a_rank_has_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
