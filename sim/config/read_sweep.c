/* sweep/1 and the axes of the command line. */
#include "sim/config/formats.h"
#include "sim/config/key_path.h"
#include "sim/config/scan_values.h"
#include "sim/config/sweep_points.h"

#include <string.h>

/* ---- Axes ---- */

/* Values outlive the files that they came from: they are told from this name alone. */
static const struct psim_json *name_only(struct psim_reader *reader, const char *name)
{
    struct psim_json *document = psim_reader_alloc(reader, 1, sizeof *document);

    if (document != NULL)
        document->name = psim_reader_keep(reader, name);
    return document;
}

/* All that a generated value holds stands where its text was given. */
static void place(struct psim_node *node, int line, int column)
{
    node->line = line;
    node->column = column;
    node->key_line = node->key == NULL ? 0 : line;
    node->key_column = node->key == NULL ? 0 : column;
    for (struct psim_node *inner = node->first; inner != NULL; inner = inner->next)
        place(inner, line, column);
}

/* Where what is wrong with an axis is said: at a node, or of the command line. */
struct origin {
    const struct psim_node *node; /* NULL: the command line */
    const char *path;             /* of the command line */
    const struct psim_json *document;
};

static void axis_error(struct psim_reader *reader, const struct origin *origin,
                       enum psim_status status, const char *what, const char *which)
{
    char quoted[PSIM_QUOTED_BYTES];

    psim_text_quote(which, quoted);
    if (origin->node != NULL) {
        psim_reader_error(reader, origin->node, status, NULL, "%s: %s", quoted, what);
        return;
    }
    psim_diagnose(reader->list, status, (struct psim_position){PSIM_SCAN_NAME, 0, 0}, origin->path,
                  NULL, "%s: %s", quoted, what);
    reader->faults++;
}

static bool add_value(struct psim_reader *reader, const struct origin *origin,
                      const struct psim_node *value, const struct psim_node **out)
{
    *out = psim_node_copy(value, origin->document, reader->arena);
    if (*out == NULL)
        psim_reader_out_of_memory(reader);
    return *out != NULL;
}

/* A list of values; with `together` each is a list with a value for each key. */
static void add_values(struct psim_reader *reader, const struct origin *origin,
                       const struct psim_node *list, bool together, struct psim_sweep_axis *axis)
{
    const struct psim_node **to;

    if (list->count < 1 || list->count > PSIM_SWEEP_VALUES) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          PSIM_SWEEP_VALUES, list->count);
        return;
    }
    to = psim_reader_alloc(reader, (size_t)list->count * (size_t)axis->key_count,
                           sizeof(struct psim_node *));
    axis->values = to;
    for (const struct psim_node *value = list->first; to != NULL && value != NULL;
         value = value->next) {
        if (!together) {
            if (!add_value(reader, origin, value, to++))
                return;
            continue;
        }
        if (value->type != PSIM_NODE_ARRAY || value->count != axis->key_count) {
            psim_reader_error(reader, value, PSIM_ERR_SCHEMA, NULL,
                              "must be a list of %d values, one for each key", axis->key_count);
            continue;
        }
        for (const struct psim_node *part = value->first; part != NULL; part = part->next) {
            if (!add_value(reader, origin, part, to++))
                return;
        }
    }
    axis->value_count = list->count;
}

/* Values that a text stands for, as psim_range_write and psim_list_write spell them out. */
static void add_written_values(struct psim_reader *reader, const struct origin *origin,
                               const char *text,
                               const char *(*write)(const char *, struct psim_text *),
                               struct psim_sweep_axis *axis)
{
    struct psim_text json = PSIM_TEXT_INIT;
    struct psim_json document;
    const char *fault = write(text, &json);

