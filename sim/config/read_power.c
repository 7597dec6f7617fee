/* "power" of links, switches, NICs and short forms of platform/1: what they draw, and who says so.
 */
#include "sim/config/formats.h"

#include <math.h>

void psim_read_power(struct psim_reader *reader, const struct psim_node *object,
                     struct psim_power *out)
{
    const int faults = reader->faults;
    struct psim_power power = {.given = true, .static_w = NAN, .joule_per_byte = NAN};
    const struct psim_field fields[] = {
        {.key = "static",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_WATT,
         .to.real = &power.static_w},
        {.key = "per_bit",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_JOULE_PER_BYTE,
         .to.real = &power.joule_per_byte},
        {.key = "source", .kind = PSIM_FIELD_TEXT, .to.text = &power.source},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    if (psim_reader_clean(reader, faults))
        *out = power;
}
