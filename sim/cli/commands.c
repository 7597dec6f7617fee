/* The commands, their help, and the way from main to them. */
#define _DEFAULT_SOURCE /* readlink */
#include "sim/base/memory.h"
#include "sim/cli/cli.h"
#include "sim/engine/engine.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMON                                                                                     \
    (PSIM_OPTION_BIT(HELP) | PSIM_OPTION_BIT(CATALOGUE) | PSIM_OPTION_BIT(OUT) |                   \
     PSIM_OPTION_BIT(QUIET))
#define SIMULATE                                                                                   \
    (COMMON | PSIM_OPTION_BIT(FORMAT) | PSIM_OPTION_BIT(ENGINE) | PSIM_OPTION_BIT(WORKERS) |       \
     PSIM_OPTION_BIT(CHECK) | PSIM_OPTION_BIT(TIMELINE) | PSIM_OPTION_BIT(TRACE))

const struct psim_command psim_commands[] = {
    {.name = "run",
     .operands = "SCENARIO",
     .summary = "time, memory, utilisation and bottleneck, stage by stage",
     .detail =
         "Simulates every method of the scenario and prints, per method, the iteration time,\n"
         "what fills the worst device's memory at its peak, and a table of the stages.",
     .examples = "  petrasim run scenarios/smoke/unit.json\n"
                 "  petrasim run --format json --out result.json scenarios/smoke/unit.json\n",
     .options = SIMULATE,
     .operands_min = 1,
     .operands_max = 1,
     .run = psim_command_run},
    {.name = "compare",
     .operands = "SCENARIO",
     .summary = "one row per method, at equal batch: the Table-1-style comparison",
     .detail = "Simulates every method of the scenario on the same model, platform and batch and\n"
               "prints one row each, the published closed form beside the simulated figure.",
     .examples = "  petrasim compare scenarios/table1/revnet50-imagenet.json\n"
                 "  petrasim compare --format latex scenarios/table1/revnet50-imagenet.json\n",
     .options = SIMULATE,
     .operands_min = 1,
     .operands_max = 1,
     .run = psim_command_compare},
    {.name = "fit",
     .operands = "SCENARIO",
     .summary = "does it fit in memory, where not, and what near it does",
     .detail =
         "Simulates every method of the scenario and judges the device with the least room, at "
         "the\n"
         "step's peak, at an optimizer step and at start-up.  Memory is shown as allocated (by\n"
         "tensors), reserved (by the allocator) and of the device (as the system reports it), and\n"
         "the last must fit.  What does not fit gets the nearest that does.",
     .examples = "  petrasim fit scenarios/smoke/small.json\n"
                 "  petrasim fit --check --reserve communicator=400MiB,fragmentation=0.2 my.json\n",
     .options = COMMON | PSIM_OPTION_BIT(FORMAT) | PSIM_OPTION_BIT(ENGINE) |
                PSIM_OPTION_BIT(WORKERS) | PSIM_OPTION_BIT(CHECK) | PSIM_OPTION_BIT(RESERVE),
     .operands_min = 1,
     .operands_max = 1,
     .run = psim_command_fit},
    {.name = "plan",
     .operands = "GOAL",
     .summary = "fewest GPUs, largest model, fastest or cheapest plan under constraints",
     .detail =
         "GOAL is a plan/1 file: networks, platforms, methods, ranges, an objective, constraints.\n"
         "Plans that a proved bound rules out are discarded, the others replayed, and what is\n"
         "reported is confirmed by the simgrid engine: the best plan, runners-up, the best of "
         "each\n"
         "method, the front of time, money and memory; or, where nothing is feasible, the nearest\n"
         "plan and a minimal set of limits that contradict each other.",
     .examples = "  petrasim plan scenarios/plan/fewest-gpus.json\n"
                 "  petrasim plan --format md --check my-goal.json\n",
     .options = COMMON | PSIM_OPTION_BIT(FORMAT) | PSIM_OPTION_BIT(WORKERS) |
                PSIM_OPTION_BIT(CHECK) | PSIM_OPTION_BIT(EXHAUSTIVE) |
                PSIM_OPTION_BIT(SCENARIO_OUT) | PSIM_OPTION_BIT(PLOT),
     .operands_min = 1,
     .operands_max = 1,
     .run = psim_command_plan},
    {.name = "sweep",
     .operands = "SCENARIO|SWEEP  or  show DB  or  merge OUT DB...",
     .summary = "many scenarios that differ in some values, resumable, into a database",
     .detail =
         "Simulates every combination of the values of the axes, which a sweep/1 file and --scan\n"
         "name, and prints a row per point and method.  With --db every point is kept as soon as\n"
         "it is done; the same command goes on where it was stopped, by whatever.  Under mpirun\n"
         "rank 0 hands out the points and the other ranks simulate.  `show` prints what a\n"
         "database has, `merge` puts the databases of several --shard jobs together.",
     .examples = "  petrasim sweep scenarios/smoke/small.json --scan batch.microbatch=8:256:*2\n"
                 "  petrasim sweep my-sweep.json --db results.sqlite --workers 4\n"
                 "  petrasim sweep show results.sqlite --format csv --plot time.svg\n"
                 "  mpirun -n 9 petrasim sweep my-sweep.json --db results.sqlite\n",
     .options = COMMON | PSIM_OPTION_BIT(FORMAT) | PSIM_OPTION_BIT(ENGINE) |
                PSIM_OPTION_BIT(WORKERS) | PSIM_OPTION_BIT(SCAN) | PSIM_OPTION_BIT(DATABASE) |
                PSIM_OPTION_BIT(SHARD) | PSIM_OPTION_BIT(LIST) | PSIM_OPTION_BIT(RETRY) |
                PSIM_OPTION_BIT(PLOT),
     .operands_min = 1,
     .operands_max = 1 << 20,
     .run = psim_command_sweep},
    {.name = "check",
     .operands = "FILE...",
     .summary = "validates scenario, platform, device and model files",
     .detail = "Reads each file and what it names, and prints every fault with file:line:column,\n"
               "JSON path, what is wrong and the nearest known key.  Nothing is simulated.",
     .examples = "  petrasim check my-cluster.json my-scenario.json\n",
     .options = COMMON,
     .operands_min = 1,
     .operands_max = 1 << 20,
     .run = psim_command_check},
    {.name = "list",
     .operands = "models|devices|platforms|methods",
     .summary = "what the catalogues hold",
     .detail = "Prints one line per entry.",
     .examples = "  petrasim list methods\n  petrasim list devices\n",
     .options = COMMON,
     .operands_min = 1,
     .operands_max = 1,
     .run = psim_command_list},
    {.name = "show",
     .operands = "device|platform|model|method NAME",
     .summary = "one entry with its figures and their sources",
     .detail = "NAME is a catalogue name, an alias of a device, or a file.",
     .examples = "  petrasim show device A100\n  petrasim show model revnet18 --input 3x32x32\n"
                 "  petrasim show method petra\n",
     .options =
         COMMON | PSIM_OPTION_BIT(INPUT) | PSIM_OPTION_BIT(CLASSES) | PSIM_OPTION_BIT(EXPANDED),
     .operands_min = 2,
     .operands_max = 2,
     .run = psim_command_show},
    {.name = "import",
     .operands = "KIND FILE",
     .summary = "files of other tools to platforms, links and stages",
     .detail =
         "KIND is nvidia_smi_topo, nccl_topo or simgrid_xml (a platform comes out), nccl_tests (a\n"
         "link) or layer_csv (the \"model\" of a scenario).  Faults are named by line and column,\n"
         "and with one of them nothing comes out.",
     .examples = "  petrasim import nvidia_smi_topo topo.txt --device A100 --out my-node.json\n"
                 "  petrasim import layer_csv layers.csv\n",
     .options = COMMON | PSIM_OPTION_BIT(DEVICE),
     .operands_min = 2,
     .operands_max = 2,
     .run = psim_command_import},
    {.name = "export",
     .operands = "simgrid_xml PLATFORM",
     .summary = "a platform file for SimGrid's own loader",
     .detail = "PLATFORM is a file.  Every pair of devices gets the route that petrasim takes.",
     .examples = "  petrasim export simgrid_xml platforms/clusters/18x-a100.json\n",
     .options = COMMON,
     .operands_min = 2,
     .operands_max = 2,
     .run = psim_command_export},
    {.name = "collective",
     .operands = "PLATFORM",
     .summary = "time and bandwidth of an all-reduce and its like, size by size",
     .detail =
         "PLATFORM is a file or a catalogue name.  Where the catalogue has measurements of the\n"
         "platform, messages are slowed down to what was measured: at measured sizes the tag\n"
         "is \"measured\", between them \"estimated\"; else the links decide alone and the tag is\n"
         "\"assumed\".  The closed form takes every hop as the slowest between neighbours.",
     .examples = "  petrasim collective 8x-h200\n"
                 "  petrasim collective 8x-h200 --kind all_gather --bytes 1MiB:1GiB --ranks 4\n",
     .options = COMMON | PSIM_OPTION_BIT(SERIES_FORMAT) | PSIM_OPTION_BIT(ENGINE) |
                PSIM_OPTION_BIT(KIND) | PSIM_OPTION_BIT(ALGORITHM) | PSIM_OPTION_BIT(BYTES) |
                PSIM_OPTION_BIT(RANKS),
     .operands_min = 1,
     .operands_max = 1,
     .run = psim_command_collective},
    {.name = NULL},
};

