/**
 * @file sim/cli/cli.h
 * The command line: sub-commands, options, exit codes.
 *
 * Results go to standard output or to --out FILE, everything else to standard error.  One command
 * is one row of the table in commands.c; one option is one row of the table in options.c.
 */
#ifndef PSIM_CLI_CLI_H
#define PSIM_CLI_CLI_H

#include "sim/base/diagnostics.h"
#include "sim/config/scenario.h"
#include "sim/report/report.h"
#include "sim/report/sheet.h"

#include <stdio.h>

/** Exit codes, as documented in the README. */
enum psim_exit {
    PSIM_EXIT_OK = 0,
    PSIM_EXIT_EXPECTATION = 1, /**< ran, but a stated expectation failed */
    PSIM_EXIT_USAGE = 2,       /**< bad command line */
    PSIM_EXIT_INPUT = 3,       /**< invalid input, unknown name, method that cannot run */
    PSIM_EXIT_LACKING = 4,     /**< this build or machine lacks something */
    PSIM_EXIT_FAILED = 5,      /**< output failed, out of memory, or a simulation died */
};

#define PSIM_CLI_REPEATS 16 /**< of an option that may be given several times */

struct psim_cli_list {
    const char *items[PSIM_CLI_REPEATS];
    int count;
};

/** Values of all options; a command looks at those that it declares. */
struct psim_cli_values {
    int format;               /**< enum psim_format */
    const char *out;          /**< NULL: standard output */
    const char *catalogue;    /**< NULL: the project's */
    const char *engine;       /**< NULL: the scenario's */
    const char *timeline;     /**< NULL: none */
    const char *trace;        /**< NULL: none */
    const char *device;       /**< NULL: not given */
    const char *algorithm;    /**< NULL: the measured one, else ring */
    const char *bytes;        /**< NULL: 1 MiB to 16 GiB */
    const char *reserve;      /**< NULL: the defaults */
    const char *scenario_out; /**< NULL: none */
    const char *plot;         /**< NULL: none */
    const char *database;     /**< NULL: none is kept */
    const char *shard;        /**< NULL: all points */
    struct psim_cli_list scans;
    int collective_kind; /**< enum psim_collective_kind */
    int64_t ranks;       /**< 0: all devices */
    int input[3];        /**< channels, height, width */
    int64_t classes;
    int64_t workers;
    bool check, expanded, exhaustive, list, retry, quiet, help, version;
};

struct psim_command {
    const char *name;
    const char *operands; /**< as in the usage line */
    const char *summary;
    const char *detail;   /**< paragraph of the help */
    const char *examples; /**< lines of the help */
    unsigned options;     /**< bits of the option table, PSIM_OPTION_BIT */
    int operands_min, operands_max;
    enum psim_exit (*run)(const struct psim_cli_values *values, char *const operands[], int count);
};

/** Commands, ended by a name that is NULL. */
extern const struct psim_command psim_commands[];

#define PSIM_OPTION_MAP(X)                                                                         \
    X(FORMAT)                                                                                      \
    X(SERIES_FORMAT)                                                                               \
    X(OUT)                                                                                         \
    X(CATALOGUE)                                                                                   \
    X(ENGINE)                                                                                      \
    X(TIMELINE)                                                                                    \
    X(TRACE)                                                                                       \
    X(DEVICE)                                                                                      \
    X(KIND)                                                                                        \
    X(ALGORITHM)                                                                                   \
    X(BYTES)                                                                                       \
    X(RANKS)                                                                                       \
    X(INPUT)                                                                                       \
    X(CLASSES)                                                                                     \
    X(WORKERS)                                                                                     \
    X(RESERVE)                                                                                     \
    X(SCENARIO_OUT)                                                                                \
    X(PLOT)                                                                                        \
    X(SCAN)                                                                                        \
    X(DATABASE)                                                                                    \
    X(SHARD)                                                                                       \
    X(LIST)                                                                                        \
    X(RETRY)                                                                                       \
    X(CHECK)                                                                                       \
    X(EXPANDED)                                                                                    \
    X(EXHAUSTIVE)                                                                                  \
    X(QUIET)                                                                                       \
    X(HELP)                                                                                        \
    X(VERSION)

enum psim_cli_option_id {
#define PSIM_OPTION_ENUM(name) PSIM_CLI_##name,
    PSIM_OPTION_MAP(PSIM_OPTION_ENUM)
#undef PSIM_OPTION_ENUM
        PSIM_CLI_OPTIONS
};

#define PSIM_OPTION_BIT(name) (1u << PSIM_CLI_##name)

/**
 * Sorts arguments into options and operands; options may stand anywhere, `--` ends them.
 * @param[in]     allowed   bits of the options that the command takes
 * @param[in]     command   for messages; NULL: none was named
 * @param[out]    operands  [argc], filled with pointers into argv
 * @return false after printing what is wrong to standard error
 */
bool psim_cli_parse(int argc, char **argv, unsigned allowed, const char *command,
                    struct psim_cli_values *values, char **operands, int *operand_count);

/** True if the argument is an option, of any command, whose value is the next argument. */
bool psim_cli_takes_value(const char *argument);

/** Prints the options of a command, one or two lines each. */
void psim_cli_print_options(FILE *file, unsigned allowed);

/** Prints every diagnostic to standard error, with --quiet the errors alone; false when there is an
 *  error among them. */
bool psim_cli_diagnose(const struct psim_cli_values *values, struct psim_diagnostics *list);

/** Prints one error to standard error. */
void psim_cli_complain(const struct psim_error *err);

/** Exit code of a failure; `reading` is true for faults of input files. */
enum psim_exit psim_cli_exit(enum psim_status status, bool reading);

/** The catalogue in use: --catalogue, else beside the installed program, else the source tree's. */
struct psim_catalogue psim_cli_catalogue(const struct psim_cli_values *values);

/** True for what --out takes as standard output: NULL and "-". */
bool psim_cli_is_stdout(const char *path);

/** Writes a text to --out or standard output and says what went wrong; the exit code. */
enum psim_exit psim_cli_write(const char *path, const struct psim_text *text);

/**
 * Writes a report in the format asked for, as psim_cli_write does; or says what kept it from being
 * made.
 * @param[in] made  how making it ended; unless PSIM_OK the report is not looked at
 * @param[in] err   why not
 */
enum psim_exit psim_cli_write_report(const struct psim_cli_values *values, enum psim_status made,
                                     const struct psim_sheet_report *report,
                                     struct psim_error *err);

/** The program: argv as main got it; the exit code. */
int psim_cli_main(int argc, char **argv);

enum psim_exit psim_command_run(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_compare(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_fit(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_plan(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_check(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_list(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_collective(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_show(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_import(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_sweep(const struct psim_cli_values *, char *const[], int);
enum psim_exit psim_command_export(const struct psim_cli_values *, char *const[], int);

#endif
