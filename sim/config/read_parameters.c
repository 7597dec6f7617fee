/*
 * Short forms of topologies: "kind" and the keys of that kind, read from its table of parameters.
 */
#include "sim/config/formats.h"
#include "sim/config/platform_draft.h"

int psim_read_kind(struct psim_reader *reader, const struct psim_node *object,
                   const char *const *names)
{
    int choice = 0;
    const struct psim_field field = {
        .key = "kind", .kind = PSIM_FIELD_CHOICE, .names = names, .to.choice = &choice};

    return psim_read_member(reader, object, &field) ? choice : -1;
}

/* What is read before it becomes a value. */
struct raw {
    int64_t count;
    const struct psim_node *list;
};

static struct psim_field field_of(const struct psim_parameter *p, struct psim_value *value,
                                  struct raw *raw)
{
    struct psim_field field = {
        .key = p->name, .required = p->required, .minimum = p->minimum, .maximum = p->maximum};

    switch (p->kind) {
    case PSIM_PARAMETER_BANDWIDTH:
    case PSIM_PARAMETER_LATENCY:
        field.kind = PSIM_FIELD_QUANTITY;
        field.positive = p->kind == PSIM_PARAMETER_BANDWIDTH;
        field.dimension = field.positive ? PSIM_DIMENSION_BYTES_PER_S : PSIM_DIMENSION_SECONDS;
        field.to.real = &value->number;
        break;
    case PSIM_PARAMETER_COUNT:
        field.kind = PSIM_FIELD_COUNT;
        field.to.count = &raw->count;
        break;
    case PSIM_PARAMETER_BOOL:
        field.kind = PSIM_FIELD_BOOL;
        field.to.flag = &value->flag;
        break;
    case PSIM_PARAMETER_COUNTS:
    case PSIM_PARAMETER_EDGES:
        field.kind = PSIM_FIELD_LIST;
        field.to.node = &raw->list;
        break;
    }
    return field;
}

/* One pair of devices and the number of links between them, 1 where it is left out. */
static void read_edge(struct psim_reader *reader, const struct psim_node *entry, int maximum,
                      int *edge)
{
    if (entry->type != PSIM_NODE_ARRAY || entry->count < 2 || entry->count > 3) {
        psim_reader_error(reader, entry, PSIM_ERR_SCHEMA, NULL,
                          "must be two devices and a number of links, such as [0, 1, 2]");
        return;
    }
    edge[2] = 1;
    for (const struct psim_node *node = entry->first; node != NULL; node = node->next) {
        const bool multiplicity = node->index == 2;
        int64_t number = 0;
        const struct psim_field field = {
            .kind = PSIM_FIELD_COUNT,
            .minimum = multiplicity ? 1 : 0,
            .maximum = multiplicity ? PSIM_EDGE_COUNT_LIMIT : maximum,
            .to.count = &number,
        };

        if (psim_read_value(reader, node, &field))
            edge[node->index] = (int)number;
    }
}

static void read_edges(struct psim_reader *reader, const struct psim_node *list, int maximum,
                       struct psim_value *value)
{
    int *edges;

    if (list->count < 1 || list->count > PSIM_EDGES_LIMIT) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          PSIM_EDGES_LIMIT, list->count);
        return;
    }
    edges = psim_reader_alloc(reader, 3 * (size_t)list->count, sizeof *edges);
    if (edges == NULL)
        return;
    for (const struct psim_node *entry = list->first; entry != NULL; entry = entry->next)
        read_edge(reader, entry, maximum, &edges[3 * entry->index]);
    value->items = edges;
    value->item_count = 3 * list->count;
}

static void read_list(struct psim_reader *reader, const struct psim_parameter *p,
                      const struct psim_node *list, struct psim_value *value)
{
    if (p->kind == PSIM_PARAMETER_EDGES) {
        read_edges(reader, list, p->maximum, value);
        return;
    }
    PSIM_ASSERT(p->minimum == 1);
    value->items = psim_read_counts(reader, list, p->maximum, PSIM_COUNTS_LIMIT);
    value->item_count = list->count;
}

void psim_read_parameters(struct psim_reader *reader, const struct psim_node *object,
                          const struct psim_parameter *parameters, struct psim_values *values,
                          struct psim_power *power)
{
    const struct psim_node *kind, *draws = NULL;
    struct raw raw[PSIM_PARAMETER_LIMIT] = {{.list = NULL}};
    struct psim_field fields[PSIM_PARAMETER_LIMIT + 2] = {
        {.key = "kind", .kind = PSIM_FIELD_NODE, .to.node = &kind},
    };
    size_t count = 1;

    *values = psim_values_default(parameters);
    for (int i = 0; parameters[i].name != NULL; i++)
        fields[count++] = field_of(&parameters[i], &values->at[i], &raw[i]);
    fields[count++] =
        (struct psim_field){.key = "power", .kind = PSIM_FIELD_OBJECT, .to.node = &draws};
    psim_read_object(reader, object, fields, count);
    if (draws != NULL)
        psim_read_power(reader, draws, power);
    for (int i = 0; parameters[i].name != NULL; i++) {
        values->at[i].given = psim_node_member(object, parameters[i].name) != NULL;
        values->at[i].count = (int)raw[i].count;
        if (raw[i].list != NULL)
            read_list(reader, &parameters[i], raw[i].list, &values->at[i]);
    }
}
