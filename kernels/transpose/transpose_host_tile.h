/* Template: the tiles of transpose_host.c for one cell type. Included once per type, with
 *   CELL             the type,
 *   SQUARE           the side in cells of the square that TRANSPOSE_SQUARE moves,
 *   TRANSPOSE_SQUARE(col, r, in, pitch)   col[c][r + k] = cell (k, c) of SQUARE rows of `in`, c < SQUARE,
 *   STREAM(to, from, bytes)   copies past the caches,
 *   TARGET           the attribute that lets the compiler use the instructions of these,
 *   NAME(x)          x with the type's suffix. */

enum {
    NAME(LINE_CELLS) = DEVICE_HOST_LINE_BYTES / sizeof(CELL),
    NAME(TILE_ROWS) = TILE_RUN_BYTES / sizeof(CELL),
    NAME(TILE_COLS) = TILE_READ_BYTES / sizeof(CELL),
    NAME(HELD_CELLS) = NAME(TILE_ROWS) + 2 * NAME(LINE_CELLS),
    NAME(PIECE_ROWS) = PIECE_RUN_BYTES / sizeof(CELL),
    NAME(PIECE_COLS) = PIECE_READ_BYTES / sizeof(CELL),
    NAME(PIECE_PITCH) = NAME(PIECE_COLS) + NAME(LINE_CELLS) /* rows share no sets */
};

/* Transposes rows x cols cells, column c to col[c]. ahead_bytes: to the row to prefetch; 0: none. */
static inline TARGET void NAME(transpose_tile)(CELL *const *col, const CELL *from, int64_t pitch,
                                               int64_t rows, int64_t cols, int64_t ahead_bytes, bool to_l2)
{
    const int64_t square_rows = rows & -SQUARE, square_cols = cols & -SQUARE;
    for (int64_t r = 0; r < rows; r++) {
        const CELL *in = from + r * pitch;
        if (ahead_bytes != 0) device_host_prefetch(in, ahead_bytes, TILE_READ_BYTES, to_l2);
        if (r < square_rows && r % SQUARE == 0)
            for (int64_t c = 0; c < square_cols; c += SQUARE) TRANSPOSE_SQUARE(col + c, r, in + c, pitch);
        for (int64_t c = r < square_rows ? square_cols : 0; c < cols; c++) col[c][r] = in[c];
    }
}

static inline TARGET void NAME(increment)(CELL *from, int64_t pitch, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) from[r * pitch + c] += 1;
}

/* At most TILE_COLS columns of `from`, that is rows of `to`, from top to bottom. Rows of `to` start anywhere
 * in a line; the cells of an unfinished line wait in front of col[c] for the next tile, so that only whole
 * lines are streamed. */
static TARGET void NAME(columns)(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, int64_t rows,
                                 int64_t cols, const plan *p)
{
    _Alignas(64) CELL held[NAME(TILE_COLS)][NAME(HELD_CELLS)];
    CELL *col[NAME(TILE_COLS)];
    const int64_t pitch_bytes = from_pitch * (int64_t)sizeof(CELL);
    const int64_t ahead_bytes =
        pitch_bytes * (pitch_bytes % ALIAS_BYTES == 0 ? AHEAD_ROWS_ALIASED : AHEAD_ROWS);
    for (int64_t c = 0; c < cols; c++)
        col[c] = held[c] + (uintptr_t)(to + c * to_pitch) / sizeof(CELL) % NAME(LINE_CELLS);
    for (int64_t r = 0; r < rows; r += NAME(TILE_ROWS)) {
        const int64_t n = rows - r < NAME(TILE_ROWS) ? rows - r : NAME(TILE_ROWS);
        NAME(transpose_tile)(col, from + r * from_pitch, from_pitch, n, cols, ahead_bytes, p->large_l2);
        if (p->flags & TRANSPOSE_INCREMENT_SOURCE)
            NAME(increment)(from + r * from_pitch, from_pitch, n, cols);
        for (int64_t c = 0; c < cols; c++) {
            CELL *out = to + c * to_pitch + r;
            if (p->streams) {
                const int64_t waiting = col[c] - held[c], first = r == 0 ? waiting : 0;
                const int64_t last = r + n == rows ? waiting + n : n;
                STREAM(out - waiting + first, held[c] + first, (size_t)(last - first) * sizeof *out);
                if (r + n < rows) memcpy(held[c], held[c] + n, (size_t)waiting * sizeof *out);
            } else if (p->flags & TRANSPOSE_ADD) {
                device_host_prefetch(out, TILE_RUN_BYTES, TILE_RUN_BYTES, false);
                for (int64_t i = 0; i < n; i++) out[i] += col[c][i];
            } else {
                memcpy(out, col[c], (size_t)n * sizeof *out);
            }
        }
    }
}

