"use strict";
// What makes the pages quicker to use; none of it is needed to use them.

// A value is copied by the button beside it.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  const said = await navigator.clipboard.writeText(text).then(() => "Copied", () => "Not copied");
  const label = button.querySelector("span");
  label.textContent = said;
  announce(said);
  setTimeout(() => { label.textContent = "Copy"; }, 1500);
});

// Tells screen readers what a sighted visitor sees happen; the place is there before the words, so that it is heard.
function announce(words) {
  let place = document.getElementById("announcement");
  if (!place) {
    place = document.createElement("p");
    Object.assign(place, { id: "announcement", className: "hidden", role: "status" });
    document.body.append(place);
  }
  place.textContent = "";
  setTimeout(() => { place.textContent = words; }, 100);
}
document.documentElement.classList.toggle("cannot-copy", !navigator.clipboard); // as on a page without HTTPS

// A page is printed with its button. Without scripts, the style sheet leaves it out.
for (const button of document.querySelectorAll("[data-print]")) {
  button.addEventListener("click", () => window.print());
}

// A menu closes when something else is pressed or focused, and with Escape.
for (const menu of document.querySelectorAll("[data-menu]")) {
  const close = (event) => { if (!menu.contains(event.target)) menu.open = false; };
  document.addEventListener("click", close);
  document.addEventListener("focusin", close);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

// A file is read into the field that it fills. Without scripts, the style sheet leaves its input out.
for (const input of document.querySelectorAll("[data-fills]")) {
  input.addEventListener("change", async () => {
    document.getElementById(input.dataset.fills).value = await input.files[0].text();
  });
}

// A form that takes long says so, and is not sent twice.
for (const form of document.querySelectorAll("[data-busy]")) {
  const button = form.querySelector("[type=submit]");
  const label = button.textContent;
  form.addEventListener("submit", (event) => {
    if (button.ariaBusy === "true") event.preventDefault();
    button.ariaBusy = "true";
    button.textContent = form.dataset.busy;
  });
  window.addEventListener("pageshow", () => {
    button.ariaBusy = null;
    button.textContent = label;
  });
}

// Tables of the documentation become cards on a phone, too. Two columns are plain without the headings.
for (const table of document.querySelectorAll(".docs-page table")) {
  table.classList.add("cards-on-phone");
  const labels = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  for (const cell of labels.length > 2 ? table.querySelectorAll("tbody td:not(:first-child)") : []) {
    if (labels[cell.cellIndex]) cell.dataset.label = labels[cell.cellIndex];
  }
}

// Rows that look like cards on a phone remain rows for a screen reader.
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
for (const table of document.querySelectorAll(".cards-on-phone")) {
  for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, td, th")]) {
    part.setAttribute("role", ROLES[part.tagName] ?? (part.scope === "row" ? "rowheader" : "columnheader"));
  }
}

// The Tab key reaches one place of a chart; the arrow keys move to the others.
for (const list of document.querySelectorAll(".chart-tips")) {
  const tips = [...list.children];
  const choose = (chosen) => { for (const tip of tips) tip.tabIndex = tip === chosen ? 0 : -1; };
  choose(tips.at(-1));
  list.addEventListener("focusin", (event) => choose(event.target));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -tips.length, End: tips.length }[event.key];
    if (!step) return;
    event.preventDefault();
    tips[Math.min(Math.max(tips.indexOf(document.activeElement) + step, 0), tips.length - 1)].focus();
  });
}

// A list shows only the rows with the text that is typed.
for (const input of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(input.dataset.filter);
  const none = document.getElementById(`${input.dataset.filter}-none`);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    for (const row of list ? list.children : []) {
      row.hidden = !row.dataset.text.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    none.hidden = shown > 0;
  });
}

// Replaces a part of the page with the same part of a form's answer; only the latest answer counts.
function replacing(id, apply) {
  let latest = 0;
  return async (form) => {
    const mine = ++latest;
    const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
    const answer = await fetch(address, { credentials: "same-origin" });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
    if (mine === latest && found) apply(document.getElementById(id), found);
  };
}

// The preview of a form is fetched after every change.
for (const form of document.querySelectorAll("[data-preview]")) {
  const show = replacing(form.dataset.preview, (shown, made) => {
    for (const part of ["pre code", "#program", "#program-2"]) {
      shown.querySelector(part).textContent = made.querySelector(part).textContent;
    }
  });
  form.addEventListener("change", (event) => {
    if (event.target.value === "one_time") {
      // Such a consent goes with payments only.
      for (const box of form.querySelectorAll("[data-service]")) box.checked &&= box.dataset.service === "PISP";
    }
    show(form);
  });
}

// Search results are fetched while the visitor types.
for (const input of document.querySelectorAll("[data-search]")) {
  const show = replacing(input.dataset.search, (shown, found) => shown.replaceChildren(...found.childNodes));
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(input.form), 150);
  });
}

// What this browser tab remembers for the API screens ends with the session.
for (const form of document.querySelectorAll("[data-forget]")) {
  form.addEventListener("submit", () => sessionStorage.clear());
}
