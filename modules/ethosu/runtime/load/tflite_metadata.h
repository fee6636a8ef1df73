// SPDX-License-Identifier: MIT
/**
 * TFLite metadata: names, labels, normalisation and score calibration of a model's inputs and
 * outputs. Files may come from third parties, so every read and the total work are bounded.
 */
#ifndef TFLITE_METADATA_H
#define TFLITE_METADATA_H

#include "ethosu_model.h"

/** Subject of a fact. */
enum tflite_fact_subject { TFLITE_FACT_MODEL, TFLITE_FACT_INPUT, TFLITE_FACT_OUTPUT };

/** Kinds of facts and their data; `data` is NULL for absent text or an absent file. */
enum tflite_fact_kind {
    TFLITE_FACT_NAME,           /**< UTF-8; the first fact of each subject */
    TFLITE_FACT_DESCRIPTION,    /**< UTF-8 */
    TFLITE_FACT_LABELS,         /**< a file of lines */
    TFLITE_FACT_MEAN,           /**< floats of 32 bits, at any alignment */
    TFLITE_FACT_STD,            /**< the same */
    TFLITE_FACT_TRANSFORMATION, /**< a byte: 0 identity, 1 log, 2 inverse logistic */
    TFLITE_FACT_DEFAULT_SCORE,  /**< a float */
    TFLITE_FACT_CALIBRATION, /**< a file of lines: scale, slope, offset, optional minimum score */
    TFLITE_FACT_THRESHOLD,   /**< a float */
};

struct tflite_fact {
    uint8_t subject; /**< enum tflite_fact_subject */
    uint8_t kind;    /**< enum tflite_fact_kind */
    const void *data;
    uint32_t size;
};

/** Receives the facts in the order of the file: the model, then each input, then each output. */
typedef void tflite_fact_receiver(void *context, const struct tflite_fact *fact);

/**
 * Read the TFLite metadata of a model.
 *
 * @return  ETHOSU_MODEL_OK; a model without metadata has no facts. ETHOSU_MODEL_BAD_FILE with a
 *          message if it is damaged or has the wrong number of inputs or outputs
 */
int tflite_metadata_read(const struct ethosu_model *model, tflite_fact_receiver *receive,
                         void *context, struct ethosu_model_error *error);

#endif
