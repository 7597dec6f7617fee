#include "sim/base/good.h"
#include "sim/engine/same_name.h"
#include "sim/model/../engine/same_name.h"
#include "good.h"
#include <sim/base/good.h>
