/* `sweep`: points, the database they go to, who works on them, and how far it is. */
#define _DEFAULT_SOURCE /* SIGXFSZ */
#include "sim/base/memory.h"
#include "sim/cli/cli.h"
#include "sim/cli/picture.h"
#include "sim/engine/engine.h"
#include "sim/plan/sweep.h"
#include "sim/plan/sweep_report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Showing ---- */

static enum psim_exit plot(const struct psim_cli_values *values,
                           const struct psim_sweep_table *table)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text script = PSIM_TEXT_INIT;
    enum psim_exit code;

    if (psim_sweep_plot(table, &script, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        code = psim_cli_exit(err.status, false);
    } else {
        code = psim_picture_draw(values->plot, "1000,500", &script);
    }
    psim_text_release(&script);
    return code;
}

static enum psim_exit show(const struct psim_cli_values *values, struct psim_store *store)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    struct psim_sweep_table table = {.arena = PSIM_ARENA_INIT};
    enum psim_exit code;

    if (psim_store_read(store, &table, &err) != PSIM_OK ||
        psim_sweep_render(&table, (enum psim_format)values->format, &text, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        code = psim_cli_exit(err.status, false);
    } else {
        code = psim_cli_write(values->out, &text);
    }
    if (code == PSIM_EXIT_OK && values->plot != NULL)
        code = plot(values, &table);
    psim_text_release(&text);
    psim_sweep_table_release(&table);
    return code;
}

static enum psim_exit command_show(const struct psim_cli_values *values, const char *path)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_store *store = NULL;
    enum psim_exit code;

    if (psim_store_open(path, &store, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        return psim_cli_exit(err.status, true);
    }
    code = show(values, store);
    psim_store_close(store);
    return code;
}

static enum psim_exit command_merge(char *const operands[], int count)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const char **paths = psim_alloc((size_t)count, sizeof *paths);
    enum psim_status status = PSIM_ERR_NOMEM;

    for (int i = 0; paths != NULL && i + 1 < count; i++)
        paths[i] = operands[i + 1];
    if (paths == NULL)
        status = psim_fail(&err, PSIM_ERR_NOMEM, "merge", "out of memory");
    else
        status = psim_store_merge(operands[0], paths, count - 1, &err);
    psim_free(paths);
    if (status != PSIM_OK)
        psim_cli_complain(&err);
    return psim_cli_exit(status, false);
}

/* ---- Listing ---- */

static enum psim_exit list_points(const struct psim_cli_values *values,
                                  const struct psim_sweep *sweep,
                                  const struct psim_sweep_shard *shard)
{
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_exit code;

    for (int64_t point = shard->index; point < sweep->point_count; point += shard->count) {
        psim_text_printf(&text, "%" PRId64, point);
        for (int a = 0; a < sweep->axis_count; a++) {
            for (int k = 0; k < sweep->axes[a].key_count; k++) {
                psim_text_printf(&text, "  %s=", sweep->axes[a].keys[k]);
                psim_sweep_value_json(&sweep->axes[a], psim_sweep_value_index(sweep, a, point), k,
                                      &text);
            }
        }
        psim_text_printf(&text, "\n");
    }
    code = psim_cli_write(values->out, &text);
    psim_text_release(&text);
    return code;
}

/* ---- Running ---- */

static volatile sig_atomic_t stop_signal;

static void stop(int signal)
{
    stop_signal = signal;
}

/* No SA_RESTART: a wait is to end. A file at its limit is an error to report, not an end. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = stop};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TERMINAL_S 0.2  /* between two states of the line of progress */
#define SPARSE_S   30.0 /* between two lines where nobody looks on */

struct progress {
    double start_s, shown_s;
    bool terminal;
};

static void show_progress(void *context, const struct psim_sweep_counts *counts)
{
    struct progress *progress = context;
    const double now = now_s(), elapsed_s = now - progress->start_s;
    const int64_t done = counts->done - counts->before;
    const bool last = counts->done == counts->total;

    if (now - progress->shown_s < (progress->terminal ? TERMINAL_S : SPARSE_S) &&
        !(last && progress->terminal))
        return;
    progress->shown_s = now;
    fprintf(stderr, "%spetrasim: %" PRId64 " of %" PRId64 " points, %.1f a second, %.0f s left%s",
            progress->terminal ? "\r" : "", counts->done, counts->total, (double)done / elapsed_s,
            done == 0 ? 0.0 : elapsed_s * (double)(counts->total - counts->done) / (double)done,
            progress->terminal ? (last ? "  \n" : "  ") : "\n");
}

