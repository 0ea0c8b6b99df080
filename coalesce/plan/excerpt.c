/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines below findings.  .file of a PTX can name a secret file, a FIFO without a writer, or
 * a device: only regular files below the user's folders are read. */
#include "excerpt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/escape.h"

#define MOST_BYTES  (16 << 20) /* of a source; generated ones have a few MiB */
#define MOST_COLUMN 512u       /* lines are cut there */

static int is_below(const char *path, const coalesce_text_options *options)
{
    for (size_t i = 0; i < options->folders; i++) {
        const size_t bytes = strlen(options->folder[i]);

        if ((strncmp(path, options->folder[i], bytes) == 0) &&
            ((path[bytes] == '/') || (strcmp(options->folder[i], "/") == 0))) {
            return 1;
        }
    }
    return 0;
}

/* The whole file; NULL: it is not a regular file, is too large, or memory ran out. */
static char *read_regular(int fd, size_t *bytes_p, int *no_memory_p)
{
    struct stat what;
    char       *text;
    ssize_t     got  = 1;
    size_t      used = 0;

    if ((fstat(fd, &what) != 0) || !S_ISREG(what.st_mode) || (what.st_size > MOST_BYTES)) {
        return NULL;
    }
    text = malloc((size_t)what.st_size + 1);
    *no_memory_p |= (text == NULL);
    while ((text != NULL) && (got > 0) && (used < (size_t)what.st_size)) {
        got = read(fd, text + used, (size_t)what.st_size - used);
        used += (got > 0) ? (size_t)got : 0;
    }
    *bytes_p = used;
    return text;
}

static void open_source(coalesce_source *source, const char *path)
{
    char *resolved;
    int   fd = -1;

    free(source->text);
    *source  = (coalesce_source){ .options = source->options, .path = path, .line = 1,
                                  .no_memory = source->no_memory };
    resolved = realpath(path, NULL);
    source->no_memory |= (resolved == NULL) && (errno == ENOMEM);
    if ((resolved != NULL) && is_below(resolved, source->options)) {
        /* neither blocked by a FIFO nor misled by a link created since */
        fd = open(resolved, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    }
    free(resolved);
    if (fd >= 0) {
        source->text = read_regular(fd, &source->bytes, &source->no_memory);
        (void)close(fd);
    }
}

/* Line `number` without its end, cut; 0: there is none. */
static int find_line(coalesce_source *source, uint32_t number, const char **line_p,
                     size_t *bytes_p)
{
    const char *end;

    if (number < source->line) {
        source->at   = 0;
        source->line = 1;
    }
    while ((source->line < number) && (source->at < source->bytes)) {
        end = memchr(source->text + source->at, '\n', source->bytes - source->at);
        source->at = (end != NULL) ? (size_t)(end - source->text) + 1 : source->bytes;
        source->line++;
    }
    if (source->at >= source->bytes) {
        return 0;
    }
    *line_p  = source->text + source->at;
    *bytes_p = source->bytes - source->at;
    *bytes_p = (*bytes_p > MOST_COLUMN) ? MOST_COLUMN : *bytes_p;
    end      = memchr(*line_p, '\n', *bytes_p);
    *bytes_p = (end != NULL) ? (size_t)(end - *line_p) : *bytes_p;
    return 1;
}

/* Tabs stay, above and below. */
static void put_line(const char *line, size_t bytes, FILE *out)
{
    const char *end = line + bytes;
    char        shown[SHPOOL_SHOWN_BYTES];

    while (line < end) {
        if (*line == '\t') {
            (void)fputc(*line++, out);
        } else {
            (void)shpool_show(&line, end, shown);
            (void)fputs(shown, out);
        }
    }
}

/* Blanks as wide as the line is before the column. */
static void put_blanks(const char *line, size_t bytes, FILE *out)
{
    const char *end = line + bytes;
    char        shown[SHPOOL_SHOWN_BYTES];

    while (line < end) {
        if (*line == '\t') {
            (void)fputc(*line++, out);
        } else {
            (void)shpool_show(&line, end, shown);
            (void)fprintf(out, "%*s", (shown[0] == '\\') ? (int)strlen(shown) : 1, "");
        }
    }
}

void coalesce_source_print(coalesce_source *source, const coalesce_place *place, FILE *out)
{
    const int   colour = source->options->colour;
    const char *line;
    size_t      bytes;

    if ((source->path == NULL) || (strcmp(source->path, place->file) != 0)) {
        open_source(source, place->file);
    }
    if ((place->line == 0) || (source->text == NULL) ||
        !find_line(source, place->line, &line, &bytes)) {
        return;
    }
    (void)fprintf(out, "%5u | ", place->line);
    put_line(line, bytes, out);
    (void)fputc('\n', out);
    if ((place->column == 0) || (place->column > bytes)) {
        return;
    }
    (void)fputs("      | ", out);
    put_blanks(line, place->column - 1, out);
    (void)fprintf(out, "%s^%s\n", colour ? "\033[1;32m" : "", colour ? "\033[0m" : "");
}

void coalesce_source_fini(coalesce_source *source)
{
    free(source->text);
    memset(source, 0, sizeof(*source));
}
