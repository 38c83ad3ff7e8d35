#include "memory_rule.h"

bool memory_rule_four_fields(config_kind kind, int fuse) { return fuse > 1 && (kind == CONFIG_WAVE || kind == CONFIG_ADVECT); }

size_t memory_rule_bytes(config_kind kind, int fuse, int ranks, size_t field_bytes, size_t turned_bytes)
{
    const size_t both_bytes = field_bytes + turned_bytes, all = (size_t)ranks;
    const size_t messages_bytes = both_bytes / all * (all - 1); /* out and in: all but the rank's own part */
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
