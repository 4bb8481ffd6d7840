// JSON that folds, for scripts: what the macro json_view of templates/components.html writes for a page.

/** An element with `value` in it, unfolded down to `depth`. Text is set as text: no value can become markup. */
export function jsonView(value, depth = 2) {
  return element("div", "json", node(null, value, depth, true));
}

function node(key, value, depth, isLast) {
  const name = key === null ? [] : [element("span", "json-key", JSON.stringify(key)), ": "];
  const comma = isLast ? "" : ",";
  const isList = Array.isArray(value);
  if (value === null || typeof value !== "object") return element("div", "json-leaf", ...name, scalar(value), comma);
  const entries = isList ? value.map((each) => [null, each]) : Object.entries(value);
  const [begin, end] = isList ? "[]" : "{}";
  if (!entries.length) return element("div", "json-leaf", ...name, begin + end + comma);
  const children = entries.map(([inner, each], place) => node(inner, each, depth - 1, place === entries.length - 1));
  const folded = element("span", "json-folded", String(entries.length));
  const details = element("details", "json-node",
    element("summary", "", ...name, begin, folded), element("div", "json-inner", ...children), element("div", "", end + comma));
  details.open = depth > 0;
  return details;
}

function scalar(value) {
  const kind = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "word";
  return element("span", `json-${kind}`, JSON.stringify(value));
}

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}
