/* What a block of a test owns and gives back as it is left, by whichever way: the last
 * declared goes first, and nothing happens where it is NULL.
 *
 *     SCOPED_DEVICE *device = mmt_device_open("null", &err);
 *     SCOPED_TEXT text = { 0 }; */
#ifndef MMT_TESTS_SCOPED_H
#define MMT_TESTS_SCOPED_H

#include <mmtune/mmtune.h>

#include "base/text.h"

#define SCOPED_TEXT    __attribute__((cleanup(mmt_text_finish))) struct mmt_text
#define SCOPED_DEVICE  __attribute__((cleanup(scoped_device))) mmt_device
#define SCOPED_PROFILE __attribute__((cleanup(scoped_profile))) mmt_profile
#define SCOPED_PLAN    __attribute__((cleanup(scoped_plan))) mmt_plan

static inline void scoped_device(mmt_device **it)
{
    mmt_device_close(*it);
}

static inline void scoped_profile(mmt_profile **it)
{
    mmt_profile_free(*it);
}

static inline void scoped_plan(mmt_plan **it)
{
    mmt_plan_free(*it);
}

#endif
