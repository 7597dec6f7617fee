/* The option table: parsing and help come from the same rows. */
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/collective/collective.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MAX 65536 /* as the readers of files allow */

enum kind { KIND_FLAG, KIND_TEXT, KIND_LIST, KIND_CHOICE, KIND_COUNT, KIND_SHAPE };

struct option {
    const char *name, *short_name, *value;
    enum kind kind;
    const char *const *choices; /* KIND_CHOICE: the value is the index (int) or the text */
    bool choice_is_text;
    unsigned only;            /* KIND_CHOICE: bits of the choices that are offered; 0: all */
    int64_t minimum, maximum; /* KIND_COUNT */
    size_t offset;            /* into struct psim_cli_values */
    const char *help;
};

#define FIELD(name) offsetof(struct psim_cli_values, name)

static const struct option options[PSIM_CLI_OPTIONS] = {
    [PSIM_CLI_FORMAT] = {.name = "--format",
                         .value = "table|md|csv|latex|json",
                         .kind = KIND_CHOICE,
                         .choices = psim_format_names,
                         .offset = FIELD(format),
                         .help = "how the result is written (default: table)"},
    [PSIM_CLI_SERIES_FORMAT] = {.name = "--format",
                                .value = "table|csv|json",
                                .kind = KIND_CHOICE,
                                .choices = psim_format_names,
                                .only = 1u << PSIM_FORMAT_TABLE | 1u << PSIM_FORMAT_CSV |
                                        1u << PSIM_FORMAT_JSON,
                                .offset = FIELD(format),
                                .help = "how the result is written (default: table)"},
    [PSIM_CLI_OUT] = {.name = "--out",
                      .short_name = "-o",
                      .value = "FILE",
                      .kind = KIND_TEXT,
                      .offset = FIELD(out),
                      .help = "write the result to FILE, whole or not at all"},
    [PSIM_CLI_CATALOGUE] = {.name = "--catalogue",
                            .value = "DIR",
                            .kind = KIND_TEXT,
                            .offset = FIELD(catalogue),
                            .help = "folder with devices/ and clusters/ (default: the project's)"},
    [PSIM_CLI_ENGINE] = {.name = "--engine",
                         .value = "simgrid|replay",
                         .kind = KIND_CHOICE,
                         .choices = psim_engine_names,
                         .choice_is_text = true,
                         .offset = FIELD(engine),
                         .help = "overrides the scenario's engine"},
    [PSIM_CLI_TIMELINE] = {.name = "--timeline",
                           .value = "FILE",
                           .kind = KIND_TEXT,
                           .offset = FIELD(timeline),
                           .help = "also write memory over time, per device and category, as CSV"},
    [PSIM_CLI_TRACE] = {.name = "--trace",
                        .value = "FILE",
                        .kind = KIND_TEXT,
                        .offset = FIELD(trace),
                        .help = "also write every pass and message as a Perfetto/Chrome trace"},
    [PSIM_CLI_DEVICE] = {.name = "--device",
                         .value = "NAME",
                         .kind = KIND_TEXT,
                         .offset = FIELD(device),
                         .help = "catalogue device of hosts whose file names none"},
    [PSIM_CLI_KIND] = {.name = "--kind",
                       .value = "all_reduce|reduce_scatter|all_gather|broadcast",
                       .kind = KIND_CHOICE,
                       .choices = psim_collective_kind_names,
                       .offset = FIELD(collective_kind),
                       .help = "operation (default: all_reduce)"},
    [PSIM_CLI_ALGORITHM] = {.name = "--algorithm",
                            .value = "NAME",
                            .kind = KIND_TEXT,
                            .offset = FIELD(algorithm),
                            .help = "of the operation (default: the measured one, else ring)"},
    [PSIM_CLI_BYTES] = {.name = "--bytes",
                        .value = "SIZE|FROM:TO",
                        .kind = KIND_TEXT,
                        .offset = FIELD(bytes),
                        .help = "buffer sizes, each twice the one before (default: 1MiB:16GiB)"},
    [PSIM_CLI_RANKS] = {.name = "--ranks",
                        .value = "N",
                        .kind = KIND_COUNT,
                        .minimum = 1,
                        .maximum = INT64_C(1) << 20,
                        .offset = FIELD(ranks),
                        .help = "the first N devices (default: all)"},
    [PSIM_CLI_INPUT] = {.name = "--input",
                        .value = "CxHxW",
                        .kind = KIND_SHAPE,
                        .offset = FIELD(input),
                        .help = "input shape of `show model` (default: 3x224x224)"},
    [PSIM_CLI_CLASSES] = {.name = "--classes",
                          .value = "N",
                          .kind = KIND_COUNT,
                          .minimum = 1,
                          .maximum = INT64_C(1) << 20,
                          .offset = FIELD(classes),
                          .help = "classes of `show model` (default: 1000)"},
    [PSIM_CLI_WORKERS] = {.name = "--workers",
                          .value = "N",
                          .kind = KIND_COUNT,
                          .minimum = 1,
                          .maximum = 1024,
                          .offset = FIELD(workers),
                          .help = "simulations at a time (default: one a processor); the result is "
                                  "the same"},
    [PSIM_CLI_RESERVE] = {.name = "--reserve",
                          .value = "NAME=VALUE,...",
                          .kind = KIND_TEXT,
                          .offset = FIELD(reserve),
                          .help = "memory kept free: context, communicator, optimizer, "
                                  "fragmentation"},
    [PSIM_CLI_SCENARIO_OUT] = {.name = "--scenario-out",
                               .value = "DIR",
                               .kind = KIND_TEXT,
                               .offset = FIELD(scenario_out),
                               .help = "also write every plan of the answer as a scenario file"},
    [PSIM_CLI_PLOT] = {.name = "--plot",
                       .value = "FILE.svg|FILE.png",
                       .kind = KIND_TEXT,
                       .offset = FIELD(plot),
                       .help = "also draw what the command found, with gnuplot"},
    [PSIM_CLI_SCAN] = {.name = "--scan",
                       .value = "KEY=VALUES",
                       .kind = KIND_LIST,
                       .offset = FIELD(scans),
                       .help = "one more axis: a,b,c or FROM:TO:*FACTOR or FROM:TO:+STEP"},
    [PSIM_CLI_DATABASE] = {.name = "--db",
                           .value = "FILE",
                           .kind = KIND_TEXT,
                           .offset = FIELD(database),
                           .help =
                               "keep results in an SQLite database, and go on from what it has"},
    [PSIM_CLI_SHARD] = {.name = "--shard",
                        .value = "I/N",
                        .kind = KIND_TEXT,
                        .offset = FIELD(shard),
                        .help = "only the I-th of N parts of the points"},
    [PSIM_CLI_LIST] = {.name = "--list",
                       .kind = KIND_FLAG,
                       .offset = FIELD(list),
                       .help = "print the points and simulate none"},
    [PSIM_CLI_RETRY] = {.name = "--retry",
                        .kind = KIND_FLAG,
                        .offset = FIELD(retry),
                        .help = "run the points again that failed before"},
    [PSIM_CLI_CHECK] = {.name = "--check",
                        .kind = KIND_FLAG,
                        .offset = FIELD(check),
                        .help =
                            "exit with 1 if a row does not fit in memory, or no plan is feasible"},
    [PSIM_CLI_EXPANDED] = {.name = "--expanded",
                           .kind = KIND_FLAG,
                           .offset = FIELD(expanded),
                           .help = "`show platform` as a file of plain hosts, switches and links"},
    [PSIM_CLI_EXHAUSTIVE] = {.name = "--exhaustive",
                             .kind = KIND_FLAG,
                             .offset = FIELD(exhaustive),
                             .help = "replay every plan instead of discarding by bounds"},
    [PSIM_CLI_QUIET] = {.name = "--quiet",
                        .short_name = "-q",
                        .kind = KIND_FLAG,
                        .offset = FIELD(quiet),
                        .help = "print no warnings about input files"},
    [PSIM_CLI_HELP] = {.name = "--help",
                       .short_name = "-h",
                       .kind = KIND_FLAG,
                       .offset = FIELD(help),
                       .help = "print this help"},
    [PSIM_CLI_VERSION] = {.name = "--version",
                          .kind = KIND_FLAG,
                          .offset = FIELD(version),
                          .help = "print the versions of petrasim and SimGrid"},
};

