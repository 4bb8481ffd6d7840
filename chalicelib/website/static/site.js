"use strict";
// What makes the pages quicker to use; none of it is needed to use them.

// A value is copied by the button beside it.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard; // as on a page without HTTPS
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}

// The rows of a list are narrowed down while one types.
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

// What a form would show is fetched as soon as something is changed.
for (const form of document.querySelectorAll("[data-preview]")) {
  const shown = document.getElementById(form.dataset.preview);
  let latest = 0;
  form.addEventListener("change", async (event) => {
    if (event.target.value === "one_time") {
      // Such a consent goes with payments only.
      for (const box of form.querySelectorAll("[data-service]")) box.checked &&= box.dataset.service === "PISP";
    }
    const mine = ++latest;
    const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
    const answer = await fetch(address, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const made = page.getElementById(form.dataset.preview);
    if (mine !== latest || !made) return;
    for (const part of ["pre code", "#curl"]) {
      shown.querySelector(part).textContent = made.querySelector(part).textContent;
    }
  });
}

// What this browser tab remembers for the API screens ends with the session.
for (const form of document.querySelectorAll("[data-forget]")) {
  form.addEventListener("submit", () => sessionStorage.clear());
}
