// SPDX-License-Identifier: MIT
/** Another rate for samples that come piece by piece: a sinc under a Hann window, which is a low-pass. */

/** Zeros of the sinc to each side. */
const LOBES = 16;

export class Resampler {
    constructor(from, to) {
        this.step = from / to;
        this.width = Math.max(1, this.step); // from zero to zero of the sinc, in samples that come
        this.reach = Math.ceil(LOBES * this.width);
        this.kept = new Float32Array(2 * this.reach + 2);
        this.ahead = this.reach + 2; // from kept[reach] to where the next sample is due
    }

    weight(distance) {
        const x = distance / this.width;
        if (Math.abs(x) >= LOBES) {
            return 0;
        }
        const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
        return (sinc * (1 + Math.cos((Math.PI * x) / LOBES))) / 2 / this.width;
    }

    /** Take samples; give(value) gets those that they make. */
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
