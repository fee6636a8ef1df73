// SPDX-License-Identifier: MIT
/**
 * A USB device in DFU mode: the states of appendix A of USB's "Device Class Specification for Device
 * Firmware Upgrade", version 1.1, with partitions and names as OpenMV's boot loader has them.
 *
 * `faults`: stall: the block that cannot be written; silent, unplug: the block at which it does so;
 * busy: a block takes forever; left: the state and status in which a transfer left it.
 */
const [DFU_DETACH, DFU_DNLOAD, DFU_UPLOAD, DFU_GETSTATUS, DFU_CLRSTATUS, DFU_GETSTATE, DFU_ABORT] = [0, 1, 2, 3, 4, 5, 6];
const [IDLE, DNLOAD_SYNC, DNBUSY, DNLOAD_IDLE, MANIFEST_SYNC, MANIFEST, WAIT_RESET, ERROR] = [2, 3, 4, 5, 6, 7, 8, 10];
const [OK, ERR_WRITE, ERR_ADDRESS, ERR_STALLED] = [0, 3, 8, 15];
const PARTITIONS = [
    ["BOOT", 0x80000000, 0x80020000],
    ["HP", 0x80020000, 0x80320000],
    ["HE", 0x80320000, 0x8047e000],
];

class DfuDevice {
    constructor({ transferSize = 4096, tolerant = true, pollMs = 40, faults = {} } = {}) {
        Object.assign(this, { transferSize, tolerant, pollMs, faults, vendorId: 0x37c5, productId: 0x96e3 });
        Object.assign(this, { opened: false, configuration: null, memory: new Map(), blocks: 0, left: false, early: 0 });
        [this.state, this.error] = faults.left ?? [IDLE, OK];
        this.attached = true;
    }

