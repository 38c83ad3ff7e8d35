/* What C defines and .cu files call, or the other way round, is declared between these two. */
#pragma once

#ifdef __cplusplus
#define LINKAGE_C_BEGIN extern "C" {
#define LINKAGE_C_END }
#else
#define LINKAGE_C_BEGIN
#define LINKAGE_C_END
#endif
