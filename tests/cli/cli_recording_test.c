/* --timeline and --trace: what they record agrees with the result beside them. */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA    PSIM_SOURCE_DIR "/tests/data/cli"
#define LABELS  DATA "/labels.json"
#define UNIT    PSIM_SOURCE_DIR "/scenarios/smoke/unit.json"
#define COUNTED 5  /* label, stage, device, time, total, then the categories */
#define FIELDS  16 /* of a line of the timeline */
#define ROOM    24

/* Rows and stages of labels.json; tracks of a stage: two streams, messages forward, back. */
enum { ROWS = 8, STAGES = 3, TRACKS = 2 };

static const char *const engines[] = {"simgrid", "replay"};

/* Splits one line of CSV in place, quotes undone; returns what follows the line. */
static char *split_line(char *at, char *fields[ROOM], size_t *count)
{
    *count = 0;
    for (;;) {
        char *write = at;
        const bool quoted = *at == '"';

        assert_true(*count < ROOM);
        fields[(*count)++] = at;
        if (quoted)
            at++;
        while (quoted ? !(at[0] == '"' && at[1] != '"') : strchr(",\n", *at) == NULL) {
            assert_true(*at != '\0');
            at += quoted && *at == '"' ? 1 : 0;
            *write++ = *at++;
        }
        if (quoted)
            at++;
        if (*at++ == '\n') {
            *write = '\0';
            return at;
        }
        *write = '\0';
    }
}

static json_t *find_stage(const json_t *result, const char *label, size_t stage)
{
    const json_t *rows = json_object_get(result, "results");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (strcmp(test_json_text(row, "/label"), label) == 0)
            return json_array_get(json_object_get(row, "stages"), stage - 1);
    }
    return NULL;
}

/* Notes one line in its stage of the result; says what is wrong with it, or NULL. */
static const char *wrong_line(const json_t *result, char *const fields[], size_t count)
{
    json_t *stage = find_stage(result, fields[0], strtoul(fields[1], NULL, 10));
    const double total = strtod(fields[4], NULL);
    double sum = 0;

    if (stage == NULL)
        return "no such label and stage";
    if (strcmp(fields[2], test_json_text(stage, "/device")) != 0)
        return "another device";
    for (size_t i = COUNTED; i < count; i++)
        sum += strtod(fields[i], NULL);
    if (sum != total)
        return "categories do not add up";
    if (!(strtod(fields[3], NULL) >= json_number_value(json_object_get(stage, "seen at"))))
        return "time runs backwards";
    json_object_set_new(stage, "seen at", json_real(strtod(fields[3], NULL)));
    if (total > json_number_value(json_object_get(stage, "seen peak")))
        json_object_set_new(stage, "seen peak", json_real(total));
    return NULL;
}

static const char *wrong_peak(const json_t *result)
{
    const json_t *rows = json_object_get(result, "results");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *stages = json_object_get(json_array_get(rows, i), "stages");

        for (size_t j = 0; j < json_array_size(stages); j++) {
            const json_t *stage = json_array_get(stages, j);

            if (json_number_value(json_object_get(stage, "seen peak")) !=
                test_json_number(stage, "/memory_peak_bytes"))
                return "the largest total is not the peak";
        }
    }
    return NULL;
}

/* Holds a timeline against the result of the same run; NULL when they agree. */
static const char *wrong_timeline(const json_t *result, const char *timeline)
{
    json_t *notes = json_deep_copy(result);
    char *text = strdup(timeline), *fields[ROOM], *at;
    const char *wrong = NULL;
    size_t columns, count;

    assert_true(notes != NULL && text != NULL);
    at = split_line(text, fields, &columns);
    if (columns != FIELDS || strcmp(fields[0], "label") != 0 ||
        strcmp(fields[4], "total_bytes") != 0 ||
        strcmp(fields[FIELDS - 1], "framework_context_bytes") != 0)
        wrong = "another head";
    while (wrong == NULL && *at != '\0') {
        at = split_line(at, fields, &count);
        wrong = count == columns ? wrong_line(notes, fields, count) : "another count of fields";
    }
    if (wrong == NULL)
        wrong = wrong_peak(notes);
    json_decref(notes);
    free(text);
    return wrong;
}