static void print_help(FILE *file)
{
    fprintf(file, "petrasim: how long is a training iteration, and what fills each GPU's memory,\n"
                  "before the hardware is bought\n\n"
                  "usage: petrasim COMMAND [OPTION]... OPERAND...\n\n"
                  "  petrasim compare scenarios/table1/revnet50-imagenet.json\n"
                  "  petrasim run scenarios/smoke/unit.json --format json\n"
                  "  petrasim show device A100\n\ncommands:\n");
    for (size_t i = 0; psim_commands[i].name != NULL; i++)
        fprintf(file, "  %-12s%s\n", psim_commands[i].name, psim_commands[i].summary);
    fprintf(file,
            "\n'petrasim COMMAND --help' explains a command; 'petrasim --version' prints the "
            "version.\n"
            "exit status: 0 done; 1 a stated expectation failed; 2 bad command line; 3 invalid "
            "input;\n4 not available here; 5 output failed, out of memory, or a simulation "
            "died\n");
}

static void print_command_help(const struct psim_command *command)
{
    printf("petrasim %s: %s\n\nusage: petrasim %s [OPTION]... %s\n\n%s\n\noptions:\n",
           command->name, command->summary, command->name, command->operands, command->detail);
    psim_cli_print_options(stdout, command->options);
    printf("\nexamples:\n%s", command->examples);
}

