// SPDX-License-Identifier: MIT
/**
 * The service worker: adds the headers that SharedArrayBuffer requires, since not every server of
 * static files can; and caches each file for use without a network.
 */
const STORE = "micropython-ethosu";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

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

async function answer(event) {
    const { request } = event;
    let response;
    try {
        response = await fetch(request);
        if (response.ok) {
            event.waitUntil(keep(request, response.clone()));
        }
    } catch (error) {
        await kept.get(request.url);
        response = await caches.match(request, { cacheName: STORE, ignoreSearch: true });
        if (!response) {
            throw error;
        }
    }
    const headers = new Headers(response.headers);
    headers.set("Cross-Origin-Opener-Policy", "same-origin");
    headers.set("Cross-Origin-Embedder-Policy", "require-corp");
    headers.set("Cross-Origin-Resource-Policy", "same-origin");
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

addEventListener("fetch", (event) => {
    const { request } = event;
    if (request.method === "GET" && new URL(request.url).origin === location.origin) {
        event.respondWith(answer(event));
    }
});
