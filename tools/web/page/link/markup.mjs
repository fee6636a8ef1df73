// SPDX-License-Identifier: MIT
/** What is in the panel, which is not part of the page before it is opened. */
export const MARKUP = `
<div class="choices">
<div><label for="own-board">Board to flash</label> <select id="own-board"></select></div>
<div><label for="own-image">Image or released archive</label> <input id="own-image" type="file" accept=".img,.bin,.zip" multiple></div>
</div>
<p id="own-need" class="note"></p>
<p id="own-rom-row" hidden><label><input id="own-rom" type="checkbox"> with this page's files of <code>/rom</code></label></p>
<div class="tools" role="toolbar" aria-label="Your board">
<button id="own-flash" type="button" disabled>Flash</button>
<button id="own-cancel" type="button" hidden>Cancel</button>
<button id="own-connect" type="button" disabled>Connect</button>
<button id="own-compare" type="button" disabled>Run the model on both</button>
<button id="own-run" type="button" disabled>Run the program</button>
</div>
<progress id="own-progress" aria-label="Progress" hidden></progress>
<p id="own-status" role="status"></p>
<table id="own-results" hidden>
<thead><tr><th scope="col">Board</th><th scope="col">NPU</th><th scope="col">ms</th><th scope="col">Output</th></tr></thead>
<tbody></tbody>
</table>
<pre id="own-output" tabindex="0" aria-label="Output of your board" hidden></pre>
<p class="note">“Connect” takes any serial port with this firmware. No image has run on a chip yet: the board's page says how to go back. It needs Chrome or Edge; nothing leaves your computer.</p>
`;