static enum psim_exit conclude(const struct psim_cli_values *values, struct psim_store *store,
                               const struct psim_sweep_counts *counts)
{
    enum psim_exit code;

    if (stop_signal != 0) {
        fprintf(stderr, "petrasim: stopped; %" PRId64 " of %" PRId64 " points are done%s\n",
                counts->done, counts->total,
                values->database != NULL ? " and kept: the same command goes on from there" : "");
        return PSIM_EXIT_OK; /* the signal itself tells: see command_run */
    }
    code = show(values, store);
    if (counts->failed > 0 || counts->invalid > 0)
        fprintf(stderr,
                "petrasim: of the points run, %" PRId64 " failed and %" PRId64
                " have values that do not go together\n",
                counts->failed, counts->invalid);
    if (code == PSIM_EXIT_OK && counts->failed > 0)
        return PSIM_EXIT_FAILED;
    return code == PSIM_EXIT_OK && counts->invalid > 0 ? PSIM_EXIT_INPUT : code;
}

/* What one process of a sweep has read and been told. */
struct session {
    const struct psim_cli_values *values;
    struct psim_sweep sweep;
    struct psim_sweep_shard shard;
    struct psim_catalogue catalogue;
    int rank, size; /* under mpirun, else 0 of 1 */
};

static enum psim_status open_store(const struct session *session, struct psim_store **out,
                                   struct psim_error *err)
{
    const struct psim_cli_values *values = session->values;
    const struct psim_store_identity identity = {.program = PSIM_VERSION,
                                                 .simgrid = psim_engine_simgrid_version(),
                                                 .engine =
                                                     values->engine == NULL ? "" : values->engine,
                                                 .sweep = &session->sweep};
    enum psim_status status = psim_store_begin(values->database, &identity, out, err);

    if (status == PSIM_OK && values->retry)
        status = psim_store_forget_failed(*out, err);
    return status;
}

static enum psim_exit run(const struct session *session, const struct psim_sweep_task *task,
                          struct psim_store *store)
{
    const struct psim_cli_values *values = session->values;
    struct psim_error err = PSIM_ERROR_INIT;
    struct progress progress = {.terminal = isatty(STDERR_FILENO) != 0};
    struct psim_sweep_counts counts = {0};
    const struct psim_sweep_options options = {.workers = (int)values->workers,
                                               .ranks = session->size > 1,
                                               .shard = session->shard,
                                               .stop = &stop_signal,
                                               .progress = values->quiet ? NULL : show_progress,
                                               .context = &progress};

    progress.start_s = progress.shown_s = now_s();
    catch_signals();
    if (psim_sweep_run(task, store, &options, &counts, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        fprintf(stderr, "petrasim: %" PRId64 " of %" PRId64 " points are done%s\n", counts.done,
                counts.total, values->database != NULL ? " and kept" : "");
        return psim_cli_exit(err.status, false);
    }
    return conclude(values, store, &counts);
}

/* Rank 0, or the only process.  `ready` is false where something was wrong already, which the
 * other ranks must hear. */
static enum psim_exit lead(const struct session *session, const struct psim_sweep_task *task,
                           bool ready)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_store *store = NULL;
    enum psim_exit code = PSIM_EXIT_INPUT;
    const bool opened = ready && open_store(session, &store, &err) == PSIM_OK;
    bool agreed = opened;

    if (session->size > 1)
        agreed = psim_mpi_agree(opened, session->sweep.inputs_sha256);
    if (ready && !opened) {
        psim_cli_complain(&err);
        code = psim_cli_exit(err.status, false);
    } else if (opened && !agreed) {
        fprintf(stderr, "petrasim: mpirun: the ranks do not read the same files\n");
    } else if (agreed) {
        code = run(session, task, store);
    }
    psim_store_close(store);
    return code;
}

