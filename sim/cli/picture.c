#define _DEFAULT_SOURCE
#include "sim/cli/picture.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_all(int file, const struct psim_text *text)
{
    size_t done = 0;

    while (done < text->length) {
        const ssize_t n = write(file, text->data + done, text->length - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static enum psim_exit run_gnuplot(const struct psim_text *script)
{
    int ends[2], status = 0;
    pid_t child;
    void (*before)(int);
    bool written;

    if (pipe(ends) != 0)
        return PSIM_EXIT_FAILED;
    child = fork();
    if (child == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        execlp("gnuplot", "gnuplot", "-", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    before = signal(SIGPIPE, SIG_IGN);
    written = child > 0 && write_all(ends[1], script);
    close(ends[1]);
    signal(SIGPIPE, before);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return PSIM_EXIT_FAILED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        fprintf(stderr, "petrasim: --plot needs gnuplot, which is not here\n");
        return PSIM_EXIT_LACKING;
    }
    return written && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? PSIM_EXIT_OK
                                                                    : PSIM_EXIT_FAILED;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);

    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

bool psim_picture_is_named(const char *path)
{
    if (ends_with(path, ".png") || ends_with(path, ".svg"))
        return true;
    fprintf(stderr, "petrasim: --plot writes .svg or .png, not '%s'\n", path);
    return false;
}

enum psim_exit psim_picture_draw(const char *path, const char *size, const struct psim_text *script)
{
    struct psim_text whole = PSIM_TEXT_INIT, part = PSIM_TEXT_INIT;
    enum psim_exit code = PSIM_EXIT_FAILED;

    if (!psim_picture_is_named(path))
        return PSIM_EXIT_USAGE;
    psim_text_printf(&part, "%s.part", path);
    if (!part.failed && !script->failed && strchr(path, '\'') == NULL) {
        psim_text_printf(&whole, "set terminal %s size %s\nset output '%s'\n",
                         ends_with(path, ".png") ? "pngcairo" : "svg", size, part.data);
        psim_text_append(&whole, script->data, script->length);
        code = whole.failed ? PSIM_EXIT_FAILED : run_gnuplot(&whole);
        if (code == PSIM_EXIT_OK && rename(part.data, path) != 0)
            code = PSIM_EXIT_FAILED;
        if (code != PSIM_EXIT_OK)
            (void)unlink(part.data);
    }
    if (code == PSIM_EXIT_FAILED)
        fprintf(stderr, "petrasim: %s: the picture could not be made\n", path);
    psim_text_release(&whole);
    psim_text_release(&part);
    return code;
}
