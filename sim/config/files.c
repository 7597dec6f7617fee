#include "sim/config/reader.h"

#include "sim/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const psim_file_kind_names[] = {"scenario",    "platform", "device", "model",
                                            "collectives", "plan",     "sweep",  NULL};

/* The same with the version that is read. */
static const char *const headers[] = {"scenario/1",    "platform/1", "device/1", "model/1",
                                      "collectives/1", "plan/1",     "sweep/1",  NULL};

/* A file of one reading, kept until the end: nodes and their texts point into it. */
struct psim_source_file {
    struct psim_source_file *next;
    char *name;
    char *text;
    size_t length;
    struct psim_json document; /* root NULL: not well-formed, already reported */
    int kind;                  /* enum psim_file_kind; -1: not known, already reported */
};

void psim_reader_init(struct psim_reader *reader, const struct psim_catalogue *catalogue,
                      struct psim_arena *arena, struct psim_diagnostics *list)
{
    *reader = (struct psim_reader){
        .list = list, .catalogue = catalogue, .arena = arena, .first_item = list->count};
    SHA256Init(&reader->hash);
}

void psim_reader_hash(struct psim_reader *reader, char hex[65])
{
    SHA256End(&reader->hash, hex);
}

static void free_file(struct psim_source_file *file)
{
    psim_json_release(&file->document);
    psim_free(file->text);
    psim_free(file->name);
    psim_free(file);
}

/* ---- Order of the report ---- */

struct placed_item {
    struct psim_diagnostic item;
    int file; /* in the order of reading; 0: not in a file that was read */
    size_t index;
};

static int compare_items(const void *a, const void *b)
{
    const struct placed_item *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->item.at.line != y->item.at.line)
        return x->item.at.line < y->item.at.line ? -1 : 1;
    if (x->item.at.column != y->item.at.column)
        return x->item.at.column < y->item.at.column ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int file_rank(const struct psim_reader *reader, const char *name)
{
    int rank = 1;

    for (const struct psim_source_file *file = reader->files; file != NULL; file = file->next) {
        if (strcmp(file->name, name) == 0)
            return rank;
        rank++;
    }
    return 0;
}

/* Without memory for it the entries stay in the order in which the faults were found. */
static void sort_items(struct psim_reader *reader)
{
    const size_t count = reader->list->count - reader->first_item;
    struct psim_diagnostic *items;
    struct placed_item *sorted;

    if (reader->list->items == NULL || count < 2)
        return;
    items = reader->list->items + reader->first_item;
    sorted = psim_alloc(count, sizeof *sorted);
    if (sorted == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct placed_item){items[i], file_rank(reader, items[i].at.file), i};
    qsort(sorted, count, sizeof *sorted, compare_items);
    for (size_t i = 0; i < count; i++)
        items[i] = sorted[i].item;
    psim_free(sorted);
}

enum psim_status psim_reader_finish(struct psim_reader *reader)
{
    sort_items(reader);
    while (reader->files != NULL) {
        struct psim_source_file *next = reader->files->next;

        free_file(reader->files);
        reader->files = next;
    }
    return psim_reader_status(reader);
}

/* ---- Reading bytes ---- */

static void cannot_read(struct psim_reader *reader, const char *file,
                        const struct psim_node *named_by, const char *why)
{
    char quoted[PSIM_QUOTED_BYTES];

    psim_text_quote(file, quoted);
    if (named_by != NULL) {
        psim_reader_error(reader, named_by, PSIM_ERR_IO, NULL, "the file %s %s", quoted, why);
        return;
    }
    psim_diagnose(reader->list, PSIM_ERR_IO, (struct psim_position){file, 0, 0}, "", NULL, "%s",
                  why);
    reader->faults++;
}

/* Reads to the end, or one byte past the limit. The size is not asked of pipes. */
static bool read_stream(FILE *stream, size_t expected, struct psim_source_file *out)
{
    size_t capacity = expected + 1;

    out->text = psim_alloc(capacity, 1);
    while (out->text != NULL && out->length <= PSIM_FILE_LIMIT_BYTES) {
        const size_t got = fread(out->text + out->length, 1, capacity - out->length, stream);
        char *larger;

        out->length += got;
        if (out->length < capacity)
            return true;
        capacity = 2 * capacity + 4096;
        larger = psim_realloc(out->text, capacity, 1);
        if (larger == NULL)
            return false;
        out->text = larger;
    }
    return out->text != NULL;
}

/* Reports what is wrong with a file before a byte of it is read. */
static const char *refuse_file(FILE *stream, size_t *size)
{
    struct stat information;

    *size = 0;
    if (fstat(fileno(stream), &information) != 0)
        return strerror(errno);
    if (S_ISDIR(information.st_mode))
        return "is a folder";
    if (S_ISREG(information.st_mode)) {
        if (information.st_size > (off_t)PSIM_FILE_LIMIT_BYTES)
            return "is larger than 64 MiB";
        *size = (size_t)information.st_size;
    }
    return NULL;
}

static bool read_bytes(struct psim_reader *reader, const struct psim_node *named_by,
                       struct psim_source_file *out)
{
    FILE *stream = fopen(out->name, "rb");
    const char *why;
    char reason[160];
    size_t size;
    bool read = false;

    if (stream == NULL) {
        snprintf(reason, sizeof reason, "cannot be read: %s", strerror(errno));
        cannot_read(reader, out->name, named_by, reason);
        return false;
    }
    why = refuse_file(stream, &size);
    if (why == NULL && !read_stream(stream, size, out)) {
        psim_reader_out_of_memory(reader);
        goto out;
    }
    if (why == NULL && ferror(stream)) {
        snprintf(reason, sizeof reason, "cannot be read: %s", strerror(errno));
        why = reason;
    }
    if (why == NULL && out->length > PSIM_FILE_LIMIT_BYTES)
        why = "is larger than 64 MiB";
    if (why != NULL)
        cannot_read(reader, out->name, named_by, why);
    read = why == NULL;
out:
    fclose(stream);
    return read;
}

