// SPDX-License-Identifier: MIT
/**
 * The service worker: adds the headers that SharedArrayBuffer requires, since not every server of
 * static files can; and keeps each file. Those of a build, in a folder of their own, never change, so
 * they come from there; the page itself only without a network.
 */
const STORE = "micropython-ethosu";
const FILES = new URL(`${BUILD}/`, registration.scope).href; // BUILD: of install_page.py

/** Forget files of other builds, also those that lay beside the page once. */
async function forgetOthers() {
    const store = await caches.open(STORE);
    const keys = (await store.keys()).filter(({ url }) => url.startsWith(registration.scope));
    const old = keys.filter((key) => !ofBuild(key) && key.url.slice(registration.scope.length));
    await Promise.all(old.map((key) => store.delete(key)));
}

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(Promise.all([clients.claim(), forgetOthers().catch(() => {})])));

/** Files that are being kept, by address: the page does not wait for it. */
const kept = new Map();

/** Keep a file after those of the same address that came before. */
function keep({ url }, response) {
    const done = (kept.get(url) ?? Promise.resolve())
        .then(() => caches.open(STORE))
        .then((store) => store.put(url, response))
        .catch(() => {}); // storage may be full or denied
    kept.set(url, done);
    return done;
}

const ofBuild = ({ url }) => url.startsWith(FILES);
const find = (request) => caches.match(request, { cacheName: STORE, ignoreSearch: true }).catch(() => {});

async function load(event) {
    const { request } = event;
    // Without a server's word on how long it lasts, a browser would take an old page for new.
    const response = await (ofBuild(request) ? fetch(request) : fetch(request.url, { cache: "no-cache" }));
    const headers = new Headers(response.headers);
    headers.set("Cross-Origin-Opener-Policy", "same-origin");
    headers.set("Cross-Origin-Embedder-Policy", "require-corp");
    headers.set("Cross-Origin-Resource-Policy", "same-origin");
    const made = new Response(response.body, { status: response.status, statusText: response.statusText, headers });
    if (response.ok) {
        event.waitUntil(keep(request, made.clone()));
    }
    return made;
}

async function answer(event) {
    const { request } = event;
    const found = ofBuild(request) && (await find(request));
    if (found) {
        return found;
    }
    try {
        return await load(event);
    } catch (error) {
        await kept.get(request.url);
        const before = await find(request);
        if (!before) {
            throw error;
        }
        return before;
    }
}

addEventListener("fetch", (event) => {
    const { request } = event;
    if (request.method === "GET" && new URL(request.url).origin === location.origin) {
        event.respondWith(answer(event));
    }
});
