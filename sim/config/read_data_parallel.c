/*
 * "data_parallel" of a scenario: copies of the pipeline, and which devices they hold.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"
#include "sim/collective/collective.h"

#include <string.h>

#define REPLICAS_MAX 65536
#define GROUP_MAX    1024

static const char *const order_names[] = {"stages_first", "replicas_first", NULL};

/* The name of an algorithm that the table has, NULL where the file does not say. */
static const char *settle_collective(struct psim_reader *reader, const struct psim_node *node)
{
    const char *names[32], *text;
    char quoted[PSIM_QUOTED_BYTES];
    size_t count = 0;

    if (node == NULL)
        return NULL;
    text = psim_read_text(reader, node);
    if (text == NULL)
        return NULL;
    for (; psim_collective_table[count] != NULL && count < 32; count++) {
        names[count] = psim_collective_table[count]->name;
        if (strcmp(names[count], text) == 0)
            return names[count];
    }
    psim_text_quote(text, quoted);
    psim_reader_error(reader, node, PSIM_ERR_NOTFOUND, psim_nearest_name(text, names, count),
                      "no collective algorithm is named %s", quoted);
    return NULL;
}

/* The first copy's devices, as a placement: neighbours in the pipeline are `step` apart. */
static void place_first_copy(struct psim_reader *reader, const struct psim_node *object,
                             int64_t devices_a_stage, struct psim_scenario *scenario)
{
    const struct psim_data_parallel *parallel = &scenario->data_parallel;
    const int64_t devices = scenario->platform.device_count;
    const int64_t stages = devices / (parallel->replicas * devices_a_stage);
    const int64_t step =
        parallel->stages_first ? devices_a_stage : devices_a_stage * parallel->replicas;
    int *placement;

    if (stages < 1) {
        psim_reader_error(reader, object, PSIM_ERR_RANGE, NULL,
                          "%d copies of a pipeline with %lld devices a stage need at least %lld "
                          "devices; the platform has %lld",
                          parallel->replicas, (long long)devices_a_stage,
                          (long long)(parallel->replicas * devices_a_stage), (long long)devices);
        return;
    }
    placement = psim_reader_alloc(reader, (size_t)stages, sizeof *placement);
    for (int64_t j = 0; placement != NULL && j < stages; j++)
        placement[j] = (int)(j * step);
    scenario->workload.placement = placement;
    scenario->workload.placement_count = (int)stages;
}

void psim_read_data_parallel(struct psim_reader *reader, const struct psim_node *object,
                             struct psim_scenario *scenario)
{
    struct psim_data_parallel *out = &scenario->data_parallel;
    const struct psim_node *collective = NULL;
    int64_t replicas = 1, devices_per_stage = 1;
    int order = 0;
    const struct psim_field fields[] = {
        {.key = "replicas",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = REPLICAS_MAX,
         .to.count = &replicas},
        {.key = "devices_per_stage",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = GROUP_MAX,
         .to.count = &devices_per_stage},
        {.key = "order", .kind = PSIM_FIELD_CHOICE, .names = order_names, .to.choice = &order},
        {.key = "collective", .kind = PSIM_FIELD_NODE, .to.node = &collective},
        {.key = "fold", .kind = PSIM_FIELD_BOOL, .to.flag = &out->fold},
        {.key = "overlap", .kind = PSIM_FIELD_BOOL, .to.flag = &out->overlap},
    };
    const int faults = reader->faults;

    out->fold = out->overlap = true;
    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    out->replicas = (int)replicas;
    out->devices_per_stage = (int)devices_per_stage;
    out->stages_first = order == 0;
    out->collective = settle_collective(reader, collective);
    if (scenario->workload.placement != NULL)
        psim_reader_error(reader, object, PSIM_ERR_SCHEMA, NULL,
                          "places the copies itself: \"placement\" must be \"in_order\"");
    if (psim_reader_clean(reader, faults) && out->replicas > 1 &&
        scenario->platform.device_count > 0)
        psim_read_catalogue_collectives(reader, object, scenario->platform.name,
                                        &scenario->protocol);
    if (psim_reader_clean(reader, faults) && scenario->platform.device_count > 0)
        place_first_copy(reader, object, devices_per_stage, scenario);
}
