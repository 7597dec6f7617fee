#ifndef PSIM_VIOLATION_NEEDS_MORE_H
#define PSIM_VIOLATION_NEEDS_MORE_H
size_t psim_violation_needs_more(void);
#endif
