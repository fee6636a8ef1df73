// SPDX-License-Identifier: MIT
/** Browsers do not load modules from file:// addresses; this plain script explains what to do. */
if (location.protocol === "file:") {
    document.getElementById("alert").textContent =
        "A browser cannot run this page from a file. Serve its folder, for example with " +
        "“python3 -m http.server”, and open http://localhost:8000.";
}