static const struct option *find(const char *name, size_t length, unsigned allowed)
{
    for (size_t i = 0; i < PSIM_CLI_OPTIONS; i++) {
        const struct option *o = &options[i];

        if (!(allowed & 1u << i))
            continue;
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
        if (o->short_name != NULL && strlen(o->short_name) == length &&
            strncmp(o->short_name, name, length) == 0)
            return o;
    }
    return NULL;
}

static void unknown(const char *name, size_t length, unsigned allowed, const char *command)
{
    const char *known[PSIM_CLI_OPTIONS];
    char given[64];
    size_t count = 0;
    const char *near;

    snprintf(given, sizeof given, "%.*s", (int)length, name);
    for (size_t i = 0; i < PSIM_CLI_OPTIONS; i++) {
        if (allowed & 1u << i)
            known[count++] = options[i].name;
    }
    near = psim_nearest_name(given, known, count);
    fprintf(stderr, "petrasim: unknown option '%s'", given);
    if (command != NULL)
        fprintf(stderr, " of '%s'", command);
    if (near != NULL)
        fprintf(stderr, " (did you mean '%s'?)", near);
    fprintf(stderr, "; see 'petrasim %s%s--help'\n", command == NULL ? "" : command,
            command == NULL ? "" : " ");
}

static bool set_choice(const struct option *o, const char *text, void *field)
{
    size_t count = 0;

    for (; o->choices[count] != NULL; count++) {
        if (strcmp(o->choices[count], text) != 0 || (o->only != 0 && !(o->only & 1u << count)))
            continue;
        if (o->choice_is_text)
            *(const char **)field = o->choices[count];
        else
            *(int *)field = (int)count;
        return true;
    }
    fprintf(stderr, "petrasim: %s must be one of %s, not '%s'\n", o->name, o->value, text);
    return false;
}

