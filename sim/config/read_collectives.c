/*
 * collectives/1: measured times of collective operations, for the platforms that it names.
 *
 * The times are kept as published; the bus bandwidth of a curve is computed from them.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"

#include <math.h>
#include <string.h>

#define MOST_RANKS     (1 << 20)
#define MOST_POINTS    4096
#define MOST_CURVES    4096
#define MOST_PLATFORMS 4096

/* Positive quantities of one dimension; NULL when an error was reported. */
static double *read_quantities(struct psim_reader *reader, const struct psim_node *list,
                               enum psim_dimension dimension)
{
    const int faults = reader->faults;
    double *values = psim_reader_alloc(reader, (size_t)list->count, sizeof *values);

    for (const struct psim_node *e = list->first; values != NULL && e != NULL; e = e->next) {
        const struct psim_field field = {.kind = PSIM_FIELD_QUANTITY,
                                         .positive = true,
                                         .dimension = dimension,
                                         .to.real = &values[e->index]};

        (void)psim_read_value(reader, e, &field);
    }
    return psim_reader_clean(reader, faults) ? values : NULL;
}

static bool check_length(struct psim_reader *reader, const struct psim_node *list, int most)
{
    if (list->count >= 1 && list->count <= most)
        return true;
    psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                      most, list->count);
    return false;
}

/* The points of a curve: as many times as sizes, the sizes rising. */
static void read_points(struct psim_reader *reader, const struct psim_node *sizes,
                        const struct psim_node *times, struct psim_rate_curve *curve)
{
    double *bytes, *seconds;
    const double factor = psim_collective_bus_factor(curve->kind, curve->ranks);

    if (!check_length(reader, sizes, MOST_POINTS))
        return;
    if (times->count != sizes->count) {
        psim_reader_error(reader, times, PSIM_ERR_RANGE, NULL,
                          "must have as many elements as \"bytes\", %d, not %d", sizes->count,
                          times->count);
        return;
    }
    bytes = read_quantities(reader, sizes, PSIM_DIMENSION_BYTES);
    seconds = read_quantities(reader, times, PSIM_DIMENSION_SECONDS);
    if (bytes == NULL || seconds == NULL)
        return;
    for (int i = 1; i < sizes->count; i++) {
        if (bytes[i] > bytes[i - 1])
            continue;
        psim_reader_error(reader, psim_node_element(sizes, i), PSIM_ERR_RANGE, NULL,
                          "must be larger than the one before it");
        return;
    }
    curve->base_s = seconds[0];
    for (int i = 0; i < sizes->count; i++) {
        curve->base_s = fmin(curve->base_s, seconds[i]);
        seconds[i] = factor * bytes[i] / seconds[i]; /* now a rate */
    }
    curve->points = sizes->count;
    curve->bytes = bytes;
    curve->rate = seconds;
}

static const struct psim_collective *read_algorithm(struct psim_reader *reader,
                                                    const struct psim_node *node, const char *name)
{
    const struct psim_collective *found = psim_collective_find(name);
    const char *names[64];
    size_t count = 0;

    if (found != NULL)
        return found;
    while (psim_collective_table[count] != NULL && count < sizeof names / sizeof names[0]) {
        names[count] = psim_collective_table[count]->name;
        count++;
    }
    psim_reader_error(reader, psim_node_member(node, "algorithm"), PSIM_ERR_NOTFOUND,
                      psim_nearest_name(name, names, count), "there is no algorithm of that name");
    return NULL;
}

static void read_curve(struct psim_reader *reader, const struct psim_node *node,
                       struct psim_rate_curve *out)
{
    const int faults = reader->faults;
    const struct psim_node *sizes = NULL, *times = NULL;
    const char *algorithm = NULL;
    int64_t nodes = 1, ranks = 2;
    int kind = 0;
    const struct psim_field fields[] = {
        {.key = "kind",
         .kind = PSIM_FIELD_CHOICE,
         .required = true,
         .names = psim_collective_kind_names,
         .to.choice = &kind},
        {.key = "algorithm", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &algorithm},
        {.key = "nodes",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = MOST_RANKS,
         .to.count = &nodes},
        {.key = "ranks",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 2,
         .maximum = MOST_RANKS,
         .to.count = &ranks},
        {.key = "reference",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .positive = true,
         .dimension = PSIM_DIMENSION_BYTES_PER_S,
         .to.real = &out->reference_bytes_per_s},
        {.key = "source", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &out->source},
        {.key = "bytes", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &sizes},
        {.key = "time", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &times},
    };

    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    if (!psim_reader_clean(reader, faults))
        return;
    out->kind = (enum psim_collective_kind)kind;
    out->nodes = (int)nodes;
    out->ranks = (int)ranks;
    out->algorithm = read_algorithm(reader, node, algorithm);
    read_points(reader, sizes, times, out);
}

static void read_curves(struct psim_reader *reader, const struct psim_node *list,
                        struct psim_protocol *out)
{
    struct psim_rate_curve *curves;

    if (!check_length(reader, list, MOST_CURVES))
        return;
    curves = psim_reader_alloc(reader, (size_t)list->count, sizeof *curves);
    for (const struct psim_node *e = list->first; curves != NULL && e != NULL; e = e->next)
        read_curve(reader, e, &curves[e->index]);
    out->curves = curves;
    out->curve_count = list->count;
}

static void read_platforms(struct psim_reader *reader, const struct psim_node *list,
                           struct psim_protocol *out)
{
    const char **names;