static json_t *record(const char *scenario, const char *engine)
{
    struct test_output output =
        test_petrasim("run", "--format=json", "--engine", engine, "--timeline", "timeline.csv",
                      "--trace", "trace.json", scenario);
    json_t *root;

    check_code(&output, 0);
    assert_string_equal(output.err, "");
    root = test_json_parse(output.out);
    test_output_free(&output);
    return root;
}

static void the_timeline_has_the_peaks_of_the_result(void **state)
{
    static const char *const scenarios[] = {LABELS, UNIT};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        json_t *result = record(scenarios[i / 2], engines[i % 2]);
        char *timeline = test_file_read("timeline.csv", NULL);
        const char *wrong = wrong_timeline(result, timeline);

        if (wrong != NULL)
            fail_msg("%s, %s: %s", scenarios[i / 2], engines[i % 2], wrong);
        free(timeline);
        json_decref(result);
    }
}

static void a_changed_timeline_is_noticed(void **state)
{
    static const struct {
        const char *from, *to, *what;
    } changes[] = {
        {"label,", "lable,", "another head"},
        {"\"petra, \"\"shared\"\"\"", "\"petra, \"\"shard\"\"\"", "no such label and stage"},
        {"\"left\"", "\"lost\"", "another device"},
        {"\"left\",0,", "\"left\",0,1", "categories do not add up"},
        {"\"left\",0,", "\"left\",9,", "time runs backwards"},
        {"\"left\",0,", "\"left\",0,0,", "another count of fields"},
    };
    json_t *result = record(LABELS, "replay");
    char *timeline = test_file_read("timeline.csv", NULL);
    const size_t length = strlen(timeline);

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *at = strstr(timeline, changes[i].from);
        char *changed = malloc(length + 64);

        assert_true(at != NULL && changed != NULL);
        snprintf(changed, length + 64, "%.*s%s%s", (int)(at - timeline), timeline, changes[i].to,
                 at + strlen(changes[i].from));
        assert_string_equal(wrong_timeline(result, changed), changes[i].what);
        free(changed);
    }
    strchr(strchr(timeline, '\n') + 1, '\n')[1] = '\0';
    assert_string_equal(wrong_timeline(result, timeline), "the largest total is not the peak");
    free(timeline);
    json_decref(result);
}

struct track {
    int slices;
    double seconds;
};

/* Spans of messages that began less those that ended, and all that began: [row][hop][direction]. */
struct spans {
    int open, begun;
};

static void add_span(const json_t *event, struct spans spans[ROWS][STAGES][2])
{
    int row, hop, direction;
    struct spans *s;

    assert_int_equal(sscanf(test_json_text(event, "/id"), "%d.%d.%d.", &row, &hop, &direction), 3);
    assert_true(row >= 1 && row <= ROWS && hop >= 0 && hop < STAGES - 1);
    assert_true(direction == 0 || direction == 1);
    s = &spans[row - 1][hop][direction];
    if (strcmp(test_json_text(event, "/ph"), "b") == 0) {
        s->begun++;
        s->open++;
    } else {
        assert_string_equal(test_json_text(event, "/ph"), "e");
        s->open--;
    }
}

static void add_slice(const json_t *event, struct track tracks[ROWS * STAGES * TRACKS])
{
    const int row = (int)test_json_number(event, "/pid") - 1;
    const int track = (int)test_json_number(event, "/tid") - 1;

    assert_true(row >= 0 && row < ROWS);
    assert_true(track >= 0 && track < STAGES * TRACKS);
    assert_true(test_json_number(event, "/ts") >= 0);
    assert_true(test_json_number(event, "/dur") >= 0);
    tracks[row * STAGES * TRACKS + track].slices++;
    tracks[row * STAGES * TRACKS + track].seconds += 1e-6 * test_json_number(event, "/dur");
}

