/* The types below are cuBLAS's binary interface (v2): enums and status codes are ints, handles are pointers.
 * */
#include "ladder/ladder_cublas.h"

#include <dlfcn.h>
#include <stdio.h>

namespace {

enum { OP_NONE = 0, OP_TRANSPOSE = 1 };

template <typename T>
using geam_function = int (*)(void *handle, int op_a, int op_b, int m, int n, const T *alpha, const T *a,
                              int lda, const T *beta, const T *b, int ldb, T *c, int ldc);

void *library()
{
    static void *opened = nullptr;
    static bool tried = false;
    if (!tried) {
        char name[64];
        tried = true;
        snprintf(name, sizeof name, "libcublas.so.%d", CUDART_VERSION / 1000);
        opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return opened;
}

void *function_of(const char *name) { return library() ? dlsym(library(), name) : nullptr; }

/* The one handle, bound to the stream, NULL where it cannot be had. It lives as long as the process: making
 * one costs more than most rungs take, and its device is the only one that a bench uses. */
void *handle_of(cudaStream_t stream)
{
    static void *handle = nullptr;
    const auto create = (int (*)(void **))function_of("cublasCreate_v2");
    const auto set_stream = (int (*)(void *, cudaStream_t))function_of("cublasSetStream_v2");
    if (!create || !set_stream || (!handle && create(&handle) != 0)) return nullptr;
    return set_stream(handle, stream) == 0 ? handle : nullptr;
}

/* Column-major: b is ny x nx, a is nx x ny. */
template <typename T>
int transpose(const char *function, T *b, const T *a, int nx, int ny, cudaStream_t stream)
{
    const T one = 1, zero = 0;
    const auto geam = (geam_function<T>)function_of(function);
    void *handle = handle_of(stream);
    if (!geam || !handle) return cudaErrorUnknown;
    return geam(handle, OP_TRANSPOSE, OP_NONE, ny, nx, &one, a, nx, &zero, b, ny, b, ny) == 0
               ? cudaSuccess
               : cudaErrorUnknown;
}

} // namespace

const char *ladder_cublas_missing(device *)
{
    return library() ? nullptr : "no libcublas of this CUDA version is found";
}

int ladder_cublas_transpose(dtype t, void *b, const void *a, int nx, int ny, cudaStream_t stream)
{
    switch (t) {
    case DTYPE_F32: return transpose("cublasSgeam", (float *)b, (const float *)a, nx, ny, stream);
    case DTYPE_F64: return transpose("cublasDgeam", (double *)b, (const double *)a, nx, ny, stream);
    }
    return cudaErrorInvalidValue;
}
