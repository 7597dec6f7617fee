/*
 * Inputs of a scenario that change no answer.  Users take an answer that stays the same for a
 * result; what was never read is therefore named.
 */
#include "sim/config/plausibility.h"

#include "sim/base/text.h"
#include "sim/config/formats.h"

#include <string.h>

#define NAMES_SHOWN 5
#define STEPS_LIMIT 65536 /* steps looked at before a method counts as one that reconstructs */

/* What the stages of the longest pipeline put to use. */
struct usage {
    struct psim_reader *reader;
    const struct psim_scenario *scenario;
    const struct psim_node *root;
    unsigned char *holds;   /* [vertices] a stage */
    unsigned char *carries; /* [links] a message between neighbours */
};

/* ---- Links and conditions ---- */

static bool mark_route(const struct usage *usage, int from, int to)
{
    struct psim_route route = {0};

    if (psim_platform_route(&usage->scenario->platform, from, to, &route, NULL) != PSIM_OK)
        return false;
    for (int i = 0; i < route.hop_count; i++)
        usage->carries[route.hops[i].link] = 1;
    psim_route_release(&route);
    return true;
}

/* The routes were found before, so that none now means no memory. */
static bool mark_usage(const struct usage *usage, int stages)
{
    for (int i = 0; i < stages; i++) {
        const int here = psim_scenario_device(usage->scenario, i);
        const int next = i + 1 < stages ? psim_scenario_device(usage->scenario, i + 1) : here;

        usage->holds[usage->scenario->platform.devices[here]] = 1;
        if (next != here && !(mark_route(usage, here, next) && mark_route(usage, next, here)))
            return false;
    }
    return true;
}

static bool is_idle(const struct usage *usage, int vertex)
{
    return usage->scenario->platform.vertices[vertex].device_type >= 0 && !usage->holds[vertex];
}

/* A way to a device without a stage is idle with it, which the report says. */
static bool leads_to_idle(const struct usage *usage, const struct psim_link *link)
{
    return is_idle(usage, link->from) || is_idle(usage, link->to);
}

static bool holds_stage(const struct usage *usage, int device)
{
    return usage->holds[usage->scenario->platform.devices[device]] != 0;
}

static void judge_links(const struct usage *usage, const struct psim_node *list)
{
    const struct psim_platform *platform = &usage->scenario->platform;
    struct psim_text names = PSIM_TEXT_INIT;
    int unused = 0;

    for (int i = 0; i < platform->link_count; i++) {
        if (usage->carries[i] || leads_to_idle(usage, &platform->links[i]))
            continue;
        if (unused++ < NAMES_SHOWN)
            psim_text_printf(&names, "%s\"%.64s\"", unused == 1 ? "" : ", ",
                             platform->links[i].name);
    }
    if (unused > NAMES_SHOWN)
        psim_text_printf(&names, " and %d more", unused - NAMES_SHOWN);
    if (names.failed)
        psim_reader_out_of_memory(usage->reader);
    else if (unused > 0)
        psim_reader_warn(usage->reader, list, NULL,
                         "no route between neighbouring stages uses %s (rule: a link without "
                         "messages changes no answer)",
                         names.data);
    psim_text_release(&names);
}

static void judge_speeds(const struct usage *usage, const struct psim_node *speeds)
{
    for (const struct psim_node *member = speeds->first; member != NULL; member = member->next) {
        if (!psim_key_is_ignored(member) &&
            !holds_stage(usage, psim_platform_find_device(&usage->scenario->platform, member->key)))
            psim_reader_warn(usage->reader, member, NULL,
                             "the device holds no stage (rule: the speed of an idle device changes "
                             "no answer)");
    }
}

/* Sound events are kept in the order of the list, one each. */
static void judge_events(const struct usage *usage, const struct psim_node *list)
{
    for (const struct psim_node *node = list->first; node != NULL; node = node->next) {
        const struct psim_condition *event = &usage->scenario->conditions->events[node->index];
        const bool link = event->kind == PSIM_CONDITION_LINK_BANDWIDTH ||
                          event->kind == PSIM_CONDITION_LINK_FAILS;

        if (link ? usage->carries[event->index] : holds_stage(usage, event->index))
            continue;
        psim_reader_warn(usage->reader, psim_node_member(node, link ? "link" : "device"), NULL,
                         link ? "no message crosses the link (rule: an event on an unused link "
                                "changes no answer)"
                              : "the device holds no stage (rule: an event on an idle device "
                                "changes no answer)");
    }
}

