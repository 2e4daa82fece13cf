/* From a parameter space to source text. The public header of the module `generator`. */
#ifndef MMT_GENERATOR_GENERATOR_H
#define MMT_GENERATOR_GENERATOR_H

#include <stdint.h>

#include "base/hash.h"
#include "templates/template.h"

/* ---- configuration: a template and a value for each of its knobs ----------------- */

struct mmt_config {
    const struct mmt_template *template;
    int values[MMT_MAX_KNOBS]; /* the values themselves, in the knobs' order */
};

/* Adds "simt TILE_M=128 SHARED_LAYOUT=swizzle …", every knob, in the knobs' order. */
void mmt_config_print(const struct mmt_config *config, struct mmt_text *text);

/* Reads that, knobs in any order; knobs that are left out take the first seed's value.
 * Refuses an unknown template, knob or value by name and says what would be right. */
mmt_status mmt_config_parse(const char *string, struct mmt_config *out, mmt_error *err);

/* The same for a normalised problem: knobs that are left out take the values of the first
 * seed with which the device can run the whole for it; where there is none, for another
 * shape of its type and transposes; else the first seed's. */
mmt_status mmt_config_parse_for(const char *string, const mmt_problem *problem,
                                const struct mmt_caps *caps, struct mmt_config *out,
                                mmt_error *err);

/* The template of that name; else NULL, and the error names those that there are. */
const struct mmt_template *mmt_config_template(const char *name, mmt_error *err);

/* The same, but the name itself as the table has it: that of a template stands for all of
 * its spaces, a key for one. */
const char *mmt_config_template_name(const char *name, mmt_error *err);

/* Sets one knob from its spelling ("16", "xor"). */
mmt_status mmt_config_set(struct mmt_config *config, const char *knob, const char *value,
                          mmt_error *err);

/* A knob's value as people write it: a word where the knob has words. `buffer` is used
 * for numbers and must outlive the result. */
const char *mmt_config_value(const struct mmt_config *config, int knob, char buffer[16]);

bool mmt_config_equal(const struct mmt_config *a, const struct mmt_config *b);

/* Whether a list has it. */
bool mmt_config_in(const struct mmt_config *config, const struct mmt_config *list,
                   int count);

/* The variant of a problem: with `aligned` as given. */
struct mmt_variant mmt_variant_of(const mmt_problem *problem, bool aligned);

/* The least problem of a variant: a C of one element, and a k of 1. */
mmt_problem mmt_variant_element(const struct mmt_variant *variant);

/* The configuration as it serves a normalised problem: knobs that is auto
 * have the values that the template finds best for it. A text, a launch and a check are
 * always of such a one; files and people keep what was left. */
struct mmt_config mmt_config_resolve(const struct mmt_config *config,
                                     const mmt_problem *problem,
                                     const struct mmt_caps *caps);

/* Whether matrix units compute this f32 or i32, each number as its slices (wgmma.cu). */
bool mmt_config_in_slices(const struct mmt_config *config, mmt_type type);

/* Its work; a knob that is auto counts as 1. */
struct mmt_work mmt_config_work(const struct mmt_config *config, mmt_type type);

/* A resolved configuration as its sources see it; and whether two that see the same share
 * their sources, whatever their launches are. */
struct mmt_config mmt_config_in_text(const struct mmt_config *resolved);
bool mmt_config_same_text(const struct mmt_config *a, const struct mmt_config *b);

/* What the source of a resolved configuration follows from besides the templates and the
 * dialect: to hash it takes far less than to emit it. */
struct mmt_hash mmt_config_hash(const struct mmt_config *resolved,
                                const struct mmt_variant *variant);

/* The launches of one execution of a normalised problem that is not empty. */
void mmt_config_launch(const struct mmt_config *config, const mmt_problem *problem,
                       const struct mmt_caps *caps, struct mmt_launches *out);

/* The configuration itself, if it needs no more workspace than that for the problem; else
 * the same with the largest number, of those that is auto and counted by
 * the launch, that does, or with the least. */
struct mmt_config mmt_config_within(const struct mmt_config *config,
                                    const mmt_problem *problem,
                                    const struct mmt_caps *caps, size_t workspace);

/* NULL if the device can run this configuration for this variant, else one sentence why
 * not: type, dialect, f64, then what the template says. What is auto is as
 * for a C of one element. */
const char *mmt_config_check_device(const struct mmt_config *config,
                                    const struct mmt_variant *variant,
                                    const struct mmt_caps *caps);

/* Whether the device can run it for problems of that type and transposes: for some there
 * may be a specialisation for aligned operands alone. */
bool mmt_config_suits(const struct mmt_config *config, const mmt_problem *kind,
                      const struct mmt_caps *caps);

