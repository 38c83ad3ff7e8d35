/* Half-open index boxes [x0,x1) x [y0,y1) in cells: own cells, interior, shell, faces, corners, strips of
 * streams. A box with no cells is empty, whatever its corners; every function accepts empty boxes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/linkage.h"

typedef struct box {
    int64_t x0, x1, y0, y1;
} box;

LINKAGE_BOTH box box_make(int64_t x0, int64_t x1, int64_t y0, int64_t y1)
{
    const box b = { x0, x1, y0, y1 };
    return b;
}

LINKAGE_BOTH bool box_empty(box b) { return b.x1 <= b.x0 || b.y1 <= b.y0; }
static inline int64_t box_width(box b) { return box_empty(b) ? 0 : b.x1 - b.x0; }
static inline int64_t box_height(box b) { return box_empty(b) ? 0 : b.y1 - b.y0; }
static inline int64_t box_cells(box b) { return box_width(b) * box_height(b); }

/* The place of a cell in b's dense rows. */
static inline int64_t box_at(box b, int64_t x, int64_t y) { return (y - b.y0) * box_width(b) + x - b.x0; }

static inline box box_shift(box b, int64_t dx, int64_t dy)
{
    return box_make(b.x0 + dx, b.x1 + dx, b.y0 + dy, b.y1 + dy);
}

LINKAGE_BOTH box box_intersect(box a, box b)
{
    return box_make(a.x0 > b.x0 ? a.x0 : b.x0, a.x1 < b.x1 ? a.x1 : b.x1,
                    a.y0 > b.y0 ? a.y0 : b.y0, a.y1 < b.y1 ? a.y1 : b.y1);
}

/* Strip `index` of b's rows, cut into `count` strips of nearly equal height. Later strips may be empty. */
static inline box box_strip(box b, int index, int count)
{
    const int64_t rows = box_height(b);
    return box_make(b.x0, b.x1, b.y0 + rows * index / count, b.y0 + rows * (index + 1) / count);
}

/* The shell: the cells of `outer` outside `inner`, as at most 4 disjoint boxes, full rows first because they
 * are contiguous. inner lies inside outer or is empty. Returns the number of boxes. */
static inline int box_shell(box outer, box inner, box shell[4])
{
    int n = 0;
    if (box_empty(outer)) return 0;
    if (box_empty(inner)) {
        shell[n++] = outer;
        return n;
    }
    const box parts[4] = {
        { outer.x0, outer.x1, outer.y0, inner.y0 },
        { outer.x0, outer.x1, inner.y1, outer.y1 },
        { outer.x0, inner.x0, inner.y0, inner.y1 },
        { inner.x1, outer.x1, inner.y0, inner.y1 },
    };
    for (int i = 0; i < 4; i++)
        if (!box_empty(parts[i])) shell[n++] = parts[i];
    return n;
}
