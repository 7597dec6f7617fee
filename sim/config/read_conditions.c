/*
 * "conditions" of a scenario: slow devices, jitter, and events that begin at a simulated moment.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"

#include <math.h>
#include <string.h>

#define JITTER_MAX  2.0
#define FACTOR_MAX  1000.0
#define UPDATES_MAX 1048576
#define EVENTS_MAX  4096

static int find_link(const struct psim_platform *platform, const char *name)
{
    for (int i = 0; i < platform->link_count; i++) {
        if (strcmp(platform->links[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* Index of a device or link by name; -1 after reporting that there is none. */
static int find_part(struct psim_reader *reader, const struct psim_platform *platform,
                     const struct psim_node *node, const char *name, bool link)
{
    const int index = link ? find_link(platform, name) : psim_platform_find_device(platform, name);
    const int count = link ? platform->link_count : platform->device_count;
    const char **names;
    char quoted[PSIM_QUOTED_BYTES];

    if (index >= 0)
        return index;
    names = psim_reader_alloc(reader, (size_t)count, sizeof *names);
    for (int i = 0; names != NULL && i < count; i++)
        names[i] = link ? platform->links[i].name : psim_platform_device_name(platform, i);
    psim_text_quote(name, quoted);
    if (names != NULL)
        psim_reader_error(reader, node, PSIM_ERR_NOTFOUND,
                          psim_nearest_name(name, names, (size_t)count),
                          "the platform has no %s %s", link ? "link" : "device in use", quoted);
    return -1;
}

static const double *read_speeds(struct psim_reader *reader, const struct psim_node *object,
                                 const struct psim_platform *platform)
{
    double *speed = psim_reader_alloc(reader, (size_t)platform->device_count, sizeof *speed);

    if (speed == NULL)
        return NULL;
    for (int i = 0; i < platform->device_count; i++)
        speed[i] = 1;
    for (const struct psim_node *member = object->first; member != NULL; member = member->next) {
        double factor = 1;
        const struct psim_field field = {
            .kind = PSIM_FIELD_REAL, .positive = true, .maximum = FACTOR_MAX, .to.real = &factor};
        int device;

        if (psim_key_is_ignored(member))
            continue;
        device = find_part(reader, platform, member, member->key, false);
        if (psim_read_value(reader, member, &field) && device >= 0)
            speed[device] = factor;
    }
    return speed;
}

/* The keys of one event as they stand in the file. */
struct event_keys {
    const char *device, *link;
    double from_s, until_s, speed, bandwidth;
    bool fails;
};

static void read_event_keys(struct psim_reader *reader, const struct psim_node *object,
                            struct event_keys *out)
{
    const struct psim_field fields[] = {
        {.key = "device", .kind = PSIM_FIELD_TEXT, .to.text = &out->device},
        {.key = "link", .kind = PSIM_FIELD_TEXT, .to.text = &out->link},
        {.key = "from",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .dimension = PSIM_DIMENSION_SECONDS,
         .to.real = &out->from_s},
        {.key = "until",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_SECONDS,
         .to.real = &out->until_s},
        {.key = "speed",
         .kind = PSIM_FIELD_REAL,
         .positive = true,
         .maximum = FACTOR_MAX,
         .to.real = &out->speed},
        {.key = "bandwidth",
         .kind = PSIM_FIELD_REAL,
         .positive = true,
         .maximum = FACTOR_MAX,
         .to.real = &out->bandwidth},
        {.key = "fails", .kind = PSIM_FIELD_BOOL, .to.flag = &out->fails},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
}

/* What an event does, from the keys that it has; reports what does not go together. */
static bool settle_event(struct psim_reader *reader, const struct psim_node *node,
                         const struct event_keys *keys, struct psim_condition *out)
{
    const bool link = keys->link != NULL;
    const double factor = link ? keys->bandwidth : keys->speed;
    const double other = link ? keys->speed : keys->bandwidth;
    const char *wrong = NULL;

    if ((keys->device != NULL) == link)
        wrong = "names either a \"device\" or a \"link\"";
    else if (!isnan(other))
        wrong = link ? "of a link changes \"bandwidth\" or \"fails\", not \"speed\""
                     : "of a device changes \"speed\" or \"fails\", not \"bandwidth\"";
    else if (keys->fails != isnan(factor))
        wrong = link ? "of a link has either \"bandwidth\" or \"fails\": true"
                     : "of a device has either \"speed\" or \"fails\": true";
    else if (!keys->fails && !(keys->from_s < keys->until_s))
        wrong = "must end after it begins";
    if (wrong != NULL) {
        psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL, "an event %s", wrong);
        return false;
    }
    *out = (struct psim_condition){
        .kind = keys->fails ? (link ? PSIM_CONDITION_LINK_FAILS : PSIM_CONDITION_DEVICE_FAILS)
                            : (link ? PSIM_CONDITION_LINK_BANDWIDTH : PSIM_CONDITION_DEVICE_SPEED),
        .from_s = keys->from_s,
        .until_s = keys->until_s,
        .factor = keys->fails ? 1 : factor,
    };
    return true;
}

static void read_events(struct psim_reader *reader, const struct psim_node *list,
                        const struct psim_platform *platform, struct psim_conditions *out)
{
    struct psim_condition *events;

    if (list->count > EVENTS_MAX) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have at most %d events, not %d",
                          EVENTS_MAX, list->count);
        return;
    }
    events = psim_reader_alloc(reader, (size_t)list->count, sizeof *events);
    for (const struct psim_node *node = list->first; events != NULL && node != NULL;
         node = node->next) {
        struct event_keys keys = {.until_s = INFINITY, .speed = NAN, .bandwidth = NAN};
        struct psim_condition *event = &events[out->event_count];
        const int faults = reader->faults;

        read_event_keys(reader, node, &keys);
        if (!psim_reader_clean(reader, faults) || !settle_event(reader, node, &keys, event))
            continue;
        event->index = find_part(reader, platform, node,
                                 keys.link != NULL ? keys.link : keys.device, keys.link != NULL);
        if (event->index >= 0)
            out->event_count++;
    }
    out->events = events;
}

const struct psim_conditions *psim_read_conditions(struct psim_reader *reader,
                                                   const struct psim_node *object,
                                                   const struct psim_platform *platform,
                                                   uint64_t seed)
{
    struct psim_conditions *out = psim_reader_alloc(reader, 1, sizeof *out);
    const struct psim_node *speed = NULL, *events = NULL;
    const struct psim_field fields[] = {
        {.key = "jitter",
         .kind = PSIM_FIELD_REAL,
         .maximum = JITTER_MAX,
         .to.real = out == NULL ? NULL : &out->jitter},
        {.key = "updates",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = UPDATES_MAX,
         .to.count = out == NULL ? NULL : &out->updates},
        {.key = "speed", .kind = PSIM_FIELD_OBJECT, .to.node = &speed},
        {.key = "events", .kind = PSIM_FIELD_LIST, .to.node = &events},
    };

    if (out == NULL)
        return NULL;
    out->seed = seed;
    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    if (out->updates == 0 && (events != NULL || out->jitter > 0))
        psim_reader_error(reader, object, PSIM_ERR_SCHEMA, NULL,
                          "\"%s\" needs \"updates\", the optimizer updates to simulate: a steady "
                          "state has no first second and no jitter",
                          events != NULL ? "events" : "jitter");
    if (platform->device_count == 0)
        return out; /* faulty, and reported: which names there are is not known */
    if (speed != NULL)
        out->speed = read_speeds(reader, speed, platform);
    if (events != NULL)
        read_events(reader, events, platform, out);
    return out;
}
