// The live board. The server sends whole pieces of the page, each with a key, and what it knows to
// have changed; this puts them in place, counts the clocks, and shows panels in a dialog.

const lanes = document.getElementById("lanes");
const connection = document.getElementById("connection");
const connectionText = document.getElementById("connection-text");
const reclaims = document.getElementById("reclaims");
const news = document.getElementById("news");
const panel = document.getElementById("panel");
const panelContent = document.getElementById("panel-content");
const panelMoved = document.getElementById("panel-moved");
const retry = Number(lanes.dataset.retry);

// The database's clock. This host's may be wrong, or be set right while the page is open: only how
// much time has passed is taken from here.
let serverAhead = Number(lanes.dataset.now) - performance.now();
const now = () => serverAhead + performance.now();

function span(milliseconds) {
    const seconds = Math.max(0, Math.floor(milliseconds / 1000));
    const days = seconds >= 172800 ? Math.floor(seconds / 86400) : 0;
    const rest = seconds - days * 86400;
    const parts = [
        [days, "days"],
        [Math.floor(rest / 3600), "h"],
        [Math.floor((rest % 3600) / 60), "min"],
        [rest % 60, "s"],
    ];
    const first = parts.findIndex(([amount]) => amount > 0);
    if (first < 0) return "0 s";
    const shown = parts.slice(first, first + 2).filter(([amount]) => amount > 0);
    return shown.map(([amount, unit]) => `${amount} ${unit}`).join(" ");
}

function inWords({ counts, at, before, past, then }) {
    const left = Number(at) - now();
    if (counts === "since") return [before, span(-left), then].filter(Boolean).join(" ");
    if (left > 0) return `${before} ${span(left)}`;
    return `${past} ${span(-left)}: ${then}`;
}

function tick() {
    for (const clock of document.querySelectorAll("[data-at]")) {
        const words = inWords(clock.dataset);
        const first = clock.firstElementChild;
        // The moment itself stays in the title.
        if (!clock.title) {
            clock.title = clock.querySelector("time").textContent;
            clock.lastElementChild.hidden = true;
        }
        if (first.textContent !== words) first.textContent = words;
        clock.classList.toggle("past", clock.dataset.counts === "until" && Number(clock.dataset.at) <= now());
    }
}

function piece(id, html) {
    const item = document.createElement("li");
    item.id = id;
    item.innerHTML = html;
    return item;
}

// Puts the items of a list in the given order, and leaves those alone that are in place.
function arrange(list, ids, made) {
    let place = list.firstElementChild;
    for (const id of ids) {
        const old = document.getElementById(id);
        const item = made.get(id) ?? old;
        if (item === place) {
            place = place.nextElementSibling;
            continue;
        }
        if (old && old !== item) {
            if (old === place) place = place.nextElementSibling;
            old.remove();
        }
        list.insertBefore(item, place);
    }
    while (place) {
        const next = place.nextElementSibling;
        place.remove();
        place = next;
    }
}

function change({ now: serverNow, order, heads, cards, reclaims: reclaimed, news: fresh }) {
    serverAhead = serverNow - performance.now();
    const focused = document.activeElement?.closest("li[id]")?.id;
    const made = new Map(Object.entries(cards).map(([id, html]) => [id, piece(id, html)]));
    for (const [name, ids] of Object.entries(order)) {
        const lane = document.getElementById(name);
        if (name in heads) lane.querySelector(".head").innerHTML = heads[name];
        arrange(lane.querySelector(".cards"), ids, made);
    }
    announce(reclaimed, fresh);
    tick();
    if (focused && !document.activeElement?.closest("li[id]")) {
        document.getElementById(focused)?.querySelector("a")?.focus({ preventScroll: true });
    }
    notice();
}

function announce(ids, fresh) {
    const known = new Set([...reclaims.children].map((item) => item.id));
    const keys = ids.map((id) => `reclaim-${id}`);
    const made = new Map(
        Object.entries(fresh)
            .map(([id, html]) => [`reclaim-${id}`, html])
            .filter(([key]) => !known.has(key))
            .map(([key, html]) => [key, piece(key, html)]),
    );
    for (const key of keys) if (made.has(key) && !seen.has(key)) unsaid.push(key);
    for (const key of keys) seen.add(key);
    arrange(reclaims, keys, made);
    say();
}

// A reclaim is announced once, however often it is sent.
const seen = new Set([...reclaims.children].map((item) => item.id));
let unsaid = [];

