/*
 * The simulation may run in a child, so the observers write to a temporary file that both share;
 * the parent turns it into the output.  A trace event is one line: open it in ui.perfetto.dev or
 * chrome://tracing.  Each row is one process of the trace, each stage two tracks, for its two
 * streams; messages are spans of their own.
 */
#include "sim/cli/recording.h"

#include <inttypes.h>
#include <string.h>

enum { TRACKS = 2 };

struct recorder {
    FILE *file;
    const struct psim_study *study;
    int row; /* index of the method */
};

typedef struct psim_observer make_observer(struct recorder *recorder);

static const char *label_of(const struct recorder *r)
{
    return r->study->scenario->methods[r->row].label;
}

/* A label may hold anything: CSV doubles quotes, JSON escapes them. */
static void put_quoted(FILE *file, const char *text, bool json)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (json && c < 0x20)
            fprintf(file, "\\u%04x", c);
        else if (c == '"' || (json && c == '\\'))
            fprintf(file, json ? "\\%c" : "%c%c", c, c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

static void timeline_memory(void *user, int stage, double at_s,
                            const int64_t by_category[PSIM_MEMORY_CATEGORIES])
{
    const struct recorder *r = user;
    const struct psim_program *program = &r->study->programs[r->row];
    int64_t total = 0;

    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++)
        total += by_category[c];
    put_quoted(r->file, label_of(r), false);
    fprintf(r->file, ",%d,", stage + 1);
    put_quoted(
        r->file,
        psim_platform_device_name(program->platform, program->workload->stages[stage].device),
        false);
    fprintf(r->file, ",%.9g,%" PRId64, at_s, total);
    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++)
        fprintf(r->file, ",%" PRId64, by_category[c]);
    fprintf(r->file, "\n");
}

static struct psim_observer timeline_observer(struct recorder *recorder)
{
    return (struct psim_observer){.user = recorder, .memory = timeline_memory};
}

/* A duration event; times in microseconds as the format wants them. */
static void trace_slice(const struct recorder *r, const char *name, int64_t microbatch, int stage,
                        int track, double start_s, double end_s)
{
    fprintf(r->file, ",\n{\"name\":\"%s", name);
    if (microbatch >= 0)
        fprintf(r->file, " %" PRId64, microbatch);
    fprintf(r->file, "\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.4f,\"dur\":%.4f}", r->row + 1,
            stage * TRACKS + track + 1, 1e6 * start_s, 1e6 * (end_s - start_s));
}

static void trace_action(void *user, int stage, int slot, const struct psim_action *action,
                         double start_s, double end_s)
{
    const char *name = "backward";

    if (action->passes & PSIM_UPDATE)
        name = "update";
    else if (action->passes & PSIM_FORWARD)
        name = "forward";
    else if (!(action->passes & PSIM_BACKWARD))
        name = "recompute";
    else if (action->passes & PSIM_RECONSTRUCT)
        name = "rebuild + backward";
    trace_slice(user, name, action->microbatch, stage, slot, start_s, end_s);
}

/* Messages overlap, so they are not slices of a track but spans of their own, matched by id. */
static void trace_transfer(void *user, int hop, int direction, int64_t microbatch, double start_s,
                           double end_s)
{
    const struct recorder *r = user;
    const char *name = direction == 0 ? "send forward" : "send back";

    for (int end = 0; end < 2; end++)
        fprintf(
            r->file,
            ",\n{\"name\":\"%s %d\",\"cat\":\"message\",\"ph\":\"%s\",\"id\":\"%d.%d.%d.%" PRId64
            "\",\"pid\":%d,\"tid\":%d,\"ts\":%.4f,\"args\":{\"microbatch\":%" PRId64 "}}",
            name, hop + 1, end == 0 ? "b" : "e", r->row + 1, hop, direction, microbatch, r->row + 1,
            hop * TRACKS + 1, 1e6 * (end == 0 ? start_s : end_s), microbatch);
}

static void trace_memory(void *user, int stage, double at_s,
                         const int64_t by_category[PSIM_MEMORY_CATEGORIES])
{
    const struct recorder *r = user;

    fprintf(r->file,
            ",\n{\"name\":\"memory of stage %d\",\"ph\":\"C\",\"pid\":%d,\"ts\":%.4f,"
            "\"args\":{",
            stage + 1, r->row + 1, 1e6 * at_s);
    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++)
        fprintf(r->file, "%s\"%s\":%" PRId64, c == 0 ? "" : ",", psim_memory_category_names[c],
                by_category[c]);
    fprintf(r->file, "}}");
}