bool psim_cli_diagnose(const struct psim_cli_values *values, struct psim_diagnostics *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *line;

        if (values->quiet && list->items[i].severity == PSIM_SEVERITY_WARNING)
            continue;
        line = psim_diagnostic_line(list, i);
        fprintf(stderr, "%s\n", line == NULL ? "error: out of memory" : line);
    }
    if (list->out_of_memory)
        fprintf(stderr, "petrasim: out of memory while reading\n");
    return list->errors == 0;
}

void psim_cli_complain(const struct psim_error *err)
{
    fprintf(stderr, "petrasim: %s%s%s\n", err->where, err->where[0] == '\0' ? "" : ": ",
            err->message[0] == '\0' ? psim_status_text(err->status) : err->message);
}

enum psim_exit psim_cli_exit(enum psim_status status, bool reading)
{
    switch (status) {
    case PSIM_OK:
        return PSIM_EXIT_OK;
    case PSIM_ERR_NOMEM:
    case PSIM_ERR_CHILD:
        return PSIM_EXIT_FAILED;
    case PSIM_ERR_IO:
        return reading ? PSIM_EXIT_INPUT : PSIM_EXIT_FAILED;
    case PSIM_ERR_UNSUPPORTED:
        return reading ? PSIM_EXIT_INPUT : PSIM_EXIT_LACKING;
    default:
        return PSIM_EXIT_INPUT;
    }
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The installed catalogue lies at a fixed way from the program's own folder. */
static const char *beside_program(void)
{
    static char path[4096 + sizeof PSIM_RELATIVE_PLATFORMS];
    char own[4096];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash;

    if (length <= 0)
        return NULL;
    own[length] = '\0';
    slash = strrchr(own, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    snprintf(path, sizeof path, "%s/%s", own, PSIM_RELATIVE_PLATFORMS);
    return is_folder(path) ? path : NULL;
}

struct psim_catalogue psim_cli_catalogue(const struct psim_cli_values *values)
{
    const char *installed = beside_program();

    if (values->catalogue != NULL)
        return (struct psim_catalogue){values->catalogue};
    if (installed != NULL)
        return (struct psim_catalogue){installed};
    return (struct psim_catalogue){is_folder(PSIM_SOURCE_PLATFORMS) ? PSIM_SOURCE_PLATFORMS
                                                                    : PSIM_INSTALL_PLATFORMS};
}

bool psim_cli_is_stdout(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

enum psim_exit psim_cli_write(const char *path, const struct psim_text *text)
{
    struct psim_error err = PSIM_ERROR_INIT;
    enum psim_status status;

    if (text->failed) {
        fprintf(stderr, "petrasim: out of memory\n");
        return PSIM_EXIT_FAILED;
    }
    status = psim_output_write(psim_cli_is_stdout(path) ? NULL : path,
                               text->data == NULL ? "" : text->data, text->length, &err);
    if (status != PSIM_OK)
        psim_cli_complain(&err);
    return psim_cli_exit(status, false);
}

enum psim_exit psim_cli_write_report(const struct psim_cli_values *values, enum psim_status made,
                                     const struct psim_sheet_report *report, struct psim_error *err)
{
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_status status = made;
    enum psim_exit code;

    if (status == PSIM_OK)
        status = psim_sheet_render(report, (enum psim_format)values->format, &text, err);
    if (status == PSIM_OK) {
        code = psim_cli_write(values->out, &text);
    } else {
        psim_cli_complain(err);
        code = psim_cli_exit(status, false);
    }
    psim_text_release(&text);
    return code;
}

static const struct psim_command *find_command(const char *name)
{
    const char *names[16], *near;
    size_t count = 0;

    for (; psim_commands[count].name != NULL; count++) {
        names[count] = psim_commands[count].name;
        if (strcmp(name, names[count]) == 0)
            return &psim_commands[count];
    }
    near = psim_nearest_name(name, names, count);
    fprintf(stderr, "petrasim: unknown command '%s'", name);
    if (near != NULL)
        fprintf(stderr, " (did you mean '%s'?)", near);
    fprintf(stderr, "; see 'petrasim --help'\n");
    return NULL;
}

static enum psim_exit run_command(const struct psim_command *command, int argc, char **argv,
                                  char **operands)
{
    struct psim_cli_values values = {.classes = 1000, .input = {3, 224, 224}};
    int count;

    values.workers = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    if (!psim_cli_parse(argc, argv, command->options, command->name, &values, operands, &count))
        return PSIM_EXIT_USAGE;
    if (values.help) {
        print_command_help(command);
        return PSIM_EXIT_OK;
    }
    if (count < command->operands_min || count > command->operands_max) {
        fprintf(stderr, "petrasim: usage: petrasim %s [OPTION]... %s\n", command->name,
                command->operands);
        return PSIM_EXIT_USAGE;
    }
    return command->run(&values, operands, count);
}

/* The command is the first argument that is not an option. */
static int command_at(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            return i;
        if (psim_cli_takes_value(argv[i]))
            i++;
    }
    return -1;
}

static void print_version(void)
{
    printf("petrasim %s (SimGrid %s)\n", PSIM_VERSION, psim_engine_simgrid_version());
}

static enum psim_exit dispatch(int argc, char **argv, char **operands)
{
    const int at = command_at(argc, argv);
    struct psim_cli_values values = {0};
    const struct psim_command *command;
    int count;

    if (at < 0) {
        const unsigned allowed = PSIM_OPTION_BIT(HELP) | PSIM_OPTION_BIT(VERSION);

        if (!psim_cli_parse(argc - 1, argv + 1, allowed, NULL, &values, operands, &count))
            return PSIM_EXIT_USAGE;
        if (values.version)
            print_version();
        else
            print_help(values.help ? stdout : stderr);
        return values.version || values.help ? PSIM_EXIT_OK : PSIM_EXIT_USAGE;
    }
    if (strcmp(argv[at], "help") == 0 || strcmp(argv[at], "version") == 0) {
        if (argv[at][0] == 'h')
            print_help(stdout);
        else
            print_version();
        return PSIM_EXIT_OK;
    }
    command = find_command(argv[at]);
    if (command == NULL)
        return PSIM_EXIT_USAGE;
    for (int i = at; i > 1; i--)
        argv[i] = argv[i - 1];
    return run_command(command, argc - 2, argv + 2, operands);
}

int psim_cli_main(int argc, char **argv)
{
    char **operands = psim_alloc((size_t)argc + 1, sizeof *operands);
    enum psim_exit code;

    if (operands == NULL) {
        fprintf(stderr, "petrasim: out of memory\n");
        return PSIM_EXIT_FAILED;
    }
    code = dispatch(argc, argv, operands);
    psim_free(operands);
    if (fclose(stdout) != 0 && code == PSIM_EXIT_OK) {
        fprintf(stderr, "petrasim: standard output could not be written\n");
        code = PSIM_EXIT_FAILED;
    }
    return (int)code;
}
