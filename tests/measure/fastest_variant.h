/* The variant of a pass that is fastest, as a run chooses its own: by each variant's best of a few rounds. */
#pragma once

#include "device/device.h"

/* seconds: times one pass with all->chosen. Leaves the fastest in all->chosen and returns its name. */
static const char *fastest_variant(device_variants *all, double (*seconds)(const void *context),
                                   const void *context)
{
    enum { ROUNDS = 4 };
    double least_s[DEVICE_VARIANTS_MAX];
    int best = 0;
    for (int v = 0; v < all->count; v++) least_s[v] = 1e9;
    for (int round = 0; round < ROUNDS; round++)
        for (int v = 0; v < all->count; v++) {
            all->chosen = v;
            const double s = seconds(context);
            if (s < least_s[v]) least_s[v] = s;
        }
    for (int v = 1; v < all->count; v++)
        if (least_s[v] < least_s[best]) best = v;
    all->chosen = best;
    return all->name[best];
}
