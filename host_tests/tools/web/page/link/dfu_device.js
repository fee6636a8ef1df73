// SPDX-License-Identifier: MIT
/**
 * USB devices in DFU mode, with partitions and names as OpenMV's boot loader for the AE3 has them.
 *
 * DfuDevice is as strict as the states of USB-IF's "Device Class Specification for Device Firmware
 * Upgrade", version 1.1: each rule names its section. OpenMvLoader does what OpenMV's boot loader does
 * with TinyUSB's class driver (read in openmv/openmv, boot/src/common, and hathach/tinyusb,
 * src/class/dfu/dfu_device.c), which takes more than the specification.
 *
 * `faults`: stall: the block that cannot be written; silent, unplug: the block at which it does so;
 * busy: a block takes forever; left: the state and status in which a transfer left it.
 */
const [DFU_DETACH, DFU_DNLOAD, DFU_GETSTATUS, DFU_CLRSTATUS, DFU_ABORT] = [0, 1, 3, 4, 6];
const [IDLE, DNLOAD_SYNC, DNBUSY, DNLOAD_IDLE, MANIFEST_SYNC, MANIFEST, WAIT_RESET, UPLOAD_IDLE, ERROR] = [2, 3, 4, 5, 6, 7, 8, 9, 10];
const [OK, ERR_WRITE, ERR_ADDRESS, ERR_STALLED] = [0, 3, 8, 15];
/** The requests of each state that has any (A.2.3 to A.2.11), besides DNLOAD; all others are errors (A.1).
 * UPLOAD and GETSTATE, which the page does not send, are left out. */
const ALLOWED = {
    [IDLE]: [DFU_GETSTATUS, DFU_ABORT],
    [DNLOAD_SYNC]: [DFU_GETSTATUS],
    [DNLOAD_IDLE]: [DFU_GETSTATUS, DFU_ABORT],
    [MANIFEST_SYNC]: [DFU_GETSTATUS],
    [UPLOAD_IDLE]: [DFU_GETSTATUS, DFU_ABORT],
    [ERROR]: [DFU_GETSTATUS, DFU_CLRSTATUS],
};
const PARTITIONS = [
    ["BOOT", 0x80000000, 0x80020000],
    ["HP", 0x80020000, 0x80320000],
    ["HE", 0x80320000, 0x8047e000],
];

class DfuDevice {
    constructor({ transferSize = 4096, tolerant = true, pollMs = 40, faults = {} } = {}) {
        Object.assign(this, { transferSize, tolerant, pollMs, faults, vendorId: 0x37c5, productId: 0x96e3 });
        Object.assign(this, { opened: false, configuration: null, memory: new Map(), blocks: 0, refused: [], requests: [] });
        [this.state, this.error] = faults.left ?? [IDLE, OK];
        this.attached = true;
    }

    here() {
        if (!this.attached) {
            throw new DOMException("The device was disconnected.", "NotFoundError");
        }
    }

    async open() {
        this.here();
        this.opened = true;
    }

    async close() {
        this.opened = false;
    }

    async selectConfiguration() {
        this.here();
        const alternates = PARTITIONS.map(([name], at) => ({
            alternateSetting: at, interfaceClass: 0xfe, interfaceSubclass: 1, interfaceProtocol: 2, interfaceName: name,
        }));
        this.configuration = { configurationValue: 1, interfaces: [{ interfaceNumber: 0, alternates }] };
    }

    async claimInterface() {
        this.here();
    }

    async selectAlternateInterface(_, alternate) {
        this.here();
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
        this.here();
        this.unplug();
    }

    /** A request without a transition is refused, and the state is an error (A.1). */
    stall(request) {
        clearTimeout(this.timer);
        this.refused.push(request);
        [this.state, this.error] = [ERROR, ERR_STALLED];
        return { status: "stall" };
    }

    allows(request) {
        return ALLOWED[this.state]?.includes(request);
    }

    async controlTransferIn({ requestType, request, value }, length) {
        this.here();
        if (requestType === "standard") {
            const answer = request === 6 && value === 0x0200 ? this.#descriptors().slice(0, length) : [];
            return { status: "ok", data: new DataView(Uint8Array.from(answer).buffer) };
        }
        if (request !== DFU_GETSTATUS || !this.allows(request)) {
            return this.stall(request);
        }
        const wait = this.poll();
        const answer = [this.error, wait & 255, (wait >> 8) & 255, wait >> 16, this.state, 0];
        return { status: "ok", data: new DataView(Uint8Array.from(answer).buffer) };
    }

