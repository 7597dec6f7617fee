#include <simgrid/engine.h>
