# psim_registry(TARGET t FOLDER f TYPE psim_method HEADER sim/method/method.h [SUFFIX s])
#
# One item, one file: every *.c of FOLDER defines `const struct TYPE TYPE_<file name>`; this makes
# the table of all of them, in the order of the file names.  A file without its symbol fails at link.
function(psim_registry)
  cmake_parse_arguments(R "" "TARGET;FOLDER;TYPE;HEADER" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS "${psim_source_root}/${R_FOLDER}/*.c")
  list(SORT files)
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WE)
    string(APPEND externs "extern const struct ${R_TYPE} ${R_TYPE}_${name};\n")
    string(APPEND rows "    &${R_TYPE}_${name},\n")
  endforeach()
  set(out "${PROJECT_BINARY_DIR}/generated/${R_TYPE}_table.c")
  file(CONFIGURE OUTPUT "${out}" CONTENT
"/* Generated from the files in @R_FOLDER@; do not edit. */
#include <stddef.h>
#include \"@R_HEADER@\"
@externs@
const struct @R_TYPE@ *const @R_TYPE@_table[] = {
@rows@    NULL,
};
" @ONLY)
  target_sources(${R_TARGET} PRIVATE ${files} "${out}")
endfunction()
