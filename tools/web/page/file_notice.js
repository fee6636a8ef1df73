// SPDX-License-Identifier: MIT
/** A browser loads no modules from file:// addresses; this plain script says what to do instead. */
if (location.protocol === "file:") {
    document.getElementById("alert").textContent =
        "A browser cannot run this page from a file. Serve its folder, for example with " +
        "“python3 -m http.server”, and open http://localhost:8000.";
}
