#define HEADER <cblas.h>
#include HEADER
#  include   <sqlite3.h>
