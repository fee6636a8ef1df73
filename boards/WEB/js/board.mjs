// SPDX-License-Identifier: MIT
/**
 * The board: an instance of ethosu.wasm, and the imports of it that boards/WEB/host.h declares.
 * It blocks its thread: run it in a worker of a page, or in node.
 */

/** Thrown by host_reset(): nothing of the instance runs after it. */
class Reset {
    constructor(cause, romfs) {
        this.cause = cause;
        this.romfs = romfs;
    }
}

/** The cause that a board finds which was switched on. */
const POWER_ON = 0;

/** Memories whose content outlives a reset. */
const KEPT = ["_romfs", "_ramdisk"];

export class Board {
    /**
     * @param {WebAssembly.Module} module
     * @param {object} io  what differs between a page and node:
     *   read(bytes): fill a Uint8Array with input, its number; write(bytes): output, copied;
     *   sleep(ms): return after this time, or when there is input
     * @param {{npus: string[], romfs?: Uint8Array}} options  configs, "ethos-u55-128"; ROMFS image
     */
    constructor(module, io, { npus, romfs }) {
        this.module = module;
        this.io = io;
        this.npus = npus.map((name) => new TextEncoder().encode(name));
        this.romfs = romfs;
        this.kept = null;
    }

    /** Bytes of linear memory. A view dies when the memory grows: ask anew each time. */
    bytes(start, size) {
        return new Uint8Array(this.memory.buffer, start, size);
    }

    imports(cause) {
        let high = 0;
        return {
            env: { getTempRet0: () => high, setTempRet0: (value) => (high = value) },
            host: {
                now: () => performance.now(),
                epoch: () => Date.now() / 1000,
                write: (at, size) => this.io.write(this.bytes(at, size).slice()),
                read: (at, size) => this.io.read(this.bytes(at, size)),
                sleep: (ms) => this.io.sleep(ms),
                npu: (index, at, size) => {
                    const name = this.npus[index] ?? [];
                    this.bytes(at, size).set(name);
                    return name.length;
                },
                reset: (why) => {
                    throw new Reset(why);
                },
                reset_cause: () => cause,
            },
        };
    }

    area(name) {
        const { [name + "_start"]: start, [name + "_end"]: end } = this.instance.exports;
        return this.bytes(start.value, end.value - start.value);
    }

    start(cause) {
        this.instance = new WebAssembly.Instance(this.module, this.imports(cause));
        this.memory = this.instance.exports.memory;
        this.instance.exports._initialize();
        if (this.kept !== null) {
            KEPT.forEach((name, i) => this.area(name).set(this.kept[i]));
        } else if (this.romfs) {
            const area = this.area("_romfs");
            if (this.romfs.length > area.length) {
                throw new Error(`the ROMFS image has ${this.romfs.length} bytes, the board ${area.length}`);
            }
            area.set(this.romfs);
        }
    }

    /** From within a call of `io`: start again with these NPUs and this ROM. */
    restart({ npus, romfs }) {
        this.npus = npus.map((name) => new TextEncoder().encode(name));
        throw new Reset(POWER_ON, romfs);
    }

    /** Run for ever, over resets. */
    run() {
        for (let cause = POWER_ON; ; ) {
            this.start(cause);
            try {
                this.instance.exports.start();
            } catch (error) {
                if (!(error instanceof Reset)) {
                    throw error;
                }
                cause = error.cause;
                this.kept = KEPT.map((name) => this.area(name).slice());
                if (error.romfs) {
                    this.kept[KEPT.indexOf("_romfs")] = error.romfs;
                }
            }
        }
    }
}
