#include "bench/bench_families.h"

#include <assert.h>

static const ladder_family *const together[] = { &bench_halo_host, &bench_alltoall_host, &bench_io_host,
                                                 &bench_halo_cuda, &bench_alltoall_cuda, &bench_io_cuda };
enum { FAMILIES_MAX = 64, ITEMS_MAX = 1024, TOGETHER = sizeof together / sizeof together[0] };

const ladder_family *const *bench_families(void)
{
    static const ladder_family *all[FAMILIES_MAX];
    int n = 0;
    const ladder_family *const *alone = ladder_families(&n);
    for (int i = 0; i < n; i++) all[i] = alone[i];
    for (int i = 0; i < TOGETHER; i++) all[n++] = together[i];
    return all;
}

const bench_item *bench_items(int *count)
{
    static bench_item all[ITEMS_MAX];
    *count = 0;
    for (const ladder_family *const *f = bench_families(); *f; f++)
        for (int i = 0; i < (*f)->rungs; i++) {
            assert(*count < ITEMS_MAX);
            all[(*count)++] = (bench_item){ *f, &(*f)->rung[i], false };
        }
    return all;
}
