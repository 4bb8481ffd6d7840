// A list that renews itself: new rows appear, and rows whose state changed are replaced. Its element has in data-live the
// address that answers a <tbody> with the rows and, in data-cursor, the text to ask with next time; 204 if nothing changed.

const SECONDS = 3;
const LONGEST = 60; // seconds between two requests while they fail
const ROWS = 25; // of a page

for (const list of document.querySelectorAll("[data-live]")) watch(list);

function watch(list) {
  const status = list.querySelector("[data-live-status]");
  let pause = SECONDS;
  status.textContent = "New ones appear by themselves.";
  list.querySelector("[data-live-reload]").hidden = true;

  const stop = (text) => {
    status.textContent = text;
    list.querySelector("[data-live-reload]").hidden = false;
  };
  const next = () => setTimeout(document.hidden ? wait : ask, pause * 1000);
  const wait = () => document.addEventListener("visibilitychange", ask, { once: true });

  async function ask() {
    if (document.hidden) return wait();
    const shown = list.querySelector("tbody");
    const address = `${list.dataset.live}&after=${shown ? shown.dataset.cursor : ""}`;
    try {
      const answer = await fetch(address, { credentials: "same-origin", redirect: "manual", cache: "no-store" });
      if (answer.type === "opaqueredirect") return stop("You have been signed out. ");
      if (!answer.ok) throw new Error(String(answer.status));
      if (answer.status === 200) show(shown, await answer.text());
      pause = SECONDS;
    } catch {
      pause = Math.min(2 * pause, LONGEST);
    }
    return next();
  }

  function show(shown, text) {
    const found = new DOMParser().parseFromString(`<table>${text}</table>`, "text/html").querySelector("tbody");
    if (!found || (!shown && !found.rows.length)) return;
    if (!shown) return location.reload(); // the page had no table yet
    const count = renew(shown, found);
    if (count) status.textContent = count === 1 ? "1 new one." : `${count} new ones.`;
  }

  next();
}

// Makes the rows of `shown` those of `found`; returns how many are new. A row that did not change stays as it is, as do rows
// that are older than all that was looked through, and the focus stays on its row.
function renew(shown, found) {
  const before = new Map([...shown.rows].map((row) => [row.dataset.key, row]));
  let added = 0;
  for (const [number, made] of [...found.rows].entries()) {
    let row = before.get(made.dataset.key);
    before.delete(made.dataset.key);
    added += row ? 0 : 1;
    if (!row) row = withRoles(document.importNode(made, true));
    else if (row.textContent !== made.textContent) replace(row, withRoles(document.importNode(made, true)));
    if (shown.rows[number] !== row) shown.insertBefore(row, shown.rows[number] ?? null);
  }
  const backTo = Number(found.dataset.backTo ?? 0);
  const gone = [...before.values()].filter((row) => Number(row.dataset.at) >= backTo);
  remove(gone);
  remove([...shown.rows].slice(ROWS));
  shown.dataset.cursor = found.dataset.cursor;
  return added;
}

function remove(rows) {
  for (const row of rows) if (!row.contains(document.activeElement)) row.remove();
}

function replace(row, made) {
  const hadFocus = row.contains(document.activeElement);
  row.replaceChildren(...made.children);
  if (hadFocus) row.querySelector("a").focus({ preventScroll: true });
}

// Rows that look like cards on a phone remain rows for a screen reader, as in site.js.
function withRoles(row) {
  row.setAttribute("role", "row");
  for (const cell of row.cells) cell.setAttribute("role", "cell");
  return row;
}
