// The answer of a call: status and times, what one does next, the body, and the headers.

import { copyButton, h, link } from "./explorer-dom.js";
import { parse } from "./explorer-exact.js";
import { jsonView } from "./json-view.js";

// The answer with its body parsed and where an accepted call's outcome will be.
export function readAnswer(answer) {
  const headers = new Map((answer.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]));
  let body;
  try {
    body = answer.text ? parse(answer.text) : undefined;
  } catch {
    body = undefined;
  }
  return { ...answer, body, location: headers.get("location") };
}

function duration(milliseconds) {
  return milliseconds >= 10_000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds)} ms`;
}

function bytes(number) {
  return number < 1024 ? `${number} bytes` : `${(number / 1024).toFixed(1)} KB`;
}

// The sentence that is announced: status, and the time in all, at the hub and at the bank.
export function summaryOf(answer) {
  if (answer.failure) return [h("strong", { class: "x-status bad" }, "No answer"), ` after ${duration(answer.milliseconds)}`];
  const { hub, bank } = answer.times;
  const parts = [
    hub === undefined ? null : `hub ${duration(hub)}`,
    bank === undefined ? null : `bank ${duration(bank)}`,
  ].filter(Boolean);
  return [
    h("strong", { class: `x-status ${answer.status < 300 ? "good" : answer.status < 500 ? "note" : "bad"}` }, `${answer.status} ${answer.reason}`.trim()),
    ` in ${duration(answer.milliseconds)}${parts.length ? ` (${parts.join(", ")})` : ""}, ${bytes(answer.bytes)}`,
  ];
}

// Everything below the summary: the answer in words, if there are any, and what one does next with it. `act` does a step
// that is not a link.
export function answerView(answer, words, steps, act) {
  if (answer.failure) return [h("p", { class: "alert" }, answer.failure)];
  return [
    words ? h("p", { class: "x-words" }, words) : null,
    steps.length ? h("div", { class: "x-steps", role: "group", "aria-label": "Next steps" }, steps.map((step) => stepView(step, act))) : null,
    bodyView(answer),
    headersView(answer.headers),
  ].filter(Boolean);
}

function stepView(step, act) {
  if (step.href) return link(step.href, `${step.label} (new tab)`, { class: "button slim" });
  const button = h("button", { type: "button", class: "slim quiet" }, step.label);
  button.addEventListener("click", () => act(step));
  return button;
}

function bodyView({ text, body }) {
  if (!text) return h("p", { class: "x-about" }, "The answer has no body.");
  const raw = h("pre", { class: "x-raw", hidden: body !== undefined, tabindex: "0", "aria-label": "Body as it came" }, text);
  if (body === undefined) return h("div", { class: "x-body" }, raw);
  const view = jsonView(body);
  const toggle = h("button", { type: "button", class: "quiet copy", "aria-pressed": "false" }, "Raw");
  toggle.addEventListener("click", () => {
    raw.hidden = !raw.hidden;
    view.hidden = !raw.hidden;
    toggle.setAttribute("aria-pressed", String(!raw.hidden));
  });
  return h("div", { class: "x-body" }, h("div", { class: "x-tools" }, toggle, copyButton(raw, "the body")), view, raw);
}

function headersView(headers) {
  return h(
    "details",
    { class: "x-headers" },
    h("summary", {}, `Headers (${headers.length})`),
    h("dl", {}, headers.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
  );
}
