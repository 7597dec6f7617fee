/*
 * Where the costs come from: the share of the compute time behind each tag, and what is assumed.
 *
 * A layer's time counts for the rate that it was computed with; a figure without a source is
 * assumed.  A given time counts as measured on the device it was measured on, as estimated where it
 * was scaled to another, and as assumed where nobody says where it comes from.
 */
#include "sim/base/text.h"
#include "sim/program/workload_parts.h"

#include <string.h>

#define POINTER_BYTES 64

/* Adds "DEVICE: /a, /b" of one column; `used` says which kinds of work it does. */
static void list_assumed(struct psim_text *text, const struct psim_device *device,
                         enum psim_precision precision, const bool used[PSIM_WORK_KINDS])
{
    char listed[PSIM_WORK_KINDS][POINTER_BYTES];
    int count = 0;

    for (int kind = 0; kind < PSIM_WORK_KINDS; kind++) {
        const struct psim_source *source;
        bool known = false;

        if (!used[kind])
            continue;
        (void)psim_device_rate(device, (enum psim_work_kind)kind, precision, listed[count]);
        source = psim_device_source(device, listed[count]);
        for (int i = 0; i < count; i++)
            known = known || strcmp(listed[i], listed[count]) == 0;
        if (known || (source != NULL && source->tag != PSIM_TAG_ASSUMED))
            continue;
        if (count == 0)
            psim_text_printf(text, "%s%s: ", text->length > 0 ? "; " : "", device->name);
        psim_text_printf(text, "%s%s", count > 0 ? ", " : "", listed[count]);
        count++;
    }
}

/* Seconds of one column, by kind of work and for updates, over all stages on such a device. */
static void tag_column(const struct psim_cut *cut, int column, double tag_s[PSIM_TAGS],
                       struct psim_text *assumed)
{
    const struct psim_device *device = cut->columns[column];
    bool used[PSIM_WORK_KINDS] = {false};

    for (int stage = 0; stage < cut->stages; stage++) {
        if (cut->slot_columns[stage] != column)
            continue;
        for (int unit = cut->bounds[stage]; unit < cut->bounds[stage + 1]; unit++) {
            const struct psim_unit_cost *cost = psim_cut_cost(cut, stage, unit);

            used[PSIM_WORK_OPTIMIZER] = used[PSIM_WORK_OPTIMIZER] || cost->update_s > 0.0;
            for (int kind = 0; kind < PSIM_WORK_KINDS; kind++) {
                char pointer[POINTER_BYTES];
                const struct psim_source *source;

                if (!(cost->kind_s[kind] > 0.0))
                    continue;
                used[kind] = true;
                (void)psim_device_rate(device, (enum psim_work_kind)kind, cut->options->precision,
                                       pointer);
                source = psim_device_source(device, pointer);
                tag_s[source == NULL ? PSIM_TAG_ASSUMED : source->tag] += cost->kind_s[kind];
            }
        }
    }
    list_assumed(assumed, device, cut->options->precision, used);
}

static void tag_given(const struct psim_cut *cut, double tag_s[PSIM_TAGS],
                      struct psim_text *assumed)
{
    for (int stage = 0; stage < cut->stages; stage++)
        for (int unit = cut->bounds[stage]; unit < cut->bounds[stage + 1]; unit++) {
            const struct psim_device *origin = cut->model->given[unit].measured_on;
            const struct psim_device *device = cut->columns[cut->slot_columns[stage]];
            const struct psim_unit_cost *cost = psim_cut_cost(cut, stage, unit);
            enum psim_tag tag = PSIM_TAG_ASSUMED;

            if (origin != NULL)
                tag = strcmp(origin->name, device->name) == 0 ? PSIM_TAG_MEASURED
                                                              : PSIM_TAG_ESTIMATED;
            else if (assumed->length == 0)
                psim_text_printf(assumed, "stage times as given");
            tag_s[tag] += cost->forward_s + cost->backward_input_s + cost->backward_weight_s;
        }
}

enum psim_status psim_workload_tags(const struct psim_cut *cut, struct psim_workload *workload,
                                    struct psim_error *err)
{
    struct psim_text assumed = PSIM_TEXT_INIT;
    double tag_s[PSIM_TAGS] = {0.0};
    double total_s = 0.0;
    enum psim_status status = PSIM_OK;

    if (cut->model->network == NULL)
        tag_given(cut, tag_s, &assumed);
    else
        for (int column = 0; column < cut->column_count; column++)
            tag_column(cut, column, tag_s, &assumed);
    for (int tag = 0; tag < PSIM_TAGS; tag++)
        total_s += tag_s[tag];
    for (int tag = 0; tag < PSIM_TAGS; tag++)
        workload->tag_share[tag] = total_s > 0.0 ? tag_s[tag] / total_s : 0.0;
    if (!(total_s > 0.0)) /* nothing takes time: nothing of it is known either */
        workload->tag_share[PSIM_TAG_ASSUMED] = 1.0;
    workload->assumed =
        psim_arena_text(&workload->arena, assumed.length > 0 ? assumed.data : "", assumed.length);
    if (workload->assumed == NULL || assumed.failed)
        status = psim_fail(err, PSIM_ERR_NOMEM, "model", "%s", psim_status_text(PSIM_ERR_NOMEM));
    psim_text_release(&assumed);
    return status;
}
