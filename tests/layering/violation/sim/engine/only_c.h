#ifndef PSIM_VIOLATION_ONLY_C_H
#define PSIM_VIOLATION_ONLY_C_H
int psim_violation_only_c(int class);
#endif