/* Routes are looked up only where something depends on them: a large platform has many. */
static void judge_usage(const struct usage *usage, const struct psim_node *platform, int stages)
{
    const struct psim_node *conditions = psim_node_member(usage->root, "conditions");
    const struct psim_node *speeds =
        conditions == NULL ? NULL : psim_node_member(conditions, "speed");
    const struct psim_node *events =
        conditions == NULL ? NULL : psim_node_member(conditions, "events");
    /* Short forms make links that nobody wrote; one stage uses none, which the report says. */
    const struct psim_node *links = stages == 1 || psim_node_member(platform, "nodes") != NULL
                                        ? NULL
                                        : psim_node_member(platform, "links");

    /* The copies' devices, and the ways of their gradients, are laid out later. */
    if (usage->scenario->data_parallel.replicas > 1)
        return;
    if (speeds == NULL && events == NULL && links == NULL)
        return;
    if (!mark_usage(usage, stages)) {
        psim_reader_out_of_memory(usage->reader);
        return;
    }
    if (links != NULL)
        judge_links(usage, links);
    if (speeds != NULL)
        judge_speeds(usage, speeds);
    if (events != NULL)
        judge_events(usage, events);
}

/* ---- Batch and stages ---- */

static void judge_accumulation(const struct usage *usage)
{
    const struct psim_node *methods = psim_node_member(usage->root, "methods");
    const struct psim_node *batch = psim_node_member(usage->root, "batch");
    const struct psim_node *node = psim_node_member(batch, "accumulation");

    if (node == NULL || usage->scenario->accumulation == 1)
        return;
    for (int i = 0; i < usage->scenario->method_count; i++) {
        if (!usage->scenario->methods[i].method->updates_every_microbatch &&
            psim_node_member(psim_node_element(methods, i), "accumulation") == NULL)
            return;
    }
    psim_reader_warn(usage->reader, node, NULL,
                     "every method has an \"accumulation\" of its own or updates after each "
                     "micro-batch (rule: an input that no method uses changes no answer)");
}

/* Looks at each stage's steps until they repeat: a pipeline is full after as many micro-batches as
 * it has stages. */
static bool reconstructs(const struct psim_scenario_method *row)
{
    struct psim_shape shape = row->shape;
    int64_t looked = 0;

    shape.stages = row->model->given_count;
    for (int stage = 0; stage < shape.stages; stage++) {
        const int64_t limit = 4 * ((int64_t)shape.stages + shape.accumulation) + 8;
        struct psim_step step;

        for (int64_t i = 0; i < limit && row->method->step(&shape, stage, i, &step); i++) {
            for (int j = 0; j < step.count; j++) {
                if ((step.actions[j].passes & PSIM_RECONSTRUCT) || ++looked > STEPS_LIMIT)
                    return true;
            }
        }
    }
    return false;
}

/* The first stage of a list that has the key. */
static const struct psim_node *first_with(const struct psim_node *stages, const char *key)
{
    for (const struct psim_node *stage = stages->first; stage != NULL; stage = stage->next) {
        if (psim_node_member(stage, key) != NULL)
            return psim_node_member(stage, key);
    }
    return NULL;
}

static void judge_model(const struct usage *usage, const struct psim_workload_model *model,
                        const struct psim_node *stages)
{
    const struct psim_node *reconstruct = first_with(stages, "reconstruct");
    const struct psim_node *graph = first_with(stages, "graph");
    bool used = false;

    for (int i = 0; reconstruct != NULL && !used && i < usage->scenario->method_count; i++)
        used = usage->scenario->methods[i].model == model &&
               reconstructs(&usage->scenario->methods[i]);
    if (reconstruct != NULL && !used)
        psim_reader_warn(usage->reader, reconstruct, NULL,
                         "no method of this model reconstructs (rule: an input that no method uses "
                         "changes no answer)");
    if (graph != NULL && usage->scenario->accounting == PSIM_ACCOUNTING_PAPER)
        psim_reader_warn(usage->reader, graph, NULL,
                         "the accounting \"paper\" reads no graph (rule: an input that no method "
                         "uses changes no answer)");
}

static void judge_models(const struct usage *usage)
{
    const struct psim_scenario *scenario = usage->scenario;
    const struct psim_node *methods = psim_node_member(usage->root, "methods");
    const struct psim_node *stages =
        psim_node_member(psim_node_member(usage->root, "model"), "stages");

    if (stages != NULL)
        judge_model(usage, scenario->model, stages);
    for (int i = 0; i < scenario->method_count; i++) {
        const struct psim_node *own = psim_node_member(psim_node_element(methods, i), "model");

        stages = own == NULL ? NULL : psim_node_member(own, "stages");
        if (stages != NULL)
            judge_model(usage, scenario->methods[i].model, stages);
    }
}

void psim_judge_scenario(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_scenario *scenario, int stages)
{
    const struct psim_platform *platform = &scenario->platform;
    const struct usage usage = {
        .reader = reader,
        .scenario = scenario,
        .root = root,
        .holds = psim_alloc((size_t)platform->vertex_count, 1),
        .carries = psim_alloc((size_t)platform->link_count, 1),
    };
    const struct psim_node *file =
        psim_reader_open(reader, scenario->platform_file, PSIM_FILE_PLATFORM, NULL);

    if (usage.holds == NULL || usage.carries == NULL)
        psim_reader_out_of_memory(reader);
    else
        judge_usage(&usage, file, stages);
    judge_accumulation(&usage);
    judge_models(&usage);
    psim_free(usage.holds);
    psim_free(usage.carries);
}
