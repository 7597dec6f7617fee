/*
 * An outside program: builds a network, finds a method and an engine, reads a scenario.
 *
 * Usage: consumer SCENARIO PLATFORMS
 * It touches sim/model, sim/method, sim/config and sim/engine, so that what each of them needs
 * (Jansson, libmd, SimGrid, the C++ runtime) must be found through the installed package.
 */
#include "sim/base/status.h"
#include "sim/config/scenario.h"
#include "sim/engine/engine.h"
#include "sim/method/method.h"
#include "sim/model/network.h"

#include <inttypes.h>
#include <stdio.h>

static int read_scenario(const char *file, const char *platforms)
{
    const struct psim_catalogue catalogue = {platforms};
    struct psim_diagnostics faults = PSIM_DIAGNOSTICS_INIT;
    struct psim_scenario scenario;
    const enum psim_status status = psim_scenario_read(file, &catalogue, &scenario, &faults);

    if (status == PSIM_OK) {
        printf("scenario %s: %d methods\n", file, scenario.method_count);
        psim_scenario_release(&scenario);
    }
    for (size_t i = 0; i < faults.count; i++)
        fprintf(stderr, "%s\n", psim_diagnostic_line(&faults, i));
    psim_diagnostics_release(&faults);
    return status == PSIM_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    const int input[3] = {3, 224, 224};
    const struct psim_method *method = psim_method_find("petra");
    struct psim_network network;
    struct psim_error error = PSIM_ERROR_INIT;

    if (argc != 3 || method == NULL) {
        fprintf(stderr, "usage: consumer SCENARIO PLATFORMS\n");
        return 2;
    }
    if (psim_network_build("revnet50", input, 1000, &network, &error) != PSIM_OK) {
        fprintf(stderr, "%s: %s\n", error.where, error.message);
        return 1;
    }
    printf("%s: %" PRId64 " parameters\n", network.name, network.parameters);
    printf("%s: %s\n", method->name, method->summary);
    printf("SimGrid %s\n", psim_engine_simgrid_version());
    psim_network_release(&network);
    return read_scenario(argv[1], argv[2]);
}
