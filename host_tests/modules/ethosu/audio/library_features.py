# SPDX-License-Identifier: MIT
"""Features as the scripts of MLPerf Tiny compute them, with the libraries that they call.

For a Python that has tensorflow-cpu and librosa: `library_features.py IN.npz OUT.npz`. IN has
samples by name and `gains`; OUT has NAME/mfcc and NAME/log_mel.
"""

import sys

import librosa
import numpy as np
import tensorflow as tf


def mfcc(samples: np.ndarray, gain: float) -> np.ndarray:
    """As benchmark/training/keyword_spotting/get_dataset.py."""
    windows = tf.signal.stft(
        tf.constant(samples, tf.float32) * gain, 480, 320, window_fn=tf.signal.hann_window
    )
    weights = tf.signal.linear_to_mel_weight_matrix(40, windows.shape[-1], 16000, 20.0, 4000.0)
    logs = tf.math.log(tf.tensordot(tf.abs(windows), weights, 1) + 1e-6)
    return tf.signal.mfccs_from_log_mel_spectrograms(logs)[..., :10].numpy()


def log_mel(samples: np.ndarray) -> np.ndarray:
    """As benchmark/training/anomaly_detection/common.py; without the padded first and last rows."""
    energies = librosa.feature.melspectrogram(
        y=samples.astype(np.float32) / 32768, sr=16000, n_fft=1024, hop_length=512, n_mels=128
    )
    count = (len(samples) - 1024) // 512 + 1
    return 10 * np.log10(energies + sys.float_info.epsilon).T[1 : 1 + count]


given = np.load(sys.argv[1])
made = {}
for index, name in enumerate(key for key in given if key != "gains"):
    made[f"{name}/mfcc"] = mfcc(given[name], float(given["gains"][index]))
    made[f"{name}/log_mel"] = log_mel(given[name])
np.savez(sys.argv[2], **made)