    #here() {
        if (!this.attached) {
            throw new DOMException("The device was disconnected.", "NotFoundError");
        }
    }

    async open() {
        this.#here();
        this.opened = true;
    }

    async close() {
        this.opened = false;
    }

    async selectConfiguration() {
        this.#here();
        const alternates = PARTITIONS.map(([name], at) => ({
            alternateSetting: at, interfaceClass: 0xfe, interfaceSubclass: 1, interfaceProtocol: 2, interfaceName: name,
        }));
        this.configuration = { configurationValue: 1, interfaces: [{ interfaceNumber: 0, alternates }] };
    }

    async claimInterface() {
        this.#here();
    }

    async selectAlternateInterface(_, alternate) {
        this.#here();
        this.partition = PARTITIONS[alternate];
    }

    /** Everything after it fails, until it is plugged in again. */
    unplug() {
        this.attached = this.opened = false;
    }

    plug() {
        Object.assign(this, { attached: true, configuration: null, state: IDLE, error: OK, blocks: 0 });
    }

    async reset() {
        this.#here();
        this.unplug();
    }

    #stall(error = ERR_STALLED) {
        clearTimeout(this.timer);
        [this.state, this.error] = [ERROR, error];
        return { status: "stall" };
    }

    async controlTransferIn({ requestType, request, value }, length) {
        this.#here();
        if (requestType === "standard") {
            const answer = request === 6 && value === 0x0200 ? this.#descriptors().slice(0, length) : [];
            return { status: "ok", data: new DataView(Uint8Array.from(answer).buffer) };
        }
        if (request === DFU_GETSTATUS && this.state !== DNBUSY && this.state !== MANIFEST) {
            const wait = this.#poll();
            const answer = [this.error, wait & 255, (wait >> 8) & 255, wait >> 16, this.state, 0];
            return { status: "ok", data: new DataView(Uint8Array.from(answer).buffer) };
        }
        this.early++;
        return this.#stall();
    }

    /** The state after the answer to GETSTATUS, and how long the host must wait. */
    #poll() {
        if (this.state === DNLOAD_SYNC) {
            if (this.pending || this.faults.busy) {
                this.state = DNBUSY;
                this.timer = setTimeout(() => this.#written(), this.pollMs);
                return this.pollMs;
            }
            this.state = DNLOAD_IDLE;
        } else if (this.state === MANIFEST_SYNC) {
            if (this.manifested) {
                this.state = IDLE;
                return 0;
            }
            this.state = MANIFEST;
            this.timer = setTimeout(() => {
                this.manifested = true;
                this.state = this.tolerant ? MANIFEST_SYNC : WAIT_RESET;
            }, this.pollMs);
            return this.pollMs;
        }
        return 0;
    }

    #written() {
        const { block, data } = this.pending ?? {};
        const [name, start, limit] = this.partition;
        this.state = DNLOAD_SYNC;
        this.pending = null;
        const address = start + block * this.transferSize;
        if (!data) {
            return;
        }
        if (name === "BOOT" || this.blocks === this.faults.stall) {
            this.#stall(ERR_WRITE);
        } else if (address + data.length > limit) {
            this.#stall(ERR_ADDRESS);
        } else {
            this.memory.set(address, data);
        }
    }

    async controlTransferOut({ request, value }, bytes) {
        this.#here();
        const data = new Uint8Array(bytes ?? 0).slice();
        if (request === DFU_DETACH) { // OpenMV's leaves; by the specification it is for the application
            this.unplug();
            return { status: "ok" };
        }
        if (request === DFU_DNLOAD && data.length && [IDLE, DNLOAD_IDLE].includes(this.state)) {
            this.blocks++;
            if (this.blocks === this.faults.unplug) {
                this.unplug();
                this.#here();
            }
            if (this.blocks >= this.faults.silent) {
                return new Promise(() => {});
            }
            if (data.length > this.transferSize) {
                return this.#stall();
            }
            Object.assign(this, { state: DNLOAD_SYNC, pending: { block: value, data }, manifested: false });
        } else if (request === DFU_DNLOAD && this.state === DNLOAD_IDLE) {
            this.state = MANIFEST_SYNC;
        } else if (request === DFU_ABORT && [IDLE, DNLOAD_SYNC, DNLOAD_IDLE, MANIFEST_SYNC, 9].includes(this.state)) {
            this.state = IDLE;
        } else if (request === DFU_CLRSTATUS && this.state === ERROR) {
            [this.state, this.error] = [IDLE, OK];
        } else {
            return this.#stall();
        }
        return { status: "ok" };
    }

    /** Configuration, an interface for each partition, and DFU's functional descriptor. */
    #descriptors() {
        const interfaces = PARTITIONS.flatMap((_, at) => [9, 4, 0, at, 0, 0xfe, 1, 2, 4 + at]);
        const functional = [9, 0x21, this.tolerant ? 7 : 3, 0xe8, 3, this.transferSize & 255, this.transferSize >> 8, 0x10, 1];
        const total = 9 + interfaces.length + functional.length;
        return [9, 2, total & 255, total >> 8, 1, 1, 0, 0x80, 250, ...interfaces, ...functional];
    }

    /** What is from this address on. */
    at(address) {
        const parts = [];
        for (let next = address; this.memory.has(next); next += this.transferSize) {
            parts.push(...this.memory.get(next));
        }
        return parts;
    }
}

/** What navigator.usb gives. `late`: the user chooses the device after it has left. */
class FakeUsb extends EventTarget {
    constructor(device, late = false) {
        super();
        Object.assign(this, { device, late, asked: 0, granted: false });
    }

    async getDevices() {
        return this.granted && this.device.attached ? [this.device] : [];
    }

    async requestDevice({ filters: [{ vendorId, productId }] }) {
        this.asked++;
        if (vendorId !== this.device.vendorId || productId !== this.device.productId) {
            throw new DOMException("No device selected.", "NotFoundError");
        }
        this.granted = true;
        if (this.late) {
            this.device.unplug();
        }
        return this.device;
    }

    plug() {
        this.device.plug();
        this.dispatchEvent(Object.assign(new Event("connect"), { device: this.device }));
    }
}

globalThis.useUsb = (usb) => Object.defineProperty(navigator, "usb", { configurable: true, value: usb });
Object.assign(globalThis, { DfuDevice, FakeUsb });
