/* The program `mmtune-study`, which `mmtune study` becomes. */
#include "study.h"

int main(int argc, char **argv)
{
    mmt_answer_interrupts("study", "nothing was measured yet, and no file was changed");
    return mmt_exit_status(mmt_study_start(argc, argv));
}
