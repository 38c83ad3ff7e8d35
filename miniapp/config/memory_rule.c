#include "config/memory_rule.h"

bool memory_rule_four_fields(config_kind kind, int fuse) { return fuse > 1 && (kind == CONFIG_WAVE || kind == CONFIG_ADVECT); }

double memory_rule_bytes(config_kind kind, int fuse, int ranks, double field_bytes, double transposed_bytes)
{
    const double both_bytes = field_bytes + transposed_bytes;
    const double messages_bytes = both_bytes / ranks * (ranks - 1); /* out and in: all but the rank's own part */
    switch (kind) {
    case CONFIG_TRANSPOSE: return both_bytes + messages_bytes;
    case CONFIG_SWEEP: return 2 * (both_bytes + messages_bytes);
    case CONFIG_HEAT:
    case CONFIG_WAVE:
    case CONFIG_ADVECT:
    case CONFIG_LAPLACE:
    case CONFIG_CUSTOM: break;
    }
    return (memory_rule_four_fields(kind, fuse) ? 4 : 2) * field_bytes;
}
