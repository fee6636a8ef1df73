// SPDX-License-Identifier: MIT
/**
 * The board: an instance of ethosu.wasm, and its imports, which tools/web/board/host.h declares.
 * It blocks its thread, so it runs in a worker of a page, or in node.
 */

/** Thrown by host_reset(); the instance does not run any further. */
class Reset {
    constructor(cause, romfs) {
        this.cause = cause;
        this.romfs = romfs;
    }
}

/** The reset cause after power-on. */
const POWER_ON = 0;

/** Bytes of struct npu_memory. */
const MEMORY_BYTES = 32;

/** Memories whose content survives a reset. */
const KEPT = ["_romfs", "_ramdisk"];

export class Board {
    /**
     * @param {WebAssembly.Module} module
     * @param {object} io  functions that differ between a page and node:
     *   read(bytes): fill a Uint8Array with input, return the number of bytes; write(bytes): output,
     *   already copied; sleep(ms): return after this time, or when there is input; only on a page:
     *   feed(source, bytes): fill with sound or a picture, return the number of bytes; show(text):
     *   pass JSON to the page
     * @param {{npus: string[], romfs?: Uint8Array, memories?: object[]}} options  configs such as
     *   "ethos-u55-128"; ROMFS image; memories for the NPUs' timing, fields of struct npu_memory
     */
    constructor(module, io, { npus, romfs, memories = [] }) {
        this.module = module;
        this.io = io;
        this.npus = npus.map((name) => new TextEncoder().encode(name));
        this.romfs = romfs;
        this.memories = memories;
        this.kept = null;
    }

    /** Bytes of linear memory. A view is invalid once the memory grows, so do not keep it. */
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
                memories: (at, room) => this.giveMemories(at, room),
                feed: (source, at, size) => this.io.feed?.(source, this.bytes(at, size)) ?? 0,
                show: (at, size) => this.io.show?.(new TextDecoder().decode(this.bytes(at, size))),
                reset: (why) => {
                    throw new Reset(why);
                },
                reset_cause: () => cause,
            },
        };
    }

    /** Write the memories as struct npu_memory, without addresses. */
    giveMemories(at, room) {
        const count = Math.min(this.memories.length, room);
        const view = new DataView(this.memory.buffer, at);
        this.memories.slice(0, count).forEach((memory, i) => {
            const offset = MEMORY_BYTES * i + 16;
            view.setUint32(offset, memory.millibytes, true);
            view.setUint16(offset + 4, memory.read_latency, true);
            view.setUint16(offset + 6, memory.write_latency, true);
            view.setUint16(offset + 8, memory.burst, true);
            view.setUint8(offset + 10, memory.regions);
        });
        return count;
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
                throw new Error(`the ROMFS image has ${this.romfs.length} bytes, but the board has room for ${area.length}`);
            }
            area.set(this.romfs);
        }
    }

    /** Restart with these NPUs and this ROM; called from within a call of `io`. */
    restart({ npus, romfs }) {
        this.npus = npus.map((name) => new TextEncoder().encode(name));
        throw new Reset(POWER_ON, romfs);
    }

    /** Run forever, across resets. */
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