static enum psim_exit follow(const struct session *session, const struct psim_sweep_task *task,
                             bool ready)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (!psim_mpi_agree(ready, session->sweep.inputs_sha256))
        return PSIM_EXIT_INPUT;
    if (psim_mpi_work(task, &err) == PSIM_OK)
        return PSIM_EXIT_OK;
    psim_cli_complain(&err);
    return psim_cli_exit(err.status, false);
}

/* How many processes an mpirun of the usual kinds has started, 1 without one. */
static int ranks_started(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);

        if (text != NULL && atoi(text) > 1)
            return atoi(text);
    }
    return 1;
}

static bool read_shard(const char *text, struct psim_sweep_shard *out)
{
    long index = 0, count = 1;
    char more;

    *out = (struct psim_sweep_shard){0, 1};
    if (text == NULL)
        return true;
    if (strspn(text, "0123456789/") != strlen(text) ||
        sscanf(text, "%9ld/%9ld%c", &index, &count, &more) != 2 || index < 1 || index > count) {
        fprintf(stderr, "petrasim: --shard must be I/N with 1 <= I <= N, not '%s'\n", text);
        return false;
    }
    *out = (struct psim_sweep_shard){index - 1, count};
    return true;
}

static enum psim_exit work(struct session *session, const char *file)
{
    const struct psim_cli_values *values = session->values;
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    const struct psim_sweep_task task = {.sweep = &session->sweep,
                                         .catalogue = &session->catalogue,
                                         .run = psim_sweep_simulate,
                                         .context = values->engine};
    const enum psim_status status = psim_sweep_read(file, values->scans.items, values->scans.count,
                                                    &session->catalogue, &session->sweep, &list);
    enum psim_exit code = psim_cli_exit(status, true), led;
    bool ready = status == PSIM_OK;

    if (session->rank == 0)
        psim_cli_diagnose(values, &list);
    psim_diagnostics_release(&list);
    if (ready && session->sweep.axis_count == 0) {
        if (session->rank == 0)
            fprintf(stderr, "petrasim: sweep: nothing varies: give --scan KEY=VALUES, or a sweep/1 "
                            "file\n");
        code = PSIM_EXIT_USAGE;
        ready = false;
    }
    if (ready && values->list)
        return session->rank == 0 ? list_points(values, &session->sweep, &session->shard)
                                  : PSIM_EXIT_OK;
    if (session->rank > 0)
        return follow(session, &task, ready);
    led = lead(session, &task, ready);
    return ready ? led : code;
}

static enum psim_exit command_run(const struct psim_cli_values *values, const char *file)
{
    struct session session = {.values = values,
                              .sweep = {.arena = PSIM_ARENA_INIT},
                              .catalogue = psim_cli_catalogue(values),
                              .size = ranks_started()};
    const bool under_mpirun = session.size > 1;
    struct psim_error err = PSIM_ERROR_INIT;
    enum psim_exit code;

    if (!read_shard(values->shard, &session.shard))
        return PSIM_EXIT_USAGE;
    if (values->plot != NULL && !psim_picture_is_named(values->plot))
        return PSIM_EXIT_USAGE;
    if (under_mpirun && psim_mpi_begin(&session.rank, &session.size, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        return PSIM_EXIT_LACKING;
    }
    code = work(&session, file);
    if (under_mpirun)
        psim_mpi_end();
    psim_sweep_release(&session.sweep);
    if (stop_signal != 0) {
        signal((int)stop_signal, SIG_DFL);
        raise((int)stop_signal);
    }
    return code;
}

enum psim_exit psim_command_sweep(const struct psim_cli_values *values, char *const operands[],
                                  int count)
{
    if (strcmp(operands[0], "show") == 0 && count == 2)
        return command_show(values, operands[1]);
    if (strcmp(operands[0], "merge") == 0 && count >= 3)
        return command_merge(operands + 1, count - 1);
    if (count == 1 && strcmp(operands[0], "show") != 0 && strcmp(operands[0], "merge") != 0)
        return command_run(values, operands[0]);
    fprintf(stderr, "petrasim: usage: petrasim sweep [OPTION]... SCENARIO|SWEEP, or show DB, or "
                    "merge OUT DB...\n");
    return PSIM_EXIT_USAGE;
}
