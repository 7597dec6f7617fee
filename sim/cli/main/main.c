#include "sim/cli/cli.h"

int main(int argc, char **argv)
{
    return psim_cli_main(argc, argv);
}
