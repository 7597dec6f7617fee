#include <jansson.h>
#include <sha256.h>
