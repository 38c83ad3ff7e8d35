/* Template: the tiles of transpose_host.c for one cell type. Included once per type, with
 *   CELL             the type,
 *   SQUARE           the side in cells of what TURN moves,
 *   TURN(col, r, in, pitch)  cell (k, c) of SQUARE rows of `in` becomes col[c][r + k], c < SQUARE,
 *   NAME(x)          x with the type's suffix. */

enum {
    NAME(LINE_CELLS) = DEVICE_HOST_LINE_BYTES / sizeof(CELL),
    NAME(TILE_ROWS) = TILE_RUN_BYTES / sizeof(CELL),
    NAME(TILE_COLS) = TILE_READ_BYTES / sizeof(CELL),
    NAME(HELD_CELLS) = NAME(TILE_ROWS) + 2 * NAME(LINE_CELLS)
};

/* The columns of `from` in a tile: rows x cols cells, column c to col[c]. */
static inline void NAME(turn_tile)(CELL *const *col, CELL *from, int64_t pitch, int64_t rows, int64_t cols, int flags)
{
    const int64_t square_rows = rows & -SQUARE, square_cols = cols & -SQUARE, pitch_bytes = pitch * (int64_t)sizeof(CELL);
    const int64_t ahead_bytes = pitch_bytes * (pitch_bytes % ALIAS_BYTES == 0 ? AHEAD_ROWS_ALIASED : AHEAD_ROWS);
    for (int64_t r = 0; r < rows; r++) {
        CELL *in = from + r * pitch;
        prefetch(in, ahead_bytes, TILE_READ_BYTES);
        if (r < square_rows && r % SQUARE == 0)
            for (int64_t c = 0; c < square_cols; c += SQUARE) TURN(col + c, r, in + c, pitch);
        for (int64_t c = r < square_rows ? square_cols : 0; c < cols; c++) col[c][r] = in[c];
    }
    if (flags & TRANSPOSE_INCREMENT_SOURCE)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++) from[r * pitch + c] += 1;
}

/* At most TILE_COLS columns of `from`, that is rows of `to`, from top to bottom. Rows of `to` start anywhere in a line; the
 * cells of an unfinished line wait in front of col[c] for the next tile, so that only whole lines are streamed. */
static void NAME(columns)(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, int64_t rows, int64_t cols, int flags,
                          bool streams)
{
    _Alignas(64) CELL held[NAME(TILE_COLS)][NAME(HELD_CELLS)];
    CELL *col[NAME(TILE_COLS)];
    for (int64_t c = 0; c < cols; c++)
        col[c] = held[c] + (uintptr_t)(to + c * to_pitch) / sizeof(CELL) % NAME(LINE_CELLS);
    for (int64_t r = 0; r < rows; r += NAME(TILE_ROWS)) {
        const int64_t n = rows - r < NAME(TILE_ROWS) ? rows - r : NAME(TILE_ROWS);
        NAME(turn_tile)(col, from + r * from_pitch, from_pitch, n, cols, flags);
        for (int64_t c = 0; c < cols; c++) {
            CELL *out = to + c * to_pitch + r;
            if (streams) {
                const int64_t waiting = col[c] - held[c], first = r == 0 ? waiting : 0;
                const int64_t last = r + n == rows ? waiting + n : n;
                device_host_stream(out - waiting + first, held[c] + first, (size_t)(last - first) * sizeof *out);
                if (r + n < rows) memcpy(held[c], held[c] + n, (size_t)waiting * sizeof *out);
            } else if (flags & TRANSPOSE_ADD) {
                prefetch(out, TILE_RUN_BYTES, TILE_RUN_BYTES);
                for (int64_t i = 0; i < n; i++) out[i] += col[c][i];
            } else {
                memcpy(out, col[c], (size_t)n * sizeof *out);
            }
        }
    }
}

/* b: x counts rows, y columns of `from`, that is, b is a box of `to`. */
static void NAME(part)(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, box b, int flags, bool streams)
{
    for (int64_t c = b.y0; c < b.y1; c += NAME(TILE_COLS))
        NAME(columns)(to + c * to_pitch + b.x0, to_pitch, from + b.x0 * from_pitch + c, from_pitch, box_width(b),
                      b.y1 - c < NAME(TILE_COLS) ? b.y1 - c : NAME(TILE_COLS), flags, streams);
}

#undef CELL
#undef SQUARE
#undef TURN
#undef NAME
