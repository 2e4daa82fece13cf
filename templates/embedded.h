/* The kernel files as they were when the library was built (written by tools/embed.py).
 */
#ifndef MMT_TEMPLATES_EMBEDDED_H
#define MMT_TEMPLATES_EMBEDDED_H

struct mmt_embedded {
    const char *name, *text;
};

extern const struct mmt_embedded mmt_embedded[]; /* ends with a NULL name */

#endif
