// Small parts of the explorer's page: elements, the Markdown of descriptions, links and copy buttons.

// An element. Attributes that are false, null or undefined are left out; functions listen to the event of their name.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let count = 0;

// An id that nothing else on the page has.
export function unique(name) {
  count += 1;
  return `x-${name.replace(/[^\w-]/g, "-")}-${count}`;
}

// -- Markdown: paragraphs, lists and tables with `code`, **strong** and links, as the documents have them

const RULES = 4; // entries of a list that are shown at once
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:[^)\s]+)\)/g;

export function inline(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, strong, label, address] = found;
    parts.push(text.slice(end, found.index));
    if (code) parts.push(h("code", {}, code));
    else if (strong) parts.push(h("strong", {}, strong));
    else parts.push(link(address, label));
    end = found.index + whole.length;
  }
  return [...parts, text.slice(end)].filter((part) => part !== "");
}

export function markdown(text) {
  return (text ?? "").split(/\n{2,}/).filter(Boolean).map(block);
}

// The same, with long lists folded.
export function foldedMarkdown(text) {
  return markdown(text).map((part) => (part.childElementCount <= RULES || part.tagName !== "UL" ? part : h(
    "details",
    { class: "x-folded" },
    h("summary", {}, `${part.childElementCount} rules`),
    part,
  )));
}

function block(text) {
  const lines = text.split("\n");
  if (lines[0].startsWith("|")) return table(lines);
  if (lines.every((line) => line.startsWith("- "))) {
    return h("ul", {}, lines.map((line) => h("li", {}, inline(line.slice(2)))));
  }
  return h("p", {}, inline(lines.join(" ")));
}

function table(lines) {
  const [head, , ...rows] = lines.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": head.join(", ") },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, head.map((cell) => h("th", { scope: "col" }, inline(cell))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell)))))),
    ),
  );
}

// -- Links and buttons

// A link to another site or page: only http and https, in a new tab that knows nothing of this one.
export function link(address, label = address, attributes = {}) {
  if (!/^https?:\/\//i.test(address)) return document.createTextNode(label);
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer", ...attributes }, label);
}

// A button that copies the text of an element, as the macro copy_button makes it; site.js does the rest.
export function copyButton(element, name) {
  element.id ||= unique("copied");
  const button = document.getElementById("copy-button").content.firstElementChild.cloneNode(true);
  button.dataset.copy = element.id;
  button.setAttribute("aria-label", `Copy ${name}`);
  return button;
}
