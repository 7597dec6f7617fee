#include "sim/model/spec.h"

#include <stddef.h>

const char *const psim_optimizer_names[] = {"sgd", "sgd_momentum", "adam", "adamw", NULL};
const char *const psim_accounting_names[] = {"full", "paper", NULL};
