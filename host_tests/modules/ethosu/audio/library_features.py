# SPDX-License-Identifier: MIT
"""Computes features as third-party programs do, with the libraries they use.

Usage: `library_features.py IN.npz OUT.npz [PREPROCESSOR]`, in a Python with tensorflow-cpu, librosa
and tflite-micro. IN has samples by name; OUT has NAME/mfcc and NAME/log_mel of MLPerf Tiny, or,
given TensorFlow Lite Micro's audio_preprocessor_float.tflite, NAME/micro of its Micro Speech
example.
"""

import sys

import numpy as np


def mfcc(samples: np.ndarray) -> np.ndarray:
    """Compute MFCCs as benchmark/training/keyword_spotting/get_dataset.py does."""
    import tensorflow as tf

    gain = float(1 / max(1, samples.max()))
    windows = tf.signal.stft(
        tf.constant(samples, tf.float32) * gain, 480, 320, window_fn=tf.signal.hann_window
    )
    weights = tf.signal.linear_to_mel_weight_matrix(40, windows.shape[-1], 16000, 20.0, 4000.0)
    logs = tf.math.log(tf.tensordot(tf.abs(windows), weights, 1) + 1e-6)
    return tf.signal.mfccs_from_log_mel_spectrograms(logs)[..., :10].numpy()


def log_mel(samples: np.ndarray) -> np.ndarray:
    """Compute rows as benchmark/training/anomaly_detection/common.py does, without padded ones."""
    import librosa

    energies = librosa.feature.melspectrogram(
        y=samples.astype(np.float32) / 32768, sr=16000, n_fft=1024, hop_length=512, n_mels=128
    )
    count = (len(samples) - 1024) // 512 + 1
    return 10 * np.log10(energies + sys.float_info.epsilon).T[1 : 1 + count]


def micro(samples: np.ndarray, preprocessor: str) -> np.ndarray:
    """Let TensorFlow Lite Micro compute features of 30 ms windows, 20 ms apart."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(preprocessor)
    rows = []
    for at in range(0, len(samples) - 479, 320):
        interpreter.set_input(samples[None, at : at + 480], 0)
        interpreter.invoke()
        rows.append(interpreter.get_output(0).ravel())
    return np.array(rows)


given = np.load(sys.argv[1])
made = {}
for name, samples in given.items():
    if len(sys.argv) > 3:
        made[f"{name}/micro"] = micro(samples, sys.argv[3])
    else:
        made[f"{name}/mfcc"] = mfcc(samples)
        made[f"{name}/log_mel"] = log_mel(samples)
np.savez(sys.argv[2], **made)