/* ---- Files as documents ---- */

static struct psim_source_file *new_file(const char *name)
{
    struct psim_source_file *file = psim_alloc(1, sizeof *file);
    const size_t length = strlen(name);

    if (file == NULL)
        return NULL;
    file->name = psim_alloc(length + 1, 1);
    if (file->name == NULL) {
        psim_free(file);
        return NULL;
    }
    memcpy(file->name, name, length);
    return file;
}

/* Reads "scenario/1"; -1 when an error was reported. */
static int read_kind(struct psim_reader *reader, const struct psim_node *root)
{
    const struct psim_node *node = psim_node_member(root, "petrasim");
    char quoted[PSIM_QUOTED_BYTES];
    const char *text;
    size_t length;

    if (node == NULL || node->type != PSIM_NODE_STRING) {
        psim_reader_error(reader, node == NULL ? root : node, PSIM_ERR_SCHEMA, NULL,
                          "a file must be an object that says what it is, under the key "
                          "\"petrasim\": a text such as \"scenario/1\"");
        return -1;
    }
    text = node->value.string;
    length = strcspn(text, "/");
    psim_text_quote(text, quoted);
    for (int i = 0; headers[i] != NULL; i++) {
        if (strcmp(text, headers[i]) == 0)
            return i;
        if (strlen(psim_file_kind_names[i]) == length &&
            strncmp(text, psim_file_kind_names[i], length) == 0) {
            psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL,
                              "unknown version %s; this program reads \"%s\"", quoted, headers[i]);
            return -1;
        }
    }
    psim_reader_error(reader, node, PSIM_ERR_SCHEMA,
                      psim_nearest_name(text, headers, psim_name_count(headers)),
                      "unknown kind of file %s", quoted);
    return -1;
}

/* Adds a file that was read to the end of the reader's files and parses it. */
static void parse_file(struct psim_reader *reader, struct psim_source_file *file)
{
    const size_t errors = reader->list->errors;
    struct psim_source_file **end = &reader->files;
    enum psim_status status;

    while (*end != NULL)
        end = &(*end)->next;
    *end = file;
    SHA256Update(&reader->hash, (const uint8_t *)file->text, file->length);
    status = psim_json_parse(file->text, file->length, file->name, &file->document, reader->list);
    if (status == PSIM_ERR_NOMEM)
        psim_reader_out_of_memory(reader);
    reader->faults += (int)(reader->list->errors - errors);
    file->kind = file->document.root == NULL ? -1 : read_kind(reader, file->document.root);
}

void psim_reader_give(struct psim_reader *reader, const char *name, const char *text, size_t length)
{
    struct psim_source_file *file = new_file(name);

    if (file != NULL)
        file->text = psim_alloc(length + 1, 1);
    if (file == NULL || file->text == NULL) {
        if (file != NULL)
            free_file(file);
        psim_reader_out_of_memory(reader);
        return;
    }
    memcpy(file->text, text, length);
    file->length = length;
    parse_file(reader, file);
}

/* A file of known kind, read at its first use; NULL when an error was reported, now or then. */
static const struct psim_source_file *open_file(struct psim_reader *reader, const char *name,
                                                const struct psim_node *named_by)
{
    struct psim_source_file *file = reader->files;

    while (file != NULL && strcmp(file->name, name) != 0)
        file = file->next;
    if (file == NULL) {
        file = new_file(name);
        if (file == NULL) {
            psim_reader_out_of_memory(reader);
            return NULL;
        }
        if (!read_bytes(reader, named_by, file)) {
            free_file(file);
            return NULL;
        }
        parse_file(reader, file);
    }
    return file->kind < 0 ? NULL : file;
}

const struct psim_node *psim_reader_open_any(struct psim_reader *reader, const char *file,
                                             enum psim_file_kind *kind)
{
    const struct psim_source_file *found = open_file(reader, file, NULL);

    if (found == NULL)
        return NULL;
    *kind = (enum psim_file_kind)found->kind;
    return found->document.root;
}

const struct psim_node *psim_reader_open(struct psim_reader *reader, const char *file,
                                         enum psim_file_kind kind, const struct psim_node *named_by)
{
    const struct psim_source_file *found = open_file(reader, file, named_by);
    char quoted[PSIM_QUOTED_BYTES];

    if (found == NULL)
        return NULL;
    if (found->kind == (int)kind)
        return found->document.root;
    psim_text_quote(file, quoted);
    psim_reader_error(
        reader, named_by == NULL ? psim_node_member(found->document.root, "petrasim") : named_by,
        PSIM_ERR_SCHEMA, NULL, "%s is a %s/1 file; a %s/1 file is expected",
        named_by == NULL ? "this" : quoted, psim_file_kind_names[found->kind],
        psim_file_kind_names[kind]);
    return NULL;
}

const char *psim_reader_resolve(struct psim_reader *reader, const struct psim_node *path)
{
    const char *name = path->value.string, *from = path->document->name;
    const char *slash = strrchr(from, '/');
    const char *resolved;

    if (name[0] == '/' || slash == NULL)
        return psim_reader_keep(reader, name);
    resolved = psim_arena_printf(reader->arena, "%.*s/%s", (int)(slash - from), from, name);
    if (resolved == NULL)
        psim_reader_out_of_memory(reader);
    return resolved;
}
