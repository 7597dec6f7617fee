#include "sim/import/name_index.h"

#include <stdlib.h>
#include <string.h>

#define SUGGESTION_LIMIT 4096 /* names compared to find what may be meant */

void psim_index_add(struct psim_import_job *job, struct psim_name_index *index, const char *name,
                    int value, struct psim_place at)
{
    struct psim_index_entry *items =
        psim_import_grow(job, index->items, index->count, &index->capacity, sizeof *items);

    if (items == NULL)
        return;
    items[index->count++] = (struct psim_index_entry){name, value, at};
    index->items = items;
}

static int compare_entries(const void *a, const void *b)
{
    const struct psim_index_entry *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    if (order != 0)
        return order;
    if (x->at.line != y->at.line)
        return x->at.line < y->at.line ? -1 : 1;
    return x->at.column < y->at.column ? -1 : x->at.column > y->at.column;
}

void psim_index_sort(struct psim_import_job *job, struct psim_name_index *index, const char *rule)
{
    char quoted[PSIM_QUOTED_BYTES];

    if (index->count == 0)
        return;
    qsort(index->items, index->count, sizeof *index->items, compare_entries);
    for (size_t i = 1; i < index->count; i++) {
        if (strcmp(index->items[i - 1].name, index->items[i].name) != 0)
            continue;
        psim_text_quote(index->items[i].name, quoted);
        psim_import_error(job, index->items[i].at, PSIM_ERR_SCHEMA, NULL,
                          "the name %s is taken: %s", quoted, rule);
    }
}

static void unknown(struct psim_import_job *job, const struct psim_name_index *index,
                    const char *name, struct psim_place at, const char *what)
{
    const size_t count = index->count < SUGGESTION_LIMIT ? index->count : SUGGESTION_LIMIT;
    const char **names = psim_import_alloc(job, count, sizeof *names);
    char quoted[PSIM_QUOTED_BYTES];

    if (names == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        names[i] = index->items[i].name;
    psim_text_quote(name, quoted);
    psim_import_error(job, at, PSIM_ERR_NOTFOUND, psim_nearest_name(name, names, count),
                      "no %s is named %s", what, quoted);
}

int psim_index_find(struct psim_import_job *job, const struct psim_name_index *index,
                    const char *name, struct psim_place at, const char *what)
{
    size_t low = 0, high = index->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(index->items[middle].name, name);

        if (order == 0)
            return index->items[middle].value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    unknown(job, index, name, at, what);
    return -1;
}
