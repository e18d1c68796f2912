/* pipeline.c - a pipeline of one's own stages in C: how many words do these files have?
 *
 *     pipeline FILE...
 *
 * A source names the files, four threads count, results come in the order of the command line. What travels are
 * pointers; a file that cannot be read is a failure, which the budget of "count" forgives and which is told.
 *
 *     cc pipeline.c $(pkg-config --cflags --libs spdl) -pthread -o pipeline
 */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <spdl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

static const char description[] =
    "{\"name\": \"words\", \"stages\": ["
    " {\"name\": \"files\", \"kind\": \"source\"},"
    " {\"name\": \"count\", \"kind\": \"map\", \"concurrency\": 4, \"output\": \"input\", \"failures\": {\"max_count\": -1}}]}";

static spdl_pipeline *pipeline;

typedef struct counted {
    const char *path;
    unsigned long words;
} counted;

/* Thread of the source: one path after the other, then the end. */
static void *name_files(void *arg) {
    char **path = arg;
    int32_t stage = spdl_pipeline_stage(pipeline, "files");
    spdl_work work = SPDL_WORK_INIT;
    while (spdl_stage_take(pipeline, stage, SPDL_FOREVER, &work) == SPDL_OK) {
        spdl_give give = SPDL_GIVE_INIT;
        uint64_t item = (uint64_t)(uintptr_t)*path;
        give.items = &item, give.n_items = *path ? 1 : 0;
        if (*path)
            path++;
        else
            give.flags = SPDL_GIVE_END;
        spdl_stage_give(pipeline, stage, &work, &give);
    }
    return NULL;
}

static counted *count(const char *path) {
    FILE *f = fopen(path, "re");
    counted *result = f ? calloc(1, sizeof *result) : NULL;
    if (!result) {
        if (f) fclose(f);
        return NULL;
    }
    result->path = path;
    for (int c, inside = 0; (c = getc(f)) != EOF; inside = !isspace(c))
        result->words += !inside && !isspace(c);
    if (ferror(f)) { /* a directory, say */
        free(result);
        result = NULL;
    }
    fclose(f);
    return result;
}

/* One of the four threads that count. */
static void *count_words(void *arg) {
    (void)arg;
    int32_t stage = spdl_pipeline_stage(pipeline, "count");
    spdl_work work = SPDL_WORK_INIT;
    while (spdl_stage_take(pipeline, stage, SPDL_FOREVER, &work) == SPDL_OK) {
        const char *path = (const char *)(uintptr_t)work.items[0];
        counted *result = count(path);
        uint64_t item = (uint64_t)(uintptr_t)result;
        spdl_give give = SPDL_GIVE_INIT;
        give.items = &item, give.n_items = 1;
        if (!result) {
            fprintf(stderr, "pipeline: %s: %s\n", path, strerror(errno));
            give.error = "cannot be read", give.n_items = 0;
        }
        spdl_stage_give(pipeline, stage, &work, &give);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: pipeline FILE...\n");
        return 2;
    }
    if (spdl_pipeline_create(description, &pipeline) != SPDL_OK || spdl_pipeline_start(pipeline) != SPDL_OK) {
        fprintf(stderr, "pipeline: %s\n", spdl_last_error());
        return 1;
    }
    pthread_t threads[1 + THREADS];
    pthread_create(&threads[0], NULL, name_files, argv + 1);
    for (int i = 1; i <= THREADS; i++) pthread_create(&threads[i], NULL, count_words, NULL);

    spdl_work work = SPDL_WORK_INIT;
    spdl_status s;
    unsigned long words = 0;
    while ((s = spdl_pipeline_get(pipeline, SPDL_FOREVER, &work)) == SPDL_OK) {
        counted *result = (counted *)(uintptr_t)work.items[0];
        printf("%8lu %s\n", result->words, result->path);
        words += result->words;
        free(result);
    }
    if (s < 0)
        fprintf(stderr, "pipeline: %s\n", spdl_last_error());
    else
        printf("%8lu in all\n", words);
    for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
    spdl_pipeline_wait(pipeline, SPDL_FOREVER);
    spdl_pipeline_free(pipeline); /* what was dropped are paths of argv: nothing to reclaim */
    return s < 0;
}
