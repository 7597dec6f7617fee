/**
 * @file sim/cli/listing.h
 * Texts of `list` and `show`.
 *
 * Each function appends to `text`, or adds a diagnostic and returns its status.
 */
#ifndef PSIM_CLI_LISTING_H
#define PSIM_CLI_LISTING_H

#include "sim/cli/cli.h"

/** Adds a failure that has no place in a file. */
void psim_listing_fault(struct psim_diagnostics *list, const struct psim_error *err);

/** Appends the path of a platform: a file as it is, or the entry of the catalogue. */
enum psim_status psim_find_platform_file(const struct psim_catalogue *catalogue, const char *name,
                                         struct psim_text *path, struct psim_diagnostics *list);

enum psim_status psim_list_models(const struct psim_cli_values *, const char *, struct psim_text *,
                                  struct psim_diagnostics *);
enum psim_status psim_list_devices(const struct psim_cli_values *, const char *, struct psim_text *,
                                   struct psim_diagnostics *);
enum psim_status psim_list_platforms(const struct psim_cli_values *, const char *,
                                     struct psim_text *, struct psim_diagnostics *);
enum psim_status psim_list_methods(const struct psim_cli_values *, const char *, struct psim_text *,
                                   struct psim_diagnostics *);
enum psim_status psim_show_device(const struct psim_cli_values *, const char *, struct psim_text *,
                                  struct psim_diagnostics *);
enum psim_status psim_show_platform(const struct psim_cli_values *, const char *,
                                    struct psim_text *, struct psim_diagnostics *);
enum psim_status psim_show_model(const struct psim_cli_values *, const char *, struct psim_text *,
                                 struct psim_diagnostics *);
enum psim_status psim_show_method(const struct psim_cli_values *, const char *, struct psim_text *,
                                  struct psim_diagnostics *);

/** Appends a platform/1 file of the platform's hosts, switches and links. */
void psim_expand_platform(struct psim_text *text, const struct psim_platform *platform);

#endif
