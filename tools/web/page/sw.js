// SPDX-License-Identifier: MIT
/**
 * The service worker: adds the headers that SharedArrayBuffer requires, since not every server of
 * static files can; and caches each file for use without a network.
 */
const STORE = "micropython-ethosu";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

async function answer(request) {
    const store = await caches.open(STORE);
    let response;
    try {
        response = await fetch(request);
        if (response.ok) {
            await store.put(request, response.clone()).catch(() => {}); // storage may be full or denied
        }
    } catch (error) {
        response = await store.match(request, { ignoreSearch: true });
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
        event.respondWith(answer(request));
    }
});
