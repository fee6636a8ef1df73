// SPDX-License-Identifier: MIT
/**
 * The boot loader of Himax's WE2, by what it printed in recorded sessions and what Himax's README
 * and xmodem_send.py answer; XMODEM's receiver by the public descriptions of XMODEM and XMODEM-CRC:
 * it asks with C, rejects a block that is incomplete or whose CRC is wrong, takes a repeated block
 * once, cancels at a wrong number, rejects the first EOT, and ends at two CAN of the sender.
 *
 * `faults`: drop: this byte of the transfer is lost; reject: the next blocks that it rejects; silent,
 * unplug, cancel: the block at which it does so; press: the block at which the user cancels; deaf: it
 * takes no key; mute: it prints nothing.
 */
class HimaxBoard extends PromptBoard {
    constructor(npu, faults = {}) {
        super(npu);
        Object.assign(this, { faults, writes: [], keys: 0, state: "off", place: 0, transfers: 0, cancels: 0, cancelled: false });
    }

    opened(port) {
        super.opened(port);
        this.reset();
    }

    signal(requestToSend) {
        if (requestToSend) {
            this.reset();
        }
    }

    print(text) {
        if (!this.faults.mute) {
            this.port.give(new TextEncoder().encode(text), 921600);
        }
    }

    reset() {
        clearTimeout(this.timer);
        this.client?.end();
        this.client = null;
        this.state = "key";
        this.print("1st BL Modem Build DATE=Nov 30 2023, 0x0002000b\r\nPlease input any key to enter X-Modem mode in 100 ms\r\nwaiting input key...\r\n");
        this.timer = setTimeout(() => this.boot(), 100);
    }

    boot() {
        this.state = "firmware";
        this.print("slot flash_offset 0x00000000\r\njump_addr=0x10000000\r\n");
        if (!this.faults.mute) {
            this.start();
        }
    }

    received(byte, baud) {
        super.received(byte, baud);
        if (baud !== 921600 || this.faults.mute) {
            return;
        }
        const key = String.fromCharCode(byte);
        if (this.state === "key" && !this.faults.deaf) {
            clearTimeout(this.timer);
            this.state = "menu";
            this.print("Set X-modem flag = Yes\r\n\r\nImage max size 0x00100000\r\n[0] Reboot system\r\n[1] Xmodem download and burn FW image\r\n");
        } else if (this.state === "menu" && key === "1") {
            this.print("!!  Please keep the power on during the program upgrade process  !!\r\n\r\nSend data using the xmodem protocol from your terminal\r\n");
            this.receive();
        } else if (this.state === "end" && key === "y") {
            this.reset();
        } else if (this.state === "end" && key === "n") {
            this.receive();
        } else if (this.state === "receive") {
            this.line(byte);
        }
    }

    // ---- XMODEM ----

    receive() {
        Object.assign(this, { state: "receive", block: [], data: [], expected: 1, blocks: 0, bytes: 0, ends: 0 });
        this.transfers++;
        this.ask();
    }

    ask() {
        this.print("C");
        this.timer = setTimeout(() => this.ask(), 1000);
    }

    reply(byte) {
        this.block = [];
        this.port.give(Uint8Array.of(byte), 921600);
    }

    line(byte) {
        this.cancels = this.block.length === 0 && byte === 0x18 ? this.cancels + 1 : 0;
        if (this.cancels === 2) {
            clearTimeout(this.timer);
            Object.assign(this, { cancelled: true, state: "off" });
        }
        if (this.block.length === 0 && ![0x01, 0x02, 0x04].includes(byte)) {
            return; // not the start of anything
        }
        clearTimeout(this.timer);
        this.bytes++;
        if (this.bytes !== this.faults.drop) {
            this.block.push(byte);
        }
        if (this.block[0] === 0x04) {
            this.end();
        } else if (this.block.length === (this.block[0] === 0x02 ? 1029 : 133)) {
            this.take(this.block);
        } else {
            this.timer = setTimeout(() => this.reply(0x15), 1000);
        }
    }

    take([, number, complement, ...rest]) {
        const { faults } = this;
        const crc = rest.slice(0, -2).reduce((sum, byte) => crcTable[(sum >> 8) ^ byte] ^ ((sum << 8) & 0xffff), 0);
        this.blocks++;
        if (this.blocks === faults.press) {
            document.getElementById("own-cancel").click();
        }
        if (this.blocks === faults.unplug) {
            this.port.unplug();
        } else if (this.blocks >= faults.silent) {
            this.block = [];
        } else if (this.blocks === faults.cancel) {
            this.reply(0x18);
        } else if (crc !== rest.at(-2) * 256 + rest.at(-1) || faults.reject-- > 0) {
            this.reply(0x15);
        } else if (number + complement !== 255 || ![this.expected, (this.expected + 255) % 256].includes(number)) {
            this.reply(0x18);
        } else {
            if (number === this.expected) {
                this.data.push(...rest.slice(0, -2));
                this.expected = (number + 1) % 256;
            }
            this.reply(0x06);
        }
    }

    end() {
        if (this.ends++ === 0) {
            this.reply(0x15);
            return;
        }
        this.reply(0x06);
        const view = new DataView(Uint8Array.from(this.data).buffer);
        if (view.getUint16(0) === 0xc05a && view.getUint16(10) === 0x5ac0) {
            this.place = view.getUint32(2, true);
        } else {
            this.writes.push([this.place, this.data]);
            this.place = 0;
        }
        this.state = "end";
        this.print("backup slot header\r\n\r\nDo you want to end file transmission and reboot system? (y)\r\n");
    }
}

/** The table of XMODEM-CRC's description, of polynomial 4129. */
const crcTable = Array.from({ length: 256 }, (_, index) => {
    let [sum, data] = [0, index << 8];
    for (let bit = 8; bit > 0; bit--) {
        sum = (data ^ sum) & 0x8000 ? (sum << 1) ^ 4129 : sum << 1;
        data <<= 1;
    }
    return sum & 0xffff;
});
Object.assign(globalThis, { HimaxBoard });
