/* The way from a file to an importer: reading, checking the encoding, keeping failures apart. */
#include "sim/import/importer.h"

#include "sim/import/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_LIMIT_BYTES ((size_t)64 << 20)

const struct psim_importer *psim_importer_find(const char *name)
{
    for (size_t i = 0; psim_importer_table[i] != NULL; i++) {
        if (strcmp(psim_importer_table[i]->name, name) == 0)
            return psim_importer_table[i];
    }
    return NULL;
}

/* Bytes of the UTF-8 character at `text`, 0 when it is none: RFC 3629, section 4. */
static size_t character_bytes(const unsigned char *text, size_t left)
{
    const size_t length = text[0] < 0x80 ? 1 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : 4;

    if (text[0] == 0 || (text[0] >= 0x80 && text[0] < 0xC2) || text[0] > 0xF4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    }
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}

static bool check_encoding(struct psim_import_job *job)
{
    const unsigned char *text = (const unsigned char *)job->input->text;
    struct psim_place at = {1, 1};

    for (size_t i = 0; i < job->input->length;) {
        const size_t length = character_bytes(text + i, job->input->length - i);

        if (length == 0) {
            psim_import_error(job, at, PSIM_ERR_SYNTAX, NULL,
                              "a text in UTF-8 is expected, not the byte 0x%02x", text[i]);
            return false;
        }
        at.column++;
        if (text[i] == '\n') {
            at.line++;
            at.column = 1;
        }
        i += length;
    }
    return true;
}

enum psim_status psim_import_text(const struct psim_importer *importer,
                                  const struct psim_import_input *input, struct psim_text *out,
                                  struct psim_diagnostics *list)
{
    struct psim_import_job job = {
        .input = input, .arena = PSIM_ARENA_INIT, .list = list, .errors_before = list->errors};
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_status status = PSIM_OK;

    if (check_encoding(&job))
        importer->import(&job, &text);
    if (psim_import_clean(&job) && !text.failed)
        psim_text_append(out, text.data, text.length);
    if (text.failed || out->failed)
        psim_import_no_memory(&job);
    if (!psim_import_clean(&job))
        status = list->status;
    psim_text_release(&text);
    psim_arena_release(&job.arena);
    return status;
}

static enum psim_status cannot_read(struct psim_diagnostics *list, const char *file,
                                    enum psim_status status, const char *why)
{
    psim_diagnose(list, status, (struct psim_position){.file = file}, "", NULL, "%s", why);
    return status;
}

static enum psim_status import_stream(const struct psim_importer *importer, FILE *stream,
                                      struct psim_import_input *input, struct psim_text *out,
                                      struct psim_diagnostics *list)
{
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_status status;
    char block[16384];
    size_t got;

    psim_text_append(&text, "", 0); /* an empty file is an empty text, too */
    errno = 0;
    while (text.length <= FILE_LIMIT_BYTES && (got = fread(block, 1, sizeof block, stream)) > 0)
        psim_text_append(&text, block, got);
    if (ferror(stream)) {
        status = cannot_read(list, input->file, PSIM_ERR_IO, strerror(errno == 0 ? EIO : errno));
    } else if (text.failed) {
        status = cannot_read(list, input->file, PSIM_ERR_NOMEM, "out of memory");
    } else if (text.length > FILE_LIMIT_BYTES) {
        status = cannot_read(list, input->file, PSIM_ERR_RANGE, "must be at most 64 MiB");
    } else {
        input->text = text.data;
        input->length = text.length;
        status = psim_import_text(importer, input, out, list);
    }
    psim_text_release(&text);
    return status;
}

enum psim_status psim_import_file(const struct psim_importer *importer, const char *file,
                                  const char *device, struct psim_text *out,
                                  struct psim_diagnostics *list)
{
    struct psim_import_input input = {.file = file, .device = device};
    FILE *stream = fopen(file, "rb");
    enum psim_status status;

    if (stream == NULL)
        return cannot_read(list, file, PSIM_ERR_IO, strerror(errno));
    status = import_stream(importer, stream, &input, out, list);
    fclose(stream);
    return status;
}
