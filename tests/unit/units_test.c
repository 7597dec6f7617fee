/*
 * Quantities with units: every unit, exact values, and what must be refused.
 */
#include "sim/base/units.h"

#include "sim/base/text.h"
#include "tests/support/check.h"

#include <string.h>

static double parsed(const char *text, enum psim_dimension dimension)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const char *nearest = "untouched";
    double value = -1.0;

    assert_int_equal(psim_quantity_parse(text, dimension, &value, &nearest, &err), PSIM_OK);
    assert_null(nearest);
    return value;
}

static void every_unit_has_its_exact_value(void **state)
{
    static const struct {
        const char *text;
        enum psim_dimension dimension;
        double value;
    } cases[] = {
        {"1 B", PSIM_DIMENSION_BYTES, 1},
        {"1 kB", PSIM_DIMENSION_BYTES, 1000},
        {"1 MB", PSIM_DIMENSION_BYTES, 1000000},
        {"80 GB", PSIM_DIMENSION_BYTES, 80e9},
        {"1 TB", PSIM_DIMENSION_BYTES, 1e12},
        {"1 KiB", PSIM_DIMENSION_BYTES, 1024},
        {"1 MiB", PSIM_DIMENSION_BYTES, 1048576},
        {"80 GiB", PSIM_DIMENSION_BYTES, 85899345920.0},
        {"1 TiB", PSIM_DIMENSION_BYTES, 1099511627776.0},
        {"1 B/s", PSIM_DIMENSION_BYTES_PER_S, 1},
        {"1 kB/s", PSIM_DIMENSION_BYTES_PER_S, 1e3},
        {"1 MB/s", PSIM_DIMENSION_BYTES_PER_S, 1e6},
        {"1 GB/s", PSIM_DIMENSION_BYTES_PER_S, 1e9},
        {"1 TB/s", PSIM_DIMENSION_BYTES_PER_S, 1e12},
        {"1 KiB/s", PSIM_DIMENSION_BYTES_PER_S, 1024},
        {"1 MiB/s", PSIM_DIMENSION_BYTES_PER_S, 1048576},
        {"1 GiB/s", PSIM_DIMENSION_BYTES_PER_S, 1073741824},
        {"1 TiB/s", PSIM_DIMENSION_BYTES_PER_S, 1099511627776.0},
        {"8 b/s", PSIM_DIMENSION_BYTES_PER_S, 1},
        {"1 kb/s", PSIM_DIMENSION_BYTES_PER_S, 125},
        {"1 Mb/s", PSIM_DIMENSION_BYTES_PER_S, 125e3},
        {"200 Gb/s", PSIM_DIMENSION_BYTES_PER_S, 25e9},
        {"1 Tb/s", PSIM_DIMENSION_BYTES_PER_S, 125e9},
        {"1 s", PSIM_DIMENSION_SECONDS, 1},
        {"7 ms", PSIM_DIMENSION_SECONDS, 7e-3},
        {"3 us", PSIM_DIMENSION_SECONDS, 3e-6},
        {"9 ns", PSIM_DIMENSION_SECONDS, 9e-9},
        {"2 min", PSIM_DIMENSION_SECONDS, 120},
        {"24 h", PSIM_DIMENSION_SECONDS, 86400},
        {"1 GFLOP/s", PSIM_DIMENSION_FLOP_PER_S, 1e9},
        {"19.5 TFLOP/s", PSIM_DIMENSION_FLOP_PER_S, 19.5e12},
        {"1 PFLOP/s", PSIM_DIMENSION_FLOP_PER_S, 1e15},
        {"400 W", PSIM_DIMENSION_WATT, 400},
        {"5 pJ/b", PSIM_DIMENSION_JOULE_PER_BYTE, 40e-12},
        {"0.5 nJ/b", PSIM_DIMENSION_JOULE_PER_BYTE, 4e-9},
        {"3 J/B", PSIM_DIMENSION_JOULE_PER_BYTE, 3},
        {"2.5 USD/h", PSIM_DIMENSION_USD_PER_HOUR, 2.5},
        {"500 USD", PSIM_DIMENSION_USD, 500},
        {"7 J", PSIM_DIMENSION_JOULE, 7},
        {"2 kWh", PSIM_DIMENSION_JOULE, 7.2e6},
    };
    size_t units = 0;

    (void)state;
    while (psim_units[units].name != NULL)
        units++;
    assert_int_equal(units, sizeof cases / sizeof cases[0]);
    for (size_t i = 0; i < units; i++) {
        if (parsed(cases[i].text, cases[i].dimension) != cases[i].value)
            fail_msg("%s is %.17g", cases[i].text, parsed(cases[i].text, cases[i].dimension));
        assert_non_null(strstr(cases[i].text, psim_units[i].name));
    }
}

static void numbers_may_have_sign_fraction_exponent_and_no_space(void **state)
{
    (void)state;
    check_near(parsed("-1.5e3 s", PSIM_DIMENSION_SECONDS), -1500.0, 0.0);
    check_near(parsed("+2E-3 s", PSIM_DIMENSION_SECONDS), 0.002, 0.0);
    check_near(parsed("80GB", PSIM_DIMENSION_BYTES), 80e9, 0.0);
    check_near(parsed("80   GB", PSIM_DIMENSION_BYTES), 80e9, 0.0);
    check_near(parsed("0 s", PSIM_DIMENSION_SECONDS), 0.0, 0.0);
    check_near(parsed("1e-400 s", PSIM_DIMENSION_SECONDS), 0.0, 0.0);
}

