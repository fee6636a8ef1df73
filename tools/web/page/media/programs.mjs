// SPDX-License-Identifier: MIT
/** The page's program, links that contain it, and the controls for sound and pictures. */
import { listen, play, show, watch } from "./media.mjs";

const FILE = "program.py";

const element = (id) => document.getElementById(id);

function alert(message) {
    element("alert").textContent = message;
}

/** Do something, and show the error if it fails. */
async function attempt(act) {
    alert("");
    try {
        return await act();
    } catch (error) {
        alert(error.message);
        return null;
    }
}

/** A button that starts and stops a feed. */
function feedButton(id, begin) {
    const button = element(id);
    let end = null;
    button.addEventListener("click", async () => {
        button.disabled = true; // otherwise a second click would start another one
        if (end) {
            end();
            end = null;
        } else {
            end = await attempt(begin);
        }
        button.disabled = false;
        button.setAttribute("aria-pressed", String(end !== null));
    });
}

/** @param {Feeds} feeds  of the page's board; `state.example` has the names of its files */
function connectFeeds(feeds, state, fetched) {
    const canvas = element("canvas");
    let latest = null;
    const sound = (file) => {
        const current = (latest = {});
        return play(feeds, file, () => current !== latest);
    };
    const picture = (file) => {
        element("view").hidden = false;
        return show(feeds, canvas, file);
    };
    const ofExample = async (kind) => (await fetched(`examples/${state.example[kind]}`)).blob();
    feedButton("microphone", () => listen(feeds));
    feedButton("camera", () => {
        element("view").hidden = false;
        return watch(feeds, canvas);
    });
    const on = (id, name, act) => element(id).addEventListener(name, (event) => attempt(() => act(event)));
    on("sound-file", "change", ({ target }) => target.files[0] && sound(target.files[0]));
    on("picture-file", "change", ({ target }) => target.files[0] && picture(target.files[0]));
    on("recording", "click", async () => sound(await ofExample("recording")));
    on("picture", "click", async () => picture(await ofExample("picture")));
}

/**
 * @param {{state, fetched(name), restart(), link(example, script)}} page  link(): its parameters
 * @returns {{run()}} run() runs the program on the board
 */
export function connectPrograms({ state, fetched, restart, link }) {
    /** Store the program as a file on the board, and run it at the prompt. */
    async function run() {
        alert("");
        element("link-status").textContent = "";
        state.linked = false;
        state.files.set(FILE, new TextEncoder().encode(element("script").value));
        restart();
        await state.board.type(`exec(open("/rom/${FILE}").read())\r`);
    }
    /** Copy a link to this example, target and program; the part behind # is not sent to a server. */
    async function copyLink() {
        const address = `${location.href.split("#")[0]}#${link(state.example, element("script").value)}`;
        history.replaceState(null, "", address);
        const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
        const where = copied ? ", and was copied to the clipboard" : "";
        element("link-status").textContent = `The link is now the address of this page${where}.`;
    }
    connectFeeds(state.feeds, state, fetched);
    element("run").addEventListener("click", run);
    element("link").addEventListener("click", copyLink);
    return { run };
}