static struct psim_observer trace_observer(struct recorder *recorder)
{
    return (struct psim_observer){.user = recorder,
                                  .action = trace_action,
                                  .transfer = trace_transfer,
                                  .memory = trace_memory};
}

static void trace_names(FILE *file, const struct psim_study *study, int row, bool first)
{
    static const char *const tracks[TRACKS] = {"", " (second stream)"};
    const struct psim_program *program = &study->programs[row];

    fprintf(file, "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":",
            first ? "" : ",", row + 1);
    put_quoted(file, study->scenario->methods[row].label, true);
    fprintf(file, "}}");
    for (int j = 0; j < program->shape.stages; j++) {
        for (int t = 0; t < TRACKS; t++)
            fprintf(file,
                    ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":"
                    "{\"name\":\"stage %02d%s\"}}",
                    row + 1, j * TRACKS + t + 1, j + 1, tracks[t]);
    }
}

static bool copy_back(FILE *file, struct psim_text *text)
{
    char bytes[65536];
    size_t n;

    if (fflush(file) != 0 || fseek(file, 0, SEEK_SET) != 0)
        return false;
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0)
        psim_text_append(text, bytes, n);
    return ferror(file) == 0 && !text->failed;
}

/* Simulates every row with an observer that writes to `file`. */
static enum psim_exit record_rows(FILE *file, const struct psim_study *study, make_observer *make,
                                  bool names)
{
    bool first = true;

    for (int i = 0; i < study->scenario->method_count; i++) {
        struct recorder recorder = {file, study, i};
        const struct psim_observer observer = make(&recorder);
        struct psim_simulation simulation = {0};
        struct psim_error err = PSIM_ERROR_INIT;

        if (study->jobs[i].status != PSIM_OK)
            continue;
        if (names)
            trace_names(file, study, i, first);
        first = false;
        if (psim_engine_run(study->engine, &study->programs[i], &observer, &simulation, &err) !=
            PSIM_OK) {
            psim_cli_complain(&err);
            return psim_cli_exit(err.status, false);
        }
        psim_simulation_release(&simulation);
    }
    return PSIM_EXIT_OK;
}

static enum psim_exit record(const char *path, const struct psim_study *study, make_observer *make,
                             const char *head, const char *tail, bool names)
{
    struct psim_text text = PSIM_TEXT_INIT;
    FILE *file = tmpfile();
    enum psim_exit code;

    if (file == NULL) {
        fprintf(stderr, "petrasim: no temporary file for %s\n", path);
        return PSIM_EXIT_FAILED;
    }
    code = record_rows(file, study, make, names);
    psim_text_append(&text, head, strlen(head));
    if (code == PSIM_EXIT_OK && !copy_back(file, &text)) {
        fprintf(stderr, "petrasim: the recording for %s could not be read back\n", path);
        code = PSIM_EXIT_FAILED;
    }
    psim_text_append(&text, tail, strlen(tail));
    if (code == PSIM_EXIT_OK)
        code = psim_cli_write(path, &text);
    psim_text_release(&text);
    fclose(file);
    return code;
}

static enum psim_exit write_timeline(const char *path, const struct psim_study *study)
{
    char head[512] = "label,stage,device,time_s,total_bytes";

    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++) {
        const size_t used = strlen(head);

        snprintf(head + used, sizeof head - used, ",%s_bytes%s", psim_memory_category_names[c],
                 c + 1 == PSIM_MEMORY_CATEGORIES ? "\n" : "");
    }
    return record(path, study, timeline_observer, head, "", false);
}

enum psim_exit psim_recording_write(const struct psim_cli_values *values,
                                    const struct psim_study *study)
{
    enum psim_exit code = PSIM_EXIT_OK;

    if (values->timeline != NULL)
        code = write_timeline(values->timeline, study);
    if (values->trace != NULL && code == PSIM_EXIT_OK)
        code = record(values->trace, study, trace_observer,
                      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", "\n]}\n", true);
    return code;
}
