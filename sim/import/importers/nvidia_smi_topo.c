/*
 * The matrix that `nvidia-smi topo -m` prints.
 *
 * Its words, as the tool's own legend explains them: NV# is a connection of so many NVLinks; PIX
 * crosses one PCIe switch, PXB several, PHB a host bridge, NODE several host bridges of a NUMA
 * node, SYS the connection between NUMA nodes.  The PCIe classes are nested, so they are a tree:
 * what is joined at one class becomes one switch, the switches below it its children.
 */
#include "sim/import/gpu_links.h"
#include "sim/import/import_graph.h"

#include <ctype.h>
#include <string.h>

#define COLUMN_LIMIT 1024

/* From the nearest to the farthest; also the order in which the tree is built. */
enum relation { SELF, PIX, PXB, PHB, NODE, SYS, RELATIONS, NVLINK };

static const char *const relation_names[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
static const char *const switch_names[] = {"", "pix", "pxb", "phb", "node", "sys"};

struct cell {
    enum relation relation;
    int nvlinks;
    struct psim_place at;
};

struct matrix {
    struct psim_import_job *job;
    struct psim_import_graph graph;
    const struct psim_gpu_family *family;
    int count, gpus; /* columns; those that are GPUs */
    const char **names;
    struct psim_place *places;
    bool *seen; /* rows */
    struct cell *cells;
    bool contradicted; /* warned of classes that are not nested */
    int *top, *group;  /* of the tree: the vertex above a device so far, and its set */
};

static bool is_gpu(const char *name)
{
    return strncmp(name, "GPU", 3) == 0 && isdigit((unsigned char)name[3]);
}

static struct cell *cell_at(const struct matrix *m, int row, int column)
{
    return &m->cells[(size_t)row * (size_t)m->count + (size_t)column];
}

/* ---- Reading ---- */

/* The columns end before "CPU Affinity", "NUMA Affinity" or "GPU NUMA ID". */
static int count_columns(const struct psim_words *words)
{
    int count = 0;

    while ((size_t)count < words->count && strcmp(words->items[count].text, "CPU") != 0 &&
           strcmp(words->items[count].text, "NUMA") != 0 &&
           strcmp(words->items[count].text, "GPU") != 0)
        count++;
    return count;
}

/* A row starts like the header, but goes on with "X" or another cell. */
static bool is_header(const struct psim_words *words)
{
    return is_gpu(words->items[0].text) &&
           (words->count == 1 || strcmp(words->items[1].text, "X") != 0);
}

static bool read_header(struct matrix *m, const struct psim_words *words)
{
    struct psim_import_job *job = m->job;
    const size_t count = (size_t)count_columns(words);

    if (count > COLUMN_LIMIT) {
        psim_import_error(job, words->items[0].at, PSIM_ERR_RANGE, NULL,
                          "a matrix can have at most %d columns", COLUMN_LIMIT);
        return false;
    }
    m->names = psim_import_alloc(job, count, sizeof *m->names);
    m->places = psim_import_alloc(job, count, sizeof *m->places);
    m->seen = psim_import_alloc(job, count, sizeof *m->seen);
    m->top = psim_import_alloc(job, count, sizeof *m->top);
    m->group = psim_import_alloc(job, count, sizeof *m->group);
    m->cells = psim_import_alloc(job, count * count, sizeof *m->cells);
    if (!psim_import_clean(job))
        return false;
    m->count = (int)count;
    for (int i = 0; i < m->count; i++) {
        m->names[i] = words->items[i].text;
        m->places[i] = words->items[i].at;
        m->gpus += is_gpu(m->names[i]) ? 1 : 0;
    }
    return true;
}

static void read_cell(struct matrix *m, int row, int column, const struct psim_word *word)
{
    struct cell *cell = cell_at(m, row, column);
    char quoted[PSIM_QUOTED_BYTES];

    cell->at = word->at;
    if (strncmp(word->text, "NV", 2) == 0 && isdigit((unsigned char)word->text[2])) {
        cell->relation = NVLINK;
        if (psim_import_count(m->job, word->at, "the number of NVLinks", word->text + 2, 1, 1024,
                              &cell->nvlinks) &&
            !(is_gpu(m->names[row]) && is_gpu(m->names[column])))
            psim_import_error(m->job, word->at, PSIM_ERR_SCHEMA, NULL,
                              "NVLink joins GPUs, not \"%s\" and \"%s\"", m->names[row],
                              m->names[column]);
        return;
    }
    for (int r = SELF; r < RELATIONS; r++) {
        if (strcmp(word->text, relation_names[r]) == 0) {
            cell->relation = (enum relation)r;
            if ((r == SELF) != (row == column))
                psim_import_error(m->job, word->at, PSIM_ERR_SCHEMA, NULL,
                                  "X stands where a device meets itself, and only there");
            return;
        }
    }
    psim_text_quote(word->text, quoted);
    psim_import_error(m->job, word->at, PSIM_ERR_SCHEMA,
                      psim_nearest_name(word->text, relation_names, RELATIONS),
                      "one of NV#, X, PIX, PXB, PHB, NODE and SYS is expected, not %s", quoted);
}

static void read_row(struct matrix *m, const struct psim_words *words)
{
    int row = 0;

    while (row < m->count && strcmp(m->names[row], words->items[0].text) != 0)
        row++;
    if (row == m->count)
        return; /* a remark between the rows */
    if (m->seen[row])
        psim_import_error(m->job, words->items[0].at, PSIM_ERR_SCHEMA, NULL,
                          "a second row for \"%s\"", m->names[row]);
    m->seen[row] = true;
    if (words->count <= (size_t)m->count) {
        psim_import_error(m->job, words->items[words->count - 1].at, PSIM_ERR_SCHEMA, NULL,
                          "the row has %zu of %d columns", words->count - 1, m->count);
        return;
    }
    for (int column = 0; column < m->count; column++)
        read_cell(m, row, column, &words->items[column + 1]);
}

static bool read_matrix(struct matrix *m)
{
    const char *text = m->job->input->text;
    struct psim_words words;
    int line = 0;

    while (psim_import_words(m->job, &text, &line, &words)) {
        if (words.count == 0)
            continue;
        if (m->count > 0 && strcmp(words.items[0].text, "Legend:") == 0)
            break;
        if (m->count > 0)
            read_row(m, &words);
        else if (is_header(&words) && !read_header(m, &words))
            return false;
    }
    if (m->count == 0)
        psim_import_error(m->job, (struct psim_place){1, 1}, PSIM_ERR_SYNTAX, NULL,
                          "no line with the columns GPU0, GPU1, ... is in it");
    return psim_import_clean(m->job);
}

/* ---- Checks ---- */

static bool same(const struct cell *a, const struct cell *b)
{
    return a->relation == b->relation && a->nvlinks == b->nvlinks;
}

static void check_matrix(struct matrix *m)
{
    for (int row = 0; row < m->count; row++) {
        if (!m->seen[row])
            psim_import_error(m->job, m->places[row], PSIM_ERR_SCHEMA, NULL,
                              "\"%s\" has a column but no row", m->names[row]);
        for (int column = 0; m->seen[row] && column < row; column++) {
            const struct cell *cell = cell_at(m, row, column);

            if (m->seen[column] && !same(cell, cell_at(m, column, row)))
                psim_import_error(m->job, cell->at, PSIM_ERR_SCHEMA, NULL,
                                  "\"%s\" and \"%s\" meet differently in the other row",
                                  m->names[row], m->names[column]);
        }
    }
}

/* The family says what a link carries; false when an error was reported. */
static bool find_family(struct matrix *m)
{
    const char *device = m->job->input->device;

    m->family = psim_gpu_family_named(device);
    if (m->family == NULL) {
        psim_import_error(m->job, (struct psim_place){0, 0}, PSIM_ERR_NOTFOUND, NULL,
                          "what the links of the device \"%s\" carry is not known here", device);
        return false;
    }
    for (int i = 0; i < m->count * m->count; i++) {
        if (m->cells[i].relation == NVLINK && m->family->nvlinks == 0) {
            psim_import_error(m->job, m->cells[i].at, PSIM_ERR_SCHEMA, NULL,
                              "the device \"%s\" has no NVLink", device);
            return false;
        }
    }
    return true;
}

/* ---- NVLink ---- */

/* Every pair of GPUs has all links of a GPU: only a switch can do that for more than two. */
static bool has_nvswitch(const struct matrix *m)
{
    for (int a = 0; a < m->count; a++) {
        for (int b = 0; b < a; b++) {
            if (is_gpu(m->names[a]) && is_gpu(m->names[b]) &&
                cell_at(m, a, b)->nvlinks != m->family->nvlinks)
                return false;
        }
    }
    return m->gpus > 2 && m->family->nvlinks > 0;
}

static void join_nvlinks(struct matrix *m, int from, int to, int nvlinks, double latency_s)
{
    const struct psim_import_link link = {
        .bandwidth_bytes_per_s = nvlinks * m->family->nvlink_bytes_per_s,
        .latency_s = latency_s,
        .source = m->family->nvlink_source,
        .assumed = PSIM_NVLINK_LATENCY_REMARK,
        .at = m->places[from],
    };

    psim_graph_join(&m->graph, from, to, &link);
}

static void add_nvlinks(struct matrix *m)
{
    if (has_nvswitch(m)) {
        const int nvswitch = psim_graph_vertex(&m->graph, "nvswitch", NULL, m->places[0]);

        for (int i = 0; i < m->count; i++) {
            if (is_gpu(m->names[i]))
                join_nvlinks(m, i, nvswitch, m->family->nvlinks, PSIM_NVLINK_LATENCY_S / 2.0);
        }
        return;
    }
    for (int a = 0; a < m->count; a++) {
        for (int b = a + 1; b < m->count; b++) {
            if (cell_at(m, a, b)->relation == NVLINK)
                join_nvlinks(m, a, b, cell_at(m, a, b)->nvlinks, PSIM_NVLINK_LATENCY_S);
        }
    }
}

/* ---- PCIe ---- */

/* Merges the sets of devices that are no farther apart than `relation`. */
static void merge_groups(struct matrix *m, int relation)
{
    for (int a = 0; a < m->count; a++) {
        for (int b = 0; b < a; b++) {
            const int old = m->group[a], kept = m->group[b];

            if ((int)cell_at(m, a, b)->relation != relation || old == kept)
                continue;
            for (int i = 0; i < m->count; i++)
                m->group[i] = m->group[i] == old ? kept : m->group[i];
        }
    }
}

static void join_pcie(struct matrix *m, int device, int above, int relation)
{
    const int below = m->top[device];
    const bool is_switch = below >= m->count;
    const struct psim_pcie_rate *rate = psim_pcie_generation(m->family->pcie_generation);
    struct psim_import_link link = {
        .bandwidth_bytes_per_s = PSIM_PCIE_LANES * rate->lane_bytes_per_s,
        .latency_s = is_switch ? PSIM_PCIE_STEP_S : PSIM_PCIE_STEP_S / 2.0,
        .source = rate->source,
        .assumed = "16 lanes of the device's PCIe generation; " PSIM_PCIE_LATENCY_REMARK,
        .at = m->places[device],
    };

    if (relation == SYS) {
        link.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s < PSIM_SOCKET_INTEL_BYTES_PER_S
                                         ? link.bandwidth_bytes_per_s
                                         : PSIM_SOCKET_INTEL_BYTES_PER_S;
        link.source = PSIM_SOCKET_SOURCE;
        link.assumed = "Intel's Skylake, which the matrix does not say; " PSIM_PCIE_LATENCY_REMARK;
    }
    psim_graph_join(&m->graph, below, above, &link);
}

/* The one vertex above a set of devices, a new switch where they have several so far. */
static void join_group(struct matrix *m, int first, int relation, int *number)
{
    int several = 0, above;
    const char *name;

    for (int i = first; i < m->count; i++)
        several += m->group[i] == m->group[first] && m->top[i] != m->top[first] ? 1 : 0;
    if (several == 0)
        return;
    name = psim_import_printf(m->job, "%s%d", switch_names[relation], (*number)++);
    above = psim_graph_vertex(&m->graph, name, NULL, m->places[first]);
    for (int i = first; above >= 0 && i < m->count; i++) {
        const int below = m->top[i];

        if (m->group[i] != m->group[first] || below == above)
            continue;
        join_pcie(m, i, above, relation);
        for (int k = i; k < m->count; k++)
            m->top[k] = m->top[k] == below ? above : m->top[k];
    }
}

/* Devices that came to lie nearer to each other than their own cell says. */
static void check_nesting(struct matrix *m, int relation)
{
    for (int a = 0; a < m->count; a++) {
        for (int b = 0; b < a; b++) {
            const struct cell *cell = cell_at(m, a, b);

            if (m->group[a] != m->group[b] || cell->relation == NVLINK ||
                (int)cell->relation <= relation)
                continue;
            psim_import_warn(m->job, cell->at,
                             "\"%s\" and \"%s\" are %s here and %s through a third device; the "
                             "latter is taken",
                             m->names[a], m->names[b], relation_names[cell->relation],
                             relation_names[relation]);
            m->contradicted = true;
            return;
        }
    }
}

static void add_pcie(struct matrix *m)
{
    for (int i = 0; i < m->count; i++)
        m->top[i] = m->group[i] = i;
    for (int relation = PIX; relation <= SYS; relation++) {
        int number = 0;

        merge_groups(m, relation);
        if (!m->contradicted)
            check_nesting(m, relation);
        for (int i = 0; i < m->count && psim_import_clean(m->job); i++)
            join_group(m, i, relation, &number);
    }
}

static void import(struct psim_import_job *job, struct psim_text *out)
{
    struct matrix m = {
        .job = job,
        .graph = {.job = job,
                  .comment = "From nvidia-smi topo -m. NVLinks by their number, PCIe classes as a "
                             "tree of switches; NICs are switches for you to join. Between GPUs "
                             "without a link of their own a message may pass through another GPU."},
    };

    if (!read_matrix(&m))
        return;
    check_matrix(&m);
    if (!psim_import_clean(job) || !find_family(&m))
        return;
    for (int i = 0; i < m.count; i++)
        (void)psim_graph_vertex(&m.graph, m.names[i],
                                is_gpu(m.names[i]) ? job->input->device : NULL, m.places[i]);
    if (!psim_import_clean(job))
        return;
    add_nvlinks(&m);
    add_pcie(&m);
    psim_graph_write(&m.graph, out);
}

const struct psim_importer psim_importer_nvidia_smi_topo = {
    .name = "nvidia_smi_topo",
    .summary = "matrix of `nvidia-smi topo -m` to a platform",
    .example = "nvidia_smi_topo.txt",
    .needs_device = true,
    .import = import,
};