/* mmt_config_check_device for one problem: also shape. */
const char *mmt_config_check_problem(const struct mmt_config *config,
                                     const mmt_problem *problem,
                                     const struct mmt_caps *caps);

/* A configuration that is bound to a normalised, non-empty problem on a device: all that
 * follows from the three. The caller owns the problem and the caps, which outlive it. */
struct mmt_bound {
    struct mmt_config config; /* resolved */
    const mmt_problem *problem;
    const struct mmt_caps *caps;
    const char *why_not; /* NULL where the device can run it, else one sentence */
    struct mmt_alignment alignment; /* bytes that its aligned text assumes */
    bool may_align;                 /* mmt_config_may_align */
    bool has_aligned, has_any;      /* mmt_config_has_aligned, mmt_config_has_any */
    struct mmt_launches launches;   /* of one execution; unset where there is a why_not */
};

/* Binds; false where there is a why_not. */
bool mmt_bind(const struct mmt_config *config, const mmt_problem *problem,
              const struct mmt_caps *caps, struct mmt_bound *out);

/* The same of one that is known to serve: why_not is NULL, unchecked. */
void mmt_bind_known(const struct mmt_config *config, const mmt_problem *problem,
                    const struct mmt_caps *caps, struct mmt_bound *out);

/* Whether a plan takes the aligned source. It takes the one for any alignment wherever
 * there is one. */
bool mmt_bound_aligns(const struct mmt_bound *bound);

/* Whether there is a source for operands that begin at multiples of so many bytes (0: of
 * 16), and whether that is the aligned one. */
bool mmt_bound_serves(const struct mmt_bound *bound, size_t alignment, bool *aligned);

/* Whether the problem's leading dimensions and batch strides allow the aligned source.
 * The pointers decide the rest, when executing. `alignment` gets what the text assumes.
 */
bool mmt_config_may_align(const struct mmt_config *config, const mmt_problem *problem,
                          struct mmt_alignment *alignment);

/* Whether the configuration has a text that assumes more than elements of this problem's
 * operands, and whether it has one that assumes no more. */
bool mmt_config_has_aligned(const struct mmt_config *config, const mmt_problem *problem);
bool mmt_config_has_any(const struct mmt_config *config, const mmt_problem *problem);

/* Whether a template is worth trying for the problem: it serves it in this device's
 * language, and is meant for the device's kind, and there for such a shape, or one of few
 * that serve it at all. */
bool mmt_config_meant(const struct mmt_template *template, const mmt_problem *problem,
                      const struct mmt_caps *caps);

/* The first legal seed for this problem over all templates meant for this kind of device,
 * in the order of mmt_templates. False where no template serves it. */
bool mmt_config_default(const mmt_problem *problem, const struct mmt_caps *caps,
                        struct mmt_config *out);

/* The configuration that asks least of a device, whatever the shape: naive, and of an op
 * without it the last starting point of its last template. False where the device cannot
 * run it. */
bool mmt_config_last(const mmt_problem *problem, const struct mmt_caps *caps,
                     struct mmt_config *out);

/* ---- space: all configurations of a template ------------------------------------- */

/* Product of the knobs' numbers of values: legal or not. */
uint64_t mmt_space_size(const struct mmt_template *template);

/* The configuration of an index below that size (mixed radix, last knob fastest). */
void mmt_space_at(const struct mmt_template *template, uint64_t index,
                  struct mmt_config *out);
uint64_t mmt_space_index(const struct mmt_config *config);

/* ---- names of earlier versions (aliases.c) --------------------------------------- */

/* Today's name of a template, of a template's knob, of a knob's value: the same string
 * where it never had another one. Values of the knob are *scale times what they were. */
const char *mmt_alias_template(const char *name);
const char *mmt_alias_knob(const struct mmt_template *template, const char *name,
                           int *scale);
const char *mmt_alias_value(const char *knob, const char *value);

/* ---- emit: the source text ------------------------------------------------------- */

/* The whole text of one configuration: prelude, definitions, kernel file, with #line so
 * that a compiler's error names the file that a person has open. It compiles outside
 * mmtune. What is auto is as for a C of one element: resolve it before.
 * *text is replaced. */
mmt_status mmt_emit(const struct mmt_config *config, const struct mmt_variant *variant,
                    enum mmt_dialect dialect, enum mmt_kind kind, struct mmt_text *text,
                    mmt_error *err);

/* Hash of what a template's kernels are made from (its file and the preludes): a profile
 * records it, so that a template that changed since is noticed. */
mmt_status mmt_template_hash(const struct mmt_template *template, struct mmt_hash *hash,
                             mmt_error *err);

#endif
