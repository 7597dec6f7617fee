/* The command line: help, options, operands, and what each mistake is answered with. */
#include "sim/cli/cli.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 100
#define UNIT    PSIM_SOURCE_DIR "/scenarios/smoke/unit.json"
#define WORDS   6

/* Arguments, and a part of what standard error must say. */
struct mistake {
    const char *arguments[WORDS];
    const char *answer;
};

static void check_silent(const char *text)
{
    assert_string_equal(text, "");
}

static void check_mistakes(const struct mistake *mistakes, size_t count, int code)
{
    for (size_t i = 0; i < count; i++) {
        const char *const *a = mistakes[i].arguments;
        struct test_output output = test_petrasim(a[0], a[1], a[2], a[3], a[4], a[5]);

        check_code(&output, code);
        check_silent(output.out);
        check_contains(output.err, "petrasim: ");
        check_contains(output.err, mistakes[i].answer);
        test_output_free(&output);
    }
}

static void check_columns(const char *text)
{
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        if (length > COLUMNS)
            fail_msg("%zu columns: %.*s", length, (int)length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
}

static void help_names_every_command_and_exit_status(void **state)
{
    static const char *const spellings[] = {"--help", "-h"};

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        struct test_output output = test_petrasim(spellings[s]);

        check_code(&output, 0);
        check_silent(output.err);
        check_columns(output.out);
        for (size_t i = 0; psim_commands[i].name != NULL; i++) {
            char line[64];

            snprintf(line, sizeof line, "\n  %s ", psim_commands[i].name);
            check_contains(output.out, line);
            check_contains(output.out, psim_commands[i].summary);
        }
        check_contains(output.out, "0 done; 1 a stated expectation failed; 2 bad command line; "
                                   "3 invalid input;\n4 not available here; 5 output failed");
        test_output_free(&output);
    }
}

static void help_of_every_command_has_its_usage_options_and_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; psim_commands[i].name != NULL; i++) {
        const struct psim_command *command = &psim_commands[i];
        struct test_output output = test_petrasim(command->name, "--help");
        char part[128];

        check_code(&output, 0);
        check_silent(output.err);
        check_columns(output.out);
        snprintf(part, sizeof part, "usage: petrasim %s [OPTION]... %s\n", command->name,
                 command->operands);
        check_contains(output.out, part);
        check_contains(output.out, "\n  -h, --help ");
        check_contains(output.out, "\n  -o, --out FILE ");
        snprintf(part, sizeof part, "\nexamples:\n  petrasim %s ", command->name);
        check_contains(output.out, part);
        test_output_free(&output);
    }
}

static void version_names_petrasim_and_simgrid(void **state)
{
    struct test_output output = test_petrasim("--version");
    char own[32], simgrid[32], end;

    (void)state;
    check_code(&output, 0);
    check_silent(output.err);
    assert_int_equal(sscanf(output.out, "petrasim %31s (SimGrid %31[0-9.])%c", own, simgrid, &end),
                     3);
    assert_string_equal(own, PSIM_VERSION);
    assert_int_equal(end, '\n');
    test_output_free(&output);
}

static void no_arguments_print_the_help_as_a_mistake(void **state)
{
    struct test_output output = test_petrasim(NULL);

    (void)state;
    check_code(&output, 2);
    check_silent(output.out);
    check_contains(output.err, "usage: petrasim COMMAND");
    test_output_free(&output);
}

static void misspelt_words_are_answered_with_the_nearest(void **state)
{
    static const struct mistake mistakes[] = {
        {{"compar", "x"}, "unknown command 'compar' (did you mean 'compare'?)"},
        {{"chekc", "x"}, "unknown command 'chekc' (did you mean 'check'?)"},
        {{"qqqq"}, "unknown command 'qqqq'; see 'petrasim --help'"},
        {{""}, "unknown command ''"},
        {{"compare", "--formt", "json", "x"},
         "unknown option '--formt' of 'compare' (did you mean '--format'?); "
         "see 'petrasim compare --help'"},
        {{"compare", "--zzz", "x"}, "unknown option '--zzz' of 'compare'; see"},
        {{"compare", "-f", "x"}, "unknown option '-f' of 'compare'"},
        {{"list", "methods", "--format=md"}, "unknown option '--format' of 'list'"},
        {{"compare", "--version", "x"}, "unknown option '--version' of 'compare'"},
        {{"--versio"},
         "unknown option '--versio' (did you mean '--version'?); "
         "see 'petrasim --help'"},
        {{"--workers"}, "unknown option '--workers'; see 'petrasim --help'"},
        {{"list", "model"},
         "'model' is none of models devices platforms methods "
         "(did you mean 'models'?)"},
        {{"show", "devices", "A100"}, "(did you mean 'device'?)"},
    };

    (void)state;
    check_mistakes(mistakes, sizeof mistakes / sizeof mistakes[0], 2);
}

