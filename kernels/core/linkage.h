/* Declarations between these two have C linkage: functions of C that .cu files call, or the reverse. */
#pragma once

#ifdef __cplusplus
#define LINKAGE_C_BEGIN extern "C" {
#define LINKAGE_C_END }
#else
#define LINKAGE_C_BEGIN
#define LINKAGE_C_END
#endif
