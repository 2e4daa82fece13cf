/* A header that does not stand alone: the test of the public headers must find it. */
static inline size_t negative(const mmt_problem *problem)
{
    return problem->size;
}