static bool set_count(const struct option *o, const char *text, void *field)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < o->minimum || value > o->maximum) {
        fprintf(stderr, "petrasim: %s must be a whole number in [%lld, %lld], not '%s'\n", o->name,
                (long long)o->minimum, (long long)o->maximum, text);
        return false;
    }
    *(int64_t *)field = value;
    return true;
}

static bool set_shape(const struct option *o, const char *text, void *field)
{
    const char *at = text;
    int sides[3];

    for (int i = 0; i < 3; i++) {
        char *end;
        const long side = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;

        if (side < 1 || side > SIDE_MAX || *end != (i < 2 ? 'x' : '\0')) {
            fprintf(stderr, "petrasim: %s must be %s, each in [1, %d], not '%s'\n", o->name,
                    o->value, SIDE_MAX, text);
            return false;
        }
        sides[i] = (int)side;
        at = end + 1;
    }
    memcpy(field, sides, sizeof sides);
    return true;
}

static bool add_to_list(const struct option *o, const char *text, struct psim_cli_list *list)
{
    if (list->count == PSIM_CLI_REPEATS) {
        fprintf(stderr, "petrasim: %s can be given %d times at most\n", o->name, PSIM_CLI_REPEATS);
        return false;
    }
    list->items[list->count++] = text;
    return true;
}

static bool set(const struct option *o, const char *text, struct psim_cli_values *values)
{
    void *field = (char *)values + o->offset;

    switch (o->kind) {
    case KIND_FLAG:
        *(bool *)field = true;
        return true;
    case KIND_TEXT:
        *(const char **)field = text;
        return true;
    case KIND_LIST:
        return add_to_list(o, text, field);
    case KIND_CHOICE:
        return set_choice(o, text, field);
    case KIND_COUNT:
        return set_count(o, text, field);
    case KIND_SHAPE:
        return set_shape(o, text, field);
    }
    return false;
}

/* One option at argv[*at]; moves *at over a value that stands apart. */
static bool take(int argc, char **argv, int *at, unsigned allowed, const char *command,
                 struct psim_cli_values *values)
{
    const char *argument = argv[*at], *equals = strchr(argument, '=');
    const size_t length = equals == NULL ? strlen(argument) : (size_t)(equals - argument);
    const struct option *o = find(argument, length, allowed);

    if (o == NULL) {
        unknown(argument, length, allowed, command);
        return false;
    }
    if (o->kind == KIND_FLAG) {
        if (equals == NULL)
            return set(o, NULL, values);
        fprintf(stderr, "petrasim: %s takes no value\n", o->name);
        return false;
    }
    if (equals != NULL)
        return set(o, equals + 1, values);
    if (*at + 1 >= argc) {
        fprintf(stderr, "petrasim: %s needs a value (%s)\n", o->name, o->value);
        return false;
    }
    return set(o, argv[++*at], values);
}

bool psim_cli_takes_value(const char *argument)
{
    const struct option *o = find(argument, strlen(argument), ~0u);

    return o != NULL && o->kind != KIND_FLAG;
}

bool psim_cli_parse(int argc, char **argv, unsigned allowed, const char *command,
                    struct psim_cli_values *values, char **operands, int *operand_count)
{
    bool only_operands = false;

    *operand_count = 0;
    for (int i = 0; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!take(argc, argv, &i, allowed, command, values))
                return false;
        } else {
            operands[(*operand_count)++] = argv[i];
        }
    }
    return true;
}

void psim_cli_print_options(FILE *file, unsigned allowed)
{
    for (size_t i = 0; i < PSIM_CLI_OPTIONS; i++) {
        const struct option *o = &options[i];
        char left[80];

        if (!(allowed & 1u << i))
            continue;
        snprintf(left, sizeof left, "%s%s%s%s%s", o->short_name == NULL ? "" : o->short_name,
                 o->short_name == NULL ? "" : ", ", o->name, o->value == NULL ? "" : " ",
                 o->value == NULL ? "" : o->value);
        fprintf(file, strlen(left) < 26 ? "  %-26s%s\n" : "  %s\n                            %s\n",
                left, o->help);
    }
}
