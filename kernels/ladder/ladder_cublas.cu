/* The types below are cuBLAS's binary interface (v2): enums and status codes are ints, handles are pointers.
 * The one handle lives as long as the process: making one costs more than most rungs take. */
#include "ladder/ladder_cublas.h"

#include <dlfcn.h>
#include <stdio.h>

namespace
{

enum { OP_NONE = 0, OP_TRANSPOSE = 1 };

template <typename T>
using geam_function = int (*)(void *handle, int op_a, int op_b, int m, int n, const T *alpha, const T *a,
                              int lda, const T *beta, const T *b, int ldb, T *c, int ldc);

void *open_library()
{
    char name[64];
    snprintf(name, sizeof name, "libcublas.so.%d", CUDART_VERSION / 1000);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *function(const char *name)
{
    static void *const library = open_library();
    return library ? dlsym(library, name) : nullptr;
}

/* Column-major: b is ny x nx, a is nx x ny. */
template <typename T> int transpose(const char *name, T *b, const T *a, int nx, int ny, cudaStream_t stream)
{
    static void *handle = nullptr;
    const T one = 1, zero = 0;
    const auto create = (int (*)(void **))function("cublasCreate_v2");
    const auto set_stream = (int (*)(void *, cudaStream_t))function("cublasSetStream_v2");
    const auto geam = (geam_function<T>)function(name);
    if (!create || !set_stream || !geam || (!handle && create(&handle) != 0)) return cudaErrorUnknown;
    const bool ok = set_stream(handle, stream) == 0 &&
                    geam(handle, OP_TRANSPOSE, OP_NONE, ny, nx, &one, a, nx, &zero, b, ny, b, ny) == 0;
    return ok ? cudaSuccess : cudaErrorUnknown;
}

} // namespace

const char *ladder_cublas_missing(device *)
{
    return function("cublasCreate_v2") ? nullptr : "no libcublas of this CUDA version is found";
}

int ladder_cublas_transpose(dtype t, void *b, const void *a, int nx, int ny, cudaStream_t stream)
{
    switch (t) {
    case DTYPE_F32: return transpose("cublasSgeam", (float *)b, (const float *)a, nx, ny, stream);
    case DTYPE_F64: return transpose("cublasDgeam", (double *)b, (const double *)a, nx, ny, stream);
    }
    return cudaErrorInvalidValue;
}
