"use strict";

const box = document.getElementById("credential-box");

function offerToCopy(shown, copy, copied) {
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
}

if (box) {
    const part = (id) => document.getElementById(id);
    offerToCopy(part("credential"), part("copy-credential"), part("copied"));
    offerToCopy(part("curl"), part("copy-curl"), part("copied-curl"));
    // A page that comes back from the browser's memory must not show it again.
    window.addEventListener("pagehide", () => box.remove());
}
