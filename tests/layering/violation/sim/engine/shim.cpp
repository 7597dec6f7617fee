#include "sim/engine/only_c.h"

#include <simgrid/s4u.hpp>