    if (fault != NULL) {
        axis_error(reader, origin, PSIM_ERR_RANGE, fault, text);
    } else if (json.failed || psim_json_parse(json.data, json.length, PSIM_SCAN_NAME, &document,
                                              reader->list) != PSIM_OK) {
        psim_reader_out_of_memory(reader);
    } else {
        place(document.root, origin->node == NULL ? 0 : origin->node->line,
              origin->node == NULL ? 0 : origin->node->column);
        add_values(reader, origin, document.root, false, axis);
        psim_json_release(&document);
    }
    psim_text_release(&json);
}

/* Two axes that set the same place, or one a place inside the other's, would undo each other. */
static void check_key(struct psim_reader *reader, const struct origin *origin,
                      const struct psim_sweep *sweep, const char *key)
{
    const size_t length = strlen(key);

    for (int a = 0; a < sweep->axis_count; a++) {
        for (int k = 0; k < sweep->axes[a].key_count; k++) {
            const char *other = sweep->axes[a].keys[k];
            const size_t other_length = strlen(other);
            const char *longer = length > other_length ? key : other;
            const size_t shorter = length > other_length ? other_length : length;

            if (strncmp(key, other, shorter) == 0 && strchr(".[", longer[shorter]) != NULL) {
                axis_error(reader, origin, PSIM_ERR_SCHEMA,
                           "varies already, itself or what holds it", key);
                return;
            }
        }
    }
}

/* The key as a path without its first dot, however it was given. */
static void add_key(struct psim_reader *reader, const struct origin *origin,
                    const struct psim_sweep *sweep, struct psim_sweep_axis *axis, const char *text)
{
    struct psim_text written = PSIM_TEXT_INIT;
    struct psim_key_path path;
    const char *key = NULL;

    if (!psim_key_path_read(text, reader->arena, &path)) {
        axis_error(reader, origin, PSIM_ERR_SCHEMA,
                   "not a path such as batch.microbatch or methods[0].overlap", text);
        return;
    }
    psim_key_path_write(&path, &written);
    if (!written.failed)
        key = psim_reader_keep(reader, written.data + (written.data[0] == '.' ? 1 : 0));
    psim_text_release(&written);
    if (key == NULL)
        return;
    check_key(reader, origin, sweep, key);
    axis->keys[axis->key_count++] = key;
}

/* The next axis, which counts from now on, whatever is wrong with it; NULL: there are too many. */
static struct psim_sweep_axis *next_axis(struct psim_reader *reader, const struct origin *origin,
                                         struct psim_sweep *sweep, const char *which)
{
    if (sweep->axis_count < PSIM_SWEEP_AXES)
        return &sweep->axes[sweep->axis_count++];
    axis_error(reader, origin, PSIM_ERR_RANGE, "a sweep has 16 axes at most", which);
    return NULL;
}

/* ---- sweep/1 ---- */

static void read_axis_keys(struct psim_reader *reader, const struct psim_node *key,
                           const struct psim_node *keys, const struct psim_json *document,
                           const struct psim_sweep *sweep, struct psim_sweep_axis *axis)
{
    const struct psim_node *first = key != NULL ? key : keys->first;

    if (keys != NULL && (keys->count < 1 || keys->count > PSIM_SWEEP_KEYS)) {
        psim_reader_error(reader, keys, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          PSIM_SWEEP_KEYS, keys->count);
        return;
    }
    for (const struct psim_node *node = first; node != NULL;
         node = key != NULL ? NULL : node->next) {
        const char *text = psim_read_text(reader, node);

        if (text != NULL)
            add_key(reader, &(struct origin){.node = node, .document = document}, sweep, axis,
                    text);
    }
}

