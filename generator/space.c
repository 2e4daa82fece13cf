/* Numbers the configurations of a template, from number to values of knobs and back; asks
 * not whether they are legal. */
#include "generator/generator.h"

uint64_t mmt_space_size(const struct mmt_template *template)
{
    uint64_t size = 1;
    for (int i = 0; i < template->num_knobs; i++)
        size *= (uint64_t) template->knobs[i].num_values;
    return size;
}

void mmt_space_at(const struct mmt_template *template, uint64_t index,
                  struct mmt_config *out)
{
    *out = (struct mmt_config){ .template = template };
    for (int i = template->num_knobs - 1; i >= 0; i--) {
        uint64_t radix = (uint64_t) template->knobs[i].num_values;
        out->values[i] = template->knobs[i].values[index % radix];
        index /= radix;
    }
}

/* The place of a value that the knob has. */
static uint64_t place_of(const struct mmt_knob *knob, int value)
{
    int place = 0;
    while (place < knob->num_values - 1 && knob->values[place] != value)
        place++;
    return (uint64_t) place;
}

uint64_t mmt_space_index(const struct mmt_config *config)
{
    uint64_t index = 0;
    for (int i = 0; i < config->template->num_knobs; i++) {
        const struct mmt_knob *knob = &config->template->knobs[i];
        index = index * (uint64_t) knob->num_values + place_of(knob, config->values[i]);
    }
    return index;
}
