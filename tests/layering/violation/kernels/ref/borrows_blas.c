#include "sim/base/good.h"
#include "sim/model/needs_more.h"
#include <cblas.h>