static void read_axis(struct psim_reader *reader, const struct psim_node *object,
                      const struct psim_json *document, struct psim_sweep *sweep)
{
    const struct psim_node *key = NULL, *keys = NULL, *values = NULL, *range = NULL;
    const struct psim_field fields[] = {
        {.key = "key", .kind = PSIM_FIELD_NODE, .to.node = &key},
        {.key = "keys", .kind = PSIM_FIELD_LIST, .to.node = &keys},
        {.key = "values", .kind = PSIM_FIELD_LIST, .to.node = &values},
        {.key = "range", .kind = PSIM_FIELD_NODE, .to.node = &range},
    };
    const int faults = reader->faults;
    struct origin origin = {.node = object, .document = document};
    struct psim_sweep_axis *axis;
    const char *text;

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    axis = next_axis(reader, &origin, sweep, "axes");
    if (!psim_reader_clean(reader, faults) || axis == NULL)
        return;
    if ((key == NULL) == (keys == NULL))
        psim_reader_error(reader, object, PSIM_ERR_SCHEMA, NULL,
                          "needs either \"key\" or \"keys\"");
    else
        read_axis_keys(reader, key, keys, document, sweep, axis);
    if ((values == NULL) == (range == NULL))
        psim_reader_error(reader, object, PSIM_ERR_SCHEMA, NULL,
                          "needs either \"values\" or \"range\"");
    if (!psim_reader_clean(reader, faults) || axis->key_count == 0)
        return;
    origin.node = values != NULL ? values : range;
    text = range == NULL ? NULL : psim_read_text(reader, range);
    axis->path = psim_node_path(origin.node, reader->arena);
    axis->is_range = range != NULL;
    axis->is_listed = keys != NULL;
    if (axis->path == NULL)
        psim_reader_out_of_memory(reader);
    if (values != NULL)
        add_values(reader, &origin, values, keys != NULL, axis);
    else if (keys != NULL)
        psim_reader_error(reader, range, PSIM_ERR_SCHEMA, NULL,
                          "\"keys\" need \"values\": a range is for one key");
    else if (text != NULL)
        add_written_values(reader, &origin, text, psim_range_write, axis);
}

/* Takes over the bytes of the scenario that all points are read from. */
static void take_scenario(struct psim_reader *reader, const struct psim_node *root,
                          struct psim_sweep *out)
{
    out->scenario_file = psim_reader_keep(reader, root->document->name);
    out->scenario_text =
        psim_arena_text(reader->arena, root->document->text, root->document->length);
    out->scenario_length = root->document->length;
    if (out->scenario_text == NULL)
        psim_reader_out_of_memory(reader);
}

static void read_sweep_keys(struct psim_reader *reader, const struct psim_node *root,
                            struct psim_sweep *out)
{
    const struct psim_node *scenario = NULL, *axes = NULL, *base = NULL;
    const struct psim_field fields[] = {
        {.key = "scenario", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &scenario},
        {.key = "axes", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &axes},
    };
    const struct psim_json *document = name_only(reader, root->document->name);
    const char *file;

    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    if (scenario != NULL && psim_read_text(reader, scenario) != NULL) {
        file = psim_reader_resolve(reader, scenario);
        if (file != NULL)
            base = psim_reader_open(reader, file, PSIM_FILE_SCENARIO, scenario);
    }
    if (base != NULL)
        take_scenario(reader, base, out);
    if (axes != NULL && (axes->count < 1 || axes->count > PSIM_SWEEP_AXES)) {
        psim_reader_error(reader, axes, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          PSIM_SWEEP_AXES, axes->count);
    } else if (axes != NULL && document != NULL) {
        for (const struct psim_node *axis = axes->first; axis != NULL; axis = axis->next)
            read_axis(reader, axis, document, out);
    }
}

/* ---- The command line ---- */

/* "KEY=VALUES"; a "=" inside the brackets of a key does not end it. */
static const char *find_equals(const char *scan)
{
    bool quoted = false;

    for (; *scan != '\0'; scan++) {
        if (*scan == '"')
            quoted = !quoted;
        else if (*scan == '=' && !quoted)
            return scan;
    }
    return NULL;
}

