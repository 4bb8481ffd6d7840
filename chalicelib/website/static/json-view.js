// JSON to read, as the macro json_view of templates/components.html writes it for a page: objects and lists fold, addresses
// are links, and what is folded is drawn when somebody opens it.

import { h, link } from "./explorer-dom.js";
import { Exact } from "./explorer-exact.js";

const OPEN = 120; // lines that are open at first
const SMALL = 20; // members of an object that is open at any depth
const AT_ONCE = 100; // entries of a list that are drawn at a time
const LONG = 200; // characters of a text of which only the beginning is seen

// An element with `value` in it, unfolded down to `depth` and where an object is small. Text is set as text: no value can
// become markup.
export function jsonView(value, depth = 2) {
  return h("div", { class: "json" }, node(null, value, "", { lines: OPEN }, depth));
}

function node(name, value, end, budget, depth) {
  const label = name === null ? [] : [h("span", { class: "json-key" }, JSON.stringify(name)), ": "];
  if (!isContainer(value) || size(value) === 0) {
    budget.lines -= 1;
    return h("div", { class: "json-leaf" }, label, scalar(value), end);
  }
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const isOpen = budget.lines > 0 && (depth > 0 || size(value) <= SMALL);
  const inside = h("div", { class: "json-inner" });
  const details = h(
    "details",
    { class: "json-node", open: isOpen },
    h("summary", {}, label, open, h("span", { class: "json-folded" }, String(size(value)))),
    inside,
    h("div", {}, close, end),
  );
  if (isOpen) fill(inside, value, budget, depth, 0);
  else details.addEventListener("toggle", () => inside.childElementCount || fill(inside, value, { lines: OPEN }, depth, 0));
  return details;
}

function fill(inside, value, budget, depth, from) {
  const isList = Array.isArray(value);
  const entries = isList ? value.map((item) => [null, item]) : Object.entries(value);
  const shown = entries.slice(from, from + AT_ONCE);
  inside.append(...shown.map(([name, member], number) => (
    node(name, member, from + number < entries.length - 1 ? "," : "", budget, depth - 1)
  )));
  const left = entries.length - from - shown.length;
  if (left <= 0) return;
  const more = h("button", { type: "button", class: "quiet slim" }, `Show ${Math.min(left, AT_ONCE)} more of ${left}`);
  more.addEventListener("click", () => {
    const last = more.previousElementSibling;
    more.remove();
    fill(inside, value, budget, depth, from + AT_ONCE);
    last.nextElementSibling?.querySelector("summary, button, a")?.focus();
  });
  inside.append(more);
}

function isContainer(value) {
  return value !== null && typeof value === "object" && !(value instanceof Exact);
}

function size(value) {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function scalar(value) {
  if (isContainer(value)) return Array.isArray(value) ? "[]" : "{}";
  if (value instanceof Exact || typeof value === "number") return h("span", { class: "json-number" }, String(value));
  if (typeof value !== "string") return h("span", { class: "json-word" }, String(value));
  const text = JSON.stringify(value);
  const shown = /^https?:\/\/[^\s"]+$/i.test(value) ? ['"', link(value, text.slice(1, -1)), '"'] : text;
  return h("span", { class: `json-text${text.length > LONG ? " json-long" : ""}` }, shown);
}
