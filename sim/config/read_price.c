/*
 * "price" of device/1 and of a node of platform/1: what an hour costs, when, and who says so.
 *
 * Prices change within weeks, so one without its date means nothing and is refused.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "2026-11-09": year, month and day; how many days a month has is not looked at. */
static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    int month, day;

    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; i < sizeof form - 1; i++) {
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    }
    month = atoi(text + 5);
    day = atoi(text + 8);
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

void psim_read_price(struct psim_reader *reader, const struct psim_node *object,
                     struct psim_price *out)
{
    const int faults = reader->faults;
    struct psim_price price = {.given = true};
    const struct psim_field fields[] = {
        {.key = "per_hour",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .dimension = PSIM_DIMENSION_USD_PER_HOUR,
         .to.real = &price.usd_per_hour},
        {.key = "date", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &price.date},
        {.key = "source", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &price.source},
    };
    char quoted[PSIM_QUOTED_BYTES];

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    if (price.date != NULL && !is_date(price.date)) {
        psim_text_quote(price.date, quoted);
        psim_reader_error(reader, psim_node_member(object, "date"), PSIM_ERR_RANGE, NULL,
                          "must be a date such as \"2026-11-09\", not %s", quoted);
    }
    if (psim_reader_clean(reader, faults))
        *out = price;
}
