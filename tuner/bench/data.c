/* What `mmtune bench` measured, as JSON and CSV. */
#include "tuner/bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tuner/common/table_data.h"

static json_t *problem_text(const mmt_problem *problem)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    json_t *string = json_string(mmt_text_string(&text));
    mmt_text_finish(&text);
    return string;
}

static double gflops_of_row(const struct mmt_bench_row *row,
                            const struct mmt_bench_time *time)
{
    return mmt_problem_flops(&row->problem) / time->time.median / 1e9;
}

/* ---- JSON ------------------------------------------------------------------------ */

static json_t *time_json(const struct mmt_bench_row *row,
                         const struct mmt_contestant *who,
                         const struct mmt_bench_time *time)
{
    const struct mmt_summary *t = &time->time;
    json_t *all = json_pack("{s:s, s:b}", "name", who->name, "wrong", time->wrong);

    if (time->what[0])
        json_object_set_new(all, "what", json_string(time->what));
    if (time->reason[0]) {
        json_object_set_new(all, "reason", json_string(time->reason));
        return all;
    }
    json_object_set_new(all, "seconds",
                        json_pack("{s:f, s:f, s:f, s:f, s:f, s:i}", "median", t->median,
                                  "low", t->low, "high", t->high, "lower_quartile",
                                  t->lower_quartile, "upper_quartile", t->upper_quartile,
                                  "samples", time->samples));
    json_object_set_new(all, "gflops", json_real(gflops_of_row(row, time)));
    if (time->ratio > 0) {
        json_object_set_new(all, "ratio", json_real(time->ratio));
        json_object_set_new(all, "tie", json_boolean(time->tie));
        json_object_set_new(all, "difference", json_real(time->difference));
    }
    return all;
}

static json_t *row_json(const struct mmt_bench *bench, const struct mmt_bench_row *row)
{
    json_t *times = json_array();
    json_t *all = json_pack("{s:o}", "problem", problem_text(&row->problem));

    for (int i = 0; i < bench->num_contestants && !row->reason[0]; i++)
        json_array_append_new(times,
                              time_json(row, &bench->contestants[i], &row->times[i]));
    json_object_set_new(all, "times", times);
    if (row->reason[0])
        json_object_set_new(all, "reason", json_string(row->reason));
    if (row->has_health)
        json_object_set_new(all, "health",
                            json_pack("{s:f, s:f, s:b, s:s}", "celsius",
                                      row->health.celsius, "clock_mhz",
                                      row->health.clock_mhz, "throttled",
                                      row->health.throttled, "why", row->health.why));
    return all;
}

static json_t *mean_json(const struct mmt_bench *bench, int contestant, mmt_type type)
{
    struct mmt_bench_mean mean = mmt_bench_mean_of(bench, contestant, type);
    json_t *problems = json_array();

    for (int i = 0; i < bench->num_rows; i++)
        if (bench->rows[i].problem.type == type &&
            bench->rows[i].times[contestant].ratio > 0)
            json_array_append_new(problems, problem_text(&bench->rows[i].problem));
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:o}", "against",
                     bench->contestants[contestant].name, "type", mmt_type_name(type),
                     "geometric_mean", mean.mean, "worst", mean.worst_ratio, "best",
                     mean.best_ratio, "problems", problems);
}

static json_t *references_json(const struct mmt_bench *bench)
{
    json_t *list = json_array();

    for (int i = 0; i < bench->num_references; i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:s}", "name",
                                              bench->references[i].reference->name,
                                              "opened", bench->references[i].self != NULL,
                                              "what", bench->references[i].what));
    return list;
}

mmt_status mmt_bench_print_json(const struct mmt_bench *bench, struct mmt_text *out,
                                mmt_error *err)
{
    const struct mmt_caps *caps = mmt_device_caps(bench->device);
    json_t *rows = json_array(), *means = json_array();

    for (int i = 0; i < bench->num_rows; i++)
        json_array_append_new(rows, row_json(bench, &bench->rows[i]));
    for (int i = 1; i < bench->num_contestants; i++)
        for (int type = 0; type < MMT_NUM_TYPES; type++)
            if (mmt_bench_mean_of(bench, i, type).count)
                json_array_append_new(means, mean_json(bench, i, type));
    json_t *all =
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:b, s:o, s:o, s:o}", "version",
                  mmt_version(), "device", "name", caps->name, "id", bench->device->id,
                  "driver", caps->driver, "profile", bench->profile != NULL, "references",
                  references_json(bench), "problems", rows, "means", means);
    char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    json_decref(all);
    mmt_text_finish(out);
    if (text)
        mmt_text_addf(out, "%s\n", text);
    free(text);
    return text && !out->failed
               ? MMT_OK
               : mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for the JSON");
}

/* ---- CSV ------------------------------------------------------------------------- */

static void add_problem(struct mmt_text *text, const mmt_problem *p)
{
    mmt_text_addf(text, "%s,%s,%c%c,%lld,%lld,%lld,%lld,%lld,%lld,%lld,",
                  mmt_type_name(p->type), mmt_type_name(p->out), p->trans_a ? 't' : 'n',
                  p->trans_b ? 't' : 'n', (long long) p->m, (long long) p->n,
                  (long long) p->k, (long long) p->lda, (long long) p->ldb,
                  (long long) p->ldc, (long long) p->batch);
}

static void add_line(struct mmt_text *text, const struct mmt_bench_row *row,
                     const struct mmt_contestant *who, const struct mmt_bench_time *time)
{
    const struct mmt_summary *t = &time->time;

    add_problem(text, &row->problem);
    mmt_text_addf(text, "%s,", who->name);
    if (time->samples && !time->reason[0])
        mmt_text_addf(text, "%.9g,%.9g,%.9g,%.9g,%.9g,%d,%.6g,", t->median, t->low,
                      t->high, t->lower_quartile, t->upper_quartile, time->samples,
                      gflops_of_row(row, time));
    else
        mmt_text_add(text, ",,,,,0,,");
    if (time->ratio > 0)
        mmt_text_addf(text, "%.6g", time->ratio);
    mmt_text_addf(text, ",%d,", time->wrong);
    mmt_csv_add_quoted(text, time->reason[0] ? time->reason : time->what);
    mmt_text_add(text, "\n");
}

mmt_status mmt_bench_write_csv(const struct mmt_bench *bench, const char *path,
                               mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_status status = MMT_ERROR_MEMORY;

    mmt_text_add(&text,
                 "type,out,transposes,m,n,k,lda,ldb,ldc,batch,library,median,low,high,"
                 "lower_quartile,upper_quartile,samples,gflops,ratio,wrong,what\n");
    for (int i = 0; i < bench->num_rows; i++)
        for (int j = 0; j < bench->num_contestants && !bench->rows[i].reason[0]; j++)
            add_line(&text, &bench->rows[i], &bench->contestants[j],
                     &bench->rows[i].times[j]);
    if (text.failed)
        mmt_fail(err, status, "no memory left for the CSV");
    else
        status = mmt_file_replace(path, text.data, text.length, err);
    mmt_text_finish(&text);
    return status;
}
