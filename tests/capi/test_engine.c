/* test_engine.c - the engine in this process that cannot be had: missing, no engine, of another release. What it
 * does once it is there is tested in test_pipeline.c and tests/e2e. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

static spdl_status open_in_process(void) {
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    spdl_reader *r;
    o.form = SPDL_FORM_IN_PROCESS;
    return spdl_open("x", &o, &r);
}

static const char *beside(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_build, name);
    return path;
}

TEST(a_missing_engine_library_says_where_to_put_one) {
    unsetenv("SPDL_ENGINE_LIBRARY");
    CHECK_STATUS(open_in_process(), SPDL_E_UNSUPPORTED);
    CHECK(strstr(spdl_last_error(), "beside libspdl or name it in SPDL_ENGINE_LIBRARY"));
    spdl_pipeline *p;
    CHECK_STATUS(spdl_pipeline_create("{}", &p), SPDL_E_UNSUPPORTED);
    CHECK(p == NULL);
    setenv("SPDL_ENGINE_LIBRARY", "/nonexistent/engine.so", 1);
    CHECK_STATUS(open_in_process(), SPDL_E_UNSUPPORTED);
    CHECK(strstr(spdl_last_error(), "$SPDL_ENGINE_LIBRARY \"/nonexistent/engine.so\""));
    unsetenv("SPDL_ENGINE_LIBRARY");
}

TEST(a_library_that_is_no_engine_or_of_another_release_is_refused) {
    setenv("SPDL_ENGINE_LIBRARY", "libm.so.6", 1);
    CHECK_STATUS(open_in_process(), SPDL_E_VERSION);
    setenv("SPDL_ENGINE_LIBRARY", beside("capi-fake-engine.so"), 1);
    CHECK_STATUS(open_in_process(), SPDL_E_VERSION);
    setenv("FAKE_TABLE", "1", 1);
    CHECK_STATUS(open_in_process(), SPDL_E_VERSION);
    CHECK(strstr(spdl_last_error(), "got version 9.9.9, this libspdl is 0."));
    unsetenv("FAKE_TABLE");
    unsetenv("SPDL_ENGINE_LIBRARY");
}

TEST(an_engine_command_in_process_is_refused) {
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    spdl_reader *r;
    o.form = SPDL_FORM_IN_PROCESS, o.engine = "/usr/bin/spdl";
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "opts.engine"));
}

TEST(what_is_wrong_with_how_to_attach_is_named_as_the_callers_of_open_wrote_it) {
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    spdl_reader *r;
    o.attach.lane = -2;
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: open: opts.attach.lane is -2, want");
    o.attach.flags = 4;
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: open: opts.attach.flags is 0x4");
    o.attach.struct_size = 8;
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: open: opts.attach.struct_size is 8, want");
}

static void check_state_is_refused(const char *state, const char *says) {
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    spdl_reader *r;
    for (o.form = SPDL_FORM_CHILD; o.form <= SPDL_FORM_IN_PROCESS; o.form++) {
        o.state = state;
        CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_STATE);
        CHECK_SAYS(says);
    }
}

TEST(an_empty_state_does_not_begin_at_the_start) { check_state_is_refused("", "opts.state is empty"); }

TEST(a_state_is_its_json_and_not_the_name_of_its_file) {
    check_state_is_refused(" state.json", "opts.state is \" state.json\", want the JSON of spdl_state_save");
}

TEST(a_call_without_its_pipeline_or_struct_is_refused) {
    spdl_work work = SPDL_WORK_INIT;
    spdl_give give = SPDL_GIVE_INIT;
    uint64_t item;
    uint32_t got;
    CHECK_STATUS(spdl_pipeline_create(NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_start(NULL), SPDL_E_ARGUMENT);
    CHECK(spdl_pipeline_stage(NULL, "x") == SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_stage_take(NULL, 0, 0, &work), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_stage_give(NULL, 0, &work, &give), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_get(NULL, 0, &work), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_drain(NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_stop(NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_wait(NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_error(NULL, NULL, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_stats(NULL, NULL, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_reclaim(NULL, &item, 1, &got), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_free(NULL), SPDL_OK);
}
