/* A plan as a scenario that run, compare and fit take. */
#include "sim/base/memory.h"
#include "sim/plan/plan.h"
#include "sim/report/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* From any folder: the whole path, where the system can tell it. */
static void put_path(struct psim_text *out, const char *path)
{
    char *whole = realpath(path, NULL);

    psim_text_json(out, whole == NULL ? path : whole);
    free(whole);
}

static void put_seconds(struct psim_text *out, const char *key, double value)
{
    char number[PSIM_NUMBER_BYTES];

    psim_number_exact(value, number);
    psim_text_printf(out, ", \"%s\": \"%s s\"", key, number);
}

static void put_given(struct psim_text *out, const struct psim_workload_model *model)
{
    psim_text_printf(out, "{ \"stages\": [");
    for (int i = 0; i < model->given_count; i++) {
        const struct psim_given_stage *s = &model->given[i];

        psim_text_printf(out, "%s\n    { \"name\": ", i == 0 ? "" : ",");
        psim_text_json(out, s->name);
        put_seconds(out, "forward", s->forward_s);
        put_seconds(out, "backward_input", s->backward_input_s);
        put_seconds(out, "backward_weight", s->backward_weight_s);
        put_seconds(out, "reconstruct", s->reconstruct_s);
        put_seconds(out, "update", s->update_s);
        psim_text_printf(out,
                         ", \"parameters\": \"%" PRId64 " B\", \"input\": \"%" PRId64
                         " B\", \"graph\": \"%" PRId64 " B\", \"reversible\": %s",
                         s->parameter_bytes, s->input_bytes, s->graph_bytes,
                         s->reversible ? "true" : "false");
        if (s->measured_on != NULL) {
            psim_text_printf(out, ", \"measured_on\": ");
            psim_text_json(out, s->measured_on->name);
        }
        psim_text_printf(out, " }");
    }
    psim_text_printf(out, " ], \"output\": \"%" PRId64 " B\" }", model->output_bytes);
}

static void put_model(struct psim_text *out, const struct psim_goal_model *model)
{
    char number[PSIM_NUMBER_BYTES];

    if (model->file != NULL) {
        psim_text_printf(out, "{ \"file\": ");
        put_path(out, model->file);
        psim_text_printf(out, " }");
        return;
    }
    if (model->name == NULL) {
        put_given(out, model->model);
        return;
    }
    psim_number_exact(model->scale.width, number);
    psim_text_printf(out,
                     "{ \"name\": \"%s\", \"input\": [%d, %d, %d], \"classes\": %d, \"depth\": %d, "
                     "\"width\": %s }",
                     model->name, model->input[0], model->input[1], model->input[2], model->classes,
                     model->scale.depth, number);
}

/* A catalogue's cluster by its name, everything else by its path. */
static void put_platform(struct psim_text *out, const struct psim_goal_platform *platform)
{
    const char *slash = strrchr(platform->file, '/');
    const size_t length = strlen(platform->name);
    const char *folder = "/clusters";
    const size_t room = strlen(folder);
    const bool cluster = slash != NULL && strchr(platform->name, '/') == NULL &&
                         strncmp(slash + 1, platform->name, length) == 0 &&
                         strcmp(slash + 1 + length, ".json") == 0 &&
                         (size_t)(slash - platform->file) >= room &&
                         strncmp(slash - room, folder, room) == 0;

    if (cluster)
        psim_text_json(out, platform->name);
    else
        put_path(out, platform->file);
}

static void put_method(struct psim_text *out, const struct psim_scenario_method *entry)
{
    const struct psim_option *const *options = entry->method->options;

    psim_text_printf(out, "{ \"name\": \"%s\", \"label\": ", entry->method->name);
    psim_text_json(out, entry->label);
    for (int i = 0; options != NULL && options[i] != NULL; i++) {
        const int64_t value = entry->shape.options[i];

        if (strcmp(options[i]->name, "accumulation") == 0)
            continue; /* the batch's */
        psim_text_printf(out, ", \"%s\": ", options[i]->name);
        if (options[i]->kind == PSIM_OPTION_CHOICE)
            psim_text_printf(out, "\"%s\"", options[i]->choices[value]);
        else if (options[i]->kind == PSIM_OPTION_BOOL)
            psim_text_printf(out, value != 0 ? "true" : "false");
        else
            psim_text_printf(out, "%" PRId64, value);
    }
    psim_text_printf(out, " }");
}

static void put_devices(struct psim_text *out, const struct psim_plan *plan,
                        const struct psim_plan_point *point)
{
    const struct psim_platform *platform = &plan->goal->platforms[point->platform].platform;
    const int *devices = plan->platforms[point->platform].arrangements[point->arrangement].devices;

    if (devices == NULL) {
        psim_text_printf(out, "  \"use\": %d,\n", point->stages * point->replicas);
        return;
    }
    psim_text_printf(out, "  \"placement\": [");
    for (int j = 0; j < point->stages; j++) {
        psim_text_printf(out, j == 0 ? "" : ", ");
        psim_text_json(out, psim_platform_device_name(platform, devices[j]));
    }
    psim_text_printf(out, "],\n");
}

enum psim_status psim_plan_scenario_text(const struct psim_plan *plan, int64_t at,
                                         struct psim_text *out, struct psim_error *err)
{
    const struct psim_plan_point *point = &plan->points[at];
    const struct psim_goal *goal = plan->goal;
    const struct psim_workload_options *workload = &goal->base.workload;

    psim_text_printf(out, "{\n  \"petrasim\": \"scenario/1\",\n  \"model\": ");
    put_model(out, &goal->models[point->model]);
    psim_text_printf(out, ",\n  \"platform\": ");
    put_platform(out, &goal->platforms[point->platform]);
    psim_text_printf(out, ",\n");
    put_devices(out, plan, point);
    psim_text_printf(out, "  \"methods\": [");
    put_method(out, &goal->base.methods[point->method]);
    psim_text_printf(out,
                     "],\n  \"batch\": { \"microbatch\": %" PRId64 ", \"accumulation\": %" PRId64
                     " },\n  \"precision\": \"%s\", \"optimizer\": \"%s\", \"partition\": "
                     "\"balanced\"",
                     point->microbatch, point->accumulation,
                     psim_precision_names[workload->precision],
                     psim_optimizer_names[workload->optimizer]);
    if (point->replicas > 1)
        psim_text_printf(out,
                         ",\n  \"data_parallel\": { \"replicas\": %d, \"order\": \"%s\", "
                         "\"collective\": \"%s\" }",
                         point->replicas, point->replicas_first ? "replicas_first" : "stages_first",
                         goal->base.data_parallel.collective);
    if (goal->base.epoch_samples > 0)
        psim_text_printf(out, ",\n  \"epoch_samples\": %" PRId64, goal->base.epoch_samples);
    psim_text_printf(out, "\n}\n");
    if (out->failed)
        return psim_fail(err, PSIM_ERR_NOMEM, "plan", "out of memory");
    return PSIM_OK;
}
