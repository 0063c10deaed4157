// Refreshes the effect while a value is typed. Without it, the Preview button does the same.
const form = document.getElementById("setting_form");
const field = document.getElementById("id_value");
const effect = document.getElementById("effect");
const status = document.getElementById("effect-status");
const PAUSE_MS = 400;

let timer = 0;
let asking = new AbortController();

async function refresh() {
    asking.abort();
    asking = new AbortController();
    effect.setAttribute("aria-busy", "true");
    const fields = new FormData(form);
    fields.set("_preview", "alone");
    try {
        const answer = await fetch(window.location.href, {
            body: fields,
            method: "POST",
            redirect: "error",
            signal: asking.signal,
        });
        if (!answer.ok) {
            throw new Error(answer.statusText);
        }
        effect.innerHTML = await answer.text();
        const told = effect.querySelector(".errorlist") ?? effect.querySelector("#effect-summary");
        status.textContent = told ? told.textContent : "";
    } catch (error) {
        if (error.name === "AbortError") {
            return;
        }
        effect.textContent = "The effect could not be shown: press Preview.";
        status.textContent = effect.textContent;
    }
    effect.removeAttribute("aria-busy");
}

if (form && field && effect) {
    field.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(refresh, PAUSE_MS);
    });
}
