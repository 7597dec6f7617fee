#ifndef PSIM_VIOLATION_GOOD_H
#define PSIM_VIOLATION_GOOD_H
int psim_violation_good(void);
#endif