/* At most a piece's columns of `from`; pieces of rows are copied first. Rows of `to` are whole lines,
 * streamed. */
static TARGET void NAME(pieces)(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, int64_t rows,
                                int64_t cols, const plan *p)
{
    _Alignas(64) CELL piece[NAME(PIECE_ROWS)][NAME(PIECE_PITCH)],
        held[NAME(TILE_COLS)][NAME(PIECE_ROWS) + NAME(LINE_CELLS)];
    CELL *col[NAME(TILE_COLS)];
    const int64_t piece_rows =
        (p->large_l2 ? PIECE_RUN_BYTES : PIECE_RUN_BYTES_SMALL_L2) / (int64_t)sizeof(CELL);
    for (int64_t c = 0; c < NAME(TILE_COLS); c++) col[c] = held[c];
    for (int64_t r = 0; r < rows; r += piece_rows) {
        const int64_t n = rows - r < piece_rows ? rows - r : piece_rows;
        for (int64_t k = 0; k < n; k++) {
            CELL *in = from + (r + k) * from_pitch;
            const size_t bytes = (size_t)cols * sizeof *in;
            device_host_prefetch(in, PIECE_AHEAD_ROWS * from_pitch * (int64_t)sizeof *in, bytes, true);
            memcpy(piece[k], in, bytes);
            if (p->flags & TRANSPOSE_INCREMENT_SOURCE) NAME(increment)(in, from_pitch, 1, cols);
        }
        for (int64_t first = 0; first < cols; first += NAME(TILE_COLS)) {
            const int64_t width = cols - first < NAME(TILE_COLS) ? cols - first : NAME(TILE_COLS);
            NAME(transpose_tile)(col, piece[0] + first, NAME(PIECE_PITCH), n, width, 0, false);
            for (int64_t c = 0; c < width; c++)
                STREAM(to + (first + c) * to_pitch + r, held[c], (size_t)n * sizeof *to);
        }
    }
}

/* A box of `to`, as b below, in bands of rows of `from`, which hold as many pages as the processor's TLB has
 * addresses of: a tile needs 64 to 256 bytes of a page, and comes back to it for the next column of tiles. */
static TARGET void NAME(bands)(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, box b,
                               const plan *p)
{
    const int64_t strip = BAND_PAGE_BYTES / (int64_t)sizeof(CELL);
    for (int64_t s = b.y0; s < b.y1; s += strip)
        for (int64_t r = b.x0; r < b.x1; r += BAND_ROWS)
            for (int64_t c = s; c < b.y1 && c < s + strip; c += NAME(TILE_COLS)) {
                const int64_t rows = b.x1 - r < BAND_ROWS ? b.x1 - r : BAND_ROWS;
                const int64_t cols = b.y1 - c < NAME(TILE_COLS) ? b.y1 - c : NAME(TILE_COLS);
                NAME(columns)
                (to + c * to_pitch + r, to_pitch, from + r * from_pitch + c, from_pitch, rows, cols, p);
            }
}

/* b is a box of `to`: x counts rows, y columns of `from`. */
static TARGET void NAME(part)(CELL *to, int64_t to_pitch, CELL *from, int64_t from_pitch, box b,
                              const plan *p)
{
    const uintptr_t first = (uintptr_t)(to + b.y0 * to_pitch + b.x0),
                    pitch_bytes = (uintptr_t)to_pitch * sizeof(CELL);
    const bool whole_lines = (first | pitch_bytes) % DEVICE_HOST_LINE_BYTES == 0;
    const bool aliased = (uintptr_t)from_pitch * sizeof(CELL) % PIECE_ALIAS_BYTES == 0;
    const bool squares_of_lines = SQUARE * sizeof(CELL) == DEVICE_HOST_LINE_BYTES;
    const bool wide = p->streams && whole_lines && aliased && (p->large_l2 || squares_of_lines);
    if (aliased && !p->large_l2 && !wide) {
        NAME(bands)(to, to_pitch, from, from_pitch, b, p);
        return;
    }
    const int64_t width = wide ? NAME(PIECE_COLS) : NAME(TILE_COLS);
    for (int64_t c = b.y0; c < b.y1; c += width) {
        CELL *const out = to + c * to_pitch + b.x0, *const in = from + b.x0 * from_pitch + c;
        (wide ? NAME(pieces) : NAME(columns))(out, to_pitch, in, from_pitch, box_width(b),
                                              b.y1 - c < width ? b.y1 - c : width, p);
    }
}

#undef CELL
#undef SQUARE
#undef TRANSPOSE_SQUARE
#undef STREAM
#undef TARGET
#undef NAME
