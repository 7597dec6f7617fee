#include "sim/import/xml.h"

#include <expat.h>
#include <string.h>

struct tree {
    struct psim_import_job *job;
    XML_Parser parser;
    struct psim_xml_element *root, *open; /* the innermost element that is not closed yet */
    int depth;
};

static void *expat_alloc(size_t size)
{
    return psim_alloc(size, 1);
}

static void *expat_realloc(void *block, size_t size)
{
    return psim_realloc(block, size, 1);
}

static struct psim_place place_of(XML_Parser parser)
{
    return (struct psim_place){(int)XML_GetCurrentLineNumber(parser),
                               (int)XML_GetCurrentColumnNumber(parser) + 1};
}

static bool copy_attributes(struct psim_import_job *job, struct psim_xml_element *element,
                            const char **attributes)
{
    size_t count = 0;

    while (attributes[2 * count] != NULL)
        count++;
    element->attributes = psim_import_alloc(job, count, sizeof *element->attributes);
    for (size_t i = 0; element->attributes != NULL && i < count; i++) {
        struct psim_xml_attribute *copy = &element->attributes[i];

        copy->name = psim_import_printf(job, "%s", attributes[2 * i]);
        copy->value = psim_import_printf(job, "%s", attributes[2 * i + 1]);
    }
    element->attribute_count = count;
    return psim_import_clean(job);
}

static void stop(struct tree *tree)
{
    (void)XML_StopParser(tree->parser, XML_FALSE);
}

static void open_element(void *user, const char *name, const char **attributes)
{
    struct tree *tree = user;
    struct psim_xml_element *element = psim_import_alloc(tree->job, 1, sizeof *element);

    if (element == NULL) {
        stop(tree);
        return;
    }
    element->at = place_of(tree->parser);
    element->name = psim_import_printf(tree->job, "%s", name);
    if (++tree->depth > PSIM_XML_DEPTH)
        psim_import_error(tree->job, element->at, PSIM_ERR_RANGE, NULL,
                          "elements can be at most %d deep", PSIM_XML_DEPTH);
    if (!copy_attributes(tree->job, element, attributes)) {
        stop(tree);
        return;
    }
    element->parent = tree->open;
    if (tree->open == NULL)
        tree->root = element;
    else if (tree->open->last == NULL)
        tree->open->first = element;
    else
        tree->open->last->next = element;
    if (tree->open != NULL)
        tree->open->last = element;
    tree->open = element;
}

static void close_element(void *user, const char *name)
{
    struct tree *tree = user;

    (void)name;
    tree->depth--;
    tree->open = tree->open->parent;
}

/* Length of what the parser takes in one call. */
static int next_length(size_t left)
{
    return left > 1 << 20 ? 1 << 20 : (int)left;
}

static void parse(struct tree *tree)
{
    const struct psim_import_input *input = tree->job->input;
    enum XML_Status status = XML_STATUS_OK;
    enum XML_Error error;
    size_t done = 0;

    do {
        const int length = next_length(input->length - done);

        status = XML_Parse(tree->parser, input->text + done, length,
                           done + (size_t)length == input->length);
        done += (size_t)length;
    } while (status == XML_STATUS_OK && done < input->length);
    if (status == XML_STATUS_OK)
        return;
    error = XML_GetErrorCode(tree->parser);
    if (error == XML_ERROR_NO_MEMORY)
        psim_import_no_memory(tree->job);
    else if (error != XML_ERROR_ABORTED)
        psim_import_error(tree->job, place_of(tree->parser), PSIM_ERR_SYNTAX, NULL,
                          "not well-formed XML: %s", XML_ErrorString(error));
}

const struct psim_xml_element *psim_xml_parse(struct psim_import_job *job)
{
    static const XML_Memory_Handling_Suite memory = {expat_alloc, expat_realloc, psim_free};
    struct tree tree = {.job = job};

    tree.parser = XML_ParserCreate_MM("UTF-8", &memory, NULL);
    if (tree.parser == NULL) {
        psim_import_no_memory(job);
        return NULL;
    }
    XML_SetUserData(tree.parser, &tree);
    XML_SetElementHandler(tree.parser, open_element, close_element);
    parse(&tree);
    XML_ParserFree(tree.parser);
    return psim_import_clean(job) ? tree.root : NULL;
}

const char *psim_xml_attribute(const struct psim_xml_element *element, const char *name)
{
    for (size_t i = 0; i < element->attribute_count; i++) {
        if (strcmp(element->attributes[i].name, name) == 0)
            return element->attributes[i].value;
    }
    return NULL;
}

const char *psim_xml_required(struct psim_import_job *job, const struct psim_xml_element *element,
                              const char *name)
{
    const char *value = psim_xml_attribute(element, name);

    if (value == NULL)
        psim_import_error(job, element->at, PSIM_ERR_SCHEMA, NULL,
                          "<%.40s> lacks the attribute \"%s\"", element->name, name);
    return value;
}

bool psim_xml_is(const struct psim_xml_element *element, const char *name)
{
    return strcmp(element->name, name) == 0;
}