    if (!check_length(reader, list, MOST_PLATFORMS))
        return;
    names = psim_reader_alloc(reader, (size_t)list->count + 1, sizeof *names);
    for (const struct psim_node *e = list->first; names != NULL && e != NULL; e = e->next)
        names[e->index] = psim_read_text(reader, e);
    out->platforms = names;
}

bool psim_read_collectives(struct psim_reader *reader, const struct psim_node *root,
                           struct psim_protocol *out)
{
    const int faults = reader->faults;
    const struct psim_node *platforms = NULL, *curves = NULL;
    struct psim_protocol protocol = {.name = NULL};
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &protocol.name},
        {.key = "platforms", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &platforms},
        {.key = "curves", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &curves},
    };

    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    if (platforms != NULL)
        read_platforms(reader, platforms, &protocol);
    if (curves != NULL)
        read_curves(reader, curves, &protocol);
    if (!psim_reader_clean(reader, faults))
        return false;
    *out = protocol;
    return true;
}

enum psim_status psim_collectives_read(const char *file, struct psim_arena *arena,
                                       struct psim_protocol *out, struct psim_diagnostics *list)
{
    struct psim_reader reader;
    const struct psim_node *root;

    psim_reader_init(&reader, NULL, arena, list);
    root = psim_reader_open(&reader, file, PSIM_FILE_COLLECTIVES, NULL);
    if (root != NULL)
        (void)psim_read_collectives(&reader, root, out);
    return psim_reader_finish(&reader);
}

static bool holds_for(const struct psim_protocol *protocol, const char *platform)
{
    for (const char *const *name = protocol->platforms; *name != NULL; name++) {
        if (strcmp(*name, platform) == 0)
            return true;
    }
    return false;
}

/* Adds the curves of one file to those found so far. */
static enum psim_status add_curves(struct psim_arena *arena, const struct psim_protocol *protocol,
                                   struct psim_protocol *out)
{
    const size_t before = (size_t)out->curve_count, more = (size_t)protocol->curve_count;
    struct psim_rate_curve *curves = psim_arena_alloc(arena, before + more, sizeof *curves);

    if (curves == NULL)
        return PSIM_ERR_NOMEM;
    if (before > 0)
        memcpy(curves, out->curves, before * sizeof *curves);
    memcpy(&curves[before], protocol->curves, more * sizeof *curves);
    out->curves = curves;
    out->curve_count += protocol->curve_count;
    return PSIM_OK;
}

enum psim_status psim_catalogue_find_collectives(const struct psim_catalogue *catalogue,
                                                 const char *platform, struct psim_arena *arena,
                                                 struct psim_protocol *out,
                                                 struct psim_diagnostics *list)
{
    struct psim_protocol all = {.name = platform};
    struct psim_error err = PSIM_ERROR_INIT;
    const char *const *names = NULL;
    int count = 0;
    enum psim_status status =
        psim_catalogue_list(catalogue, "collectives", arena, &names, &count, &err);

    if (status != PSIM_OK)
        psim_diagnose(list, status, (struct psim_position){.file = err.where}, "", NULL, "%s",
                      err.message);
    for (int i = 0; status == PSIM_OK && i < count; i++) {
        const char *file =
            psim_arena_printf(arena, "%s/collectives/%s.json", catalogue->root, names[i]);
        struct psim_protocol protocol;

        status =
            file == NULL ? PSIM_ERR_NOMEM : psim_collectives_read(file, arena, &protocol, list);
        if (status == PSIM_OK && holds_for(&protocol, platform))
            status = add_curves(arena, &protocol, &all);
    }
    if (status == PSIM_OK)
        *out = all;
    return status;
}

/* Files that do not name the platform are no inputs: they are looked into by another reader.  A
 * faulty one may name it, and is left to the one at hand to complain of. */
static bool may_be_for(const char *file, const char *platform)
{
    struct psim_diagnostics faults = PSIM_DIAGNOSTICS_INIT;
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_protocol protocol;
    const bool found = psim_collectives_read(file, &arena, &protocol, &faults) != PSIM_OK ||
                       holds_for(&protocol, platform);

    psim_diagnostics_release(&faults);
    psim_arena_release(&arena);
    return found;
}

void psim_read_catalogue_collectives(struct psim_reader *reader, const struct psim_node *node,
                                     const char *platform, struct psim_protocol *out)
{
    struct psim_protocol all = {.name = platform};
    struct psim_error err = PSIM_ERROR_INIT;
    const char *const *names = NULL;
    int count = 0;

    if (reader->catalogue == NULL)
        return;
    if (psim_catalogue_list(reader->catalogue, "collectives", reader->arena, &names, &count,
                            &err) != PSIM_OK) {
        psim_reader_error(reader, node, err.status, NULL, "%s: %s", err.where, err.message);
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *file = psim_arena_printf(reader->arena, "%s/collectives/%s.json",
                                             reader->catalogue->root, names[i]);
        const struct psim_node *root;
        struct psim_protocol protocol;

        if (file == NULL) {
            psim_reader_out_of_memory(reader);
            return;
        }
        if (!may_be_for(file, platform))
            continue;
        root = psim_reader_open(reader, file, PSIM_FILE_COLLECTIVES, node);
        if (root != NULL && psim_read_collectives(reader, root, &protocol) &&
            add_curves(reader->arena, &protocol, &all) != PSIM_OK)
            psim_reader_out_of_memory(reader);
    }
    *out = all;
}