static void the_trace_has_slices_and_messages_of_every_stage(void **state)
{
    (void)state;
    for (size_t e = 0; e < 2; e++) {
        struct track tracks[ROWS * STAGES * TRACKS] = {{0, 0}};
        struct spans spans[ROWS][STAGES][2] = {{{{0, 0}}}};
        json_t *result = record(LABELS, engines[e]), *trace;
        char *text = test_file_read("trace.json", NULL);
        const json_t *events, *event;
        size_t i;

        trace = test_json_parse(text);
        events = json_object_get(trace, "traceEvents");
        json_array_foreach((json_t *)(uintptr_t)events, i, event)
        {
            if (strcmp(test_json_text(event, "/ph"), "X") == 0)
                add_slice(event, tracks);
            else if (json_object_get(event, "cat") != NULL)
                add_span(event, spans);
        }
        for (int t = 0; t < ROWS * STAGES; t++)
            assert_true(tracks[TRACKS * t].slices > 0 && tracks[TRACKS * t].seconds > 0);
        for (int s = 0; s < ROWS * (STAGES - 1) * 2; s++) {
            const struct spans *span = &spans[s / 2 / (STAGES - 1)][s / 2 % (STAGES - 1)][s % 2];

            assert_true(span->begun > 0);
            assert_int_equal(span->open, 0);
        }
        json_decref(trace);
        json_decref(result);
        free(text);
    }
}

static void the_trace_names_each_row_as_its_label_reads(void **state)
{
    json_t *result = record(LABELS, "replay"), *trace;
    char *text = test_file_read("trace.json", NULL);
    const json_t *event;
    size_t i, row = 0;

    (void)state;
    check_contains(text, "{\"name\":\"petra, \\\"shared\\\"\"}");
    trace = test_json_parse(text);
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        const json_t *rows = json_object_get(result, "results");

        if (strcmp(test_json_text(event, "/name"), "process_name") != 0)
            continue;
        assert_string_equal(test_json_text(event, "/args/name"),
                            test_json_text(json_array_get(rows, row), "/label"));
        row++;
    }
    assert_int_equal(row, json_array_size(json_object_get(result, "results")));
    json_decref(trace);
    json_decref(result);
    free(text);
}

static void the_trace_ends_the_first_backward_when_the_result_does(void **state)
{
    json_t *result = record(UNIT, "simgrid"), *trace;
    char *text = test_file_read("trace.json", NULL);
    const json_t *event;
    double first_end_s = INFINITY;
    size_t i;

    (void)state;
    trace = test_json_parse(text);
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        if (test_json_number(event, "/pid") == 1 &&
            strcmp(test_json_text(event, "/name"), "backward 0") == 0 &&
            test_json_number(event, "/tid") == 1)
            first_end_s = 1e-6 * (test_json_number(event, "/ts") + test_json_number(event, "/dur"));
    }
    check_near(first_end_s, test_json_number(result, "/results/0/start_up_s"), 1e-9);
    json_decref(trace);
    json_decref(result);
    free(text);
}

static void a_recording_that_cannot_be_written_is_a_failure_after_the_result(void **state)
{
    static const char *const options[] = {"--timeline", "--trace"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct test_output output =
            test_petrasim("compare", options[i], "nowhere/file", "--format=csv", LABELS);

        check_code(&output, 5);
        check_contains(output.err, "petrasim: nowhere/file: cannot be written");
        assert_memory_equal(output.out, "method,", 7);
        test_output_free(&output);
    }
}

static void an_invalid_scenario_makes_no_recording(void **state)
{
    struct test_output output = test_petrasim("run", "--timeline=none.csv", "--trace=none.json",
                                              DATA "/petra_on_resnet18.json");

    (void)state;
    check_code(&output, 3);
    assert_false(test_file_exists("none.csv"));
    assert_false(test_file_exists("none.json"));
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_timeline_has_the_peaks_of_the_result),
        cmocka_unit_test(a_changed_timeline_is_noticed),
        cmocka_unit_test(the_trace_has_slices_and_messages_of_every_stage),
        cmocka_unit_test(the_trace_names_each_row_as_its_label_reads),
        cmocka_unit_test(the_trace_ends_the_first_backward_when_the_result_does),
        cmocka_unit_test(a_recording_that_cannot_be_written_is_a_failure_after_the_result),
        cmocka_unit_test(an_invalid_scenario_makes_no_recording),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}