function say() {
    const items = unsaid.map((id) => document.getElementById(id)).filter(Boolean);
    unsaid = [];
    if (!items.length) return;
    for (const item of items) item.classList.add("fresh");
    const words = (item) => item.textContent.replace(/\s+/g, " ").trim();
    const latest = words(items[0]);
    news.textContent = items.length === 1 ? latest : `${items.length} waits were reclaimed. The latest: ${latest}`;
}

// The stream.

function show(state, text) {
    if (connection.dataset.state === state && connectionText.textContent === text) return;
    connection.dataset.state = state;
    connectionText.textContent = text;
}

const clockTime = () => new Date(now()).toISOString().slice(11, 19);
let lostAt = null;

function lost(why) {
    lostAt ??= clockTime();
    show("lost", `${why} What is shown is as it was at ${lostAt} UTC. Trying again …`);
}

let source;

function connect() {
    source = new EventSource(lanes.dataset.stream);
    source.addEventListener("change", (event) => {
        change(JSON.parse(event.data));
        lostAt = null;
        show("live", "Live");
    });
    source.addEventListener("problem", () => lost("The database cannot be read."));
    source.addEventListener("end", ended);
    source.addEventListener("error", () => {
        lost("The connection is lost.");
        // What is no stream, such as a proxy's error, ends an EventSource for good.
        if (source.readyState === EventSource.CLOSED) setTimeout(again, retry);
    });
}

async function again() {
    const answer = await fetch(lanes.dataset.stream, { method: "HEAD", redirect: "manual" }).catch(() => null);
    if (answer?.status === 403) ended();
    else connect();
}

function ended() {
    source.close();
    lostAt ??= clockTime();
    show("ended", `You are logged out, or may no longer look at todos. What is shown is as it was at ${lostAt} UTC. `);
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Reload";
    connectionText.append(link);
}

// The panel.

let opener = null;

async function openPanel(url, options = {}) {
    panel.setAttribute("aria-busy", "true");
    let answer;
    try {
        answer = await fetch(url, { ...options, headers: { "X-Board": "panel" } });
    } catch {
        moved("The server does not answer. Nothing is known to have been done: look again.", url);
        if (!panel.open) panel.showModal();
        return;
    } finally {
        panel.removeAttribute("aria-busy");
    }
    if (answer.headers.get("X-Board") !== "panel") {
        // A login page, or an error: as a page of its own it says what it is.
        location.assign(options.method === "POST" ? location.href : url);
        return;
    }
    panelContent.innerHTML = await answer.text();
    panelMoved.textContent = "";
    if (!panel.open) panel.showModal();
    const field = panelContent.querySelector("textarea");
    (field ?? panelContent.querySelector("#panel-title")).focus();
    panel.scrollTop = 0;
}

function moved(text, url) {
    panelMoved.textContent = text;
    const link = document.createElement("a");
    link.href = url;
    link.dataset.panel = "";
    link.textContent = "Show it as it is now";
    panelMoved.append(" ", link);
}

// Says so if the todo of the open panel has changed; what the operator reads or types stays.
function notice() {
    const todo = panel.open && panelContent.querySelector("[data-todo]");
    if (!todo || panelMoved.textContent) return;
    const lane = document.getElementById(todo.dataset.todo)?.closest(".lane");
    const was = openedIn.get(todo);
    if (was === undefined) openedIn.set(todo, lane);
    else if (was !== lane) {
        const where = lane ? `now under “${lane.querySelector("h2").firstChild.textContent.trim()}”` : "no longer on the board";
        moved(`This todo has moved: it is ${where}.`, panelUrl(todo.dataset.todo));
    }
}

const openedIn = new WeakMap();
const panelUrl = (id) => document.querySelector(`li[id="${CSS.escape(id)}"] a[data-panel]`)?.href ?? lastPanel;
let lastPanel = location.href;

document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-panel]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (!panel.open) {
        opener = link.closest("li[id]")?.id;
        lastPanel = link.href;
    }
    openPanel(link.href).then(notice);
});

document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-panel]");
    if (!form) return;
    event.preventDefault();
    openPanel(form.action, { method: "POST", body: new FormData(form) }).then(notice);
});

panel.addEventListener("close", () => {
    panelContent.replaceChildren();
    document.getElementById(opener)?.querySelector("a")?.focus();
});

show("still", "Connecting …");
tick();
setInterval(tick, 1000);
connect();
