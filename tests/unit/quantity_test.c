/* Numbers as tables show them: no digit lost, whatever shares the column. */
#include "sim/report/quantity.h"

#include "sim/report/display.h"
#include "tests/support/check.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN 3

static const enum psim_quantity continuous[] = {
    PSIM_QUANTITY_NUMBER, PSIM_QUANTITY_RATIO,   PSIM_QUANTITY_SHARE,  PSIM_QUANTITY_SECONDS,
    PSIM_QUANTITY_FLOP,   PSIM_QUANTITY_TRAFFIC, PSIM_QUANTITY_MEMORY, PSIM_QUANTITY_MEMORY_DECIMAL,
};

/* Digits from the first that is not zero, up to an exponent. */
static int significant_digits(const char *text)
{
    int digits = 0;

    for (; *text != '\0' && *text != 'e'; text++)
        digits += isdigit((unsigned char)*text) && (digits > 0 || *text != '0') ? 1 : 0;
    return digits;
}

/* Three digits, and the value itself to their precision. */
static bool shows(const char *text, double value)
{
    return significant_digits(text) >= 3 && fabs(strtod(text, NULL) - value) <= 0.005 * value;
}

/* The texts of a column, in the arena; returns its scale. */
static struct psim_scale column_texts(struct psim_arena *arena, enum psim_quantity quantity,
                                      const double *values, const char **texts)
{
    struct psim_extent extent = {0.0, 0.0, false};
    struct psim_scale scale;

    for (int i = 0; i < COLUMN; i++)
        psim_extent_include(&extent, quantity, values[i]);
    scale = psim_scale_fit(quantity, &extent);
    for (int i = 0; i < COLUMN; i++) {
        texts[i] = psim_number_text(arena, &scale, values[i]);
        assert_non_null(texts[i]);
    }
    return scale;
}

static void check_column(enum psim_quantity quantity, const double *values)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    const char *texts[COLUMN];
    const struct psim_scale scale = column_texts(&arena, quantity, values, texts);

    for (int i = 0; i < COLUMN; i++) {
        const double scaled = values[i] / scale.factor;
        const bool exact = strcmp(scale.unit, "B") == 0 && strtod(texts[i], NULL) == scaled;

        if ((!exact && !shows(texts[i], scaled)) || strlen(texts[i]) > 11)
            fail_msg("%.17g %s shows as \"%s\" (quantity %d)", scaled, scale.unit, texts[i],
                     (int)quantity);
    }
    psim_arena_release(&arena);
}

static void every_number_shows_three_digits_in_columns_of_any_range(void **state)
{
    static const double ranges[] = {1.0, 3.0, 99.0, 9999.0, 1e6, 1e12};

    (void)state;
    for (size_t q = 0; q < sizeof continuous / sizeof continuous[0]; q++) {
        for (double least = 1.2345678e-9; least < 1e13; least *= 7.3) {
            for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
                const double middle = least * sqrt(ranges[r]);
                const double values[COLUMN] = {least, middle, least * ranges[r]};

                check_column(continuous[q], values);
            }
        }
    }
}

static void digit_checker_rejects_what_lost_its_digits(void **state)
{
    (void)state;
    assert_true(shows("0.00789", 0.00789));
    assert_true(shows("1.20e-12", 1.2e-12));
    assert_false(shows("0.008", 0.0078));
    assert_false(shows("0.01", 0.0123));
    assert_false(shows("1.30", 1.2));
    assert_false(shows("0.000", 1e-9));
}

static void extreme_numbers_are_written_with_an_exponent(void **state)
{
    static const double values[COLUMN] = {1e-300, 5.0, 1e300};
    struct psim_arena arena = PSIM_ARENA_INIT;
    const char *texts[COLUMN];

    (void)state;
    for (size_t q = 0; q < sizeof continuous / sizeof continuous[0]; q++) {
        const struct psim_scale scale = column_texts(&arena, continuous[q], values, texts);

        for (int i = 0; i < COLUMN; i++)
            assert_true(strlen(texts[i]) <= 11);
        assert_non_null(strstr(texts[2], "e+"));
        assert_true(shows(texts[2], 1e300 / scale.factor));
        check_near(strtod(texts[1], NULL), 5.0 / scale.factor, 0.005);
    }
    assert_string_equal(psim_quantity_text(&arena, PSIM_QUANTITY_SECONDS, 1e-300), "1.00e-291 ns");
    assert_string_equal(psim_quantity_text(&arena, PSIM_QUANTITY_COUNT, 2147483648.0),
                        "2147483648");
    psim_arena_release(&arena);
}

