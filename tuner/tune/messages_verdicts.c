/* What a run says of programs' calls. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/messages_verdicts.h"

void mmt_report_verdict(struct mmt_run *run, const struct mmt_verdict *it)
{
    char *problem = mmt_message_problem(&it->call.problem),
         *config = mmt_message_config(&it->config);
    char ours[32], theirs[32], energy[64] = "";
    struct mmt_text caller = { 0 };
    mmt_call_print_caller(&it->call, &caller);
    if (run->options.json) {
        mmt_message_emit(json_pack(
            "{s:s, s:f, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f}", "event",
            "verdict", "elapsed", mmt_now() - run->clock.started, "problem", problem,
            "client", mmt_client_name(it->call.client), "adds", it->call.adds, "compute",
            mmt_compute_name(it->call.compute), "f32_mode",
            it->f32_mode == MMT_F32_STRICT ? "strict" : "emulated", "configuration",
            config, "library", it->library, "seconds", it->ours, "library_seconds",
            it->theirs, "joules", it->our_joules, "library_joules", it->their_joules));
    } else if (!run->options.quiet) {
        mmt_message_clear_line(run);
        if (it->our_joules > 0)
            snprintf(energy, sizeof energy, ", %.3g and %.3g mJ", 1e3 * it->our_joules,
                     1e3 * it->their_joules);
        printf("%s (%s): ours %s, %s %s: %.3f%s\n", problem, mmt_text_string(&caller),
               mmt_print_seconds(it->ours, ours), it->library,
               mmt_print_seconds(it->theirs, theirs), it->theirs / it->ours, energy);
        fflush(stdout);
    }
    mmt_text_finish(&caller);
    free(problem);
    free(config);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

void mmt_report_verdicts(const struct mmt_run *run)
{
    const struct mmt_verdicts_sum sum = mmt_tune_sum_verdicts(run);
    char saved[32];
    if (!run->options.recorded || !sum.kinds)
        return;
    if (run->options.json) {
        mmt_message_emit(
            json_pack("{s:s, s:f, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "event",
                      "verdicts", "elapsed", mmt_now() - run->clock.started, "kinds",
                      sum.kinds, "ours", sum.ours, "library", sum.theirs, "calls",
                      sum.calls, "our_calls", sum.our_calls, "seconds", sum.seconds,
                      "our_seconds", sum.our_seconds, "saved", sum.saved));
        return;
    }
    printf("verdicts: ours takes over %d of %d kinds of calls, %.1f %% of the recorded "
           "calls and %.1f %% of their time, which saves %s (%.1f %%); the library is as "
           "fast or faster on %d\n",
           sum.ours, sum.kinds, percent(sum.our_calls, sum.calls),
           percent(sum.our_seconds, sum.seconds), mmt_print_seconds(sum.saved, saved),
           percent(sum.saved, sum.seconds), sum.theirs);
}