static void refused(const char *text, enum psim_dimension dimension, enum psim_status status,
                    const char *part, const char *suggestion)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const char *nearest = "untouched";
    double value = 42.0;

    assert_int_equal(psim_quantity_parse(text, dimension, &value, &nearest, &err), status);
    check_near(value, 42.0, 0.0);
    check_contains(err.message, part);
    if (suggestion == NULL)
        assert_null(nearest);
    else
        assert_string_equal(nearest, suggestion);
}

static void missing_unit_says_which_are_possible(void **state)
{
    (void)state;
    refused("80", PSIM_DIMENSION_BYTES, PSIM_ERR_SCHEMA,
            "a unit is required (\"80 GiB\" or \"80 GB\")", NULL);
    refused("5 ", PSIM_DIMENSION_WATT, PSIM_ERR_SCHEMA, "a unit is required (\"5 W\")", NULL);
    refused("1.5 ", PSIM_DIMENSION_USD_PER_HOUR, PSIM_ERR_SCHEMA, "(\"1.5 USD/h\")", NULL);
}

static void unit_of_another_dimension_is_told_apart(void **state)
{
    (void)state;
    refused("80 GB", PSIM_DIMENSION_BYTES_PER_S, PSIM_ERR_SCHEMA, "not a size", NULL);
    refused("80 GB/s", PSIM_DIMENSION_BYTES, PSIM_ERR_SCHEMA, "not a bandwidth", NULL);
    refused("1 s", PSIM_DIMENSION_FLOP_PER_S, PSIM_ERR_SCHEMA, "a computing rate is expected",
            NULL);
}

static void unknown_unit_names_the_nearest_with_its_case(void **state)
{
    (void)state;
    refused("1 Gbps", PSIM_DIMENSION_BYTES_PER_S, PSIM_ERR_SCHEMA, "unknown unit \"Gbps\"", "Gb/s");
    refused("1 GBps", PSIM_DIMENSION_BYTES_PER_S, PSIM_ERR_SCHEMA, "unknown unit", "GB/s");
    refused("1 gb/s", PSIM_DIMENSION_BYTES_PER_S, PSIM_ERR_SCHEMA, "unknown unit", "Gb/s");
    refused("1 TFLOPS/s", PSIM_DIMENSION_FLOP_PER_S, PSIM_ERR_SCHEMA, "unknown unit", "TFLOP/s");
    refused("1 fortnight", PSIM_DIMENSION_SECONDS, PSIM_ERR_SCHEMA, "known: s, ms, us, ns", NULL);
    refused("1 GB extra", PSIM_DIMENSION_BYTES, PSIM_ERR_SCHEMA, "unknown unit \"GB extra\"", NULL);
}

static void what_is_no_number_is_refused(void **state)
{
    static const char *const texts[] = {"",       "GB",     "NaN GB", "inf GB", "-inf GB",
                                        ".5 GB",  "5. GB",  "0x1 GB", "- 5 GB", " 5 GB",
                                        "1,5 GB", "--1 GB", "nan GB", "e5 GB"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct psim_error err = PSIM_ERROR_INIT;
        const char *nearest;
        double value = 42.0;

        if (psim_quantity_parse(texts[i], PSIM_DIMENSION_BYTES, &value, &nearest, &err) == PSIM_OK)
            fail_msg("\"%s\" was accepted", texts[i]);
        check_near(value, 42.0, 0.0);
    }
}

static void what_overflows_is_out_of_range(void **state)
{
    (void)state;
    refused("1e400 s", PSIM_DIMENSION_SECONDS, PSIM_ERR_RANGE, "must be finite", NULL);
    refused("-1e308 TB", PSIM_DIMENSION_BYTES, PSIM_ERR_RANGE, "must be finite", NULL);
}

static void more_digits_than_fit_are_refused_not_cut(void **state)
{
    char text[128];

    (void)state;
    memset(text, '1', 100);
    strcpy(text + 100, " B");
    refused(text, PSIM_DIMENSION_BYTES, PSIM_ERR_SCHEMA, "a size is expected", NULL);
}

static void messages_show_control_characters_escaped(void **state)
{
    (void)state;
    refused("5 \x1b[2J\n", PSIM_DIMENSION_BYTES, PSIM_ERR_SCHEMA, "\\u001b[2J\\u000a", NULL);
}

static void long_texts_are_cut_between_characters(void **state)
{
    char text[3 * 50 + 3] = "5 ", quoted[PSIM_QUOTED_BYTES], expected[3 * 40 + 8] = "\"";

    (void)state;
    for (int i = 0; i < 50; i++)
        strcat(text, "\xE6\x97\xA5"); /* U+65E5 */
    for (int i = 0; i < 40; i++)
        strcat(expected, "\xE6\x97\xA5");
    strcat(expected, "...\"");
    psim_text_quote(text + 2, quoted);
    assert_string_equal(quoted, expected);
    refused(text, PSIM_DIMENSION_BYTES, PSIM_ERR_SCHEMA, expected, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unit_has_its_exact_value),
        cmocka_unit_test(numbers_may_have_sign_fraction_exponent_and_no_space),
        cmocka_unit_test(missing_unit_says_which_are_possible),
        cmocka_unit_test(unit_of_another_dimension_is_told_apart),
        cmocka_unit_test(unknown_unit_names_the_nearest_with_its_case),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(what_overflows_is_out_of_range),
        cmocka_unit_test(more_digits_than_fit_are_refused_not_cut),
        cmocka_unit_test(messages_show_control_characters_escaped),
        cmocka_unit_test(long_texts_are_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
