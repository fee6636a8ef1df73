// SPDX-License-Identifier: MIT
/** The page's program, the link that carries it, and what gives the board sound and pictures. */
import { listen, play, show, watch } from "./media.mjs";

const FILE = "program.py";

const element = (id) => document.getElementById(id);

function alert(sentence) {
    element("alert").textContent = sentence;
}

/** Do something; a sentence for what fails. */
async function attempt(act) {
    alert("");
    try {
        return await act();
    } catch (error) {
        alert(error.message);
        return null;
    }
}

/** A button that starts a feed, and ends it. */
function feedButton(id, begin) {
    const button = element(id);
    let end = null;
    button.addEventListener("click", async () => {
        button.disabled = true; // else a second click would start a second one
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
        const mine = (latest = {});
        return play(feeds, file, () => mine !== latest);
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
    const on = (id, event, act) => element(id).addEventListener(event, (happened) => attempt(() => act(happened)));
    on("sound-file", "change", ({ target }) => target.files[0] && sound(target.files[0]));
    on("picture-file", "change", ({ target }) => target.files[0] && picture(target.files[0]));
    on("recording", "click", async () => sound(await ofExample("recording")));
    on("picture", "click", async () => picture(await ofExample("picture")));
}

/**
 * @param {{state, fetched(name), restart(), link(example, script)}} page  link(): its words
 * @returns {{run()}} run() has the board run the program
 */
export function connectPrograms({ state, fetched, restart, link }) {
    /** The program is a file of the board, and runs at its prompt. */
    async function run() {
        alert("");
        element("link-said").textContent = "";
        state.linked = false;
        state.files.set(FILE, new TextEncoder().encode(element("script").value));
        restart();
        await state.board.type(`exec(open("/rom/${FILE}").read())\r`);
    }
    /** A link to this example, target and program; the part behind # is sent to no server. */
    async function copyLink() {
        const address = `${location.href.split("#")[0]}#${link(state.example, element("script").value)}`;
        history.replaceState(null, "", address);
        const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
        const where = copied ? ", and is on the clipboard" : "";
        element("link-said").textContent = `The link is the address of this page now${where}.`;
    }
    connectFeeds(state.feeds, state, fetched);
    element("run").addEventListener("click", run);
    element("link").addEventListener("click", copyLink);
    return { run };
}
