/* Files as they were when the program was built (written by tools/embed.py): here those
 * of kernels. */
#ifndef MMT_TEMPLATES_EMBEDDED_H
#define MMT_TEMPLATES_EMBEDDED_H

struct mmt_embedded {
    const char *name, *text;
};

extern const struct mmt_embedded mmt_embedded[]; /* ends with a NULL name */

#endif
