/* The XDMF 2 description beside a state file, for ParaView and VisIt, and that of a series: for each shape (a
 * transpose has two) a collection over time of uniform grids of cells with unit spacing, row 0 at y = 0, the
 * step as time. A plate one cell thick, because VTK's reader puts a mesh of two dimensions into the plane of
 * y and z, where a view from above shows nothing. */
#include "state/state_index.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/replace.h"
#include "files/transfer.h"

bool state_xdmf_path(char *out, size_t out_bytes, const char *path)
{
    const size_t length = strlen(path),
                 stem = length > 3 && strcmp(path + length - 3, ".h5") == 0 ? length - 3 : length;
    return snprintf(out, out_bytes, "%.*s.xmf", (int)stem, path) < (int)out_bytes;
}

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
}

static void put_grid_begin(FILE *out, const state_field *f, int64_t step)
{
    fprintf(out,
            "  <Grid Name=\"%s\" GridType=\"Uniform\">\n"
            "   <Time Value=\"%" PRId64 "\"/>\n"
            "   <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"2 %" PRId64 " %" PRId64 "\"/>\n"
            "   <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
            "    <DataItem Dimensions=\"3\" Format=\"XML\">0 0 0</DataItem>\n"
            "    <DataItem Dimensions=\"3\" Format=\"XML\">1 1 1</DataItem>\n"
            "   </Geometry>\n",
            f->name, step, f->ny + 1, f->nx + 1);
}

/* It has as many dimensions as the mesh, whatever the dataset: with fewer, VTK takes the first column for
 * the field. */
static void put_attribute(FILE *out, const state_field *f, dtype type, const char *file_name)
{
    fprintf(out,
            "   <Attribute Name=\"%s\" AttributeType=\"Scalar\" Center=\"Cell\">\n"
            "    <DataItem Dimensions=\"1 %" PRId64 " %" PRId64
            "\" NumberType=\"Float\" Precision=\"%zu\" Format=\"HDF\">",
            f->name, f->ny, f->nx, dtype_bytes(type));
    put_escaped(out, file_name);
    fprintf(out, ":/fields/%s</DataItem>\n   </Attribute>\n", f->name);
}

/* The fields from `first` on that have its shape; returns how many. */
static int put_grid(FILE *out, const state_info *s, int first, int64_t step, const char *file_name)
{
    int i = first;
    put_grid_begin(out, &s->field[first], step);
    for (; i < s->fields && s->field[i].nx == s->field[first].nx && s->field[i].ny == s->field[first].ny; i++)
        put_attribute(out, &s->field[i], s->type, file_name);
    fputs("  </Grid>\n", out);
    return i - first;
}

/* path NULL: a folder's states of these steps; newest first in `steps`, oldest first in the file. */
static void put_all(FILE *out, const state_info *s, const char *path, const int64_t *steps, size_t count)
{
    char name[STATE_PATH_BYTES];
    const char *const slash = path ? strrchr(path, '/') : NULL;
    fputs("<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n <Domain>\n", out);
    for (int i = 0, same = 0; i < s->fields; i += same) {
        fprintf(out, "  <Grid Name=\"%s over time\" GridType=\"Collection\" CollectionType=\"Temporal\">\n",
                s->field[i].name);
        for (size_t k = count; k-- > 0;) {
            if (path) snprintf(name, sizeof name, "./%s", slash ? slash + 1 : path);
            else state_path(name, sizeof name, ".", steps[k]);
            same = put_grid(out, s, i, steps[k], name + 2);
        }
        fputs("  </Grid>\n", out);
    }
    fputs(" </Domain>\n</Xdmf>\n", out);
}

int state_xdmf_write(const char *to, const state_info *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    if (!out) return errno;
    put_all(out, s, s->path, &s->step, 1);
    const int code = fclose(out) != 0 ? errno : transfer_new_file(to, text, bytes);
    free(text);
    return code;
}

int state_xdmf_write_series(const char *to, const state_info *s, const int64_t *steps, size_t count)
{
    replace file;
    assert(count > 0);
    const int code = replace_begin(&file, to);
    if (code) return code;
    put_all(file.to, s, NULL, steps, count);
    return replace_end(&file, true);
}
