// SPDX-License-Identifier: MIT
/** Resamples a stream of samples with a low-pass filter: a sinc with a Hann window. */

/** Number of zeros of the sinc on each side. */
const LOBES = 16;

export class Resampler {
    constructor(from, to) {
        this.step = from / to;
        this.width = Math.max(1, this.step); // distance of the sinc's zeros, in input samples
        this.reach = Math.ceil(LOBES * this.width);
        this.kept = new Float32Array(2 * this.reach + 2);
        this.ahead = this.reach + 2; // distance from kept[reach] to the next output sample
    }

    weight(distance) {
        const x = distance / this.width;
        if (Math.abs(x) >= LOBES) {
            return 0;
        }
        const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
        return (sinc * (1 + Math.cos((Math.PI * x) / LOBES))) / 2 / this.width;
    }

    /** Process input samples; calls give(value) for each output sample. */
    take(samples, give) {
        for (const sample of samples) {
            this.kept.copyWithin(0, 1);
            this.kept[this.kept.length - 1] = sample;
            for (this.ahead -= 1; this.ahead < 1; this.ahead += this.step) {
                give(this.kept.reduce((sum, value, i) => sum + value * this.weight(i - this.reach - this.ahead), 0));
            }
        }
    }
}
