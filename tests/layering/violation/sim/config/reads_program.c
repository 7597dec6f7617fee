#include "sim/base/good.h"
#include "sim/program/same_name.h"
#include <jansson.h>
#include <sha256.h>
