/*
 * Ranks under mpirun.  Rank 0 hands out points and owns the database; each other rank asks its own
 * forked worker, so that a simulation that dies costs its point and not the rank.  A rank that dies
 * itself ends the whole run with MPI's default; what was committed stays, and the same command
 * goes on from there.
 *
 * Waiting is by looking every 0.2 ms: OpenMPI's own wait would keep a core busy that has better to
 * do.
 */
#include "sim/plan/sweep_crew.h"

#include "sim/base/memory.h"

#include <string.h>

#ifdef PSIM_WITH_MPI

#include <mpi.h>
#include <time.h>

#define LOOK_NS 200000

enum tag { TAG_POINT = 1, TAG_ANSWER };

bool psim_mpi_is_built(void)
{
    return true;
}

enum psim_status psim_mpi_begin(int *rank, int *size, struct psim_error *err)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    /* SimGrid's own MPI functions, which a program may be linked to by mistake, end the process. */
    MPI_Get_library_version(version, &length);
    if (strstr(version, "SMPI") != NULL)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "mpirun",
                         "this program was linked to SimGrid's MPI instead of a real one");
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "mpirun", "MPI did not start");
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return PSIM_OK;
}

bool psim_mpi_agree(bool ready, const char inputs_sha256[65])
{
    char first[65];
    int mine, all;

    memcpy(first, inputs_sha256, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    mine = ready && memcmp(first, inputs_sha256, sizeof first) == 0 ? 1 : 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

void psim_mpi_end(void)
{
    MPI_Finalize();
}

static bool look(int source, int tag, MPI_Status *found)
{
    int there = 0;

    MPI_Iprobe(source, tag, MPI_COMM_WORLD, &there, found);
    return there != 0;
}

static void pause_a_moment(void)
{
    const struct timespec pause = {0, LOOK_NS};

    nanosleep(&pause, NULL);
}

/* ---- Rank 0 ---- */

struct ranks {
    int busy;
    struct psim_text bytes;
};

static enum psim_status ranks_start(struct psim_crew *crew, int worker, int64_t point,
                                    struct psim_error *err)
{
    struct ranks *ranks = crew->own;

    (void)err;
    MPI_Send(&point, 1, MPI_INT64_T, worker + 1, TAG_POINT, MPI_COMM_WORLD);
    ranks->busy++;
    return PSIM_OK;
}

static enum psim_status take_answer(struct ranks *ranks, const MPI_Status *found,
                                    psim_crew_take *take, void *context, struct psim_error *err)
{
    int length = 0;

    MPI_Get_count(found, MPI_CHAR, &length);
    while (!ranks->bytes.failed && ranks->bytes.capacity < (size_t)length) {
        ranks->bytes.length = ranks->bytes.capacity; /* to make it grow */
        psim_text_append(&ranks->bytes, "", 1);
    }
    if (ranks->bytes.failed)
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "out of memory");
    MPI_Recv(ranks->bytes.data, length, MPI_CHAR, found->MPI_SOURCE, TAG_ANSWER, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    ranks->busy--;
    return take(context, found->MPI_SOURCE - 1, ranks->bytes.data, (size_t)length, err);
}

static enum psim_status ranks_wait(struct psim_crew *crew, int timeout_ms, psim_crew_take *take,
                                   void *context, struct psim_error *err)
{
    struct ranks *ranks = crew->own;
    enum psim_status status = PSIM_OK;
    MPI_Status found;
    bool any = false;

    for (int64_t looks = (int64_t)timeout_ms * 1000000 / LOOK_NS; looks > 0 && !any; looks--) {
        while (status == PSIM_OK && look(MPI_ANY_SOURCE, TAG_ANSWER, &found)) {
            status = take_answer(ranks, &found, take, context, err);
            any = true;
        }
        if (!any)
            pause_a_moment();
    }
    return status;
}

/* A rank in the middle of a point would not hear that it may go. */
static void ranks_end(struct psim_crew *crew, bool at_once)
{
    struct ranks *ranks = crew->own;
    const int64_t home = -1;

    if (at_once && ranks->busy > 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int worker = 0; worker < crew->workers; worker++)
        MPI_Send(&home, 1, MPI_INT64_T, worker + 1, TAG_POINT, MPI_COMM_WORLD);
    psim_text_release(&ranks->bytes);
    psim_free(ranks);
}

enum psim_status psim_ranks_begin(struct psim_crew *out, struct psim_error *err)
{
    struct ranks *ranks = psim_alloc(1, sizeof *ranks);
    int size;

    if (ranks == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "out of memory");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *out = (struct psim_crew){.own = ranks,
                              .workers = size - 1,
                              .start = ranks_start,
                              .wait = ranks_wait,
                              .end = ranks_end};
    return PSIM_OK;
}

/* ---- The others ---- */

struct answer {
    bool sent;
};

static enum psim_status send_answer(void *context, int worker, const char *bytes, size_t length,
                                    struct psim_error *err)
{
    struct answer *answer = context;

    (void)worker;
    if (length > INT32_MAX)
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "a result is too large for a message");
    MPI_Send(bytes, (int)length, MPI_CHAR, 0, TAG_ANSWER, MPI_COMM_WORLD);
    answer->sent = true;
    return PSIM_OK;
}

enum psim_status psim_mpi_work(const struct psim_sweep_task *task, struct psim_error *err)
{
    struct psim_crew crew;
    enum psim_status status = psim_pool_begin(task, 1, &crew, err);

    while (status == PSIM_OK) {
        struct answer answer = {false};
        MPI_Status found;
        int64_t point;

        while (!look(0, TAG_POINT, &found))
            pause_a_moment();
        MPI_Recv(&point, 1, MPI_INT64_T, 0, TAG_POINT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (point < 0)
            break;
        status = crew.start(&crew, 0, point, err);
        while (status == PSIM_OK && !answer.sent)
            status = crew.wait(&crew, 1000, send_answer, &answer, err);
    }
    if (status != PSIM_OK)
        MPI_Abort(MPI_COMM_WORLD, 1); /* rank 0 would wait for ever */
    crew.end(&crew, false);
    return status;
}

#else

bool psim_mpi_is_built(void)
{
    return false;
}

static enum psim_status lacking(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_UNSUPPORTED, "mpirun",
                     "this build has no MPI (CMake option PSIM_WITH_MPI); without mpirun, "
                     "--workers uses one machine, and --shard several jobs");
}

enum psim_status psim_mpi_begin(int *rank, int *size, struct psim_error *err)
{
    (void)rank, (void)size;
    return lacking(err);
}

bool psim_mpi_agree(bool ready, const char inputs_sha256[65])
{
    (void)inputs_sha256;
    return ready;
}

enum psim_status psim_mpi_work(const struct psim_sweep_task *task, struct psim_error *err)
{
    (void)task;
    return lacking(err);
}

enum psim_status psim_ranks_begin(struct psim_crew *out, struct psim_error *err)
{
    (void)out;
    return lacking(err);
}

void psim_mpi_end(void)
{
}

#endif
