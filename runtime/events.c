/* Executions that wait for events of OpenCL and give one. */
#include <mmtune/opencl.h>

#include "runtime/plan.h"

static mmt_status check_wait_list(unsigned count, struct _cl_event *const *wait,
                                  mmt_error *err)
{
    if (count && !wait)
        return mmt_fail_argument(err, MMT_ARGUMENT_EVENTS,
                                 "the list of events is null; it must have the %u that "
                                 "num_events names, or num_events must be 0",
                                 count);
    for (unsigned i = 0; i < count; i++)
        if (!wait[i])
            return mmt_fail_argument(err, MMT_ARGUMENT_EVENTS,
                                     "event %u of %u is null; it must be a cl_event", i,
                                     count);
    return MMT_OK;
}

mmt_status mmt_opencl_execute(const mmt_plan *plan, const mmt_args *args,
                              struct _cl_command_queue *queue, unsigned num_events,
                              struct _cl_event *const *events, struct _cl_event **event,
                              mmt_error *err)
{
    struct mmt_events round = { num_events, (void *const *) events, NULL };
    const struct mmt_turn turn = { mmt_opencl_queue(queue), false, &round };
    void *last = NULL;

    mmt_status status = check_wait_list(num_events, events, err);
    if (!status && plan && plan->device->caps.dialect != MMT_OPENCL_C)
        status = mmt_fail_argument(
            err, MMT_ARGUMENT_PLAN,
            "the plan's device is %s; events are for a device of OpenCL",
            plan->device->title);
    if (!status)
        status = mmt_execute_turn(plan, args, turn, err);
    if (!status && event)
        status = mmt_events_end(plan->device, &round, turn.queue, &last, err);
    else if (round.last)
        mmt_events_end(plan->device, &round, turn.queue, NULL, NULL);
    if (!status && event)
        *event = (struct _cl_event *) last;
    return status;
}
