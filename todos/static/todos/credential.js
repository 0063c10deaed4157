"use strict";

const box = document.getElementById("credential-box");
const shown = document.getElementById("credential");
const copy = document.getElementById("copy-credential");
const copied = document.getElementById("copied");

if (shown) {
    shown.addEventListener("focus", () => shown.select());
    copy.hidden = false;
    copy.addEventListener("click", async () => {
        shown.select();
        try {
            await navigator.clipboard.writeText(shown.value);
            copied.textContent = "Copied.";
        } catch {
            // Without TLS a browser has no clipboard; the selection is there for the keyboard.
            copied.textContent = "Press Ctrl-C: it is selected.";
        }
    });
    // A page that comes back from the browser's memory must not show it again.
    window.addEventListener("pagehide", () => box.remove());
}
