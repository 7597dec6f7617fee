#include "sim/report/display.h"

#include <stdbool.h>
#include <stdint.h>

struct range {
    uint32_t first, last;
};

/* Unicode 15, EastAsianWidth.txt: the blocks that are W or F throughout or nearly so. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},
    {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

/* Unicode 15, UnicodeData.txt: blocks of category Mn, and characters of category Cf. */
static const struct range combining[] = {
    {0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},   {0x200B, 0x200F},
    {0x20D0, 0x20F0}, {0x302A, 0x302D}, {0x3099, 0x309A},   {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

static bool is_in(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count; i++) {
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    }
    return false;
}

/* Bytes of the character that starts at `text`; 1 for what is not UTF-8. */
static size_t decode(const char *text, size_t length, uint32_t *character)
{
    const unsigned char lead = (unsigned char)text[0];
    const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;

    *character = lead;
    if (bytes == 1 || bytes > length)
        return 1;
    *character = lead & (0xFFu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        const unsigned char byte = (unsigned char)text[i];

        if ((byte & 0xC0) != 0x80) {
            *character = lead;
            return 1;
        }
        *character = *character << 6 | (byte & 0x3Fu);
    }
    return bytes;
}

int psim_display_width(const char *text, size_t length)
{
    int width = 0;

    for (size_t at = 0; at < length;) {
        uint32_t character;

        at += decode(text + at, length - at, &character);
        if (is_in(wide, sizeof wide / sizeof wide[0], character) &&
            !is_in(combining, sizeof combining / sizeof combining[0], character))
            width += 2;
        else if (!is_in(combining, sizeof combining / sizeof combining[0], character))
            width += 1;
    }
    return width;
}
