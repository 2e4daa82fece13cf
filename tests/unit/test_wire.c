/* The lines between the tuner and its workers. */
#include "tests/support/made.h"
#include "tests/support/test.h"

#include "tuner/worker/worker.h"

static void test_wire(void)
{
    const mmt_problem product = mmt_gemm_problem(MMT_F32, 64, 48, 32);
    const struct mmt_result timed = {
        .outcome = MMT_TIMED, .time = { 1e-3, 1e-5, 7 }, .registers = 64, .shared = 4096
    };
    struct mmt_job job = { .task = MMT_TASK_FINALS,
                           .seed = 7,
                           .count = 2,
                           .verify = { true, false },
                           .best_seconds = 0.5,
                           .best_mhz = 1980,
                           .low_priority = true,
                           .power_limited = true,
                           .epilogues = true };
    struct mmt_job back;
    struct mmt_reply reply = { .count = 2, .spoilt = true }, heard;
    struct mmt_text line = { 0 };
    CHECK_OK(mmt_problem_normalise(&product, &job.problem, &err), err);
    struct mmt_config config = config_of("tiled TILE=32");
    job.configs[0] = job.configs[1] = config;
    CHECK(mmt_wire_write_job(&job, &line) && mmt_wire_read_job(line.data, &back, &err));
    CHECK(back.task == job.task && back.count == 2 && back.verify[0] && !back.verify[1] &&
          back.seed == 7 && back.best_seconds == 0.5 && back.best_mhz == 1980 &&
          back.low_priority && back.power_limited && back.epilogues && !back.is_short &&
          mmt_problem_equal(&back.problem, &job.problem) &&
          mmt_config_equal(&back.configs[1], &job.configs[1]));
    mmt_text_finish(&line);
    reply.roofline = (struct mmt_roofline){ .peak_flops = { [MMT_I8] = 7e12 },
                                            .peak_spread = { [MMT_I8] = 0.25 },
                                            .bandwidth = 3e12,
                                            .bandwidth_spread = 0.125 };
    reply.results[0] = timed;
    reply.results[1] = (struct mmt_result){ .outcome = MMT_WRONG };
    snprintf(reply.results[1].reason, MMT_REASON_SIZE, "not \xff UTF-8");
    snprintf(reply.cache, sizeof reply.cache, "no room in \xff");
    CHECK(mmt_wire_write_reply(&reply, &line) && mmt_wire_read_reply(line.data, &heard));
    CHECK_EQ_STR(heard.cache, "no room in ?");
    CHECK(heard.count == 2 && heard.spoilt &&
          !memcmp(&heard.roofline, &reply.roofline, sizeof heard.roofline) &&
          heard.results[0].time.median == timed.time.median);
    CHECK_EQ_STR(heard.results[1].reason, "not ? UTF-8");
    mmt_text_finish(&line);
    CHECK(!mmt_wire_read_job("{}", &back, &err) && !mmt_wire_read_job("x", &back, &err));
    CHECK(!mmt_wire_read_reply("{}", &heard) && !mmt_wire_read_reply("", &heard));
}

/* A program's call, and what came of it. */
static void test_verdict(void)
{
    const mmt_problem product = mmt_gemm_problem(MMT_BF16, 64, 48, 32);
    struct mmt_job job = { .task = MMT_TASK_VERDICT,
                           .call = { .client = MMT_CLIENT_CUBLASLT,
                                     .adds = true,
                                     .compute = MMT_COMPUTE_16F,
                                     .alignment = 2,
                                     .workspace = (size_t) 5 << 30,
                                     .most_workspace = (size_t) 6 << 30 },
                           .energy = true,
                           .path = "/opt/\xc3\xa9/libcublasLt.so.13" };
    struct mmt_job back;
    struct mmt_reply reply = { .count = 1, .library = "cuBLAS 13.1.0" }, heard;
    SCOPED_TEXT line = { 0 };
    char word[16];
    CHECK_OK(mmt_problem_normalise(&product, &job.problem, &err), err);
    job.call.problem = job.problem;
    CHECK(mmt_wire_write_job(&job, &line) && mmt_wire_read_job(line.data, &back, &err));
    CHECK(mmt_call_equal(&back.call, &job.call) &&
          back.call.workspace == job.call.workspace &&
          back.call.most_workspace == job.call.most_workspace && back.energy);
    CHECK_EQ_STR(back.path, job.path);
    mmt_text_finish(&line);
    strcpy(reply.note, "another file \xc3");
    reply.results[0] = (struct mmt_result){ .time = { 1e-3, 1e-5, 7 }, .joules = 0.25 };
    CHECK(mmt_wire_write_reply(&reply, &line) && mmt_wire_read_reply(line.data, &heard));
    CHECK(!mmt_wire_read_note(line.data, word));
    CHECK_EQ_STR(heard.note, "another file ?");
    CHECK_EQ_STR(heard.library, "cuBLAS 13.1.0");
    CHECK(heard.results[0].joules == 0.25);
}

int main(void)
{
    test_wire();
    test_verdict();
    return test_end("wire");
}
