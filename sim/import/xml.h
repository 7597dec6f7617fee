/**
 * @file sim/import/xml.h
 * An XML file as a tree of elements, each with its place.
 *
 * Private to sim/import; the one place for the parser library.  Text between elements, comments and
 * processing instructions are dropped, entities of the document's own are expanded, nothing is
 * fetched.
 */
#ifndef PSIM_IMPORT_XML_H
#define PSIM_IMPORT_XML_H

#include "sim/import/job.h"

struct psim_xml_attribute {
    const char *name, *value;
};

struct psim_xml_element {
    const char *name;
    struct psim_place at;
    struct psim_xml_attribute *attributes;
    size_t attribute_count;
    struct psim_xml_element *parent, *first, *last, *next;
};

/** The root; NULL when an error was reported.  At most PSIM_XML_DEPTH elements deep. */
#define PSIM_XML_DEPTH 128
const struct psim_xml_element *psim_xml_parse(struct psim_import_job *job);

/** NULL when the element has no such attribute. */
const char *psim_xml_attribute(const struct psim_xml_element *element, const char *name);

/** The same, where its absence is an error, which is reported. */
const char *psim_xml_required(struct psim_import_job *job, const struct psim_xml_element *element,
                              const char *name);

bool psim_xml_is(const struct psim_xml_element *element, const char *name);

#endif