static void single_quantities_take_the_unit_that_suits(void **state)
{
    static const struct {
        enum psim_quantity quantity;
        double value;
        const char *text;
    } cases[] = {
        {PSIM_QUANTITY_SECONDS, 1e-3, "1.000 ms"},
        {PSIM_QUANTITY_SECONDS, 0.99996e-3, "1.000 ms"},
        {PSIM_QUANTITY_SECONDS, 0.0, "0 s"},
        {PSIM_QUANTITY_MEMORY, 512.0, "512 B"},
        {PSIM_QUANTITY_MEMORY, 1073741824.0 * 1.5, "1.500 GiB"},
        {PSIM_QUANTITY_SHARE, 1e-17, "0.0 %"},
        {PSIM_QUANTITY_SHARE, -1e-17, "0.0 %"},
        {PSIM_QUANTITY_SHARE, 0.954, "95.4 %"},
        {PSIM_QUANTITY_RATIO, 0.0033, "0.00330"},
        {PSIM_QUANTITY_NUMBER, -0.0, "0"},
        {PSIM_QUANTITY_NUMBER, NAN, "unknown"},
        {PSIM_QUANTITY_NUMBER, INFINITY, "unknown"},
    };
    struct psim_arena arena = PSIM_ARENA_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(psim_quantity_text(&arena, cases[i].quantity, cases[i].value),
                            cases[i].text);
    psim_arena_release(&arena);
}

static void column_of_unknown_numbers_has_no_unit(void **state)
{
    static const double unknown[COLUMN] = {NAN, INFINITY, NAN}, zero[COLUMN] = {0.0, NAN, 0.0};
    struct psim_arena arena = PSIM_ARENA_INIT;
    const char *texts[COLUMN];

    (void)state;
    assert_string_equal(column_texts(&arena, PSIM_QUANTITY_MEMORY, unknown, texts).unit, "");
    assert_string_equal(texts[1], PSIM_UNKNOWN_CELL);
    assert_string_equal(column_texts(&arena, PSIM_QUANTITY_MEMORY, zero, texts).unit, "B");
    assert_string_equal(texts[0], "0");
    psim_arena_release(&arena);
}

/* Unicode's East Asian Width of each character, by its code charts. */
static void width_counts_columns_not_bytes_nor_characters(void **state)
{
    static const struct {
        const char *text;
        int width;
    } cases[] = {
        {"", 0},
        {"gpipe", 5},
        {"caf\xc3\xa9", 4},              /* U+00E9 */
        {"cafe\xcc\x81", 4},             /* e and U+0301, combining */
        {"\xe5\xb1\x82\xe4\xba\x8c", 4}, /* U+5C42 U+4E8C, wide */
        {"\xed\x95\x9c", 2},             /* U+D55C, Hangul */
        {"\xef\xbc\xa1", 2},             /* U+FF21, full-width A */
        {"\xef\xbd\xb1", 1},             /* U+FF71, half-width katakana */
        {"\xf0\x9f\x9a\x80", 2},         /* U+1F680 */
        {"\xff\xfe", 2},                 /* not UTF-8: a column a byte */
        {"\xe5\xb1", 2},                 /* cut short */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(psim_display_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_shows_three_digits_in_columns_of_any_range),
        cmocka_unit_test(digit_checker_rejects_what_lost_its_digits),
        cmocka_unit_test(extreme_numbers_are_written_with_an_exponent),
        cmocka_unit_test(single_quantities_take_the_unit_that_suits),
        cmocka_unit_test(column_of_unknown_numbers_has_no_unit),
        cmocka_unit_test(width_counts_columns_not_bytes_nor_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