static void wrong_counts_of_operands_are_answered_with_the_usage(void **state)
{
    static const struct mistake mistakes[] = {
        {{"compare"}, "usage: petrasim compare [OPTION]... SCENARIO"},
        {{"compare", "--format", "json"}, "usage: petrasim compare"},
        {{"compare", "a", "b"}, "usage: petrasim compare"},
        {{"run"}, "usage: petrasim run"},
        {{"check"}, "usage: petrasim check [OPTION]... FILE..."},
        {{"list"}, "usage: petrasim list"},
        {{"show", "device"}, "usage: petrasim show"},
        {{"show", "device", "P40", "A100"}, "usage: petrasim show"},
        {{"check", "--"}, "usage: petrasim check"},
    };

    (void)state;
    check_mistakes(mistakes, sizeof mistakes / sizeof mistakes[0], 2);
}

static void values_out_of_range_are_answered_with_the_range(void **state)
{
    static const char workers[] = "--workers must be a whole number in [1, 1024], not '";
    static const char formats[] = "--format must be one of table|md|csv|latex|json, not '";
    static const struct mistake mistakes[] = {
        {{"compare", "--workers", "0", UNIT}, workers},
        {{"compare", "--workers=-1", UNIT}, workers},
        {{"compare", "--workers=1025", UNIT}, workers},
        {{"compare", "--workers=two", UNIT}, workers},
        {{"compare", "--workers=2x", UNIT}, workers},
        {{"compare", "--workers=1.5", UNIT}, workers},
        {{"compare", "--workers=", UNIT}, workers},
        {{"compare", "--workers=99999999999999999999", UNIT}, workers},
        {{"compare", UNIT, "--workers"}, "--workers needs a value (N)"},
        {{"compare", "--format", "xml", UNIT}, formats},
        {{"compare", "--format=", UNIT}, formats},
        {{"compare", "--format=JSON", UNIT}, formats},
        {{"compare", "--engine=reply", UNIT}, "--engine must be one of simgrid|replay"},
        {{"compare", "--check=yes", UNIT}, "--check takes no value"},
        {{"show", "model", "revnet18", "--input", "3x32"}, "--input must be CxHxW"},
        {{"show", "model", "revnet18", "--input=3x32x32x1"}, "--input must be CxHxW"},
        {{"show", "model", "revnet18", "--input=3x0x32"}, "--input must be CxHxW"},
        {{"show", "model", "revnet18", "--input=3x32x99999999999999999999"}, "--input must be"},
        {{"show", "model", "revnet18", "--classes", "0"}, "--classes must be a whole number"},
    };

    (void)state;
    check_mistakes(mistakes, sizeof mistakes / sizeof mistakes[0], 2);
}

static void options_may_stand_anywhere(void **state)
{
    static const char *const orders[][WORDS] = {
        {"compare", "--format", "csv", "--engine=replay", UNIT},
        {"compare", UNIT, "--format=csv", "--engine", "replay"},
        {"compare", "--engine", "replay", UNIT, "--format", "csv"},
        {"--format", "csv", "compare", UNIT, "--engine=replay"},
        {"--engine=replay", "--format=csv", "compare", "--", UNIT},
    };
    struct test_output first = {0};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const char *const *a = orders[i];
        struct test_output output = test_petrasim(a[0], a[1], a[2], a[3], a[4], a[5]);

        check_code(&output, 0);
        check_silent(output.err);
        if (i == 0) {
            first = output;
            check_contains(first.out, "method,label,");
            continue;
        }
        assert_string_equal(output.out, first.out);
        test_output_free(&output);
    }
    test_output_free(&first);
}

static void the_last_of_two_values_counts(void **state)
{
    struct test_output output =
        test_petrasim("compare", "--engine=replay", "--format=json", "--format=csv", UNIT);

    (void)state;
    check_code(&output, 0);
    assert_memory_equal(output.out, "method,", 7);
    test_output_free(&output);
}

static void what_follows_a_double_dash_is_an_operand(void **state)
{
    struct test_output output;

    (void)state;
    assert_int_equal(symlink(PSIM_SOURCE_DIR "/platforms/devices/p40.json", "--odd.json"), 0);
    output = test_petrasim("check", "--", "--odd.json");
    check_code(&output, 0);
    assert_string_equal(output.out, "--odd.json: device, valid\n");
    test_output_free(&output);
    output = test_petrasim("check", "--odd.json");
    check_code(&output, 2);
    check_contains(output.err, "unknown option '--odd.json'");
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_every_command_and_exit_status),
        cmocka_unit_test(help_of_every_command_has_its_usage_options_and_an_example),
        cmocka_unit_test(version_names_petrasim_and_simgrid),
        cmocka_unit_test(no_arguments_print_the_help_as_a_mistake),
        cmocka_unit_test(misspelt_words_are_answered_with_the_nearest),
        cmocka_unit_test(wrong_counts_of_operands_are_answered_with_the_usage),
        cmocka_unit_test(values_out_of_range_are_answered_with_the_range),
        cmocka_unit_test(options_may_stand_anywhere),
        cmocka_unit_test(the_last_of_two_values_counts),
        cmocka_unit_test(what_follows_a_double_dash_is_an_operand),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}
