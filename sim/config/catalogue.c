/*
 * The catalogues: folders of one file an entry, found by file name, by name or by alias.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char suffix[] = ".json";

static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* A list of names that grows. */
struct names {
    const char **items;
    size_t count, capacity;
};

static bool add_name(struct names *names, const char *name)
{
    if (name == NULL)
        return false;
    if (names->count + 1 >= names->capacity) {
        const size_t capacity = 2 * names->capacity + 16;
        const char **items = psim_realloc(names->items, capacity, sizeof *items);

        if (items == NULL)
            return false;
        names->items = items;
        names->capacity = capacity;
    }
    names->items[names->count++] = name;
    names->items[names->count] = NULL;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum psim_status list_folder(const struct psim_catalogue *catalogue, const char *folder,
                                    struct psim_arena *arena, struct names *names)
{
    const char *path = psim_arena_printf(arena, "%s/%s", catalogue->root, folder);
    DIR *directory = path == NULL ? NULL : opendir(path);
    enum psim_status status = PSIM_OK;
    const struct dirent *entry;

    if (path == NULL)
        return PSIM_ERR_NOMEM;
    if (directory == NULL)
        return PSIM_ERR_IO;
    while (status == PSIM_OK && (entry = readdir(directory)) != NULL) {
        const size_t length = strlen(entry->d_name);

        if (entry->d_name[0] == '.' || length <= sizeof suffix - 1 ||
            strcmp(entry->d_name + length - (sizeof suffix - 1), suffix) != 0)
            continue;
        if (!add_name(names, psim_arena_text(arena, entry->d_name, length - (sizeof suffix - 1))))
            status = PSIM_ERR_NOMEM;
    }
    closedir(directory);
    if (status == PSIM_OK && names->count > 1)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    return status;
}

enum psim_status psim_catalogue_list(const struct psim_catalogue *catalogue, const char *folder,
                                     struct psim_arena *arena, const char *const **names,
                                     int *count, struct psim_error *err)
{
    struct names found = {NULL, 0, 0};
    enum psim_status status = list_folder(catalogue, folder, arena, &found);
    const char **copy = NULL;

    if (status == PSIM_OK) {
        copy = psim_arena_alloc(arena, found.count + 1, sizeof *copy);
        if (copy == NULL)
            status = PSIM_ERR_NOMEM;
        else if (found.count > 0)
            memcpy(copy, found.items, found.count * sizeof *copy);
    }
    psim_free(found.items);
    if (status == PSIM_ERR_IO)
        return psim_fail(err, status, "catalogue", "the folder \"%s/%s\" cannot be read: %s",
                         catalogue->root, folder, strerror(errno));
    if (status != PSIM_OK)
        return psim_fail(err, status, "catalogue", "%s", psim_status_text(status));
    *names = copy;
    *count = (int)found.count;
    return PSIM_OK;
}

static const char *device_path(const struct psim_catalogue *catalogue, const char *entry,
                               struct psim_arena *arena)
{
    return psim_arena_printf(arena, "%s/devices/%s%s", catalogue->root, entry, suffix);
}

/* Adds the text of a node to the candidates; *hit when it is the name that is looked for. */
static bool offer(const struct psim_node *node, const char *name, struct psim_arena *arena,
                  struct names *candidates, bool *hit)
{
    if (node == NULL || node->type != PSIM_NODE_STRING)
        return true;
    *hit = *hit || same_name(node->value.string, name);
    return add_name(candidates,
                    psim_arena_text(arena, node->value.string, strlen(node->value.string)));
}

/* Looks into one entry.  What is wrong with it is no concern of someone who looks for another. */
static enum psim_status search_entry(const char *path, const char *name, struct psim_arena *arena,
                                     struct names *candidates, bool *hit)
{
    struct psim_diagnostics ignored = PSIM_DIAGNOSTICS_INIT;
    const struct psim_node *root, *aliases;
    struct psim_reader reader;
    bool kept = true;

    psim_reader_init(&reader, NULL, arena, &ignored);
    root = psim_reader_open(&reader, path, PSIM_FILE_DEVICE, NULL);
    if (root != NULL) {
        kept = offer(psim_node_member(root, "name"), name, arena, candidates, hit);
        aliases = psim_node_member(root, "aliases");
        for (const struct psim_node *alias = aliases == NULL ? NULL : aliases->first;
             kept && alias != NULL; alias = alias->next)
            kept = offer(alias, name, arena, candidates, hit);
    }
    if (psim_reader_finish(&reader) == PSIM_ERR_NOMEM)
        kept = false;
    psim_diagnostics_release(&ignored);
    return kept ? PSIM_OK : PSIM_ERR_NOMEM;
}

enum psim_status psim_catalogue_search_device(const struct psim_catalogue *catalogue,
                                              const char *name, struct psim_arena *arena,
                                              const char **file, const char **nearest)
{
    struct names entries = {NULL, 0, 0}, candidates = {NULL, 0, 0};
    enum psim_status status = list_folder(catalogue, "devices", arena, &entries);
    const char *path = NULL;
    bool hit = false;

    *nearest = NULL;
    for (size_t i = 0; status == PSIM_OK && !hit && i < entries.count; i++) {
        hit = same_name(entries.items[i], name);
        if (hit)
            path = device_path(catalogue, entries.items[i], arena);
        else if (!add_name(&candidates, entries.items[i]))
            status = PSIM_ERR_NOMEM;
    }
    for (size_t i = 0; status == PSIM_OK && !hit && i < entries.count; i++) {
        path = device_path(catalogue, entries.items[i], arena);
        status = path == NULL ? PSIM_ERR_NOMEM : search_entry(path, name, arena, &candidates, &hit);
    }
    if (status == PSIM_OK && hit && path == NULL)
        status = PSIM_ERR_NOMEM;
    if (status == PSIM_OK && hit)
        *file = path;
    if (status == PSIM_OK && !hit) {
        *nearest = psim_nearest_name(name, candidates.items, candidates.count);
        status = PSIM_ERR_NOTFOUND;
    }
    psim_free(entries.items);
    psim_free(candidates.items);
    return status;
}

enum psim_status psim_catalogue_find_device(const struct psim_catalogue *catalogue,
                                            const char *name, struct psim_arena *arena,
                                            const char **file, struct psim_error *err)
{
    const char *nearest;
    const enum psim_status status =
        psim_catalogue_search_device(catalogue, name, arena, file, &nearest);
    char quoted[PSIM_QUOTED_BYTES];

    psim_text_quote(name, quoted);
    if (status == PSIM_ERR_NOTFOUND && nearest != NULL)
        return psim_fail(err, status, "device",
                         "the catalogue has no device %s (did you mean \"%s\"?)", quoted, nearest);
    if (status == PSIM_ERR_NOTFOUND)
        return psim_fail(err, status, "device", "the catalogue has no device %s", quoted);
    if (status == PSIM_ERR_IO)
        return psim_fail(err, status, "device", "the folder \"%s/devices\" cannot be read",
                         catalogue->root);
    if (status != PSIM_OK)
        return psim_fail(err, status, "device", "%s", psim_status_text(status));
    return PSIM_OK;
}
