/* Every rank learns its host, local rank, binding and device, the same answers about the whole from all, and
 * the aware probe ends with one answer and a reason on all ranks without harm to any of them. ranks: 1 2 3
 * gpus: rank */
#include <sched.h>

#include "ranks/ranks.h"
#include "support/comm_harness.h"

#define ALONE "--alone" /* this program as the child of a rank */

/* CPUs named by a list such as "0-3,8"; -1 if it is not one. */
static int cpus_in(const char *list)
{
    int cpus = 0;
    while (*list) {
        int first, last, used = 0;
        if (sscanf(list, "%d%n", &first, &used) != 1) return -1;
        list += used;
        last = first;
        if (*list == '-') {
            if (sscanf(list, "-%d%n", &last, &used) != 1) return -1;
            list += used;
        }
        cpus += last - first + 1;
        if (*list == ',') list++;
    }
    return cpus;
}

static void hosts_ranks_and_binding(void **state)
{
    (void)state;
    cpu_set_t set;
    long wrong = 0;
    wrong += sched_getaffinity(0, sizeof set, &set) != 0 || cpus_in(harness.binding) != CPU_COUNT(&set);
    wrong += harness.hosts < 1 || harness.local_rank < 0 || harness.local_rank >= harness.local_ranks;
    wrong +=
        harness.hosts == 1 && (harness.local_ranks != harness.ranks || harness.local_rank != harness.rank);
    wrong += harness.mpi_version[0] == '\0' || strchr(harness.mpi_version, '\n') || harness.host[0] == '\0';
    wrong += harness.thread_level < MPI_THREAD_FUNNELED || harness.ranks_on_device != 1;
    assert_int_equal(harness_sum(wrong), 0);
}

static void the_first_no_is_everybodys(void **state)
{
    (void)state;
    sentence why;
    sentence_set(&why, "rank %d", harness.rank);
    long wrong = !agree_or_say(true, &why, harness.comm) || atoi(why.text + 5) != harness.rank;
    wrong += agree_or_say(harness.rank != harness.ranks - 1, &why, harness.comm) ||
             atoi(why.text + 5) != harness.ranks - 1;
    assert_int_equal(harness_sum(wrong), 0);
}

static void auto_takes_the_best_for_all(void **state)
{
    (void)state;
    sentence why, notes;
    const bool no_cuda = harness_cuda_missing(NULL);
    device *d = topology_device(&harness, TOPOLOGY_AUTO, 1, &why, &notes);
    long wrong = !d || (d->kind == DEVICE_HOST) != no_cuda || (no_cuda && harness.ranks_on_device != 1);
    device_destroy(&d);
    d = topology_device(&harness, TOPOLOGY_CUDA, 1, &why, &notes);
    wrong += (d == NULL) != no_cuda ||
             (no_cuda && (!strstr(why.text, "run.device = cuda") || !strstr(why.text, "rank 0")));
    /* More ranks here than this rank sees GPUs: some share, and are told so. */
    if (d && harness.local_ranks > device_cuda_count(NULL) && harness.hosts == 1)
        wrong += notes.text[0] == '\0';
    device_destroy(&d);
    assert_int_equal(harness_sum(wrong), 0);
}

static void the_probe_gives_one_answer(void **state)
{
    (void)state;
    sentence why, notes;
    device *d = topology_device(&harness, TOPOLOGY_AUTO, 1, &why, &notes);
    const int yes = topology_probe_aware(&harness, d, harness_exe, &why);
    int yeses;
    sentence first = why;
    MPI_CHECK(MPI_Allreduce(&yes, &yeses, 1, MPI_INT, MPI_SUM, harness.comm));
    MPI_CHECK(MPI_Bcast(first.text, SENTENCE_BYTES, MPI_CHAR, 0, harness.comm));
    print_message("device buffers to MPI: %s%s\n", yes ? "yes" : "no: ", why.text);
    long wrong = (yeses != 0 && yeses != harness.ranks) || strcmp(first.text, why.text) != 0 ||
                 yes != (why.text[0] == '\0');
    wrong += yes && !harness.mpi_claims_cuda;
    device_destroy(&d);
    assert_int_equal(harness_sum(wrong), 0);
}

static int be_alone(void)
{
    int ranks = 0;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS) return 2;
    return MPI_Finalize() == MPI_SUCCESS && ranks == 1 ? 0 : 1;
}

static void a_ranks_child_is_an_mpi_program_of_its_own(void **state)
{
    (void)state;
    sentence how;
    const bool well = topology_spawn(harness_exe, ALONE, &how);
    if (!well) print_error("the child %s\n", how.text);
    assert_int_equal(harness_sum(!well), 0);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_ranks_and_binding),
        cmocka_unit_test(the_first_no_is_everybodys),
        cmocka_unit_test(auto_takes_the_best_for_all),
        cmocka_unit_test(a_ranks_child_is_an_mpi_program_of_its_own),
        cmocka_unit_test(the_probe_gives_one_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], ALONE) == 0) return be_alone();
    return harness_main(argc, argv, run);
}