    /** The state after the answer to GETSTATUS, and how long the host must wait (6.1.2). */
    poll() {
        if (this.state === DNLOAD_SYNC) { // A.2.4
            if (this.pending || this.faults.busy) {
                this.state = DNBUSY;
                this.later(() => this.written()); // A.2.5: no request until then
                return this.pollMs;
            }
            this.state = DNLOAD_IDLE;
        } else if (this.state === MANIFEST_SYNC) { // A.2.7
            if (this.manifested) {
                this.state = IDLE;
                return 0;
            }
            this.state = MANIFEST;
            this.later(() => this.manifest()); // A.2.8: no request until then
            return this.pollMs;
        }
        return 0;
    }

    later(act) {
        this.timer = setTimeout(act, this.pollMs);
    }

    /** A device that cannot answer afterwards waits for a reset of the bus (7), and takes no request (A.1). */
    manifest() {
        this.manifested = true;
        this.state = this.tolerant ? MANIFEST_SYNC : WAIT_RESET;
    }

    written() {
        const { block, data } = this.pending ?? {};
        const [name, start, limit] = this.partition;
        this.state = DNLOAD_SYNC;
        this.pending = null;
        const address = start + block * this.transferSize;
        if (!data) {
            return;
        }
        if (name === "BOOT" || this.blocks === this.faults.stall) {
            [this.state, this.error] = [ERROR, ERR_WRITE]; // told at the next GETSTATUS (6.1)
        } else if (address + data.length > limit) {
            [this.state, this.error] = [ERROR, ERR_ADDRESS];
        } else {
            this.memory.set(address, data);
        }
    }

    async controlTransferOut({ request, value }, bytes) {
        this.here();
        const data = new Uint8Array(bytes ?? 0).slice();
        this.requests.push(request);
        if (request === DFU_DNLOAD && [IDLE, DNLOAD_IDLE].includes(this.state) && data.length) { // A.2.3, A.2.6
            this.blocks++;
            if (this.blocks === this.faults.unplug) {
                this.unplug();
                this.here();
            }
            if (this.blocks >= this.faults.silent) {
                return new Promise(() => {});
            }
            if (data.length > this.transferSize) { // 6.1.1
                return this.stall(request);
            }
            Object.assign(this, { state: DNLOAD_SYNC, pending: { block: value, data }, manifested: false });
        } else if (request === DFU_DNLOAD && this.ends()) {
            this.state = MANIFEST_SYNC;
        } else if (request === DFU_ABORT && this.allows(request)) {
            [this.state, this.error] = [IDLE, OK]; // 6.1.4
        } else if (request === DFU_CLRSTATUS && this.allows(request)) {
            [this.state, this.error] = [IDLE, OK]; // A.2.11
        } else {
            return this.stall(request);
        }
        return { status: "ok" };
    }

    /** Whether a block without data is the end of a download (A.2.6); before one it is an error (A.2.3). */
    ends() {
        return this.state === DNLOAD_IDLE;
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

/**
 * OpenMV's boot loader: TinyUSB's class driver takes GETSTATUS, CLRSTATUS and ABORT in each state, a block
 * without data before the first, too, and leaves the state as it is when it refuses a block. Choosing the
 * partition begins anew. The loader writes before it takes the next request, so there is nothing to wait for;
 * it leaves at DETACH.
 */
class OpenMvLoader extends DfuDevice {
    constructor(values) {
        super({ ...values, pollMs: 0 });
    }

    async selectAlternateInterface(...which) {
        await super.selectAlternateInterface(...which);
        [this.state, this.error, this.pending] = [IDLE, OK, null];
    }

    stall(request) {
        this.refused.push(request);
        return { status: "stall" };
    }

    allows(request) {
        return [DFU_GETSTATUS, DFU_CLRSTATUS, DFU_ABORT].includes(request);
    }

    ends() {
        return [IDLE, DNLOAD_IDLE].includes(this.state);
    }

    later(act) {
        this.next = act;
    }

    /** What it does before it takes a request. */
    #work() {
        const { next } = this;
        this.next = null;
        next?.();
    }

    async controlTransferIn(...setup) {
        this.#work();
        return super.controlTransferIn(...setup);
    }

    async controlTransferOut(setup, bytes) {
        this.#work();
        if (setup.request === DFU_DETACH) {
            this.unplug();
            return { status: "ok" };
        }
        return super.controlTransferOut(setup, bytes);
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
Object.assign(globalThis, { DfuDevice, OpenMvLoader, FakeUsb });
