// SPDX-License-Identifier: MIT
/**
 * The service worker: adds the headers that SharedArrayBuffer requires, since not every server of
 * static files can; and caches each file for use without a network.
 */
const STORE = "micropython-ethosu";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

/** Keep a file; the page does not wait for it. */
async function keep(request, response) {
    try {
        await (await caches.open(STORE)).put(request, response);
    } catch {
        // Storage may be full or denied.
    }
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