static void read_scan(struct psim_reader *reader, const char *scan,
                      const struct psim_json *document, struct psim_sweep *sweep)
{
    const char *equals = find_equals(scan), *values;
    struct origin origin = {.path = "", .document = document};
    const int faults = reader->faults;
    struct psim_sweep_axis *axis;
    const char *key;

    if (equals == NULL) {
        axis_error(reader, &origin, PSIM_ERR_SCHEMA, "not KEY=VALUES", scan);
        return;
    }
    key = psim_arena_text(reader->arena, scan, (size_t)(equals - scan));
    if (key == NULL) {
        psim_reader_out_of_memory(reader);
        return;
    }
    axis = next_axis(reader, &origin, sweep, key);
    if (axis == NULL)
        return;
    add_key(reader, &origin, sweep, axis, key);
    if (!psim_reader_clean(reader, faults))
        return;
    origin.path = psim_arena_printf(reader->arena, ".%s", key);
    values = equals + 1;
    add_written_values(reader, &origin, values,
                       psim_text_is_range(values) ? psim_range_write : psim_list_write, axis);
}

/* ---- The whole ---- */

static void settle(struct psim_reader *reader, const char *file, int faults,
                   struct psim_sweep *sweep)
{
    sweep->point_count = 1;
    if (!psim_reader_clean(reader, faults))
        return;
    for (int a = 0; a < sweep->axis_count; a++) {
        sweep->point_count *= sweep->axes[a].value_count;
        if (sweep->point_count > PSIM_SWEEP_POINTS) {
            psim_diagnose(reader->list, PSIM_ERR_RANGE, (struct psim_position){file, 0, 0}, "",
                          NULL, "a sweep has %d points at most", PSIM_SWEEP_POINTS);
            reader->faults++;
            return;
        }
    }
    psim_sweep_try_values(reader, sweep);
}

void psim_read_sweep(struct psim_reader *reader, const struct psim_node *root,
                     struct psim_sweep *out)
{
    const int faults = reader->faults;

    *out = (struct psim_sweep){.arena = PSIM_ARENA_INIT};
    reader->arena = &out->arena;
    read_sweep_keys(reader, root, out);
    settle(reader, root->document->name, faults, out);
    reader->arena = NULL;
}

static void read_root(struct psim_reader *reader, const struct psim_node *root,
                      enum psim_file_kind kind, const char *const *scans, int scan_count,
                      struct psim_sweep *out)
{
    const struct psim_json *document = name_only(reader, PSIM_SCAN_NAME);
    const int faults = reader->faults;

    if (kind == PSIM_FILE_SCENARIO)
        take_scenario(reader, root, out);
    else if (kind == PSIM_FILE_SWEEP)
        read_sweep_keys(reader, root, out);
    else
        psim_reader_error(reader, psim_node_member(root, "petrasim"), PSIM_ERR_SCHEMA, NULL,
                          "this is a %s/1 file; a scenario/1 or sweep/1 file is expected",
                          psim_file_kind_names[kind]);
    for (int i = 0; document != NULL && i < scan_count; i++)
        read_scan(reader, scans[i], document, out);
    settle(reader, root->document->name, faults, out);
}

enum psim_status psim_sweep_read(const char *file, const char *const *scans, int scan_count,
                                 const struct psim_catalogue *catalogue, struct psim_sweep *out,
                                 struct psim_diagnostics *list)
{
    struct psim_sweep sweep = {.arena = PSIM_ARENA_INIT};
    enum psim_file_kind kind = PSIM_FILE_SWEEP;
    struct psim_reader reader;
    const struct psim_node *root;
    enum psim_status status;

    psim_reader_init(&reader, catalogue, &sweep.arena, list);
    root = psim_reader_open_any(&reader, file, &kind);
    if (root != NULL)
        read_root(&reader, root, kind, scans, scan_count, &sweep);
    status = psim_reader_finish(&reader);
    if (status == PSIM_OK)
        *out = sweep;
    else
        psim_sweep_release(&sweep);
    return status;
}

void psim_sweep_release(struct psim_sweep *sweep)
{
    psim_arena_release(&sweep->arena);
    *sweep = (struct psim_sweep){.arena = PSIM_ARENA_INIT};
}
